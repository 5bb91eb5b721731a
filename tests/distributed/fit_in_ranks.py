"""A process of several that fit one model: ``python -m ... FOLDER WHAT``, started by tests.

What each rank found goes to ``FOLDER/WHAT-RANK.json``.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tests.support import fast_classifier
from vqpu.training import ALONE, Ranks, _loop, joined_ranks, was_restarted


def samples(*, are_images: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.repeat([1, 0], [60, 90])
    if are_images:
        light = np.repeat([130, 0], [95, 55])[:, None, None]
        return (rng.integers(0, 120, (150, 16, 16)) + light).astype(np.uint8), y
    centers = np.repeat([2.0, -2.0], [95, 55])[:, None]
    return rng.normal(centers, 1.0, (150, 5)), y


def digest(model: Any) -> str:
    """Of all that a fit decided; seconds are its own."""
    found = hashlib.sha256()
    for tensor in model.network_.state_dict().values():
        found.update(tensor.numpy().tobytes())
    found.update(model.cluster_centers_.tobytes())
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in model.history_]
    found.update(json.dumps([rows, model.alpha_, model.best_check_]).encode())
    return found.hexdigest()


def fitted(ranks: Ranks, *, are_images: bool, **more: Any) -> Any:
    X, y = samples(are_images=are_images)
    names = {"checkpoint_dir"} & set(more)
    options = {name: more.pop(name) for name in names}
    model = fast_classifier(max_steps=12, check_every=4, batch_size=32, n_rounds=2, **more)
    return model.fit(X, y, ranks=ranks, **options)


def compare(ranks: Ranks, folder: Path) -> dict[str, Any]:
    """Fit with a death, undisturbed, and alone without what depends on the parts of a batch."""
    after_death = killed(ranks, folder, 6)
    pictures = [digest(fitted(ranks, are_images=True, random_state=0)) for _ in range(2)]
    plain: dict[str, Any] = {
        "are_images": False, "encoder": "linear", "dropout": 0.0, "n_members": 2, "random_state": 1,
    }  # fmt: skip
    X, _ = samples(are_images=False)
    together, alone = fitted(ranks, **plain), fitted(ALONE, **plain)
    difference = np.abs(together.decision_function(X) - alone.decision_function(X)).max()
    trees: dict[str, Any] = {
        "are_images": False,
        "encoder": "trees",
        "n_members": 3,
        "random_state": 0,
    }
    drawn = fitted(ranks, are_images=False, random_state=None)
    return {
        "after_death": after_death,
        "pictures": pictures,
        "together": digest(together),
        "difference": float(difference),
        "scale": float(np.abs(alone.decision_function(X)).max()),
        "drawn": digest(drawn),
        "trees": digest(fitted(ranks, **trees)),
        "trees_alone": digest(fitted(ALONE, **trees)),
        "parts": ranks.gathered(ranks.own_part(np.arange(7)) * 1.5, 7).tolist(),
        "agreed": ranks.agreed({"of": ranks.rank}),
        "array": ranks.agreed_array(np.array([0.1, 0.2]) * (1 + ranks.rank)).tolist(),
    }


def killed(ranks: Ranks, folder: Path, at: int) -> dict[str, Any]:
    """Fit with checkpoints; the second rank dies in a step of the first start."""
    honest = _loop.take_step

    def deadly(objective: Any, optimizer: Any, step: int, *more: Any) -> Any:
        if step == at and ranks.rank == 1 and not was_restarted():
            os.kill(os.getpid(), signal.SIGKILL)
        return honest(objective, optimizer, step, *more)

    place = folder / f"checkpoints-{at}"
    _loop.take_step = deadly  # type: ignore[assignment]
    try:
        model = fitted(ranks, are_images=True, random_state=0, checkpoint_dir=place)
    finally:
        _loop.take_step = honest
    return {"pictures": digest(model), "restarted": was_restarted()}


def main(folder: Path, what: str) -> None:
    warnings.simplefilter("ignore")
    with joined_ranks() as ranks:
        name, _, at = what.partition("-")
        found = compare(ranks, folder) if name == "compare" else killed(ranks, folder, int(at))
    (folder / f"{what}-{ranks.rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
