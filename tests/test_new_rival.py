"""A new rival is one file and one line: tried in a copy of the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

RIVAL = '''"""HingeClassifier: P against U by the hinge loss."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from vqpu.rivals._classifier import LogisticClassifier
from vqpu.rivals._recipes import RiskRecipe
from vqpu.rivals._training import LogitTraining, Trained


def hinge(positive: Tensor, unlabeled: Tensor) -> Tensor:
    return (1 - positive).relu().mean() + (1 + unlabeled).relu().mean()


@dataclass(kw_only=True, eq=False, repr=False)
class HingeClassifier(LogisticClassifier):
    """Classifier of P against U by the hinge loss."""

    _title = "hinge"

    def _train(self, training: LogitTraining) -> Trained:
        result = training.run(RiskRecipe(hinge, hinge), patience=self.patience)
        return Trained(result, result.state)
'''
LINE = '    Method("hinge", "HingeClassifier", "vqpu.rivals._hinge"),\n'
PROGRAM = """
import tempfile
import numpy as np
import torch
import vqpu
from vqpu.base._registry import compared_methods
from vqpu.files import PUData
from vqpu.files._comparison import compare
from vqpu.rivals import HingeClassifier

torch.set_num_threads(1)
assert "hinge" in compared_methods() and "HingeClassifier" in dir(vqpu.rivals)
rng = np.random.default_rng(0)
X, y = vqpu.stack_pu(rng.normal(2, 1, (60, 3)), rng.normal(-1, 2, (120, 3)))
with tempfile.TemporaryDirectory() as folder:
    settings = {"max_steps": 20, "n_members": 1, "random_state": 0}
    model = HingeClassifier(**settings).fit(X, y, checkpoint_dir=folder + "/checkpoints")
    again = HingeClassifier(**settings).fit(X, y, checkpoint_dir=folder + "/checkpoints")
    model.save(folder + "/model")
    loaded = vqpu.load(folder + "/model")
scores = model.decision_function(X)
assert (loaded.decision_function(X) == scores).all()
assert (again.decision_function(X) == scores).all()
found = compare(PUData(X, y.astype(np.int8), range(180)), ["hinge"], scenario="case-control",
                alpha=0.3, parameters={"max_steps": 20})
assert found.rows[0]["method"] == "hinge" and "error" not in found.rows[0]
print("done")
"""


def test_new_rival__one_file_and_one_line__exported_saved_resumed_and_compared(
    tmp_path: Path,
) -> None:
    copy = tmp_path / "src" / "vqpu"
    shutil.copytree(ROOT / "src" / "vqpu", copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "rivals" / "_hinge.py").write_text(RIVAL)
    registry = copy / "base" / "_registry.py"
    text = registry.read_text()
    start = text.index("METHODS = (\n") + len("METHODS = (\n")
    registry.write_text(text[:start] + LINE + text[start:])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
    )
    assert done.stdout == "done\n", done.stderr
    helped = subprocess.run(
        [sys.executable, "-m", "vqpu", "compare", "--help"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src"), "COLUMNS": "200"},
    )
    assert "hinge" in helped.stdout
