"""OracleClassifier: fully supervised, for experiments that have the truth."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vqpu.base._parameters import check_real
from vqpu.rivals._classifier import LogisticClassifier
from vqpu.rivals._logit import LogitRule
from vqpu.rivals._recipes import Recipe
from vqpu.rivals._training import LogitTraining, Trained


@dataclass(kw_only=True, eq=False, repr=False)
class OracleClassifier(LogisticClassifier):
    """Supervised classifier: what the same encoder reaches when every label is known.

    Unlike every other estimator here it wants the true labels in ``y``. For experiments only.

    Parameters
    ----------
    class_prior : float, default=0.5
        Share of positives where the answer is used. Batches are balanced, so the logit is shifted
        by the log odds of this share; 0.5 shifts nothing.
    **parameters
        As in :class:`vqpu.rivals.NaivePUClassifier`.
    """

    _title = "supervised oracle"
    _has_unlabeled = False

    class_prior: float = 0.5

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("class_prior", self.class_prior, 0, 1, open_low=True)

    def _train(self, training: LogitTraining) -> Trained:
        rule = LogitRule(math.log(self.class_prior / (1 - self.class_prior)))
        result = training.run(Recipe(), patience=self.patience, rule_of=lambda _: rule)
        return Trained(result, result.state, rule)
