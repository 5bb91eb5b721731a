"""Nothing at import, and no command's help, needs a module that only Unix has."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vqpu.persistence._atomic import replacing, sync_folder
from vqpu.persistence._directory import write_directory

SOURCE = Path(__file__).resolve().parent.parent / "src"
UNIX_ONLY = ["fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"]
# What Windows lacks of ``os`` and ``signal``; a use while a module is imported would fail there.
UNIX_NAMES = {
    "os": ["fchmod", "fork", "getuid", "killpg", "mkfifo", "O_NOFOLLOW", "pread", "uname"],
    "signal": ["SIGHUP", "SIGKILL", "SIGUSR1", "alarm"],
}
# Libraries may look for these modules too, and do without: only our own code runs on blocked ones.
BLOCK = f"""
import os, signal, sys
import filelock, matplotlib.figure, numpy, pandas, PIL.Image, pooch, pydantic, requests, scipy.stats
import sklearn.utils.validation, torch, typer
for name in {UNIX_ONLY!r}:
    sys.modules[name] = None
for name, lacking in {UNIX_NAMES!r}.items():
    for attribute in lacking:
        vars(sys.modules[name]).pop(attribute, None)
"""


def modules() -> list[str]:
    paths = sorted((SOURCE / "vqpu").rglob("*.py"))
    names = [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in paths]
    return [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", BLOCK + program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_every_module__without_unix__imported() -> None:
    program = f"import importlib\nfor name in {modules()!r}:\n    importlib.import_module(name)"
    run(program)


def test_help__without_unix__shown() -> None:
    assert "predict" in run("from vqpu.cli import main\nraise SystemExit(main(['--help']))")


def test_locking__without_fcntl__a_second_fit_is_refused(tmp_path: Path) -> None:
    program = f"""
import warnings
from pathlib import Path
from vqpu.errors import CheckpointError
from vqpu.persistence._checkpoints import locked_folder
warnings.simplefilter("ignore")
with locked_folder(Path({str(tmp_path)!r})):
    try:
        with locked_folder(Path({str(tmp_path)!r})):
            print("let in")
    except CheckpointError as error:
        print(error)
"""
    blocked = f"import sys\nsys.modules['fcntl'] = None\n{program}"
    done = subprocess.run(
        [sys.executable, "-c", blocked], capture_output=True, text=True, check=True
    )
    assert "Another fit is writing" in done.stdout


def refusing_folders(function: Any, number: int) -> Any:
    def refuse(target: Any, *arguments: Any) -> Any:
        is_folder = os.path.isdir(target) if not isinstance(target, int) else _is_folder(target)
        if is_folder:
            raise OSError(number, os.strerror(number))
        return function(target, *arguments)

    return refuse


def _is_folder(handle: int) -> bool:
    return stat.S_ISDIR(os.fstat(handle).st_mode)


@pytest.mark.parametrize(
    ("name", "number"),
    [("open", errno.EACCES), ("fsync", errno.EINVAL), ("fsync", errno.EBADF)],
)
def test_folders_that_cannot_be_flushed__files_written_all_the_same(
    name: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patched = vars(os) | {name: refusing_folders(getattr(os, name), number)}
    monkeypatch.setattr("vqpu.persistence._atomic.os", SimpleNamespace(**patched))
    with replacing(tmp_path / "file") as file:
        file.write(b"whole")
    write_directory(tmp_path / "model", {"a": b"1"})
    write_directory(tmp_path / "model", {"a": b"2"})
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert (tmp_path / "model" / "a").read_bytes() == b"2"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "model"]


@pytest.mark.skipif(sys.platform == "win32", reason="a folder cannot be opened there at all")
def test_flushing_a_folder__disk_full__not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", refusing_folders(os.fsync, errno.EIO))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        sync_folder(tmp_path)
