"""ARCHITECTURE.md, enforced: who may import whom, and what stays out of where."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "vqpu"

# A package may import those below it and nothing else of vqpu. The order is that of
# ARCHITECTURE.md.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "base": {"errors"},
    "scenarios": {"errors", "base"},
    "nn": set(),
    "persistence": {"", "errors", "base"},
    "trees": {"errors", "base"},
    "priors": {"errors", "base", "scenarios"},
    "metrics": {"errors", "base", "scenarios"},
    "training": {"errors", "base", "nn", "persistence"},
    "estimators": {"", "errors", "base", "nn", "persistence", "priors", "trees", "training"},
    "vq": {"errors", "base", "nn", "persistence", "priors", "trees", "training", "estimators"},
    "rivals": {
        "", "errors", "base", "scenarios", "nn", "persistence", "priors", "training", "estimators",
        "vq",
    },
    "features": {"errors", "base", "persistence"},
    "files": {
        "errors", "base", "scenarios", "nn", "persistence", "priors", "trees", "metrics",
        "training", "estimators", "features", "vq", "rivals",
    },
    "distributed": {"", "errors", "base", "persistence", "training", "estimators", "vq", "files"},
    "datasets": {"errors", "base", "scenarios", "persistence", "files"},
    "report": {
        "errors", "base", "persistence", "priors", "training", "estimators", "vq", "rivals",
        "files", "datasets",
    },
    "review": {"errors", "persistence", "priors", "files", "report"},
    "cli": {
        "", "errors", "base", "persistence", "files", "distributed", "datasets", "report", "review",
    },
    "__main__": {"cli"},
}  # fmt: skip

# By package, or by the beginning of a module's path.
FORBIDDEN: dict[str, set[str]] = {
    "persistence": {"sklearn"},
    "nn": {"sklearn"},
    "trees": {"torch", "sklearn"},
    "training": {"sklearn"},
    "datasets": {"torch"},
    "features": {"sklearn"},
    "metrics": {"torch"},
    "scenarios": {"torch", "sklearn"},
    "files/readers": {"torch", "sklearn"},
    "base/_labels": {"torch", "sklearn"},
    "base/_groups": {"torch", "sklearn"},
    "base/columns": {"torch"},
    "base/_parameters": {"torch", "sklearn"},
    "base/_two_means": {"torch", "sklearn"},
    "base/_wrapped": {"torch"},
    "priors": {"torch"},
    "review": {"torch", "sklearn"},
    "cli": {
        "torch",
        "sklearn",
        "pyarrow",
        "matplotlib",
        "PIL",
        "numpy",
        "jinja2",
        "fastapi",
        "uvicorn",
    },
}

NOWHERE = {"pickle", "joblib", "dill", "cloudpickle", "shelve", "marshal"}


def package_of(path: Path) -> str:
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
            if node.module == "vqpu":  # a package, or a name that it exports
                found |= {f"vqpu.{alias.name}" for alias in node.names if alias.name in ALLOWED}
    return found


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def test_every_package__is_in_the_table() -> None:
    assert {package_of(path) for path in MODULES} == set(ALLOWED)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_module__imports_only_what_its_package_may(path: Path) -> None:
    package = package_of(path)
    ours = {name for name in imports_of(path) if name.split(".")[0] == "vqpu"}
    imported = {[*name.split("."), ""][1] for name in ours} - {package}
    assert imported <= ALLOWED[package], f"{package} must not import {imported - ALLOWED[package]}"
    outside = {name.split(".")[0] for name in imports_of(path)}
    place = path.relative_to(SOURCE).as_posix()
    forbidden = {
        name for start, names in FORBIDDEN.items() if place.startswith(start) for name in names
    }
    assert not outside & (forbidden | NOWHERE)


def test_packages__no_circle() -> None:
    order = list(ALLOWED)
    for package, below in ALLOWED.items():
        assert all(order.index(other) < order.index(package) for other in below - {""})


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
        ["features", "--help"],
        ["features", "try", "--help"],
        *([name, "--help"] for name in ("fit", "predict", "rank", "inspect", "evaluate", "export")),
        ["explain", "--help"],
        ["compare", "--help"],
        ["report", "--help"],
        ["review", "--help"],
        ["review", "export", "--help"],
    ],
)
def test_help__loads_neither_torch_nor_scikit_learn(arguments: list[str]) -> None:
    code = (
        "import contextlib, io\nfrom vqpu.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    assert main({arguments!r}) == 0"
    )
    heavy = {
        "torch",
        "sklearn",
        "matplotlib",
        "numpy",
        "pyarrow",
        "PIL",
        "onnx",
        "jinja2",
        "fastapi",
    }
    assert not loaded_after(code) & heavy


def test_public_names__all_there() -> None:
    import vqpu

    for name in vqpu.__all__:
        assert getattr(vqpu, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = vqpu.nonsense
