"""A process of several that fit one model: ``python -m ... FOLDER WHAT``, started by tests.

What each rank found goes to ``FOLDER/WHAT-RANK.json``.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tests.support import fast_classifier
from vqpu.training import ALONE, Ranks, _loop, joined_ranks, was_restarted

N_STEPS = 24  # two rounds of 12
LONGEST_DELAY = 0.3  # seconds; a step with its check takes about as long


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
    after_death = killed(ranks, folder, 0)
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


def killed(ranks: Ranks, folder: Path, seed: int, *, is_spared: bool = False) -> dict[str, Any]:
    """Fit with checkpoints; in the first start one of the ranks dies at a random moment.

    The moment is some time after a random step of the two rounds, whatever the speed of the machine
    is, at the end of the fit at the latest: so that every fit has a death.
    """
    honest, rng = _loop.take_step, random.Random(seed)
    doomed, at, delay = rng.randrange(2), rng.randrange(N_STEPS), rng.uniform(0, LONGEST_DELAY)
    death = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL))
    death.daemon = True
    n_taken = 0

    def deadly(*arguments: Any) -> Any:
        nonlocal n_taken
        if n_taken == at and ranks.rank == doomed and not (is_spared or was_restarted()):
            death.start()
        n_taken += 1
        return honest(*arguments)

    place = folder / f"checkpoints-{seed}"
    _loop.take_step = deadly  # type: ignore[assignment]
    try:
        model = fitted(ranks, are_images=True, random_state=0, checkpoint_dir=place)
    finally:
        _loop.take_step = honest
    if death.is_alive():
        death.join()
    return {"pictures": digest(model), "restarted": was_restarted()}


def fit_once(folder: Path) -> None:
    with joined_ranks() as ranks:
        found = digest(fitted(ranks, are_images=True, random_state=0))
    content = json.dumps({"pictures": found, "size": ranks.size})
    (folder / f"once-{ranks.rank}.json").write_text(content)


def main(folder: Path, what: str) -> None:
    warnings.simplefilter("ignore")
    if what == "once":
        fit_once(folder)
        return
    with joined_ranks() as ranks:
        name, _, seed = what.partition("-")
        if name == "compare":
            found = compare(ranks, folder)
        else:
            found = killed(ranks, folder, int(seed), is_spared=name == "spared")
    (folder / f"{what}-{ranks.rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
