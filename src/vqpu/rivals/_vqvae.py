"""VQVAE: the classical autoencoder with a codebook, and K-means on its codes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn.functional import embedding

from vqpu.base._inference import encode_in_chunks
from vqpu.base._parameters import check_integer, check_real, draw_seed
from vqpu.base._seeding import (
    Stream,
    choose_device,
    derive_seed,
    numpy_generator,
    preserved_torch_state,
    seed_torch,
)
from vqpu.base._source import ArraySource
from vqpu.base._two_means import two_means_codes
from vqpu.errors import CollapsedCodesWarning, InputError
from vqpu.estimators._network import NetworkEstimator
from vqpu.nn import (
    Codebook,
    ConvDecoder,
    EncoderEnsemble,
    MLPDecoder,
    codebook_loss,
    commitment_loss,
    fold_batch_norm,
    nearest_code,
    straight_through,
)
from vqpu.training import (
    FixedBudget,
    PlainBatches,
    TrainingResult,
    WeightAverage,
    progress_reporter,
    train_with_checks,
)
from vqpu.training._feed import Feed

_FIRST_SAMPLES = 256  # their vectors are the first codes


class Autoencoder(nn.Module):
    """Encoder, codebook and decoder.

    Parameters
    ----------
    encoder : EncoderEnsemble
        Of one member.
    codebook : Codebook
    decoder : Module
        Takes (n, K, p), gives samples in normalised units.
    """

    def __init__(self, encoder: EncoderEnsemble, codebook: Codebook, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.codebook, self.decoder = encoder, codebook, decoder

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the code indices of raw samples, shape (n, K), and the size of their vectors.

        The latter, shape (n,), is finite if and only if all vectors are: an index never tells.
        """
        vectors = self.encoder(x)
        return nearest_code(vectors, self.codebook.vectors), vectors.abs().amax((1, 2))

    def decode(self, codes: Tensor) -> Tensor:
        """Return samples in the scale of the data, in double precision, from code indices."""
        normalizer: Any = self.encoder.normalizer
        normal: Tensor = self.decoder(embedding(codes, self.codebook.vectors))
        samples: Tensor = normal.double() * normalizer.std + normalizer.mean
        return samples


@dataclass(kw_only=True, eq=False, repr=False)
class VQVAE(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    NetworkEstimator,
):
    r"""Vector-quantised autoencoder: what a codebook learns when nothing is said about positives.

    The paper's figure 2 sets its codes beside those of the method. Encoder and codebook are those
    of :class:`vqpu.VQKMeansClassifier`; a decoder turns the codes back into the sample.

    It is a transformer, not a PU classifier: ``fit`` looks at no label, ``transform`` gives code
    indices and ``inverse_transform`` decodes them. ``predict`` says which of two K-means clusters
    of the codes is nearer; which of them holds positives, if any, it cannot know.

    Parameters
    ----------
    n_vectors : int, default=8
        K for vectors; images have as many as the encoder's last feature map has places.
    vector_dim : int, default=64
        p, the dimension of vectors and codes.
    codebook_size : int, default=512
        m, the number of codes.
    commitment : float, default=0.25
        beta, the weight of the commitment term.
    batch_size : int, default=128
    learning_rate : float, default=0.001
        Of Adam, for encoder, codes and decoder.
    schedule : {"cosine", "constant"}, default="cosine"
    weight_average : float, default=0.99
        Decay of the moving average of all weights, which is used after ``fit``.
    max_steps : int, default=4000
        Steps.
    max_epochs : int or None, default=None
        Bound on passes over X, if any.
    check_every : int or None, default=None
        Steps between rows of the history. None: one epoch, but at least 20 steps and at most a
        twentieth of the budget.
    n_init : int, default=4
        Starts of K-means.
    random_state : int, RandomState, Generator or None, default=None
    device : str, default="auto"
    verbose : int, default=0

    Attributes
    ----------
    network_ : torch.nn.Module
        Averaged encoder, codebook and decoder.
    cluster_centers_ : ndarray of shape (2, K)
        Of the codes of X, in the order of their sums.
    labels_ : ndarray of int, shape (n_samples,)
        The nearer centre of each sample of X.
    history_ : History
        A row a check: the loss and its three terms.

    Notes
    -----
    With e the nearest code of :math:`z_e(x)` and sg the stop of gradients, the loss is
    :math:`|x - \hat x(e)|^2 + |sg(z_e(x)) - e|^2 + \beta |z_e(x) - sg(e)|^2`, summed over a
    sample's places and averaged over samples, x in units of its standard deviation. The
    decoder's gradient is handed to the encoder as if nothing had been quantised (straight-through).

    It stops after a fixed number of steps. The codes start as encodings of random samples: drawn
    from N(0, I), nearly all of them would be too far out ever to be used. There is neither
    augmentation nor dropout.

    References
    ----------
    van den Oord, Vinyals, Kavukcuoglu: "Neural Discrete Representation Learning", 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from vqpu import VQVAE
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = VQVAE(n_vectors=4, codebook_size=16, max_steps=20, random_state=0).fit(X)
    >>> model.transform(X).shape, model.reconstruct(X).shape
    ((100, 4), (100, 3))
    """

    encoder, dropout, augment, n_members = "auto", 0.0, "none", 1
    _saved: ClassVar[tuple[str, ...]] = ("cluster_centers_", "labels_", "_layout")

    codebook_size: int = 512
    commitment: float = 0.25
    n_init: int = 4

    def fit(self, X: ArrayLike, y: Any = None) -> VQVAE:  # noqa: ARG002
        """Train the autoencoder and cluster the codes of X into two.

        Parameters
        ----------
        X : array-like of shape (n, d), (n, h, w), (n, h, w, c) or (n, c, h, w)
        y : None
            Not looked at.
        """
        self._check_parameters()
        source = self._check_samples(X)
        seed, self._device = draw_seed(self.random_state), choose_device(self.device)
        with preserved_torch_state(self._device):
            outcome = self._train(source, seed)
        self.network_ = outcome.state
        self._folded = fold_batch_norm(self.network_)
        self._set_outcome(outcome)
        self.input_shape_, self._layout = source.sample_shape, source.layout
        codes = self._codes(source)
        self.cluster_centers_ = self._find_centers(codes, derive_seed(seed, Stream.TWO_MEANS))
        self.labels_ = self._nearer_center(codes)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the K code indices of every sample, shape (n_samples, K).

        Parameters
        ----------
        X : array-like of the shape given to ``fit``
        """
        return self._codes(self._source_for_prediction(X))

    def inverse_transform(self, codes: ArrayLike) -> NDArray[Any]:
        """Return the samples that code indices stand for, in the layout given to ``fit``.

        Parameters
        ----------
        codes : array-like of int, shape (n_samples, K)
        """
        check_is_fitted(self)
        source = ArraySource(self._checked_codes(np.asarray(codes)))
        (samples,) = encode_in_chunks(
            lambda part: (self._folded.decode(part.long()),), source, None, self._device
        )
        return self._layout.restore(samples)

    def reconstruct(self, X: ArrayLike) -> NDArray[Any]:
        """Return what is left of samples once they have been quantised.

        Parameters
        ----------
        X : array-like of the shape given to ``fit``
        """
        return self.inverse_transform(self.transform(X))

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the nearer of the two centres, 0 or 1; of equally near ones 0.

        Parameters
        ----------
        X : array-like of the shape given to ``fit``
        """
        return self._nearer_center(self.transform(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        tags.non_deterministic = False
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[1])

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_integer("codebook_size", self.codebook_size, 2)
        check_real("commitment", self.commitment, 0)
        check_integer("n_init", self.n_init, 1)

    def _make_network(self, source: ArraySource, seed: int) -> Autoencoder:
        seed_torch(self._device, seed, Stream.INITIAL_WEIGHTS)
        encoder = self._make_encoder(source, self.vector_dim, 1)
        decoder = self._make_decoder(source.sample_shape)
        codes = _first_codes(encoder, source, self.codebook_size, seed)
        return Autoencoder(encoder, Codebook(codes), decoder).to(self._device)

    def _make_decoder(self, shape: tuple[int, ...]) -> nn.Module:
        if len(shape) == 3:
            return ConvDecoder(shape, self.vector_dim)
        return MLPDecoder(shape, self.n_vectors * self.vector_dim)

    def _blank_modules(self) -> dict[str, nn.Module]:
        encoder, decoder = (
            self._blank_encoder(self.vector_dim),
            self._make_decoder(self.input_shape_),
        )
        codebook = Codebook(torch.empty(self.codebook_size, self.vector_dim))
        return {"network_": Autoencoder(encoder, codebook, decoder)}

    def _train(self, source: ArraySource, seed: int) -> TrainingResult:
        network = self._make_network(source, seed)
        average = WeightAverage(network, self.weight_average)
        batches = PlainBatches(np.arange(len(source)), self.batch_size, seed)
        feed = Feed(source, batches, self._augmentation(source), seed, self._device)
        max_steps, check_every = self._budget(batches.steps_per_epoch)
        with progress_reporter(self.verbose, "VQ-VAE", max_steps) as report:
            return train_with_checks(
                _Reconstruction(network, average, feed, self.commitment),
                torch.optim.Adam(network.parameters(), lr=self.learning_rate, fused=True),
                FixedBudget(),
                state=average.averaged,
                make_row=lambda step, terms: {"step": step, **terms},
                report=report,
                schedule=self.schedule,
                max_steps=max_steps,
                check_every=check_every,
            )

    def _codes(self, source: ArraySource) -> NDArray[np.int64]:
        codes, _ = encode_in_chunks(self._folded.encode, source, None, self._device)
        return codes

    def _checked_codes(self, codes: NDArray[Any]) -> NDArray[Any]:
        expected = (
            f"integers of shape (n, {self._n_features_out}) from 0 to {self.codebook_size - 1}, as "
            "transform gives them"
        )
        if codes.ndim != 2 or codes.shape[1] != self._n_features_out or not len(codes):
            raise InputError(f"codes has shape {codes.shape}. Expected {expected}.")
        if codes.dtype.kind not in "iu":
            raise InputError(f"codes has dtype {codes.dtype}. Expected {expected}.")
        if codes.min() < 0 or codes.max() >= self.codebook_size:
            raise InputError(
                f"codes holds values from {codes.min()} to {codes.max()}. Expected {expected}."
            )
        return codes

    def _find_centers(self, codes: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
        if (codes == codes[:1]).all():
            warnings.warn(
                "All samples have the same codes, so both clusters are one. Try more steps "
                "(max_steps) or a larger learning_rate.",
                CollapsedCodesWarning,
                stacklevel=3,
            )
            return np.repeat(codes[:1], 2, axis=0).astype(np.float64)
        return two_means_codes(codes, n_starts=self.n_init, seed=seed).centers

    def _nearer_center(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        first, second = ((codes - center) ** 2 for center in self.cluster_centers_)
        return np.asarray(second.sum(axis=1) < first.sum(axis=1), dtype=np.int64)


class _Reconstruction:
    """Reconstruction, codebook and commitment terms on one batch."""

    def __init__(
        self,
        network: Autoencoder,
        average: WeightAverage[Autoencoder],
        feed: Feed,
        commitment: float,
    ) -> None:
        self._network, self._average, self._feed = network, average, feed
        self._commitment = commitment

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        network = self._network
        x, _ = self._feed.take(step)
        vectors = network.encoder(x)
        codes = nearest_code(vectors, network.codebook.vectors)
        quantized = embedding(codes, network.codebook.vectors)
        decoded = network.decoder(straight_through(vectors, quantized))
        terms = {
            "reconstruction": (decoded - network.encoder.normalizer(x)).square().sum() / len(x),
            "codebook": codebook_loss(vectors, quantized),
            "commitment": self._commitment * commitment_loss(vectors, quantized),
        }
        total = torch.stack(list(terms.values())).sum()
        return total, {"loss": total, **terms}

    def after_step(self, step: int) -> None:
        self._average.update(step + 1)


@torch.no_grad()
def _first_codes(encoder: EncoderEnsemble, source: ArraySource, size: int, seed: int) -> Tensor:
    """Return vectors of random samples, as the new encoder gives them in training."""
    generator = numpy_generator(seed, Stream.CODEBOOK)
    chosen = generator.permutation(len(source))[:_FIRST_SAMPLES]
    vectors = encoder(source.batch(chosen)).flatten(0, 1)
    places = generator.choice(len(vectors), size, replace=len(vectors) < size)
    first: Tensor = vectors[torch.from_numpy(places)]
    return first
