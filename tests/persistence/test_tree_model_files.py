"""Model files of trees that somebody changed, digests made right again: only our errors."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import vqpu
from tests.persistence.test_model_file_safety import reseal, rewrite_weights
from vqpu.errors import ModelFileError, VqpuError

pytestmark = pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")

STRANGE = [0, 1, -1, 2, 7, 255, 256, 1 << 20, 1 << 31, 1 << 32, (1 << 63) - 1, -(1 << 63)]
STRANGE_FLOATS = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 1e100, 1e99, 5e-324]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, NDArray[np.float64]]:
    """A small model of trees, and samples for it."""
    path = tmp_path_factory.mktemp("saved") / "model"
    rng = np.random.default_rng(0)
    X, y = vqpu.stack_pu(rng.normal(1, 1, (60, 3)), rng.normal(0, 2, (120, 3)))
    parameters: dict[str, Any] = {"encoder": "trees", "max_steps": 4, "n_members": 2}
    small = {"codebook_size": 4, "vector_dim": 2, "variant__check_every": 2, "random_state": 0}
    model = vqpu.VQKMeansClassifier().set_params(**parameters, **small)
    model.fit(X, y).save(path)
    rows = X[:5].copy()
    rows[0, 1], rows[1] = 1e300, -1e300
    return path, rows


def mutate(path: Path, draw: random.Random) -> None:
    """Change one thing of a model: a number, a length, an order, a size or a shape."""

    def change_weights(tensors: dict[str, torch.Tensor]) -> None:
        name = draw.choice(sorted(name for name in tensors if "encoder" in name))
        old = tensors[name]
        kind = draw.randrange(4)
        if kind == 0 or len(old) < 2:
            new = old.clone()
            if len(new):
                strange: Any = STRANGE_FLOATS if new.is_floating_point() else STRANGE
                wide = strange if new.dtype != torch.bool else [True, False]
                new[draw.randrange(len(new))] = draw.choice(wide)
        elif kind == 1:
            new = old[: draw.randrange(len(old))]
        elif kind == 2:
            new = torch.cat([old, old[: draw.randrange(1, 4)]])
        else:
            new = old[torch.randperm(len(old), generator=torch.Generator().manual_seed(1))]
        tensors[name] = new.clone()

    def change_manifest(manifest: dict[str, Any]) -> None:
        fitted = manifest["fitted"]
        name = draw.choice(["tree_sizes_", "n_members_", "input_shape_", "gone", "encoder"])
        if name == "tree_sizes_":
            sizes = fitted[name]["TreeSizes"]
            sizes[draw.choice(sorted(sizes))] = draw.choice([*STRANGE, None, "x", 1.5])
        elif name == "gone":
            del fitted["tree_sizes_"]
        elif name == "encoder":
            manifest["parameters"]["encoder"] = draw.choice(["mlp", "auto", "conv", "tree"])
        elif name == "n_members_":
            fitted[name] = draw.choice(STRANGE)
        else:
            fitted[name] = {"tuple": [draw.choice(STRANGE)] * draw.choice([0, 1, 1, 3])}

    if draw.random() < 0.8:
        rewrite_weights(path, change_weights)
    else:
        reseal(path, change_manifest)


def load_and_use(path: Path, rows: NDArray[np.float64]) -> bool:
    """Whether a changed model was refused; one that was not must answer with finite numbers."""
    try:
        model = vqpu.load(path)
        assert np.isfinite(model.decision_function(rows)).all()
        assert np.isfinite(model.explain(rows).contributions).all()
        model.transform(rows)
    except VqpuError as error:
        return len(str(error).splitlines()) == 1
    return False


def run_mutations(saved: tuple[Path, NDArray[np.float64]], copy: Path, count: int) -> int:
    path, rows = saved
    refused = 0
    for seed in range(count):
        shutil.copytree(path, copy)
        mutate(copy, random.Random(seed))
        refused += load_and_use(copy, rows)
        shutil.rmtree(copy)
    return refused


def test_mutated_models__refused_or_usable(saved: Any, tmp_path: Path) -> None:
    assert run_mutations(saved, tmp_path / "copy", 150) > 75


@pytest.mark.torture
def test_mutated_models__2000_of_them(saved: Any, tmp_path: Path) -> None:
    assert run_mutations(saved, tmp_path / "copy", 2000) > 1000


def test_sizes_of_a_bomb__refused_before_memory_is_taken(saved: Any, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(saved[0], tmp_path / "copy"))

    def enlarge(manifest: dict[str, Any]) -> None:
        manifest["fitted"]["tree_sizes_"]["TreeSizes"]["n_nodes"] = 1 << 40

    reseal(copy, enlarge)
    with pytest.raises(ModelFileError, match=r"has shape .* on disk"):
        vqpu.load(copy)
