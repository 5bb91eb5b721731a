"""Tiny networks in ONNX files and Hugging Face directories, and samples that they can tell apart.

The networks are made by hand: no weights are trained and nothing is fetched.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

WORDS = ("alpha", "beta", "gamma", "delta", "sun", "rain", "wind", "snow", "price", "bank")
TOML = "size = 16\nmean = [0.5, 0.5, 0.5]\nstd = [0.25, 0.25, 0.25]\n"


def write_image_network(
    path: Path, *, shape: tuple[Any, ...] = ("n", 3, 16, 16), n_features: int = 12, seed: int = 0,
    toml: str | None = TOML, opset: int = 18,
) -> Path:  # fmt: skip
    """Write random filters of 4 x 4, a ReLU and the mean over places."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((n_features, 3, 4, 4)).astype(np.float32) / 4
    nodes = [
        helper.make_node("Conv", ["pixels", "weights"], ["maps"], strides=[4, 4]),
        helper.make_node("Relu", ["maps"], ["positive"]),
        helper.make_node("GlobalAveragePool", ["positive"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["features"]),
    ]
    constants = [numpy_helper.from_array(weights, "weights")]
    given = [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, list(shape))]
    result = [helper.make_tensor_value_info("features", TensorProto.FLOAT, None)]
    _write(path, nodes, given, result, constants, opset)
    if toml is not None:
        path.with_suffix(".toml").write_text(toml)
    return path


def write_text_network(path: Path, *, n_features: int = 8, seed: int = 0) -> Path:
    """Write a table of random word vectors, given a token; the tokenizer goes beside it."""
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((len(WORDS) + 2, n_features)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["hidden"])]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"])
        for name in ("input_ids", "attention_mask")
    ]
    result = [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["n", "t", n_features])]
    _write(path, nodes, inputs, result, [numpy_helper.from_array(table, "table")])
    write_tokenizer(path.parent)
    return path


def _write(
    path: Path,
    nodes: list[Any],
    inputs: list[Any],
    outputs: list[Any],
    constants: list[Any],
    opset: int = 18,
) -> None:
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", opset)]
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(path))


def write_tokenizer(folder: Path) -> None:
    """Write a tokenizer that knows ten words and parts texts at spaces."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {word: number for number, word in enumerate(("[PAD]", "[UNK]", *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    (folder / "tokenizer.json").write_text(tokenizer.to_str())


def write_bert(folder: Path) -> Path:
    """Write a BERT of one tiny layer with random weights, as a Hugging Face directory."""
    import torch
    from transformers import BertConfig, BertModel

    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(WORDS) + 2, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16, max_position_embeddings=32,
        )  # fmt: skip
        BertModel(config).save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def pictures(n: int, *, is_positive: bool, seed: int) -> NDArray[np.uint8]:
    """Return noise of 24 x 20 pixels, with upright stripes in positives, level ones else."""
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, 120, (n, 24, 20, 3))
    stripes = np.zeros((24, 20, 1), int)
    if is_positive:
        stripes[:, ::4] = stripes[:, 1::4] = 120
    else:
        stripes[::4] = stripes[1::4] = 120
    return (noise + stripes).astype(np.uint8)


def write_pictures(folder: Path, images: NDArray[np.uint8], start: int = 0) -> None:
    """Write pictures as PNG files that are numbered."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(images, start):
        Image.fromarray(image).save(folder / f"{number:04}.png")


def texts(n: int, *, is_positive: bool, seed: int) -> list[str]:
    """Return texts of a few words: positives are about the weather."""
    rng = np.random.default_rng(seed)
    own = ("sun", "rain", "wind", "snow") if is_positive else ("price", "bank", "gamma", "delta")
    found = []
    for _ in range(n):
        words = [*rng.choice(own, 4), *rng.choice(("alpha", "beta"), 2)]
        found.append(" ".join(rng.permutation(words)))
    return found


def write_json_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
