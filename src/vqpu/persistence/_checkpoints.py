"""A folder of checkpoints: numbered bundles, two of a round kept, one process at a time."""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout
from torch import Tensor

from vqpu.errors import CheckpointError, ModelFileError, VqpuWarning
from vqpu.persistence._bundle import Bundle, read_bundle, write_bundle
from vqpu.persistence._tensors import WEIGHTS, pack, unpack

CHECKPOINT = "vqpu-checkpoint"

_NAME = re.compile(r"step-(\d{9})")
_KEPT = 2


class Checkpoint(NamedTuple):
    """What was written after a step, verified.

    Attributes
    ----------
    header : dict
        Plain values.
    tensors : dict of Tensor
    """

    header: dict[str, Any]
    tensors: dict[str, Tensor]


class CheckpointFolder:
    """The checkpoints of one fit.

    Parameters
    ----------
    path : Path
    identity : dict
        Plain values that say which fit it is: a checkpoint of another one is refused.
    """

    def __init__(self, path: Path, identity: dict[str, Any]) -> None:
        self.path, self.identity = path, identity

    def of_stage(self, name: str | None, identity: Mapping[str, Any]) -> CheckpointFolder:
        """Return the checkpoints of one stage of the fit.

        Parameters
        ----------
        name : str or None
            Of a folder in this one; None: the stage that has this one.
        identity : mapping
            What says which training it is, besides the fit; checkpoints of others are refused.
        """
        if name is None:
            return CheckpointFolder(self.path, {**self.identity, **identity})
        inner = CheckpointFolder(self.path / name, {**self.identity, "stage": name, **identity})
        with _refusing(self.path, "a folder is to be made in it; the checkpoints are intact"):
            inner.path.mkdir(exist_ok=True)
        inner.clear_traces()
        return inner

    def newest(self) -> Checkpoint | None:
        """Return the newest checkpoint that is whole, None if there never was one."""
        damaged = []
        for step in reversed(self._steps()):
            try:
                bundle = self._read(step)
                found = Checkpoint(bundle.manifest, unpack(bundle.read(WEIGHTS)))
            except ModelFileError as error:
                damaged.append(str(error))
                continue
            self._refuse_other_fit(found.header["identity"])
            if damaged:
                warnings.warn(
                    f"{damaged[0]} Training goes on from the checkpoint before, step {step}.",
                    VqpuWarning,
                    stacklevel=2,
                )
            return found
        if damaged:
            raise CheckpointError(
                f"No checkpoint in {self.path} can be read: {damaged[0]} Remove the folder to "
                "start anew."
            )
        return None

    def write(self, step: int, header: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Write a checkpoint and drop all but the last two.

        Parameters
        ----------
        step : int
            Steps taken.
        header : dict
            Ready for JSON.
        tensors : dict of Tensor
        """
        content = pack(tensors)
        complete = {"identity": self.identity, "step": step, **header}
        with _refusing(self.path, f"{len(content):,} bytes are needed; older ones are intact"):
            write_bundle(self._place(step), CHECKPOINT, complete, {WEIGHTS: content})
            for old in self._steps()[:-_KEPT]:
                shutil.rmtree(self._place(old))

    def clear_traces(self) -> None:
        """Remove what a killed process left half written."""
        for trace in self.path.glob(".step-*"):
            shutil.rmtree(trace, ignore_errors=True)

    def _steps(self) -> list[int]:
        names = (_NAME.fullmatch(entry.name) for entry in self.path.iterdir())
        return sorted(int(name[1]) for name in names if name)

    def _read(self, step: int) -> Bundle:
        """Read and verify the manifest of a checkpoint and what every checkpoint must state."""
        bundle = read_bundle(self._place(step), CHECKPOINT)
        identity = bundle.manifest.get("identity")
        if not isinstance(identity, dict) or bundle.manifest.get("step") != step:
            raise ModelFileError(f"{bundle.path} does not say which fit and step it is of.")
        return bundle

    def _place(self, step: int) -> Path:
        return self.path / f"step-{step:09d}"

    def _refuse_other_fit(self, there: dict[str, Any]) -> None:
        differences = [
            f"{key} is {self.identity.get(key)!r} here and {there.get(key)!r} there"
            for key in {**there, **self.identity}
            if self.identity.get(key) != there.get(key)
        ]
        if differences:
            raise CheckpointError(
                f"The checkpoints in {self.path} belong to another fit: {'; '.join(differences)}. "
                "Use the same data and parameters to go on, or another checkpoint_dir."
            )


def stored_value(path: Path, key: str) -> int | None:
    """Return a number in the identity of the checkpoints in a folder, None if there is none.

    Parameters
    ----------
    path : Path
    key : str
        Such as "seed".
    """
    inner = sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.is_symlink())
    for place in (path, *(entry for entry in inner if not _NAME.fullmatch(entry.name))):
        found = CheckpointFolder(place, {})
        for step in reversed(found._steps()):
            try:
                value = found._read(step).manifest["identity"].get(key)
            except ModelFileError:
                continue
            if isinstance(value, int):
                return value
    return None


@contextmanager
def locked_folder(path: Path) -> Iterator[None]:
    """Make a folder and keep every other process out of it while the block runs.

    The system drops the lock with the process, however that ends.

    Parameters
    ----------
    path : Path
    """
    lock = FileLock(path / "lock", timeout=0, mode=0o644)
    with _refusing(path, "choose a folder that can be written to"):
        try:
            lock.acquire()  # which makes the folder
        except Timeout:
            raise CheckpointError(
                f"Another fit is writing its checkpoints to {path}. Wait for its end, or use "
                "another checkpoint_dir."
            ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _refusing(path: Path, advice: str) -> Iterator[None]:
    try:
        yield
    except CheckpointError:
        raise
    except OSError as error:
        raise CheckpointError(
            f"Cannot write a checkpoint to {path}: {error.strerror} ({advice})."
        ) from error
