"""``vqpu evaluate --decisions``: the model's answers against what a random audit found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vqpu.errors import InputError
from vqpu.files._decisions import read_decisions
from vqpu.files._models import model_digest, open_model
from vqpu.review._queues import make_queues
from vqpu.review._session import AUDIT_SEED, ReviewRequest, audit_of, open_items


def evaluate_decisions(
    model_path: str | Path,
    input_path: str | Path,
    decisions: str | Path,
    *,
    labels_file: str | Path | None = None,
    file_column: str = "file",
    id_column: str | None = None,
) -> dict[str, Any]:
    """Return precision, recall and alpha at the model's border, with 90 % intervals.

    Only decisions of the random audit count, and only those about this model: of the others nobody
    knows how likely they were to be asked for, and a model that was fitted with them has seen them.

    Parameters
    ----------
    model_path, input_path : path
        As they were reviewed.
    decisions : path
    labels_file, file_column, id_column
        As in ``vqpu review``.
    """
    found = read_decisions(decisions)
    labels = None if labels_file is None else Path(labels_file)
    request = ReviewRequest(
        Path(model_path), str(input_path), Path(decisions), None, labels, file_column, id_column
    )
    model = open_model(model_path)
    digest = model_digest(model_path)
    own = [one for one in found if one.model == digest]
    if not any(one.queue == "audit" for one in own):
        n_others = sum(one.queue == "audit" for one in found)
        raise InputError(
            f"{decisions} has {len(found)} decisions and none of a random audit of this model"
            + (f", but {n_others} of another one, such as that before a refit" if n_others else "")
            + ". Review this model's queue of the random audit with vqpu review first."
        )
    items = open_items(model, request)
    queues = make_queues(items.scores, items.is_labeled, AUDIT_SEED)
    places = items.places_of(one.item for one in own)
    decided = {places[one.item]: one for one in own if one.item in places}
    estimate = audit_of(items, queues, decided, 0.0)
    if estimate is None:
        raise InputError(
            f"No decision of {decisions} is about an unlabelled sample of {input_path}."
        )
    scores: dict[str, Any] = {"judged_by": "random audit"}
    for name, value in estimate._asdict().items():
        if isinstance(value, tuple):
            scores |= {name: value[0], f"{name}_low": value[1], f"{name}_high": value[2]}
        else:
            scores[name] = value
    scores["model_alpha"] = getattr(model.estimator, "alpha_", None)
    return scores
