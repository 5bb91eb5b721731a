"""ARCHITECTURE.md, enforced: who may import whom, and what stays out of where."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "vqpu"

# A room may import the rooms below it and nothing else of vqpu. The order is that of
# ARCHITECTURE.md; a room is a module or a folder.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "_atomic": set(),
    "_targets": {"errors", "_atomic"},
    "_finite": set(),
    "modelfiles": {"errors", "_atomic"},
    "_labels": {"errors"},
    "_parameters": {"errors"},
    "scenarios": {"errors", "_parameters"},
    "_seeding": {"errors"},
    "_sources": {"errors", "_finite"},
    "_twomeans": set(),
    "_bestbin": set(),
    "_posterior": {"_bestbin"},
    "_wrapped": {"errors"},
    "_contract": {"errors", "_labels", "_sources"},
    "priors": {"errors", "_bestbin", "_labels", "_parameters", "_wrapped", "scenarios"},
    "nn": set(),
    "training": {"errors", "_seeding", "_twomeans", "modelfiles"},
    "_inference": {"errors", "_finite", "_sources"},
    "_saving": {"", "errors", "_contract", "_seeding", "_sources", "modelfiles", "nn", "training"},
    "_feeding": {"_seeding", "_sources", "nn", "training"},
    "vq": {
        "errors", "_feeding", "_inference", "_posterior", "_sources", "_twomeans", "nn",
        "training",
    },
    "_resuming": {
        "errors", "_labels", "_parameters", "_saving", "_seeding", "_sources", "modelfiles",
    },
    "_estimator": {
        "errors", "_contract", "_feeding", "_parameters", "_saving", "_seeding", "_sources", "nn",
        "training",
    },
    "_parts": {
        "errors", "_estimator", "_parameters", "_posterior", "_seeding", "_sources", "nn",
        "training", "vq",
    },
    "_classifier": {
        "_labels", "_parameters", "_parts", "_posterior", "_resuming", "_seeding", "_sources",
        "modelfiles", "nn", "training", "vq",
    },
    "diagnostics": {
        "errors", "_classifier", "_labels", "_parameters", "priors", "training", "vq",
    },
    "rivals": {
        "errors", "_contract", "_estimator", "_feeding", "_inference", "_labels", "_parameters",
        "_posterior", "_seeding", "_sources", "_twomeans", "_wrapped", "nn", "scenarios",
        "training",
    },
    "_loading": {"", "errors", "_classifier", "_saving", "modelfiles", "rivals"},
    "inputs": {"errors", "_atomic", "_finite", "_parameters"},
    "datasets": {"errors", "_atomic", "_labels", "_parameters", "inputs", "scenarios"},
    "metrics": {"errors", "_labels", "_parameters", "_twomeans", "scenarios"},
    "experiments": {
        "", "errors", "_atomic", "_classifier", "_posterior", "_saving", "_sources", "_targets",
        "datasets", "nn", "rivals", "training", "vq",
    },
    "reproduce": {"errors", "_atomic", "_classifier", "_twomeans", "experiments", "rivals"},
    "evidence": {"errors", "_classifier", "_sources", "diagnostics", "inputs", "modelfiles"},
    "export": {"errors", "_classifier", "_targets", "nn"},
    "serving": {
        "errors", "_classifier", "_contract", "_loading", "_parameters", "_targets", "evidence",
        "inputs", "metrics", "modelfiles", "rivals", "scenarios",
    },
    "report": {
        "errors", "_classifier", "_loading", "_parameters", "_saving", "_targets", "diagnostics",
        "evidence", "modelfiles", "serving", "training",
    },
    "cli": {
        "", "errors", "_targets", "datasets", "experiments", "export", "report", "reproduce",
        "serving",
    },
    "__main__": {"cli"},
}  # fmt: skip

FORBIDDEN: dict[str, set[str]] = {
    "modelfiles": {"sklearn"},
    "nn": {"sklearn"},
    "training": {"sklearn"},
    "datasets": {"torch"},
    "metrics": {"torch"},
    "scenarios": {"torch", "sklearn"},
    "inputs": {"torch", "sklearn"},
    "_labels": {"torch", "sklearn"},
    "_parameters": {"torch", "sklearn"},
    "_twomeans": {"torch", "sklearn"},
    "_bestbin": {"torch", "sklearn"},
    "_posterior": {"torch", "sklearn"},
    "_wrapped": {"torch"},
    "priors": {"torch"},
    "cli": {"torch", "sklearn", "pyarrow", "matplotlib", "PIL", "numpy", "jinja2"},
}

NOWHERE = {"pickle", "joblib", "dill", "cloudpickle", "shelve", "marshal"}


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Full names of imported modules, `if TYPE_CHECKING` included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found.add(node.module or "")
            if node.module == "vqpu":  # a room, or a name that it exports
                found |= {f"vqpu.{alias.name}" for alias in node.names if alias.name in ALLOWED}
    return found


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def test_every_room__is_in_the_table() -> None:
    assert {room_of(path) for path in MODULES} == set(ALLOWED)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_module__imports_only_what_its_room_may(path: Path) -> None:
    room = room_of(path)
    ours = {name for name in imports_of(path) if name.split(".")[0] == "vqpu"}
    rooms = {[*name.split("."), ""][1] for name in ours} - {room}
    assert rooms <= ALLOWED[room], f"{room} must not import {rooms - ALLOWED[room]}"
    outside = {name.split(".")[0] for name in imports_of(path)}
    assert not outside & (FORBIDDEN.get(room, set()) | NOWHERE)


def test_rooms__no_circle() -> None:
    order = list(ALLOWED)
    for room, below in ALLOWED.items():
        assert all(order.index(other) < order.index(room) for other in below - {""})


def test_no_unsafe_loading__anywhere() -> None:
    banned = {"eval", "exec"}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in banned | {"torch.load", "torch.save", "np.load"}, path


def loaded_after(code: str) -> set[str]:
    program = f"{code}\nimport sys; print(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_import_vqpu__loads_nothing_heavy() -> None:
    heavy = {"torch", "sklearn", "numpy", "matplotlib", "typer", "rich"}
    assert not loaded_after("import vqpu") & heavy


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["demo", "--help"],
        ["data", "--help"],
        ["data", "fetch", "--help"],
        ["reproduce", "--help"],
        *([name, "--help"] for name in ("fit", "predict", "rank", "inspect", "evaluate", "export")),
        ["compare", "--help"],
        ["report", "--help"],
    ],
)
def test_help__loads_neither_torch_nor_scikit_learn(arguments: list[str]) -> None:
    code = (
        "import contextlib, io\nfrom vqpu.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    assert main({arguments!r}) == 0"
    )
    heavy = {"torch", "sklearn", "matplotlib", "numpy", "pyarrow", "PIL", "onnx", "jinja2"}
    assert not loaded_after(code) & heavy


def test_public_names__all_there() -> None:
    import vqpu

    for name in vqpu.__all__:
        assert getattr(vqpu, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = vqpu.nonsense
