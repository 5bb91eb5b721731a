"""The constants of the expected accuracy, recall and AUC, from the fits of the study that choose.

``python -m experiments.studies.doubt_expected`` prints them as ``vqpu/estimators/_expected.py``
has them; no fit that judges is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import QuantileRegressor

from experiments.item import Record
from experiments.records import read_record
from experiments.studies.doubt_cases import JUDGING
from experiments.studies.doubt_summary import TAUGHT, UNSPOILT, Floats, evidence_of, true_recall
from vqpu.estimators._expected import Terms, accuracy_terms, auc_terms, recall_terms

_DIGITS = 3
_QUANTILES = {"LOW": 0.05, "HIGH": 0.95}
Constants = dict[str, tuple[float, ...]]


def choosing_records(folder: Path) -> list[Record]:
    """Return the finished fits that choose.

    Parameters
    ----------
    folder : Path
        Of the study's records.
    """
    from experiments.studies.doubt import expand

    configs = expand(None).items()
    records = [
        read_record(folder / f"{name}.json", config)
        for name, config in configs
        if config["number"] < JUDGING
    ]
    return [record for record in records if "evidence" in record.values]


def fitted_constants(records: list[Record]) -> Constants:
    """Return the constants by name.

    Parameters
    ----------
    records : list of Record
        Fits that choose.
    """
    constants: Constants = {}
    unspoilt = [record.values for record in records if record.values["fault"] in UNSPOILT]
    for name, truth_of, terms_of in (
        ("ACCURACY", lambda values: values.get("fit_accuracy"), accuracy_terms),
        ("RECALL", _recall_if_taught, recall_terms),
        ("AUC", lambda values: values.get("fit_auc"), auc_terms),
    ):
        truths = [truth_of(values) for values in unspoilt]
        known = [pair for pair in zip(unspoilt, truths, strict=True) if pair[1] is not None]
        terms = [terms_of(evidence_of(values["evidence"])) for values, _ in known]
        fitted = _regressions(terms, np.array([truth for _, truth in known]))
        constants |= {f"{name}_{part}": value for part, value in fitted.items()}
    return constants


def _recall_if_taught(values: dict[str, Any]) -> float | None:
    return true_recall(values) if values["method"] in TAUGHT else None


def _regressions(terms: list[Terms], truth: Floats) -> Constants:
    """Return the median's shift from what is implied, and both ends from that median."""
    implied = np.array([one.implied for one in terms])
    shifts, ends = (np.array([one[part] for one in terms]) for part in (1, 2))
    shift = _quantile(shifts, truth - implied, 0.5)
    value = np.clip(implied + shifts @ shift, 0, 1)
    constants = {"SHIFT": shift}
    for part, quantile in _QUANTILES.items():
        constants[part] = _quantile(ends, truth - value, quantile)
    return {name: tuple(found.round(_DIGITS).tolist()) for name, found in constants.items()}


def _quantile(X: Floats, y: Floats, quantile: float) -> Floats:
    """Return the coefficients of a linear quantile regression without an intercept of its own."""
    model = QuantileRegressor(quantile=quantile, alpha=0, solver="highs", fit_intercept=False)
    return np.asarray(model.fit(X, y).coef_)


if __name__ == "__main__":
    for constant, numbers in fitted_constants(choosing_records(Path("results/doubt"))).items():
        print(f"{constant} = {numbers}")
