"""What a model directory says of itself, as plain data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vqpu.files._models import open_model
from vqpu.persistence._bundle import Bundle
from vqpu.report._training_sample import JSON_FILE, findings_of, read_training_sample
from vqpu.vq._classifier import VQKMeansClassifier

_FITTED = ("alpha_", "positive_share_", "n_steps_", "stop_reason_", "n_rounds_", "n_members_",
           "n_holdout_")  # fmt: skip
_SHOWN_OF_CHECK = ("round", "step", "seconds", "center_distance", "codes_in_use", "holdout_loss")


def inspect_model(path: str | Path) -> dict[str, Any]:
    """Return what was fitted, on what, how it ended and the findings; ready for JSON.

    The whole model is loaded, so a damaged one is refused here as anywhere else.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict
        "estimator", "versions", "parameters", "classes", "input", "fitted", "best_check" (the
        chosen row of the history), "n_checks", "findings" and "bytes".
    """
    model = open_model(path)
    estimator, bundle = model.estimator, model.bundle
    fitted = {
        name.rstrip("_"): getattr(estimator, name) for name in _FITTED if hasattr(estimator, name)
    }
    best = estimator.history_[estimator.best_check_]
    input_format = json.loads(model.input_format.to_json())
    return {
        "estimator": bundle.manifest["estimator"],
        "versions": bundle.manifest["versions"],
        "parameters": bundle.manifest["parameters"],
        "classes": estimator.classes_.tolist(),
        "input": {"takes": model.input_format.describe(), **input_format},
        "fitted": fitted,
        "n_checks": len(estimator.history_),
        "best_check": {name: best[name] for name in _SHOWN_OF_CHECK if name in best},
        "findings": _findings(path, bundle, estimator),
        "bytes": sum(entry["bytes"] for entry in bundle.manifest["files"].values()),
    }


def _findings(path: str | Path, bundle: Bundle, estimator: Any) -> list[dict[str, Any]]:
    if not isinstance(estimator, VQKMeansClassifier):  # nothing else is diagnosed
        return []
    has_evidence = JSON_FILE in bundle.manifest["extras"]
    return findings_of(estimator, read_training_sample(path) if has_evidence else None)
