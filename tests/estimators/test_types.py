"""Types reach the estimators: mypy sees an attribute that nobody declared."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

PROGRAM = """
from vqpu import VQKMeansClassifier
from vqpu.estimators._classifier import PUClassifier


class Forgetful(PUClassifier):
    def remember(self) -> float:
        return float(self.never_declared_)


model = VQKMeansClassifier(max_steps=3)
model.alpha_ + model.alhpa_
"""


def test_undeclared_attribute__mypy_strict_names_it(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", tmp_path / "program.py"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    errors = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(errors) == 2, done.stdout
    assert 'has no attribute "never_declared_"' in errors[0]
    assert 'has no attribute "alhpa_"' in errors[1]
