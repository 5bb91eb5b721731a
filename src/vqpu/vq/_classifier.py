"""VQKMeansClassifier: the contract with the user, and a fit that reads as a script of steps."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from vqpu.base._labels import PULabels
from vqpu.base._parameters import check_choice
from vqpu.base._seeding import (
    Stream,
    choose_device,
    derive_seed,
    preserved_torch_state,
)
from vqpu.base._source import ArraySource
from vqpu.estimators._resuming import INTERRUPTS, opened_checkpoints
from vqpu.nn import fold_batch_norm
from vqpu.persistence._checkpoints import CheckpointFolder
from vqpu.priors._posterior import theoretical_alpha
from vqpu.training import (
    Snapshots,
    Split,
    StoppingRule,
    TrainingResult,
    progress_reporter,
    split_holdout,
    train_with_checks,
)
from vqpu.vq import (
    Check,
    Checker,
    FitResult,
    VQNetwork,
    VQObjective,
    conclude,
    report_trouble,
)
from vqpu.vq._objective import make_optimizer
from vqpu.vq._parts import VQParts


class _Task(NamedTuple):
    """What stays the same in every round of a fit."""

    source: ArraySource
    seed: int
    device: torch.device
    callback: Callable[[Check], None] | None
    checkpoints: CheckpointFolder | None
    keeps_best: bool


class _Round(NamedTuple):
    """What a finished round leaves."""

    outcome: TrainingResult
    folded: VQNetwork
    conclusion: FitResult

    def ended_by_user(self) -> _Round:
        """Return this round as the last one: the user ended the next."""
        return self._replace(outcome=self.outcome._replace(interrupted=True))


@dataclass(kw_only=True, eq=False, repr=False)
class VQKMeansClassifier(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    VQParts,
):
    r"""PU classifier: an encoder, a codebook and K-means with two clusters.

    Labelled positives are driven to the code of largest norm, unlabelled samples to the code of
    smallest norm. Hidden positives cannot follow and land between, so the unlabelled data fall
    into two clusters. No class prior, no negatives and no labelled validation data are needed.

    Parameters
    ----------
    encoder : {"auto", "conv", "mlp"} or callable, default="auto"
        "auto" takes "conv" for images and "mlp" for vectors. A callable gets
        ``(sample_shape, vector_dim)`` and returns a module that turns normalised float32 samples
        of shape ``(n, *sample_shape)`` (images: channels, height, width) into ``(n, K, p)``.
    n_members : int or None, default=None
        Encoders that are trained side by side and answer together. Each is kept from a part of
        the samples of its own, so that every sample is judged by an encoder that never saw it.
        None: 5 below 3,000 images or 30,000 vectors, else 1.
    n_vectors : int, default=8
        K for "mlp"; "conv" has as many vectors as its last feature map has places.
    vector_dim : int, default=64
        p, the dimension of vectors and codes.
    codebook_size : int, default=512
        m, the number of codes.
    encoding : {"codes", "constant", "distribution"}, default="codes"
        "codes" is the method. The others are the paper's ablations without a codebook: constant
        encodings (targets 0 and ``anchor_mean``) and distributional encodings (normal
        distributions around them); they cluster the vectors themselves.
    anchors : {"frozen", "moving"}, default="frozen"
        Whether the targets stay where c_1 and c_m were drawn or move with the codebook, which is
        the literal text of the paper.
    anchor_mean : float or None, default=None
        None: all codes from N(0, I). A number a: the upper half from N(a, I); for continuous
        encodings the positives' target (None: 1).
    codebook_update : {"follow", "adam", "none"}, default="follow"
        "follow" moves c_1 and c_m towards the mean of the vectors that fall on them and leaves the
        other codes as drawn; "adam" takes Adam steps on the second terms of equation 1, as the
        paper does; "none" leaves all codes as drawn.
    codebook_learning_rate : float or None, default=None
        For "follow" the share of the way per step (None: 0.05), for "adam" the learning rate
        (None: 0.003).
    dropout : float or None, default=None
        None: 0.5 of the units for "mlp" and 0.1 of the feature maps for "conv"; from 3,000
        samples on 0.25 and none.
    augment : {"auto", "none", "shift", "flip", "flip+shift"}, default="auto"
        Random changes of training images. "auto" shifts grey images and also mirrors colour
        images; say "shift" where a mirrored image means something else, as digits do.
    batch_size : int, default=128
        Half labelled positives, half unlabelled samples.
    learning_rate : float, default=0.001
        Of Adam.
    schedule : {"cosine", "constant"}, default="cosine"
        A short rise of the learning rate and a cosine fall over the budget, or none of it.
    weight_average : float, default=0.99
        Decay of the moving average of the encoder, which is used for checks and predictions.
        0 turns it off.
    max_steps : int, default=4000
        Bound on optimisation steps of a round.
    max_epochs : int or None, default=None
        Bound on a round's passes over the larger of the two sets, if any.
    check_every : int or None, default=None
        Steps between checks. None: one epoch, but at least 20 steps and at most a twentieth of
        the budget.
    patience : int, default=5
        Checks without improvement after which a round ends.
    stopping_signal : {"holdout-loss", "center-distance", "holdout-auc", "separation"}, \
            default="holdout-loss"
        What a good check is. "center-distance" is the paper's; the others are measured on
        samples that were not trained on.
    holdout : float, default=0.15
        Share of labelled positives and of unlabelled samples that is never trained on. It decides
        when to stop and calibrates the probabilities. Several members share all samples out
        instead. 0, or sets so small that fewer than 4 samples would be kept: training samples
        take that part.
    decision : {"posterior", "nearest-center"}, default="posterior"
        "posterior" calls positive what has probability above 1/2; "nearest-center" what is nearer
        to the positive cluster's centre, as in the paper.
    n_init : int, default=4
        Starts of K-means.
    n_rounds : int or None, default=None
        Rounds of training at most; None: 3 for vectors, 2 for images, which take longer. The
        unlabelled samples that look positive after a round, each to a member that was kept from
        it, are not drawn towards the unlabelled anchor in the next. There is no next round if
        none of them, or nearly all, look positive. One member is not enough for rounds, so it
        trains one, as the paper does. Rounds draw the classes apart: where these truly overlap,
        probabilities are better calibrated after 1.
    random_state : int, RandomState, Generator or None, default=None
        Seed of everything random.
    device : str, default="auto"
        "auto" takes a GPU if there is one.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two values of ``y``. In predictions the first means negative.
    cluster_centers_ : ndarray of shape (2, n_representation)
        The negative and the positive centre.
    alpha_ : float
        Estimated share of positives among the unlabelled samples.
    theoretical_alpha_ : float
        ``1 / s_P - 1``, what the paper's limit says of alpha, of the first round; too large before
        convergence.
    positive_share_ : float
        Share of the unlabelled samples that is called positive.
    network_ : torch.nn.Module
        Averaged encoder and codebook of the chosen check.
    history_ : History
        A row a check of every round: terms of the loss, signals, share called positive, codes in
        use, seconds; ``top_distance`` marks the last round's five checks with the largest centre
        distance.
    best_check_ : int
        Index of the chosen row of ``history_``, one of the last round.
    stop_reason_ : {"patience", "max_steps", "max_epochs", "interrupted"}
        Why the last round ended.
    n_steps_ : int
        Steps taken in all rounds.
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
    vqpu.NaivePUClassifier : Positives against unlabelled, uncorrected.

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

    The paper's literal form is ``anchors="moving", codebook_update="adam",
    codebook_learning_rate=1e-4, learning_rate=1e-4, schedule="constant", weight_average=0,
    dropout=0, augment="none", n_members=1, n_rounds=1, holdout=0,
    stopping_signal="center-distance", decision="nearest-center"``.

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

    n_members: int | None = None
    codebook_size: int = 512
    encoding: str = "codes"
    anchors: str = "frozen"
    anchor_mean: float | None = None
    codebook_update: str = "follow"
    codebook_learning_rate: float | None = None
    patience: int = 5
    stopping_signal: str = "holdout-loss"
    decision: str = "posterior"
    n_init: int = 4
    n_rounds: int | None = None

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        callback: Callable[[Check], None] | None = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        on_interrupt: str = "raise",
    ) -> VQKMeansClassifier:
        """Train the encoder, cluster the unlabelled samples and name the positive cluster.

        Parameters
        ----------
        X : array-like of shape (n, d), (n, h, w), (n, h, w, c) or (n, c, h, w)
            Numbers; uint8 or float for images. A memory-mapped array is read as needed.
        y : array-like of shape (n,)
            Two values: the larger marks labelled positives, the other means unlabelled.
        callback : callable or None
            Called at every check with a :class:`vqpu.vq.Check`; it observes, no more.
        checkpoint_dir : path or None
            Folder to write the state of training to at every check. A fit with the same data and
            parameters goes on from there, and ends with the same model, bit for bit.
        on_interrupt : {"raise", "keep-best"}
            Whether Ctrl-C ends the fit with KeyboardInterrupt, or training with the best check so
            far, if there is one: in a later round, that of the last round that was finished.

        Returns
        -------
        self : VQKMeansClassifier
        """
        self._check_parameters()
        check_choice("on_interrupt", on_interrupt, INTERRUPTS)
        source, labels = self._check_training_data(X, y)
        device = choose_device(self.device)
        n_members = self._count_members(source)
        keeps_best = on_interrupt == "keep-best"
        with opened_checkpoints(checkpoint_dir, self, source, labels) as (seed, checkpoints):
            split = split_holdout(labels.is_positive, self.holdout, n_members, seed)
            task = _Task(source, seed, device, callback, checkpoints, keeps_best)
            self._set_fitted(self._run_rounds(task, split), task, labels)
        self.n_holdout_ = split.n_holdout
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the log odds of being positive; above 0 is positive.

        For ``decision="nearest-center"`` they are shifted to be 0 midway between the centres.

        Parameters
        ----------
        X : array-like of the shape given to ``fit``

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        source = self._source_for_prediction(X)
        if self._answer.needs_codes:
            return self._answer.log_odds(self._folded.encode(source, None, self._device))
        return self._answer.log_odds_of_projection(self._folded.project(source, self._device))

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
        source = self._source_for_prediction(X)
        return self._folded.encode(source, None, self._device).representation

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def n_rounds_(self) -> int:
        """Rounds of training behind the answer."""
        return self.history_.rounds()[-1]

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[1])

    def _run_rounds(self, task: _Task, split: Split) -> list[_Round]:
        """Train; train again without the unlabelled samples that look positive; and so on."""
        finished: list[_Round] = []
        following: Split | None = split
        most = self._count_rounds(task.source)
        while following is not None and len(finished) < most:
            try:
                this = self._run_round(task, following, finished)
            except KeyboardInterrupt:
                if not (finished and task.keeps_best):
                    raise
                this = finished[-1].ended_by_user()
            if this.outcome.interrupted:  # a finished round knows more than half of the next
                return [*finished[:-1], finished[-1].ended_by_user()] if finished else [this]
            finished.append(this)
            following = following.leaving_out(this.conclusion.held_out_log_odds[1] > 0)
        return finished

    def _run_round(self, task: _Task, split: Split, finished: list[_Round]) -> _Round:
        """Train and conclude; the outcome's state is the averaged network of the best check."""
        number, before = len(finished) + 1, finished[-1].outcome if finished else None
        source, seed, device = task.source, task.seed, task.device
        with preserved_torch_state(device):
            objective = self._make_objective(source, split, seed, device)
            checker = self._make_checker(objective, source, split, seed, device, number, before)
            folder = None
            if task.checkpoints is not None:
                folder = task.checkpoints.of_round(number, split.is_left_out.tobytes())
            may_follow = number < self._count_rounds(source) and split.n_members > 1
            title = "VQ K-means" + (f", round {number}" if number > 1 or may_follow else "")
            seconds_before = before.history[-1]["seconds"] if before else 0.0
            outcome = self._train(task, objective, checker, folder, title, seconds_before)
        return self._conclude(task, split, outcome.following(before))

    def _train(
        self,
        task: _Task,
        objective: VQObjective,
        checker: Checker,
        folder: CheckpointFolder | None,
        title: str,
        seconds_before: float,
    ) -> TrainingResult:
        max_steps, check_every = self._budget(objective.feeds[0].batches.steps_per_epoch)

        def make_row(step: int, terms: dict[str, float]) -> dict[str, Any]:
            check = checker(step, terms)
            if task.callback is not None:
                task.callback(check)
            return check.row

        optimizer = make_optimizer(
            objective.network, self.learning_rate, self.codebook_update, self._codebook_rate()
        )
        rule = StoppingRule(self.stopping_signal, self.patience)
        changing = {"network": objective.network, "average": objective.average.averaged}
        with progress_reporter(self.verbose, title, max_steps) as report:
            return train_with_checks(
                objective,
                optimizer,
                rule,
                state=checker.network,
                make_row=make_row,
                report=report,
                schedule=self.schedule,
                max_steps=max_steps,
                check_every=check_every,
                snapshots=Snapshots(folder, changing, optimizer, rule) if folder else None,
                keeps_best=task.keeps_best,
                seconds_before=seconds_before,
            )

    def _conclude(self, task: _Task, split: Split, outcome: TrainingResult) -> _Round:
        """Cluster all unlabelled samples with the chosen network and say how it answers."""
        network: VQNetwork = outcome.state
        folded = VQNetwork(fold_batch_norm(network.encoder), network.codebook, self.encoding)
        conclusion = conclude(
            folded,
            task.source,
            split,
            decision=self.decision,
            n_starts=self.n_init,
            seed=derive_seed(task.seed, Stream.TWO_MEANS),
            device=task.device,
        )
        return _Round(outcome, folded, conclusion)

    def _set_fitted(self, rounds: list[_Round], task: _Task, labels: PULabels) -> None:
        outcome, folded, (answer, positive_share, projections, log_odds) = rounds[-1]
        report_trouble(answer, projections[1])
        self._answer, self._folded, self._device = answer, folded, task.device
        self.network_ = outcome.state
        outcome.history.mark_largest("center_distance", 5, "top_distance")
        self._set_outcome(outcome)
        self.classes_ = labels.classes
        self.input_shape_ = task.source.sample_shape
        self.cluster_centers_ = np.vstack(answer.clusters[:2])
        self.alpha_ = answer.projection_posterior.alpha
        # The paper's limit holds where all unlabelled samples are drawn to their anchor.
        self.theoretical_alpha_ = theoretical_alpha(rounds[0].conclusion.held_out_projections[0])
        self.positive_share_ = positive_share
        self.holdout_projections_, self.holdout_log_odds_ = projections, log_odds
