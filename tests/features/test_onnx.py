from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.features_tools import (
    TOML,
    WORDS,
    pictures,
    texts,
    write_image_network,
    write_text_network,
)
from vqpu.errors import InputError
from vqpu.features import extract, open_extractor
from vqpu.features._preprocessing import network_pixels

onnxruntime = pytest.importorskip("onnxruntime")


def test_images__equal_to_a_bare_session_over_preprocessed_arrays(tmp_path: Path) -> None:
    path = write_image_network(tmp_path / "tiny.onnx")
    extractor = open_extractor(path)
    pixels = np.random.default_rng(0).integers(0, 256, (70, 16, 16, 3), dtype=np.uint8)
    assert extractor.record.image is not None
    normal = ((pixels / 255 - 0.5) / 0.25).transpose(0, 3, 1, 2).astype(np.float32)
    np.testing.assert_allclose(network_pixels(pixels, extractor.record.image), normal, atol=1e-6)
    bare = onnxruntime.InferenceSession(str(path)).run(None, {"pixels": normal})[0]
    found = extract(extractor, pixels)
    assert found.shape == (70, 12)
    np.testing.assert_allclose(found, bare, rtol=1e-5, atol=1e-6)


def test_texts__mean_of_the_words_vectors__padding_left_out(tmp_path: Path) -> None:
    path = write_text_network(tmp_path / "words.onnx")
    extractor = open_extractor(path)
    table = numpy_helper.to_array(onnx.load(str(path)).graph.initializer[0])
    found = extract(extractor, ["sun rain", "sun", " ".join(["bank"] * 40)])
    sun, rain, bank = (table[2 + WORDS.index(word)] for word in ("sun", "rain", "bank"))
    np.testing.assert_allclose(found, [(sun + rain) / 2, sun, bank], rtol=1e-5)
    assert extractor.record.pooling == "mean"


def test_settings_beside__pooling_unit_length_and_prefix_are_followed(tmp_path: Path) -> None:
    path = write_text_network(tmp_path / "words.onnx")
    path.with_suffix(".toml").write_text(
        'pooling = "class"\nunit_length = true\nprefix = "rain "\nmax_tokens = 2\n'
    )
    found = extract(open_extractor(path), ["sun wind", "bank"])
    np.testing.assert_allclose(found[0], found[1])  # the class token is that of the prefix
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-6)


def test_preprocessor_config__stands_in_for_the_toml_file(tmp_path: Path) -> None:
    write_image_network(tmp_path / "tiny.onnx", toml=None)
    (tmp_path / "preprocessor_config.json").write_text(
        '{"size": {"shortest_edge": 20}, "crop_size": {"height": 16, "width": 16}, '
        '"do_center_crop": true, "resample": 3, "image_mean": [0.5, 0.5, 0.5], '
        '"image_std": [0.25, 0.25, 0.25]}'
    )
    image = open_extractor(tmp_path).record.image
    assert image is not None
    assert (image.size, image.resize, image.resample) == (16, 20, "bicubic")


def test_identity__of_contents_not_of_names(tmp_path: Path) -> None:
    first = open_extractor(write_image_network(tmp_path / "a.onnx")).record
    same = open_extractor(write_image_network(tmp_path / "moved" / "b.onnx")).record
    other = open_extractor(write_image_network(tmp_path / "c.onnx", seed=1)).record
    assert first.identity == same.identity != other.identity


def damaged(path: Path) -> None:
    write_image_network(path)
    path.write_bytes(path.read_bytes()[:-400])


def nothing(path: Path) -> None:
    path.write_bytes(b"")
    path.with_suffix(".toml").write_text(TOML)


def noise(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 40)


def wrong_size(path: Path) -> None:
    write_image_network(path, shape=("n", 3, 32, 32))


def wrong_rank(path: Path) -> None:
    write_image_network(path, shape=("n", 768))


def fixed_batch(path: Path) -> None:
    write_image_network(path, shape=(1, 3, 16, 16))


def no_settings(path: Path) -> None:
    write_image_network(path, toml=None)


def unknown_setting(path: Path) -> None:
    write_image_network(path, toml=TOML + "scale = 3\n")


def broken_settings(path: Path) -> None:
    write_image_network(path, toml="size = \n")


def unknown_output(path: Path) -> None:
    write_image_network(path, toml=TOML + 'output = "feature"\n')


def unknown_operator(path: Path) -> None:
    node = helper.make_node("Launch", ["pixels"], ["features"], domain="somebody.else")
    shape: list[str | int | None] = ["n", 3, 16, 16]
    value = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in ("pixels", "features")
    ]
    graph = helper.make_graph([node], "g", value[:1], value[1:])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("somebody.else", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(path))
    path.with_suffix(".toml").write_text(TOML)


def with_external(path: Path, location: str) -> None:
    write_image_network(path)
    model = onnx.load(str(path))
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    onnx.save(model, str(path))


def external_above(path: Path) -> None:
    (path.parent.parent / "secret").write_bytes(b"s" * 4096)
    with_external(path, "../secret")


def external_absolute(path: Path) -> None:
    with_external(path, "/etc/hostname")


def external_link(path: Path) -> None:
    (path.parent.parent / "secret").write_bytes(b"s" * 4096)
    (path.parent / "weights.bin").symlink_to(path.parent.parent / "secret")
    with_external(path, "weights.bin")


def external_missing(path: Path) -> None:
    with_external(path, "weights.bin")


HOSTILE = [
    (damaged, "cannot be read as ONNX"),
    (nothing, "cannot be read as ONNX"),
    (noise, "cannot be read as ONNX"),
    (wrong_size, "but its settings give pictures of"),
    (wrong_rank, "of another shape or type"),
    (fixed_batch, "a fixed number of samples"),
    (no_settings, "Nothing says how pictures become input"),
    (unknown_setting, "scale = 3"),
    (broken_settings, "cannot be read as TOML"),
    (unknown_output, "has no output 'feature'. Did you mean 'features'"),
    (unknown_operator, "cannot be run by onnxruntime"),
    (external_above, "outside its own folder"),
    (external_absolute, "outside its own folder"),
    (external_link, "outside its own folder"),
    (external_missing, "does not exist"),
]


@pytest.mark.parametrize(("make", "reason"), HOSTILE, ids=lambda one: getattr(one, "__name__", ""))
def test_hostile_network__one_sentence__nothing_written(
    tmp_path: Path, make: Any, reason: str
) -> None:
    folder = tmp_path / "net"
    folder.mkdir()
    make(folder / "tiny.onnx")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError) as caught:
        open_extractor(folder / "tiny.onnx")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    assert sorted(tmp_path.rglob("*")) == before


def test_tokenizer_of_a_gigabyte__is_refused_unread(tmp_path: Path) -> None:
    path = write_text_network(tmp_path / "words.onnx")
    with open(tmp_path / "tokenizer.json", "r+b") as file:
        file.truncate(1 << 30)  # a hole: it takes no space on disk
    with pytest.raises(InputError, match="has 1073741824 bytes, more than"):
        open_extractor(path)


@pytest.mark.parametrize("content", ["{}", "[", '{"model": {"type": "Unknown"}}', "null"])
def test_tokenizer_that_is_none__one_sentence(tmp_path: Path, content: str) -> None:
    path = write_text_network(tmp_path / "words.onnx")
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(InputError, match="is no tokenizer"):
        open_extractor(path)


def test_samples_of_the_wrong_kind__are_refused(tmp_path: Path) -> None:
    extractor = open_extractor(write_image_network(tmp_path / "tiny.onnx"))
    with pytest.raises(InputError, match="array of uint8"):
        extract(extractor, np.zeros((2, 16, 16, 3)))  # type: ignore[arg-type]
    words = open_extractor(write_text_network(tmp_path / "words.onnx"))
    with pytest.raises(InputError, match="Sample 1 cannot be used: it has no text"):
        extract(words, ["sun", ""])
    assert len(extract(words, texts(3, is_positive=True, seed=0))) == 3
    assert len(extract(extractor, pictures(3, is_positive=True, seed=0))) == 3
