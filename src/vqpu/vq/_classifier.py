"""VQKMeansClassifier: the contract with the user, and a fit that reads as a script of steps."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from vqpu.base._labels import PULabels, check_known_labels
from vqpu.base._parameters import check_choice, check_real
from vqpu.base._precision import resolve_precision
from vqpu.base.columns import ColumnPlan
from vqpu.estimators._classifier import PUClassifier
from vqpu.estimators._evidence import FitEvidence
from vqpu.estimators._findings import warn_of_failure
from vqpu.estimators._fit import FitRequest, opened_fit, split_again, stop_reason
from vqpu.estimators._validation import (
    check_encoder,
    check_known_alpha,
    check_parameters,
    check_prediction_data,
    check_training_data,
)
from vqpu.nn import TableInputs
from vqpu.priors._mixture import Interval
from vqpu.priors._posterior import theoretical_alpha
from vqpu.training import ALONE, Callback, FitContext, History, Ranks
from vqpu.trees import TreeSizes
from vqpu.vq._decision_rule import DECISIONS, DecisionRule, report_trouble
from vqpu.vq._evidence import evidence_of_rounds
from vqpu.vq._explanation import TreeExplainerMixin
from vqpu.vq._network import Encodings, VQNetwork
from vqpu.vq._rounds import FitResult, TrainRound, run_rounds, train_networks
from vqpu.vq._saved_model import (
    RECORDS,
    SAVED,
    blank_network,
    complete_older_model,
    folded_network,
)
from vqpu.vq._settings import (
    VQSettings,
    check_ranks,
    resolve_settings,
    settings_for_ranks,
)
from vqpu.vq._time_limit import freedom_of, within_seconds
from vqpu.vq._tree_network import TreeNetwork
from vqpu.vq._tree_rounds import TreeRounds
from vqpu.vq._tree_settings import TREES, check_tree_variant, is_trees
from vqpu.vq._variant import Variant, named_parts, resolve_variant, with_variant


@dataclass(kw_only=True, eq=False, repr=False)
class VQKMeansClassifier(
    TreeExplainerMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, PUClassifier
):
    r"""PU classifier: an encoder, a codebook and K-means with two clusters.

    Labelled positives are driven to the code of largest norm, unlabelled samples to the code of
    smallest norm. Hidden positives cannot follow and land between, so the unlabelled data fall
    into two clusters. No class prior, no negatives and no labelled validation data are needed.

    Parameters
    ----------
    encoder : str or callable, default="auto"
        "auto", "network", "conv", "vqvae", "dcgan", "mlp", "linear" or "trees".
        "auto" takes "conv" for images (in the paper's variant "vqvae", a VQ-VAE's encoder without
        batch norm and dropout) and "trees" for vectors: boosted trees, a vector a member, which
        take seconds, missing values and categories. "network" takes "mlp" for vectors, and so does
        "auto" where a variant needs gradients. "linear" is one layer, for features of a pretrained
        network. A callable gets ``(sample_shape, vector_dim)`` and returns a module that turns
        normalised float32 samples of shape ``(n, *sample_shape)`` (images: channels, height,
        width) into ``(n, K, p)``.
    augment : {"auto", "none", "shift", "flip", "flip+shift"}, default="auto"
        Random changes of training images. "auto" shifts grey images and also mirrors colour
        images; say "shift" where a mirrored image means something else, as digits do.
    max_steps : int or None, default=None
        Bound on optimisation steps of a round; with trees on those of a member, 80 to 200 at
        most. None: 4,000, for fewer images 1.5 for each, but never fewer than 1,350; 4,000 where
        ``max_epochs`` is given.
    max_seconds : float or None, default=None
        Time that the fit may take. A few steps are measured first, and the rounds then have as
        many as the time holds, but not more than ``max_steps``. Where that is too few to learn by,
        a network has fewer members, then fewer rounds, unless they are asked for. A fit with the
        ``max_steps_``, ``n_members_`` and ``n_rounds_`` of this one ends the same.
    n_members : int or None, default=None
        Encoders that are trained side by side and answer together. Each is kept from a part of
        the samples of its own, so that every sample is judged by an encoder that never saw it.
        None: 5 up to about 1,000 images or 10,000 vectors, ever fewer with more, 1 from 5,000 or
        70,000 on; with trees always 5.
    alpha : float, tuple of two float or None, default=None
        What is known of the share of positives among the unlabelled samples: the share, or an
        interval that holds it. It moves the border and the probabilities. None: it is estimated.
        From a class prior or a labelling frequency :mod:`vqpu.scenarios` computes it.
    decision : {"posterior", "balanced", "nearest-center"} or None, default=None
        "posterior" calls positive what has probability above 1/2 among the unlabelled samples;
        "balanced" what would have it if both classes were as frequent, so that both count alike;
        "nearest-center" is the paper's. None: as the variant says, which is "posterior" unless it
        is the paper's.
    random_state : int, RandomState, Generator or None, default=None
        Seed of everything random.
    device : str, default="auto"
        "auto" takes a GPU if there is one.
    precision : {"auto", "float32", "bfloat16"}, default="auto"
        What encoders compute in; weights, losses, codes and posteriors are float32 or better.
        "auto" takes bfloat16 for images where the CPU or GPU has it, in training and prediction.
    verbose : int, default=0
        1 shows progress.
    n_rounds : int or None, default=None
        Rounds of training at most; None: 3 for vectors, 2 for images, which take longer, and 2 for
        trees, whose rounds answer together by their mean. In a further round an unlabelled sample
        is drawn as far towards the positives' anchor as it looked positive after the round before,
        where possible to a member that was kept from it. There is no next round if none looks
        positive. 1 is the paper's.
    batch_size : int or None, default=None
        Half labelled positives, half unlabelled samples. None: 128; ever fewer with less than
        3,000 images, 32 up to 1,000.
    learning_rate : float, default=0.001
        Of Adam; that of Muon, for matrices and filters, is 20 times as large, that of trees 50 to
        150 times.
    dropout : float or None, default=None
        None: up to 1,000 samples 0.5 of the units for "mlp" and 0.1 of the feature maps for
        "conv"; ever fewer with more, down to 0.25 from 9,000 and none from 6,000 on.
    holdout : float, default=0.15
        Share of labelled positives and of unlabelled samples that is never trained on. It decides
        when to stop and calibrates the probabilities. Of several members each is kept from a fifth
        instead (of more than five, from its part). 0, or sets so small that fewer than 4 samples
        would be kept: training samples take that part.
    patience : int, default=5
        Checks without improvement after which a round ends.
    max_epochs : int or None, default=None
        Bound on a round's passes over the larger of the two sets, if any.
    codebook_size : int, default=512
        m, the number of codes.
    vector_dim : int, default=64
        p, the dimension of vectors and codes.
    n_vectors : int, default=8
        K for "mlp" and "linear"; "conv" has as many vectors as its last feature map has places.
    variant : {"default", "paper", "constant", "distribution"} or Variant, default="default"
        The form of the method: how codes are drawn and move, what decides, what stops; see
        :class:`vqpu.Variant` for its parts. Each is reached by one name as well:
        ``set_params(variant__anchors="moving")``, in a grid search ``variant__decision``.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two values of ``y``. In predictions the first means negative.
    cluster_centers_ : ndarray of shape (2, n_representation)
        The negative and the positive centre.
    alpha_ : float
        Estimated share of positives among the unlabelled samples.
    alpha_interval_ : tuple of two float
        Where alpha lies with 90 % confidence.
    evidence_ : FitEvidence
        What the fit knows of its own quality without negatives; ``vqpu.diagnose`` tells what it
        means.
    theoretical_alpha_ : float
        ``1 / s_P - 1``, what the paper's limit says of alpha, of the first round; too large before
        convergence.
    positive_share_ : float
        Share of the unlabelled samples that is called positive.
    variant_ : Variant
        The form that was fitted, its optimiser resolved.
    decision_rule_ : DecisionRule
        How s(x) or the codes of a sample become its score.
    network_ : torch.nn.Module
        Averaged encoder, or trees, and codebook of the chosen check.
    tree_sizes_ : TreeSizes
        With trees only: how many trees, nodes and sets of categories there are.
    history_ : History
        A row a check of every round: terms of the loss, signals, codes in use, seconds, and alpha
        and the share called positive by best bin on the check's own samples (``alpha_`` may stand
        on more); ``top_distance`` marks the last round's five checks with the largest centre
        distance.
    best_check_ : int
        Index of the chosen row of ``history_``, one of the last round.
    stop_reason_ : {"patience", "max_steps", "max_epochs", "interrupted"}
        Why the last round ended.
    n_steps_ : int
        Steps taken in all rounds.
    max_steps_ : int
        Bound on the steps of a round: what ``max_steps``, or ``max_seconds``, came to.
    batch_size_ : int
        With networks only: what ``batch_size`` came to.
    n_holdout_ : tuple of int
        Labelled positives and unlabelled samples that some member was kept from.
    holdout_projections_, holdout_log_odds_ : tuple of two ndarray
        s(x) and the score of labelled positives and of unlabelled samples, each by a member that
        was kept from the sample. After the first round s(x) is a score and no longer estimates
        p_P / (p_P + p_U).
    n_members_ : int
        Encoders that were trained.
    input_shape_ : tuple
        ``(d,)`` or ``(channels, height, width)``.
    n_features_in_ : int
        Size of the second axis of X.
    feature_names_in_ : ndarray of str
        Column names, if X was a data frame.

    See Also
    --------
    vqpu.stack_pu : Makes ``(X, y)`` from two arrays.
    vqpu.rivals.NaivePUClassifier : Positives against unlabelled, uncorrected.

    Notes
    -----
    ========================  ==========================================================
    paper                     here
    ========================  ==========================================================
    X_P, X_U                  samples whose ``y`` is the larger, the smaller value
    alpha                     ``alpha_``
    f_theta, v_1 ... v_K      a member of ``network_.encoder``, its output (n, K, p)
    C, m, p                   ``network_.codebook.vectors``, (codebook_size, vector_dim)
    c_m, c_1                  ``network_.codebook.positive_anchor``, ``.unlabeled_anchor``
    Q(v)                      ``transform`` returns its indices
    two K-means centres       ``cluster_centers_``
    distance of the centres   ``history_.column("center_distance")``
    ========================  ==========================================================

    The paper's text to the letter is ``VQKMeansClassifier(**vqpu.vq.PAPER_FORM)``: the variant
    "paper", no dropout, augmentation or hold-out, one member, one round, rate 1e-4.

    References
    ----------
    Zamzam, Akrami, Soltanolkotabi, Leahy: "Learning A Disentangling Representation For PU
    Learning", 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from vqpu import VQKMeansClassifier, stack_pu
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.normal(3, 1, (100, 2))
    >>> unlabeled = np.vstack([rng.normal(3, 1, (50, 2)), rng.normal(-3, 1, (150, 2))])
    >>> X, y = stack_pu(positive, unlabeled)
    >>> model = VQKMeansClassifier(max_steps=100, random_state=0).fit(X, y)
    >>> model.predict([[3.0, 3.0], [-3.0, -3.0]])
    array([1, 0])
    """

    encoder: Any = "auto"
    augment: str = "auto"
    max_steps: int | None = None
    max_seconds: float | None = None
    n_members: int | None = None
    alpha: Any = None
    decision: str | None = None
    random_state: Any = None
    device: str = "auto"
    precision: str = "auto"
    verbose: int = 0
    n_rounds: int | None = None
    batch_size: int | None = None
    learning_rate: float = 1e-3
    dropout: float | None = None
    holdout: float = 0.15
    patience: int = 5
    max_epochs: int | None = None
    codebook_size: int = 512
    vector_dim: int = 64
    n_vectors: int = 8
    variant: str | Variant = "default"

    alpha_: float = field(init=False)
    alpha_interval_: tuple[float, float] = field(init=False)
    evidence_: FitEvidence | None = field(init=False, default=None)
    best_check_: int = field(init=False)
    cluster_centers_: NDArray[np.float64] = field(init=False)
    decision_rule_: DecisionRule = field(init=False)
    history_: History = field(init=False)
    holdout_log_odds_: tuple[NDArray[np.float64], ...] = field(init=False)
    holdout_projections_: tuple[NDArray[np.float64], ...] = field(init=False)
    n_holdout_: tuple[int, int] = field(init=False)
    n_members_: int = field(init=False)
    n_steps_: int = field(init=False)
    max_steps_: int = field(init=False)
    batch_size_: int = field(init=False)
    network_: VQNetwork | TreeNetwork = field(init=False)
    positive_share_: float = field(init=False)
    stop_reason_: str = field(init=False)
    theoretical_alpha_: float = field(init=False)
    tree_sizes_: TreeSizes = field(init=False)
    variant_: Variant = field(init=False)
    _device: torch.device = field(init=False)
    columns_: ColumnPlan | None = field(init=False, default=None)
    table_inputs_: TableInputs | None = field(init=False, default=None)
    _dropout: float = field(init=False)
    _folded: VQNetwork | TreeNetwork = field(init=False)

    _saved: ClassVar[tuple[str, ...]] = SAVED
    _records: ClassVar[tuple[type, ...]] = RECORDS

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        callback: Callback | None = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        on_interrupt: str = "raise",
        groups: ArrayLike | None = None,
        known_negatives: ArrayLike | None = None,
        confirmed_positives: ArrayLike | None = None,
        ranks: Ranks = ALONE,
    ) -> Self:
        """Train the encoder, cluster the unlabelled samples and name the positive cluster.

        Parameters
        ----------
        X : array-like of shape (n, d), (n, h, w), (n, h, w, c) or (n, c, h, w)
            Numbers; uint8 or float for images. A memory-mapped array is read as needed.
        y : array-like of shape (n,)
            Two values: the larger marks labelled positives, the other means unlabelled.
        callback : callable or None
            Called at every check with a :class:`vqpu.training.CheckResult`; it observes, no more.
        checkpoint_dir : path or None
            Folder to write the state of training to at every check. A fit with the same data and
            parameters goes on from there, and ends with the same model, bit for bit.
        on_interrupt : {"raise", "keep-best"}
            Whether Ctrl-C ends the fit with KeyboardInterrupt, or training with the best check so
            far, if there is one: in a later round, that of the last round that was finished.
        groups : array-like of shape (n,) or None
            Which samples belong together, such as rows of one patient: an encoder that is kept
            from one of them is kept from all, so that held-out scores are not too good.
        known_negatives : array-like of bool, shape (n,), or None
            Samples that are known to be negative; ``y`` does not call them positive. They are
            drawn to the unlabelled anchor, each with the weight of a labelled positive (all
            together at most half of what is drawn there), count as hidden positives nowhere (not
            in ``alpha_``, ``positive_share_`` or the clusters), and correct the border; the
            nearer centre of the paper's decision has none to correct. On their own they should be
            a random sample of the negatives.
        confirmed_positives : array-like of bool, shape (n,), or None
            Of the labelled positives those that a review found among the unlabelled samples, as
            it found ``known_negatives``. They are trained on as others are, but whoever reviews
            the top of a list finds the easy ones: alpha and the border are estimated as if they
            were unlabelled still, and then corrected by all labels of the review.
        ranks : Ranks
            The processes that train together, each with the same X and y: of
            :func:`vqpu.distributed.joined_ranks` under torchrun.

        Returns
        -------
        self : VQKMeansClassifier
        """
        self._check_parameters()
        request = FitRequest(callback, checkpoint_dir, on_interrupt, groups, ranks)
        request.check()
        source, labels = check_training_data(self, X, y)
        known = check_known_labels(known_negatives, confirmed_positives, labels.is_positive)
        settings = resolve_settings(self, source)
        if ranks.size > 1:
            settings = settings_for_ranks(settings, self.batch_size, ranks)
            check_ranks(settings, labels.is_positive, ranks, self.max_seconds)
        with opened_fit(
            self,
            source,
            labels,
            settings.spec,
            request,
            holdout=self.holdout,
            known=known,
            sizes=settings.sizes(),
        ) as context:
            context, settings = within_seconds(
                context,
                settings,
                self.max_seconds,
                freedom_of(settings, self.n_members, self.n_rounds),
                partial(split_again, context, request, self.holdout),
            )
            if settings.trees is None:
                train_round: TrainRound = partial(train_networks, context, settings)
            else:
                train_round = TreeRounds(context, settings).train
            rounds = run_rounds(context, settings, train_round)
            self._set_fitted(rounds, settings, context, labels)
        warn_of_failure(self)
        return self

    def set_alpha(self, alpha: float) -> Self:
        """Aim the fitted model at a population with another share of positives, without training.

        What positives and negatives look like stays; the border and the probabilities move.

        Parameters
        ----------
        alpha : float
            Share of positives in that population, between 0 and 1.

        Returns
        -------
        self : VQKMeansClassifier
        """
        check_is_fitted(self)
        check_real("alpha", alpha, 0, 1, open_low=True)
        before, aimed = self.decision_rule_, self.decision_rule_.aimed_at(float(alpha))
        shift = aimed.projection_posterior.intercept - before.projection_posterior.intercept
        self.decision_rule_ = aimed
        self.alpha_, self.alpha_interval_ = float(alpha), (float(alpha), float(alpha))
        self.holdout_log_odds_ = tuple(part + shift for part in self.holdout_log_odds_)
        recall, self.positive_share_ = (float((part > 0).mean()) for part in self.holdout_log_odds_)
        if self.evidence_ is not None:
            self.evidence_ = self.evidence_.aimed_at(
                self.alpha_, shift, called=self.positive_share_, recall=recall
            )
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the log odds of being positive; above 0 is positive.

        For the decision "nearest-center" they are shifted to be 0 midway between the centres.

        Parameters
        ----------
        X : array-like of the shape given to ``fit``

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        source = check_prediction_data(self, X)
        return self.decision_rule_.scores(self._predictor(), source, self._device)

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Return the learned representation: the K code indices of every sample.

        Parameters
        ----------
        X : array-like of the shape given to ``fit``

        Returns
        -------
        codes : ndarray of int, shape (n_samples, n_members * K)
            For continuous encodings the vectors, float, shape (n_samples, n_members * K * p).
        """
        return self.encode(X).representation

    def encode(self, X: ArrayLike) -> Encodings:
        """Return codes and projections of every sample in one pass.

        Parameters
        ----------
        X : array-like of the shape given to ``fit``

        Returns
        -------
        encodings : Encodings
            ``representation`` as of :meth:`transform`, ``projection`` is s(x), the place between
            the anchors; ``decision_rule_.log_odds`` turns them into scores.
        """
        source = check_prediction_data(self, X)
        return self._predictor().encode(source, None, self._device)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep`` adds the parts of the variant.

        Parameters
        ----------
        deep : bool
        """
        parameters = super().get_params(deep=False)
        return {**parameters, **named_parts(self.variant)} if deep else parameters

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``variant__anchors`` and its like change one part of the variant.

        Parameters
        ----------
        **params : dict
        """
        super().set_params(**with_variant(params, self.variant))
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_folded")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def n_rounds_(self) -> int:
        """Rounds of training behind the decision."""
        return self.history_.rounds()[-1]

    @property
    def precision_(self) -> str:
        """What ``precision`` comes to for these samples on this device; trees are in double."""
        if isinstance(self._folded, TreeNetwork):
            return "float64"
        is_image = len(self.input_shape_) == 3
        return resolve_precision(self.precision, self._device, is_image=is_image)

    def _predictor(self) -> VQNetwork | TreeNetwork:
        """Return the network for prediction, in the precision that the parameter says now."""
        if isinstance(self._folded, VQNetwork):
            self._folded.encoder.precision = self.precision_
        return self._folded

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[1])

    @property
    def _takes_gaps(self) -> bool:
        return True

    @property
    def _takes_sparse(self) -> bool:
        if self.encoder == "linear":
            return True
        if hasattr(self, "_folded"):
            return isinstance(self._folded, TreeNetwork)
        return is_trees(self.encoder, resolve_variant(self.variant))

    def _check_parameters(self) -> None:
        parameters = self.get_params(deep=False)
        check_encoder("encoder", parameters.pop("encoder"), (TREES,))
        check_parameters(parameters)
        check_known_alpha("alpha", self.alpha)
        if self.decision is not None:
            check_choice("decision", self.decision, DECISIONS)
        resolve_variant(self.variant).check()
        if is_trees(self.encoder):
            check_tree_variant(resolve_variant(self.variant))

    def _set_fitted(
        self,
        rounds: list[FitResult],
        settings: VQSettings,
        context: FitContext,
        labels: PULabels,
    ) -> None:
        first, last = rounds[0], rounds[-1]
        report_trouble(
            last.decision_rule, last.projections, is_reviewed=context.split.known is not None
        )
        training = last.training
        training.history.mark_largest("center_distance", 5, "top_distance")
        self.history_, self.best_check_ = training.history, training.best_check
        self.n_steps_ = int(self.history_[-1]["step"])
        self.max_steps_ = settings.max_steps
        self.stop_reason_ = stop_reason(training, settings.max_steps)
        self.network_, self._folded, self._device = training.state, last.network, context.device
        if isinstance(training.state, TreeNetwork):
            self.tree_sizes_ = training.state.encoder.arrays.sizes
        else:
            self.batch_size_ = settings.batch_size
        self.variant_, self._dropout = settings.variant, settings.spec.dropout
        self.n_members_, self.n_holdout_ = settings.spec.n_members, context.split.n_holdout
        self.classes_, self.input_shape_ = labels.classes, context.source.sample_shape
        self.decision_rule_ = last.decision_rule
        self.cluster_centers_ = np.vstack(last.decision_rule.clusters[:2])
        self.alpha_ = alpha = last.decision_rule.projection_posterior.alpha
        # Later rounds draw unlabelled samples by what the first found: they see alpha too narrowly.
        believed = first.mixture.shares.interval()
        self.alpha_interval_ = (min(alpha, believed.low), max(alpha, believed.high))
        if self.alpha is None and not context.split.keeps_apart:  # trained-on scores say nothing
            self.alpha_interval_ = (0.0, 1.0)
        # The paper's limit holds where all unlabelled samples are drawn to their anchor.
        self.theoretical_alpha_ = theoretical_alpha(first.projections[0])
        self.positive_share_ = last.positive_share
        self.holdout_projections_, self.holdout_log_odds_ = last.projections, last.log_odds
        self.evidence_ = evidence_of_rounds(rounds, context, settings.variant.stopping_signal)
        if self.alpha is None:  # else it says what the data say, whatever the user said
            estimate = Interval(self.alpha_, *self.alpha_interval_)
            self.evidence_ = self.evidence_._replace(alpha=estimate)

    def _blank_modules(self) -> dict[str, nn.Module]:
        return {"network_": blank_network(self)}

    def _attach(self, modules: Mapping[str, Any], device: torch.device) -> None:
        self.network_, self._device = modules["network_"], device
        self._folded = folded_network(self.network_)
        complete_older_model(self)
