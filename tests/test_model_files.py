"""Model files: what is saved comes back bit for bit, and nothing else is taken for it."""

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
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch import nn

import vqpu
from tests.fit_and_die import acting_at
from tests.support import fast_classifier
from vqpu._loading import SAVED_CLASSES
from vqpu._saving import SavedEstimator
from vqpu.errors import InputError, ModelFileError
from vqpu.modelfiles import WEIGHTS, pack, read_extra, read_model, unpack
from vqpu.modelfiles._bundle import _sealed

FAST: dict[str, Any] = {
    "max_steps": 10, "check_every": 5, "vector_dim": 4, "n_vectors": 2, "random_state": 0,
}  # fmt: skip
GAN: dict[str, Any] = {**FAST, "latent_dim": 3}
MODELS: dict[str, Any] = {
    "posterior": fast_classifier(max_steps=20),
    "nearest": fast_classifier(n_members=2, decision="nearest-center"),
    "moving": fast_classifier(max_steps=20, anchors="moving", codebook_update="adam", dropout=0),
    "constant": fast_classifier(max_steps=20, encoding="constant", decision="nearest-center"),
    "distribution": fast_classifier(max_steps=20, encoding="distribution"),
    "naive": vqpu.NaivePUClassifier(**FAST),
    "oracle": vqpu.OracleClassifier(**FAST, class_prior=0.3),
    "nnpu": vqpu.NNPUClassifier(**FAST, alpha=0.3),
    "upu": vqpu.UPUClassifier(**FAST, alpha=0.3),
    "cvir": vqpu.CVIRClassifier(**FAST),
    "tedn": vqpu.TEDnClassifier(**FAST),
    "distpu": vqpu.DistPUClassifier(**FAST),
    "vpu": vqpu.VPUClassifier(**FAST),
    "observer-gan": vqpu.ObserverGANClassifier(**GAN),
    "d-gan": vqpu.DGANClassifier(**GAN, gan_steps=5),
    "vqvae": vqpu.VQVAE(**FAST, codebook_size=8),
}
pytestmark = pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")


def answers(model: Any, X: NDArray[Any]) -> dict[str, NDArray[Any]]:
    names = ["predict", "decision_function", "predict_proba", "transform"]
    found = {name: getattr(model, name)(X) for name in names if hasattr(model, name)}
    if hasattr(model, "sample"):
        found["sample"] = model.sample(3, random_state=0)
    if hasattr(model, "reconstruct"):
        found["reconstruct"] = model.reconstruct(X)
    return found


def assert_same_answers(first: Any, second: Any, X: NDArray[Any]) -> None:
    expected, found = answers(first, X), answers(second, X)
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        assert found[name].dtype == value.dtype
        assert np.array_equal(found[name], value), name


@pytest.mark.parametrize("name", MODELS)
def test_load__vectors__answers_bit_for_bit(
    name: str, blobs: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    X, y = blobs
    model = MODELS[name].fit(X, y)
    model.save(tmp_path / "model")
    loaded = vqpu.load(tmp_path / "model")
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert_same_answers(model, loaded, X)
    assert {key for key in vars(model) if key.endswith("_")} == {
        key for key in vars(loaded) if key.endswith("_")
    }
    assert loaded.history_.rows == model.history_.rows
    assert_same_answers(model, type(model).load(tmp_path / "model"), X)


@pytest.fixture
def images() -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 60, (48, 12, 10, 3))
    X[:24, 3:9, 3:7] += 150
    return X.astype(np.uint8), np.repeat([1, 0], [12, 36])


@pytest.mark.parametrize("name", ["posterior", "naive", "d-gan", "vqvae"])
def test_load__images__answers_bit_for_bit(
    name: str, images: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    X, y = images
    model = clone(MODELS[name]).set_params(max_steps=4).fit(X, y)
    model.save(tmp_path / "model")
    assert_same_answers(model, vqpu.load(tmp_path / "model"), X)


@pytest.mark.parametrize(
    "values",
    [("heap", "wanted"), (False, True), (3, 7), (-1.0, 1.0), np.array(["a", "b"], dtype=object)],
    ids=["str", "bool", "int", "float", "object"],
)
def test_load__classes__values_and_dtype_come_back(
    values: Any, blobs: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    X, y = blobs
    model = vqpu.NaivePUClassifier(**FAST).fit(X, np.asarray(values)[y])
    model.save(tmp_path / "model")
    loaded = vqpu.load(tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == list(values)
    assert_same_answers(model, loaded, X)


def test_load__data_frame__columns_are_still_compared(
    blobs: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    X, y = blobs
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = vqpu.NaivePUClassifier(**FAST).fit(frame, y)
    model.save(tmp_path / "model")
    loaded = vqpu.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == list("abcde")
    assert_same_answers(model, loaded, frame)
    with pytest.raises(InputError, match="feature names"):
        loaded.predict(frame.rename(columns={"a": "z"}))


def linear_encoder(shape: tuple[int, ...], dim: int) -> nn.Module:
    return nn.Sequential(nn.Linear(shape[0], 2 * dim), nn.Unflatten(1, (2, dim)))


def wider_encoder(shape: tuple[int, ...], dim: int) -> nn.Module:
    return nn.Sequential(nn.Linear(shape[0], 3 * dim), nn.Unflatten(1, (3, dim)))


def test_load__own_encoder__is_handed_over_again(
    blobs: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    X, y = blobs
    model = vqpu.NaivePUClassifier(**FAST, encoder=linear_encoder).fit(X, y)
    model.save(tmp_path / "model")
    state = torch.get_rng_state()
    assert_same_answers(model, vqpu.load(tmp_path / "model", encoder=linear_encoder), X)
    assert torch.equal(torch.get_rng_state(), state)
    with pytest.raises(ModelFileError, match="linear_encoder"):
        vqpu.load(tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"0.weight.*has shape \(8, 5\) on disk, \(12, 5\)"):
        vqpu.load(tmp_path / "model", encoder=wider_encoder)


def test_load__random_state_was_a_generator__none_is_kept(
    blobs: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    model = vqpu.NaivePUClassifier(**{**FAST, "random_state": np.random.RandomState(0)})
    model.fit(*blobs).save(tmp_path / "model")
    assert vqpu.load(tmp_path / "model").random_state is None


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with an extra file; tests copy it before they change it."""
    path = tmp_path_factory.mktemp("saved") / "model"
    rng = np.random.default_rng(0)
    X, y = vqpu.stack_pu(rng.normal(2, 1, (20, 2)), rng.normal(0, 2, (40, 2)))
    model = vqpu.NaivePUClassifier(**FAST, n_members=1, encoder=linear_encoder).fit(X, y)
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
    "strange shape": (lambda m: m["fitted"].update(input_shape_=7), "its values do not fit"),
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
    vqpu.NaivePUClassifier(**FAST).fit(*blobs).save(tmp_path / "model")
    reseal(tmp_path / "model", lambda m: m["parameters"].update(vector_dim=10**9))
    with pytest.raises(ModelFileError, match="is expected from the parameters"):
        vqpu.load(tmp_path / "model")


def test_class_load__model_of_another_class__is_refused(saved: Path) -> None:
    with pytest.raises(ModelFileError, match="is a NaivePUClassifier, not a VPUClassifier"):
        vqpu.VPUClassifier.load(saved, encoder=linear_encoder)


def test_load__encoder_for_a_model_without_one__is_refused(
    blobs: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    vqpu.NaivePUClassifier(**FAST).fit(*blobs).save(tmp_path / "model")
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
        vqpu.NaivePUClassifier().save(tmp_path / "model")


@pytest.mark.parametrize("model", [vqpu.ElkanNotoClassifier(), vqpu.BaggingPUClassifier()])
def test_save__wrapped_estimator__is_refused_with_the_reason(model: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="could run any code when it is read"):
        model.save(tmp_path / "model")


def test_save__again__replaces_the_old_model_alone(saved: Path, copied: Path) -> None:
    model = load_tiny(saved)
    model.save(copied)
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
        "mkdir", "open", "fsync", "open", "fsync", "chmod", "fsync", "rename", "fsync", "rmtree",
    ]  # fmt: skip


def test_registry__every_estimator_with_a_network__under_its_name() -> None:
    public = {name: getattr(vqpu, name) for name in vqpu.__all__}
    savable = {
        name: kind
        for name, kind in public.items()
        if isinstance(kind, type) and issubclass(kind, SavedEstimator)
    }
    assert savable == SAVED_CLASSES


@pytest.mark.parametrize("swaps", [True, False], ids=["exchange", "two renames"])
def test_save__disk_full_at_any_call__keeps_the_old_model(
    swaps: bool, saved: Path, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not swaps:
        monkeypatch.setattr("vqpu.modelfiles._directory._exchange", lambda *_: False)
    model, before = load_tiny(saved), read_model(copied).manifest

    def fail() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with acting_at(-1, fail) as made:
        model.save(copied, extras={"schema.json": b"second"})
    n_calls = made.index("os.chmod") + 2  # the flush of the folder is the last before the swap
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
