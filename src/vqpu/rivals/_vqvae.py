"""VQVAE: the classical autoencoder with a codebook, and K-means on its codes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn.functional import embedding

from vqpu.base._inference import encode_in_chunks
from vqpu.base._parameters import check_integer, check_real
from vqpu.base._seeding import Stream, derive_seed, numpy_generator, seed_torch
from vqpu.base._source import ArraySource, Layout
from vqpu.base._split import PlainBatches
from vqpu.base._two_means import two_means_codes
from vqpu.errors import CollapsedCodesWarning, InputError
from vqpu.estimators._encoder import EncoderSpec, blank_ensemble, make_ensemble
from vqpu.estimators._fit import FitRequest, opened_fit, stop_reason
from vqpu.estimators._validation import check_parameters, check_prediction_data, check_samples
from vqpu.nn import (
    Augmentation,
    Autoencoder,
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
from vqpu.persistence._model import read_model
from vqpu.persistence._saving import restore_estimator, save_estimator
from vqpu.training import (
    OPTIMIZERS,
    Callback,
    Changing,
    CheckResult,
    Feed,
    FitContext,
    FixedBudget,
    History,
    RowMaker,
    Stage,
    TrainingResult,
    WeightAverage,
    plan_budget,
    run_stage,
)

_FIRST_SAMPLES = 256  # their vectors are the first codes


@dataclass(kw_only=True, eq=False, repr=False)
class VQVAE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
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
        Steps between rows of the history. None: one epoch, but at most a twentieth of the budget;
        never fewer than 20.
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
    >>> from vqpu.rivals import VQVAE
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = VQVAE(n_vectors=4, codebook_size=16, max_steps=20, random_state=0).fit(X)
    >>> model.transform(X).shape, model.reconstruct(X).shape
    ((100, 4), (100, 3))
    """

    n_vectors: int = 8
    vector_dim: int = 64
    batch_size: int = 128
    learning_rate: float = 1e-3
    schedule: str = "cosine"
    weight_average: float = 0.99
    max_steps: int = 4000
    max_epochs: int | None = None
    check_every: int | None = None
    random_state: Any = None
    device: str = "auto"
    verbose: int = 0
    codebook_size: int = 512
    commitment: float = 0.25
    n_init: int = 4

    best_check_: int = field(init=False)
    cluster_centers_: NDArray[np.float64] = field(init=False)
    history_: History = field(init=False)
    input_shape_: tuple[int, ...] = field(init=False)
    labels_: NDArray[np.int64] = field(init=False)
    n_members_: int = field(init=False)
    n_steps_: int = field(init=False)
    network_: Autoencoder = field(init=False)
    stop_reason_: str = field(init=False)
    _device: torch.device = field(init=False)
    _folded: Autoencoder = field(init=False)
    _layout: Layout = field(init=False)

    _saved: ClassVar[tuple[str, ...]] = (
        "n_features_in_", "input_shape_", "network_", "history_", "best_check_", "n_steps_",
        "stop_reason_", "n_members_", "cluster_centers_", "labels_", "_layout",
    )  # fmt: skip
    _records: ClassVar[tuple[type, ...]] = (History, Layout)

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,  # noqa: ARG002
        *,
        callback: Callback | None = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        on_interrupt: str = "raise",
    ) -> Self:
        """Train the autoencoder and cluster the codes of X into two.

        Parameters
        ----------
        X : array-like of shape (n, d), (n, h, w), (n, h, w, c) or (n, c, h, w)
        y : None
            Not looked at.
        callback, checkpoint_dir, on_interrupt
            As in :meth:`vqpu.VQKMeansClassifier.fit`.
        """
        self._check_parameters()
        request = FitRequest(callback, checkpoint_dir, on_interrupt)
        request.check()
        source = check_samples(self, X)
        spec = self._spec(source.sample_shape)
        with opened_fit(self, source, None, spec, request, holdout=0.0) as context:
            result = self._train(context, spec)
        self.history_, self.best_check_ = result.history, result.best_check
        self.n_steps_, self.n_members_ = int(self.history_[-1]["step"]), 1
        self.stop_reason_ = stop_reason(result, self.max_steps)
        self.input_shape_, self._layout = source.sample_shape, source.layout
        self._attach({"network_": result.state}, context.device)
        codes = self._codes(source)
        centers_seed = derive_seed(context.seed, Stream.TWO_MEANS)
        self.cluster_centers_ = self._find_centers(codes, centers_seed)
        self.labels_ = self._nearer_center(codes)
        return self

    def save(self, path: str | os.PathLike[str], *, extras: dict[str, bytes] | None = None) -> None:
        """Save the fitted model as a directory, as :meth:`vqpu.VQKMeansClassifier.save` does.

        Parameters
        ----------
        path : path
        extras : dict of bytes or None
        """
        check_is_fitted(self)
        save_estimator(self, path, extras)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, device: str | None = None) -> Self:
        """Return a model that was saved by this class.

        Parameters
        ----------
        path : path
        device : str or None
            Where to compute. None: as the parameter ``device`` says that was saved.
        """
        return restore_estimator(cls, read_model(path), device=device)

    def transform(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the K code indices of every sample, shape (n_samples, K).

        Parameters
        ----------
        X : array-like of the shape given to ``fit``
        """
        return self._codes(check_prediction_data(self, X))

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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_folded")

    def _check_parameters(self) -> None:
        check_parameters(self.get_params(deep=False))
        check_integer("batch_size", self.batch_size, 2)
        check_integer("max_steps", self.max_steps, 1)
        check_real("commitment", self.commitment, 0)

    def _spec(self, shape: tuple[int, ...]) -> EncoderSpec:
        return EncoderSpec("auto", shape, self.vector_dim, self.n_vectors, 0.0, 1)

    def _make_decoder(self, shape: tuple[int, ...]) -> nn.Module:
        if len(shape) == 3:
            return ConvDecoder(shape, self.vector_dim)
        return MLPDecoder(shape, self.n_vectors * self.vector_dim)

    def _blank_modules(self) -> dict[str, nn.Module]:
        encoder = blank_ensemble(self._spec(self.input_shape_))
        codebook = Codebook(torch.empty(self.codebook_size, self.vector_dim))
        return {"network_": Autoencoder(encoder, codebook, self._make_decoder(self.input_shape_))}

    def _attach(self, modules: Mapping[str, Any], device: torch.device) -> None:
        self.network_, self._device = modules["network_"], device
        self._folded = fold_batch_norm(self.network_)

    def _make_network(self, context: FitContext, spec: EncoderSpec) -> Autoencoder:
        seed_torch(context.device, context.seed, Stream.INITIAL_WEIGHTS)
        encoder = make_ensemble(spec, context.moments)
        decoder = self._make_decoder(spec.sample_shape)
        codes = _first_codes(encoder, context.source, self.codebook_size, context.seed)
        return Autoencoder(encoder, Codebook(codes), decoder).to(context.device)

    def _train(self, context: FitContext, spec: EncoderSpec) -> TrainingResult:
        network = self._make_network(context, spec)
        average = WeightAverage(network, self.weight_average)
        batches = PlainBatches(np.arange(len(context.source)), self.batch_size, context.seed)
        feed = Feed(context.source, batches, Augmentation(), context.seed, context.device)
        rows = RowMaker(batches.steps_per_epoch)

        def check(step: int, terms: dict[str, float]) -> CheckResult:
            return CheckResult(rows(step, terms, {}), 0, average.averaged, context.device)

        stage = Stage(
            "VQ-VAE",
            _Reconstruction(network, average, feed, self.commitment),
            OPTIMIZERS["adam"](network.parameters(), self.learning_rate),
            FixedBudget(),
            average.averaged,
            check,
            plan_budget(
                batches.steps_per_epoch,
                max_steps=self.max_steps,
                max_epochs=self.max_epochs,
                check_every=self.check_every,
                schedule=self.schedule,
            ),
        )
        return run_stage(context, stage)

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

    def changing(self) -> Changing:
        return Changing({"network": self._network, "average": self._average.averaged})


@torch.no_grad()
def _first_codes(encoder: EncoderEnsemble, source: ArraySource, size: int, seed: int) -> Tensor:
    """Return vectors of random samples, as the new encoder gives them in training."""
    generator = numpy_generator(seed, Stream.CODEBOOK)
    chosen = generator.permutation(len(source))[:_FIRST_SAMPLES]
    vectors = encoder(source.batch(chosen)).flatten(0, 1)
    places = generator.choice(len(vectors), size, replace=len(vectors) < size)
    first: Tensor = vectors[torch.from_numpy(places)]
    return first
