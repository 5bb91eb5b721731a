"""Model files that were changed, and writes that fail: refused in one sentence, nothing lost."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

import vqpu
from tests.fit_and_die import acting_at
from tests.support import FAST, fast_classifier, linear_encoder
from vqpu.errors import ModelFileError
from vqpu.persistence._bundle import _sealed
from vqpu.persistence._model import read_extra, read_model
from vqpu.persistence._tensors import WEIGHTS, pack, unpack
from vqpu.vq._variant import VARIANT_FIELDS

pytestmark = pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with an extra file; tests copy it before they change it."""
    path = tmp_path_factory.mktemp("saved") / "model"
    rng = np.random.default_rng(0)
    X, y = vqpu.stack_pu(rng.normal(2, 1, (20, 2)), rng.normal(0, 2, (40, 2)))
    model = vqpu.rivals.NaivePUClassifier(**FAST, n_members=1, encoder=linear_encoder).fit(X, y)
    model.save(path, extras={"schema.json": b'{"columns": ["a", "b"]}'})
    return path


@pytest.fixture
def copied(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "copy"))


def load_tiny(path: Path) -> Any:
    model = vqpu.load(path, encoder=linear_encoder)
    read_extra(path, "schema.json")
    return model


def reseal(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change a manifest as somebody would who also corrects its digest."""
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["sha256"]
    change(manifest)
    (path / "manifest.json").write_bytes(_sealed(manifest))


def rewrite_weights(path: Path, change: Callable[[dict[str, torch.Tensor]], Any]) -> None:
    tensors = unpack((path / WEIGHTS).read_bytes())
    change(tensors)
    content = pack(tensors)
    entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (path / WEIGHTS).write_bytes(content)
    reseal(path, lambda manifest: manifest["files"].update({WEIGHTS: entry}))


def test_truncated_model__200_places__always_refused(saved: Path, copied: Path) -> None:
    draw = random.Random(0)
    for _ in range(200):
        file = copied / draw.choice(["manifest.json", WEIGHTS, "schema.json"])
        content = file.read_bytes()
        file.write_bytes(content[: draw.randrange(len(content))])
        with pytest.raises(ModelFileError):
            load_tiny(copied)
        file.write_bytes(content)
    assert load_tiny(copied).n_features_in_ == 2


def test_flipped_bit__1000_places__always_refused(copied: Path) -> None:
    draw = random.Random(0)
    for _ in range(1000):
        file = copied / draw.choice(["manifest.json", WEIGHTS, "schema.json"])
        content = file.read_bytes()
        place = draw.randrange(len(content))
        flipped = content[place] ^ (1 << draw.randrange(8))
        file.write_bytes(content[:place] + bytes([flipped]) + content[place + 1 :])
        with pytest.raises(ModelFileError):
            load_tiny(copied)
        file.write_bytes(content)
    assert load_tiny(copied).n_features_in_ == 2


HEAD = "network_.head.weight"
MANIFESTS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "newer format": (lambda m: m.update(format_version=2), "format version 2. This vqpu reads"),
    "no version": (lambda m: m.pop("format_version"), "format version None"),
    "something else": (lambda m: m.update(format="recipe"), "is no vqpu-model.*'recipe'"),
    "unknown class": (lambda m: m.update(estimator="Oven"), "saved by 'Oven', which is none of"),
    "another class": (lambda m: m.update(estimator="VPUClassifier"), r"\['largest_phi_'\] are mis"),
    "unknown parameter": (lambda m: m["parameters"].update(heat=1), r"does not know: \['heat'\]"),
    "bad parameter": (lambda m: m["parameters"].update(n_vectors=-1), "n_vectors must be an int"),
    "parameters gone": (lambda m: m.pop("parameters"), "has parameters that"),
    "fitted gone": (lambda m: m.pop("fitted"), "no fitted values"),
    "value gone": (lambda m: m["fitted"].pop("classes_"), r"\['classes_'\] are missing"),
    "value too many": (lambda m: m["fitted"].update(x_=1), r"\['x_'\] are not expected"),
    "strange value": (lambda m: m["fitted"].update(classes_={"odd": 1}), "kind 'odd' is not known"),
    "strange shape": (lambda m: m["fitted"].update(input_shape_=7), "where input_shape_ should be"),
    "list as class": (lambda m: m.update(estimator=[]), r"saved by \[\], which is none of"),
    "huge file": (lambda m: m["files"][WEIGHTS].update(bytes=10**30), "cut off or changed"),
    "many members": (lambda m: m["fitted"].update(n_members_=10**9), "states 1000000000 members"),
    "more members": (lambda m: m["fitted"].update(n_members_=2), "members.1.* is missing"),
    "wider vectors": (lambda m: m["parameters"].update(vector_dim=5), r"shape \(8, 2\) on disk"),
    "outside file": (lambda m: m["files"].update({"../x": m["files"][WEIGHTS]}), "named '../x'"),
    "list of files": (lambda m: m.update(files=[1]), "must list its files"),
}  # fmt: skip


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifest__of_something_else__is_refused(name: str, copied: Path) -> None:
    change, message = MANIFESTS[name]
    reseal(copied, change)
    with pytest.raises(ModelFileError, match=message):
        load_tiny(copied)


TENSORS: dict[str, tuple[Callable[[dict[str, torch.Tensor]], Any], str]] = {
    "missing": (lambda t: t.pop(HEAD), f"'{HEAD}' is missing"),
    "extra": (lambda t: t.update(more=torch.zeros(1)), "'more' is not expected"),
    "shape": (lambda t: t.update({HEAD: torch.zeros(1, 3)}), r"\(1, 3\) on disk, \(1, 4\) is exp"),
    "dtype": (lambda t: t.update({HEAD: t[HEAD].double()}), "dtype torch.float64 on disk"),
}


@pytest.mark.parametrize("name", TENSORS)
def test_weights__of_another_network__are_refused(name: str, copied: Path) -> None:
    change, message = TENSORS[name]
    rewrite_weights(copied, change)
    with pytest.raises(ModelFileError, match=message):
        load_tiny(copied)


def as_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("x")


def with_pipe(path: Path) -> None:
    (path / WEIGHTS).unlink()
    os.mkfifo(path / WEIGHTS)


FOLDERS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "nothing there": (lambda p: shutil.rmtree(p), "does not exist"),
    "a file": (as_file, "is a file. A model is a dir"),
    "no manifest": (lambda p: (p / "manifest.json").unlink(), "manifest.json is missing"),
    "no weights": (lambda p: (p / WEIGHTS).unlink(), r"lacks \['weights.safetensors'\]"),
    "more files": (lambda p: (p / "code.py").write_text("x"), r"holds \['code.py'\], which its"),
    "a pipe": (with_pipe, "is no regular file"),
    "longer weights": (lambda p: (p / WEIGHTS).write_bytes(b"x" * 99_999), "cut off or changed"),
    "not JSON": (lambda p: (p / "manifest.json").write_text("[1"), "is not valid JSON"),
    "a list": (lambda p: (p / "manifest.json").write_text("[1]"), "must hold a JSON object"),
    "too deep": (lambda p: (p / "manifest.json").write_text("[" * 10**6), "is not valid JSON"),
    "touched up": (lambda p: (p / "manifest.json").write_text(
        (p / "manifest.json").read_text() + "\n"), "SHA-256 is not the one it states"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_folder__not_as_written__is_refused(name: str, copied: Path) -> None:
    change, message = FOLDERS[name]
    change(copied)
    with pytest.raises(ModelFileError, match=message):
        load_tiny(copied)


def test_manifest__hidden_files_beside__are_nobodys_business(copied: Path) -> None:
    (copied / ".DS_Store").write_text("x")
    load_tiny(copied)


def test_load__huge_architecture_in_the_manifest__takes_no_memory(
    blobs: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    vqpu.rivals.NaivePUClassifier(**FAST).fit(*blobs).save(tmp_path / "model")
    reseal(tmp_path / "model", lambda m: m["parameters"].update(vector_dim=10**9))
    with pytest.raises(ModelFileError, match="is expected from the parameters"):
        vqpu.load(tmp_path / "model")


def test_load__decision_rule_of_the_wrong_type__is_refused(
    blobs: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    fast_classifier(max_steps=20).fit(*blobs).save(tmp_path / "model")

    def change(manifest: dict[str, Any]) -> None:
        rule = manifest["fitted"]["decision_rule_"]["DecisionRule"]
        rule["projection_posterior"]["Posterior"]["slope"] = "steep"

    reseal(tmp_path / "model", change)
    with pytest.raises(ModelFileError, match="slope of a saved Posterior must be a float"):
        vqpu.load(tmp_path / "model")


def test_class_load__model_of_another_class__is_refused(saved: Path) -> None:
    with pytest.raises(ModelFileError, match="is a NaivePUClassifier, not a VPUClassifier"):
        vqpu.rivals.VPUClassifier.load(saved, encoder=linear_encoder)


def test_load__encoder_for_a_model_without_one__is_refused(
    blobs: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    vqpu.rivals.NaivePUClassifier(**FAST).fit(*blobs).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="encoder='auto', so it takes no encoder"):
        vqpu.load(tmp_path / "model", encoder=linear_encoder)


def test_load__device_that_is_not_here__is_refused(saved: Path) -> None:
    with pytest.raises(ModelFileError, match="device must be"):
        vqpu.load(saved, encoder=linear_encoder, device="nonsense")
    assert vqpu.load(saved, encoder=linear_encoder, device="cpu").device == "cpu"


def test_extras__come_back_as_bytes(saved: Path) -> None:
    assert read_extra(saved, "schema.json") == b'{"columns": ["a", "b"]}'
    assert read_model(saved).manifest["extras"] == ["schema.json"]
    with pytest.raises(
        ModelFileError, match=r"without 'weights.safetensors'. Its extras are \['sc"
    ):
        read_extra(saved, WEIGHTS)


@pytest.mark.parametrize("name", ["../x", "", ".hidden", "a/b", "manifest.json", WEIGHTS])
def test_extras__bad_name__is_refused_and_nothing_written(
    name: str, saved: Path, tmp_path: Path
) -> None:
    model = load_tiny(saved)
    with pytest.raises(ModelFileError, match=r"cannot be named|other than"):
        model.save(tmp_path / "model", extras={name: b"x"})
    assert not list(tmp_path.iterdir())


def test_save__unfitted__is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        vqpu.rivals.NaivePUClassifier().save(tmp_path / "model")


@pytest.mark.parametrize(
    "model", [vqpu.rivals.ElkanNotoClassifier(), vqpu.rivals.BaggingPUClassifier()]
)
def test_save__wrapped_estimator__is_refused_with_the_reason(model: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="could run any code when it is read"):
        model.save(tmp_path / "model")


def test_save__again__replaces_the_old_model_alone(saved: Path, copied: Path) -> None:
    model = load_tiny(saved)
    copied.chmod(0o750)
    model.save(copied)
    assert copied.stat().st_mode & 0o777 == 0o750
    assert {path.name for path in copied.iterdir()} == {"manifest.json", WEIGHTS}
    assert [path.name for path in copied.parent.iterdir()] == ["copy"]
    (copied / "notes.txt").write_text("mine")
    with pytest.raises(ModelFileError, match=r"notes.txt"):
        model.save(copied)
    assert (copied / "notes.txt").read_text() == "mine"


def test_save__where_something_else_is__is_refused(saved: Path, tmp_path: Path) -> None:
    model = load_tiny(saved)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.png").write_text("x")
    (tmp_path / "file").write_text("x")
    for name in ("photos", "file"):
        with pytest.raises(ModelFileError, match="exists and is no model"):
            model.save(tmp_path / name)
    (tmp_path / "empty").mkdir()
    model.save(tmp_path / "empty")
    load_again = vqpu.load(tmp_path / "empty", encoder=linear_encoder)
    assert load_again.n_features_in_ == 2


def test_save__every_file_is_flushed_before_the_name_appears(saved: Path, tmp_path: Path) -> None:
    with acting_at(-1, lambda: None) as made:
        load_tiny(saved).save(tmp_path / "model")
    assert [name.rsplit(".")[-1] for name in made] == [
        "mkdir", "open", "fsync", "open", "fsync", "fsync", "rename", "fsync", "rmtree",
    ]  # fmt: skip


@pytest.mark.parametrize("swaps", [True, False], ids=["exchange", "two renames"])
def test_save__disk_full_at_any_call__keeps_the_old_model(
    swaps: bool, saved: Path, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not swaps:
        monkeypatch.setattr("vqpu.persistence._directory._exchange", lambda *_: False)
    model, before = load_tiny(saved), read_model(copied).manifest

    def fail() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with acting_at(-1, fail) as made:
        model.save(copied, extras={"schema.json": b"second"})
    # The flush of the folder is the last call before the swap; without one, the old directory is
    # away from its place between two renamings.
    n_calls = made.index("os.chmod") + 2
    if not swaps:
        n_calls = len(made) - made[::-1].index("os.rename")
    model.save(copied, extras={"schema.json": b'{"columns": ["a", "b"]}'})
    for number in range(n_calls):
        with (
            acting_at(number, fail),
            pytest.raises(ModelFileError, match=r"No space left on device.*bytes are needed"),
        ):
            model.save(copied, extras={"schema.json": b"third"})
        load_tiny(copied)
        assert read_model(copied).manifest["files"] == before["files"]
        assert [path.name for path in copied.parent.iterdir()] == ["copy"]


def test_load__killed_between_two_renamings__says_where_the_old_model_is(copied: Path) -> None:
    copied.rename(copied.parent / f".{copied.name}.replaced")
    with pytest.raises(ModelFileError, match=r"\.copy\.replaced is its predecessor"):
        load_tiny(copied)


@pytest.fixture(scope="module")
def saved_variant(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    X, y = vqpu.stack_pu(rng.normal(2, 1, (40, 3)), rng.normal(-1, 1, (80, 3)))
    path = tmp_path_factory.mktemp("variant") / "model"
    fast_classifier(max_steps=20).fit(X, y).save(path)
    return path


@pytest.mark.parametrize("name", VARIANT_FIELDS)
def test_load__part_of_the_variant_that_is_newer_than_the_file__takes_its_default(
    name: str, saved_variant: Path, tmp_path: Path
) -> None:
    path = tmp_path / "model"
    shutil.copytree(saved_variant, path)

    def drop(manifest: dict[str, Any]) -> None:
        del manifest["fitted"]["variant_"]["Variant"][name]
        del manifest["parameters"]["variant"]["Variant"][name]

    reseal(path, drop)
    loaded = vqpu.load(path)
    assert getattr(loaded.variant_, name) == getattr(vqpu.Variant(), name)


WRONG_VALUES: dict[str, Any] = {
    "variant_": {"Variant": {"stopping_signal": "foo"}},
    "decision_rule_": {"Posterior": {"alpha": 0.5, "slope": 1.0, "intercept": 0.0}},
    "classes_": {"array": {"dtype": "<i8", "values": [0, 1, 2]}},
    "history_": [1, 2],
    "best_check_": 99,
    "alpha_": "half",
    "positive_share_": None,
    "holdout_log_odds_": 3,
    "cluster_centers_": {"tuple": [1, 2]},
    "n_members_": 1.5,
}


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_load__fitted_value_of_the_wrong_kind__is_refused_at_once(
    name: str, saved_variant: Path, tmp_path: Path
) -> None:
    path = tmp_path / "model"
    shutil.copytree(saved_variant, path)
    reseal(path, lambda manifest: manifest["fitted"].update({name: WRONG_VALUES[name]}))
    with pytest.raises(ModelFileError):
        vqpu.load(path)
