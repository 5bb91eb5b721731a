from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.features_tools import pictures, texts, write_image_network, write_text_network
from vqpu import VQKMeansClassifier, stack_pu
from vqpu.errors import ExportError
from vqpu.features import FunctionExtractor, ImageInput, extract, open_extractor
from vqpu.files._export import export_onnx

onnxruntime = pytest.importorskip("onnxruntime")


def fitted(positives: Any, unlabeled: Any, encoder: str) -> VQKMeansClassifier:
    X, y = stack_pu(positives, unlabeled)
    return VQKMeansClassifier(
        encoder=encoder, max_steps=60, n_rounds=1, n_members=2, random_state=0
    ).fit(X, y)


@pytest.mark.parametrize(("encoder", "resize"), [("linear", 20), ("trees", 16)])
def test_export__pictures__one_graph_from_pixels_to_score(
    tmp_path: Path, encoder: str, resize: int
) -> None:
    toml = f"size = 16\nresize = {resize}\nmean = [0.5, 0.4, 0.3]\nstd = [0.25, 0.3, 0.2]\n"
    extractor = open_extractor(write_image_network(tmp_path / "tiny.onnx", toml=toml))
    wanted = extract(extractor, pictures(60, is_positive=True, seed=0))
    mixed = np.concatenate([pictures(60, is_positive=p, seed=1) for p in (True, False)])
    model = fitted(wanted, extract(extractor, mixed), encoder)
    done = export_onnx(model, tmp_path / "whole.onnx", extractor=extractor)
    assert done.input_shape == (resize, resize, 3)
    assert done.input_dtype == "uint8"
    pixels = np.random.default_rng(5).integers(0, 256, (9, resize, resize, 3), dtype=np.uint8)
    session = onnxruntime.InferenceSession(str(tmp_path / "whole.onnx"))
    (scores,) = session.run(["score"], {"x": pixels})
    expected = model.decision_function(extract(extractor, pixels))
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)


def test_export__texts__one_graph_from_tokens_to_score(tmp_path: Path) -> None:
    extractor: Any = open_extractor(write_text_network(tmp_path / "words.onnx"))
    wanted = extract(extractor, texts(50, is_positive=True, seed=0))
    mixed = texts(50, is_positive=True, seed=1) + texts(50, is_positive=False, seed=2)
    model = fitted(wanted, extract(extractor, mixed), "linear")
    done = export_onnx(model, tmp_path / "whole.onnx", extractor=extractor)
    assert done.inputs == ("input_ids", "attention_mask")
    session = onnxruntime.InferenceSession(str(tmp_path / "whole.onnx"))
    (scores,) = session.run(["score"], extractor.tokens_of(mixed[45:55]))
    expected = model.decision_function(extract(extractor, mixed[45:55]))
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)


def test_export__network_of_an_older_operator_set__is_converted(tmp_path: Path) -> None:
    extractor = open_extractor(write_image_network(tmp_path / "tiny.onnx", opset=11))
    wanted, others = (
        extract(extractor, pictures(40, is_positive=p, seed=0)) for p in (True, False)
    )
    model = fitted(wanted, np.concatenate([wanted[:20], others]), "trees")
    assert export_onnx(model, tmp_path / "whole.onnx", extractor=extractor).n_checked == 32


def test_export__features_of_a_function__are_refused(tmp_path: Path) -> None:
    image = ImageInput(size=8, resize=8, mean=(0, 0, 0), std=(1, 1, 1))
    extractor = FunctionExtractor(lambda p: p.reshape(len(p), -1)[:, :4], n_features=4, image=image)
    wanted, others = (
        extract(extractor, pictures(40, is_positive=p, seed=0)) for p in (True, False)
    )
    model = fitted(wanted, others, "trees")
    with pytest.raises(ExportError, match="which is no ONNX file"):
        export_onnx(model, tmp_path / "whole.onnx", extractor=extractor)
    assert not (tmp_path / "whole.onnx").exists()
