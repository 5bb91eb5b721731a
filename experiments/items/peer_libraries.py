"""Other PU libraries, asked in an environment of their own.

The environment is thrown away with the machine's temporary folder: it is made there once, by venv
and pip, and never touches the one that runs vqpu. Samples go over as ``.npz`` without pickle, and
true labels do not go over at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import venv
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.errors import FailedRunsError
from experiments.items.peer_process import NOT_INSTALLED
from vqpu.errors import DownloadError, InputError

PEERS = {"pulearn": "0.2.0", "pu-toolbox": "1.11.0"}
_EXTRAS = {"pu-toolbox": "[torch]"}
_PINS = tuple(f"{name}{_EXTRAS.get(name, '')}=={number}" for name, number in PEERS.items())
_SAME_AS_OURS = ("numpy", "scipy", "scikit-learn", "torch")  # so that only the methods differ
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_ENDED_FROM_OUTSIDE = (signal.SIGINT, signal.SIGKILL, signal.SIGTERM)
_CHILD = Path(__file__).with_name("peer_process.py")


class PeerResult(NamedTuple):
    """What a peer's method says.

    Attributes
    ----------
    called : ndarray of bool or None
        Which test samples it calls positive; None if it gave up.
    seconds : float or None
        For its prior estimate, fit and prediction.
    prior : float or None
        The class prior that it was given by its own library.
    failure : str
        Why there are no predictions; empty if there are some.
    scores : ndarray of shape (n_test,) or None
        Log odds, or what it has in their place; None if it has neither.
    """

    called: NDArray[np.bool_] | None
    seconds: float | None
    prior: float | None
    failure: str = ""
    scores: NDArray[np.float64] | None = None


def peers_python() -> Path:
    """Return the interpreter of the peers' environment; make the environment if need be."""
    constraints = "".join(f"{name}=={version(name).partition('+')[0]}\n" for name in _SAME_AS_OURS)
    told = f"{sys.version} {sys.prefix} {_PINS} {constraints}"
    name = f"vqpu-peers-{os.getuid()}-{hashlib.sha256(told.encode()).hexdigest()[:12]}"
    folder = Path(tempfile.gettempdir()) / name
    if not folder.exists():
        _make_environment(folder, constraints)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise InputError(
            f"{folder} belongs to somebody else, so its programs are not run. Set TMPDIR to a "
            "folder of your own."
        )
    return _interpreter(folder)


def _interpreter(folder: Path) -> Path:
    return folder / "bin" / "python"


def _make_environment(folder: Path, constraints: str) -> None:
    """Install into a new folder and rename it when it is whole; only its owner may enter."""
    made = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
    try:
        venv.create(made, with_pip=True)
        pinned = made / "constraints.txt"
        pinned.write_text(constraints, encoding="utf-8")
        pip = [str(_interpreter(made)), "-I", "-m", "pip", "install", "--quiet"]
        pip += ["--disable-pip-version-check", "-c", str(pinned), *_PINS]
        done = subprocess.run(pip, check=False, capture_output=True, text=True)
        if done.returncode:
            raise DownloadError(
                f"pip could not install {' and '.join(_PINS)}: {_last_line(done.stderr)}. Check "
                "the network and pip's settings, or leave the peers out."
            )
        _rename_unless_there(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _rename_unless_there(made: Path, folder: Path) -> None:
    try:
        made.rename(folder)
    except OSError:
        if not folder.exists():
            raise  # else another process was faster, and its environment is as good


def ask_peer(
    library: str,
    method: str,
    X: NDArray[Any],
    y: NDArray[np.int64],
    X_test: NDArray[Any],
    *,
    seed: int,
    timeout: float,
    python: Path,
    threads: int,
) -> PeerResult:
    """Fit one method of a peer and let it predict.

    Parameters
    ----------
    library, method : str
        A key of ``METHODS`` in ``peer_process.py``.
    X, y : ndarray of shape (n, d) and (n,)
        1 for labelled positives, 0 for unlabelled samples.
    X_test : ndarray of shape (n_test, d)
    seed : int
    timeout : float
        Seconds after which it is given up.
    python : Path
        The interpreter of the peers' environment.
    threads : int
        As many as ours has.
    """
    with tempfile.TemporaryDirectory() as name:
        samples, out = Path(name) / "samples.npz", Path(name) / "predictions.json"
        np.savez(samples, X=X, y=y, X_test=X_test)
        command = [python, "-I", _CHILD, library, method, seed, samples, out]
        try:
            done = subprocess.run(
                [str(part) for part in command],
                check=False,
                capture_output=True,
                text=True,
                timeout=timeout,
                env=os.environ | dict.fromkeys(_THREADS, str(threads)),
            )
        except subprocess.TimeoutExpired:
            return PeerResult(None, None, None, f"no answer within {timeout:g} seconds")
        if done.returncode == NOT_INSTALLED:
            raise InputError(
                f"{library} cannot be imported in {python.parent.parent}: {_last_line(done.stderr)}"
                ". Delete that folder and run again."
            )
        if -done.returncode in _ENDED_FROM_OUTSIDE:  # no outcome of the peer's
            raise FailedRunsError(
                f"{library} {method} was ended by signal {-done.returncode}, most likely for want "
                "of memory. Run it again with fewer workers."
            )
        if done.returncode or not out.exists():
            return PeerResult(None, None, None, _last_line(done.stderr))
        found = json.loads(out.read_text(encoding="utf-8"))
    called = np.array([call == "1" for call in found["called"]], dtype=bool)
    if len(called) != len(X_test):
        failure = f"{len(called)} predictions for {len(X_test)} samples"
        return PeerResult(None, None, None, failure)
    scores = None if found.get("scores") is None else np.array(found["scores"])
    return PeerResult(called, found["seconds"], found["prior"], scores=scores)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it ended without a word"


def standardized(X: NDArray[Any], X_test: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return flattened samples, every column with mean 0 and deviation 1 in X, as peers want them.

    Our own classifier does the same inside. Constant columns are left at 0.
    """
    flat = X.reshape(len(X), -1).astype(np.float64)
    mean, spread = flat.mean(axis=0), flat.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    return (flat - mean) / scale, (X_test.reshape(len(X_test), -1) - mean) / scale
