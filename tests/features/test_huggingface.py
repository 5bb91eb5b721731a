from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.features_tools import write_bert
from vqpu.errors import InputError
from vqpu.features import FunctionExtractor, ImageInput, extract, open_extractor

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture
def copied(bert: Path, tmp_path: Path) -> Path:
    for path in bert.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_texts__mean_of_the_tokens_that_are_no_padding(bert: Path) -> None:
    state = torch.random.get_rng_state()
    extractor = open_extractor(bert)
    found = extract(extractor, ["sun rain", "bank"])
    assert torch.equal(torch.random.get_rng_state(), state)
    network = transformers.BertModel.from_pretrained(bert).eval()
    with torch.no_grad():
        expected = network(torch.tensor([[6, 7]])).last_hidden_state.mean(dim=1)
    tolerance = 0.05 if extractor.record.precision == "bfloat16" else 1e-5
    np.testing.assert_allclose(found[:1], expected, atol=tolerance)
    assert extractor.record.text is not None
    assert extractor.record.text.max_tokens == 32


def edit(folder: Path, name: str, **entries: Any) -> None:
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **entries}))


def test_remote_code__is_refused(copied: Path) -> None:
    edit(copied, "config.json", auto_map={"AutoModel": "evil.Model"}, model_type="evil")
    (copied / "evil.py").write_text(f"open({str(copied / 'ran')!r}, 'w')\nclass Model: ...\n")
    with pytest.raises(InputError, match="asks to run code of its own"):
        open_extractor(copied)
    assert not (copied / "ran").exists()


def test_weights_that_are_pickles__are_refused(copied: Path) -> None:
    (copied / "model.safetensors").rename(copied / "pytorch_model.bin")
    with pytest.raises(InputError, match="Only safetensors are read"):
        open_extractor(copied)


def test_weights_outside_the_folder__are_refused(copied: Path) -> None:
    (copied / "model.safetensors").unlink()
    (copied / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../other"}}')
    with pytest.raises(InputError, match="outside its own folder"):
        open_extractor(copied)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("model.safetensors", b"none", "cannot be loaded by transformers"),
        ("config.json", b'{"model_type": "unheard-of"}', "cannot be loaded by transformers"),
        ("config.json", b"[]", "must hold names and values"),
        ("config.json", b"{", "cannot be read as JSON"),
    ],
)
def test_damaged_directory__one_sentence(
    copied: Path, name: str, content: bytes, reason: str
) -> None:
    (copied / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        open_extractor(copied)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_module__its_weights_are_part_of_the_digest() -> None:
    image = ImageInput(size=8, resize=8, mean=(0.5,) * 3, std=(0.5,) * 3)

    def made(seed: int) -> FunctionExtractor:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            layers = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 4))
        return FunctionExtractor(layers, n_features=4, image=image, name="layers")

    pixels = np.random.default_rng(0).integers(0, 256, (5, 8, 8, 3), dtype=np.uint8)
    assert made(0).record.digest == made(0).record.digest != made(1).record.digest
    assert extract(made(0), pixels).shape == (5, 4)


def test_pictures__class_token_of_a_tiny_vision_transformer(tmp_path: Path) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.ViTConfig(
            hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
            image_size=16, patch_size=8,
        )  # fmt: skip
        network = transformers.ViTModel(config).eval()
    network.save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(
        '{"size": {"height": 16, "width": 16}, "image_mean": [0.5, 0.5, 0.5], '
        '"image_std": [0.5, 0.5, 0.5], "resample": 2}'
    )
    extractor = open_extractor(tmp_path)
    pixels = np.random.default_rng(0).integers(0, 256, (3, 16, 16, 3), dtype=np.uint8)
    found = extract(extractor, pixels)
    normal = torch.from_numpy((pixels / 255 - 0.5) / 0.5).permute(0, 3, 1, 2).float()
    with torch.no_grad():
        expected = network(pixel_values=normal).last_hidden_state[:, 0]
    tolerance = 0.05 if extractor.record.precision == "bfloat16" else 1e-5
    np.testing.assert_allclose(found, expected, atol=tolerance)
    assert (extractor.record.pooling, extractor.record.input) == ("class", "image")
