"""Bases of rivals with a network: their parameters, and the fit around each one's training."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from vqpu.base._precision import resolve_precision
from vqpu.base._seeding import choose_device
from vqpu.base._source import ArraySource, Layout
from vqpu.base.columns import Column, ColumnPlan
from vqpu.estimators._classifier import PUClassifier
from vqpu.estimators._encoder import (
    EncoderSpec,
    blank_ensemble,
    resolve_augmentation,
)
from vqpu.estimators._evidence import FitEvidence, Scored, gather_evidence
from vqpu.estimators._findings import warn_of_failure
from vqpu.estimators._fit import FitRequest, opened_fit, stop_reason
from vqpu.estimators._reference import ColumnShares, Reference
from vqpu.estimators._sizes import (
    count_members,
    resolve_batch_size,
    resolve_dropout,
    resolve_max_steps,
)
from vqpu.estimators._validation import check_parameters, check_prediction_data, check_training_data
from vqpu.nn import TableInputs, fold_batch_norm
from vqpu.priors._mixture import Cells, Interval
from vqpu.priors._posterior import positive_probability
from vqpu.rivals._logit import LogitRule, PooledLogit, network_logits
from vqpu.rivals._training import LogitSettings, LogitTraining, Trained
from vqpu.training import Callback, FitContext, History, resolve_optimizer


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkClassifier(PUClassifier):
    """Base of classifiers whose network ends in a logit; a subclass implements ``_train``.

    Parameters are fields of a dataclass: a subclass inherits those of its base and states its own,
    and the ``__init__`` that comes of it has the signature that scikit-learn reads parameters off.
    """

    n_vectors: int = 8
    vector_dim: int = 64
    batch_size: int | None = None
    learning_rate: float = 1e-3
    optimizer: str = "auto"
    schedule: str = "cosine"
    weight_average: float = 0.99
    max_steps: int | None = None
    max_epochs: int | None = None
    check_every: int | None = None
    random_state: Any = None
    device: str = "auto"
    precision: str = "auto"
    verbose: int = 0
    encoder: Any = "auto"
    dropout: float | None = None
    augment: str = "auto"
    holdout: float = 0.15

    best_check_: int = field(init=False)
    decision_rule_: LogitRule = field(init=False)
    evidence_: FitEvidence | None = field(init=False, default=None)
    history_: History = field(init=False)
    n_holdout_: tuple[int, int] = field(init=False)
    n_members_: int = field(init=False)
    max_steps_: int = field(init=False)
    batch_size_: int = field(init=False)
    n_steps_: int = field(init=False)
    network_: PooledLogit = field(init=False)
    stop_reason_: str = field(init=False)
    _device: torch.device = field(init=False)
    columns_: ColumnPlan | None = field(init=False, default=None)
    table_inputs_: TableInputs | None = field(init=False, default=None)
    _dropout: float = field(init=False)
    _folded: PooledLogit = field(init=False)

    _title: ClassVar[str]
    _has_unlabeled: ClassVar[bool] = True
    _saved: ClassVar[tuple[str, ...]] = (
        "n_features_in_", "input_shape_", "classes_", "network_", "history_", "best_check_",
        "n_steps_", "stop_reason_", "n_members_", "n_holdout_", "decision_rule_", "_dropout",
    )  # fmt: skip
    _records: ClassVar[tuple[type, ...]] = (
        History, Layout, LogitRule, TableInputs, Column, ColumnPlan, FitEvidence, Interval, Cells,
        Reference, ColumnShares,
    )  # fmt: skip

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        callback: Callback | None = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        on_interrupt: str = "raise",
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train the network on the two sets that ``y`` marks.

        Parameters
        ----------
        X : array-like of shape (n, d), (n, h, w), (n, h, w, c) or (n, c, h, w)
        y : array-like of shape (n,)
            Two values; the larger marks the positives.
        callback : callable or None
            Called at every check with a :class:`vqpu.training.CheckResult`; it observes, no more.
        checkpoint_dir : path or None
            Folder to write the state of training to at every check. A fit with the same data and
            parameters goes on from there, and ends with the same model, bit for bit.
        on_interrupt : {"raise", "keep-best"}
            Whether Ctrl-C ends the fit with KeyboardInterrupt, or the main stage with its best
            check so far, if there is one.
        groups : array-like of shape (n,) or None
            Which samples belong together and stay on one side of every hold-out.
        """
        self._check_parameters()
        request = FitRequest(callback, checkpoint_dir, on_interrupt, groups)
        request.check()
        source, labels = check_training_data(self, X, y)
        settings = self._settings(source)
        sizes = {"batch_size_": settings.batch_size, "max_steps_": settings.max_steps}
        with opened_fit(
            self, source, labels, settings.spec, request, holdout=self.holdout, sizes=sizes
        ) as context:
            trained = self._train(LogitTraining(context, settings))
        result = trained.result
        self.history_, self.best_check_ = result.history, result.best_check
        self.n_steps_ = int(self.history_[-1]["step"])
        self.stop_reason_ = stop_reason(result, settings.max_steps)
        self.max_steps_, self.batch_size_ = settings.max_steps, settings.batch_size
        self.n_members_, self._dropout = settings.spec.n_members, settings.spec.dropout
        self.n_holdout_, self.decision_rule_ = context.split.n_holdout, trained.rule
        self.classes_, self.input_shape_ = labels.classes, source.sample_shape
        self._attach({"network_": trained.network}, context.device)
        if self._has_unlabeled:
            self.evidence_ = self._gather_evidence(context)
            warn_of_failure(self)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the logit of being positive; above 0 is positive.

        Parameters
        ----------
        X : array-like of the shape given to ``fit``
        """
        source = check_prediction_data(self, X)
        return self.decision_rule_.scores(self._predictor(), source, self._device)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_folded")

    def _gather_evidence(self, context: FitContext) -> FitEvidence:
        """Look at the logits of samples by members that had not seen them."""
        indices = context.split.judged_sets()
        by_member = [
            network_logits(self._predictor(), context.source, part, context.device)
            for part in indices
        ]
        positive, unlabeled = (
            context.split.unseen(every, part)
            for every, part in zip(by_member, indices, strict=True)
        )
        scores = tuple(part + self.decision_rule_.offset for part in (positive, unlabeled))
        probability = positive_probability(scores[1])
        scored = Scored(
            (positive, unlabeled),
            scores,
            probability,
            indices,
            by_member[1],
            None,
            context.split.keeps_apart,
            int(context.split.is_positive.sum()),
        )
        return gather_evidence(context.source, scored)

    @property
    def precision_(self) -> str:
        """What ``precision`` comes to for these samples on this device."""
        is_image = len(self.input_shape_) == 3
        return resolve_precision(self.precision, self._device, is_image=is_image)

    def _predictor(self) -> PooledLogit:
        """Return the network for prediction, in the precision that the parameter says now."""
        self._folded.encoder.precision = self.precision_
        return self._folded

    def _check_parameters(self) -> None:
        check_parameters(self.get_params(deep=False))

    def _count_members(self, source: ArraySource) -> int:  # noqa: ARG002
        """Return how many encoders are trained side by side."""
        return 1

    def _train(self, training: LogitTraining) -> Trained:
        """Train by the method's recipe, after whatever stage it needs before."""
        raise NotImplementedError

    def _settings(self, source: ArraySource) -> LogitSettings:
        """Resolve the parameters for the data of a fit."""
        dropout = resolve_dropout(self.dropout, source)
        spec = self._spec(source.sample_shape, dropout, self._count_members(source))
        precision = resolve_precision(
            self.precision, choose_device(self.device), is_image=source.is_image
        )
        return LogitSettings(
            self._title,
            spec._replace(precision=precision),
            resolve_augmentation(self.augment, source),
            resolve_batch_size(self.batch_size, source),
            self.learning_rate,
            resolve_optimizer(self.optimizer, is_image=source.is_image),
            self.schedule,
            self.weight_average,
            resolve_max_steps(self.max_steps, self.max_epochs, source),
            self.max_epochs,
            self.check_every,
        )

    def _spec(self, shape: tuple[int, ...], dropout: float, n_members: int) -> EncoderSpec:
        return EncoderSpec(
            self.encoder, shape, self.vector_dim, self.n_vectors, dropout, n_members,
            inputs=self.table_inputs_,
        )  # fmt: skip

    def _blank_modules(self) -> dict[str, nn.Module]:
        spec = self._spec(self.input_shape_, self._dropout, self.n_members_)
        return {"network_": PooledLogit(blank_ensemble(spec), self.vector_dim)}

    def _attach(self, modules: Mapping[str, Any], device: torch.device) -> None:
        self.network_, self._device = modules["network_"], device
        self._folded = fold_batch_norm(self.network_)


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticClassifier(NetworkClassifier):
    """Base of classifiers that put P against U, with several members and a held-out loss."""

    n_members: int | None = None
    patience: int = 5

    @property
    def _takes_gaps(self) -> bool:
        return True

    @property
    def _takes_sparse(self) -> bool:
        return bool(self.encoder == "linear")

    def _count_members(self, source: ArraySource) -> int:
        return count_members(self.n_members, source)
