"""What a model directory says of itself, as plain data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vqpu.files._models import open_model
from vqpu.report._training_sample import findings_of, read_training_sample

_FITTED = ("alpha_", "alpha_interval_", "positive_share_", "n_steps_", "stop_reason_", "n_rounds_",
           "n_members_", "n_holdout_")  # fmt: skip
_OF_CHECK = ("round", "step", "seconds", "center_distance", "codes_in_use", "holdout_loss")


def inspect_model(path: str | Path) -> dict[str, Any]:
    """Return what was fitted, on what, how it ended and the findings; ready for JSON.

    The whole model is loaded, so a damaged one is refused here as anywhere else.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict
        "estimator", "versions", "parameters", "classes" (what negatives and positives are called),
        "input", "columns" (how each column of a table was taken), "fitted", "best_check" (the
        chosen row of the history), "n_checks", "findings" and "bytes".
    """
    estimator, input_format, bundle = open_model(path)
    manifest = bundle.manifest
    fitted = {
        name.rstrip("_"): getattr(estimator, name) for name in _FITTED if hasattr(estimator, name)
    }
    best = estimator.history_[estimator.best_check_]
    return {
        "estimator": manifest["estimator"],
        "versions": manifest["versions"],
        "parameters": manifest["parameters"],
        "classes": list(input_format.words() or estimator.classes_.tolist()),
        "input": {"takes": input_format.describe(), **json.loads(input_format.to_json())},
        "columns": None if input_format.plan is None else input_format.plan.describe(),
        "fitted": fitted,
        "n_checks": len(estimator.history_),
        "best_check": {name: best[name] for name in _OF_CHECK if name in best},
        "findings": findings_of(estimator, read_training_sample(bundle)),
        "bytes": sum(entry["bytes"] for entry in manifest["files"].values()),
    }
