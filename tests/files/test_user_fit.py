"""From users' files to a fitted model and back: what is read fits the estimators."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support import fast_classifier
from vqpu.errors import InputError
from vqpu.files import iter_images, iter_table, kind_of, read_image_folders, read_table

# So short a training may be said to have failed, and that is not the point here.
pytestmark = pytest.mark.filterwarnings("ignore::vqpu.errors.VqpuWarning")


def test_folders__fit_then_predict_a_stream__as_on_the_array(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name, levels in (("p", [200] * 30), ("u", [200] * 20 + [50] * 40)):
        (tmp_path / name).mkdir()
        for index, level in enumerate(levels):
            pixels = rng.normal(level, 15, (12, 16, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / name / f"{index:02}.png")
    data = read_image_folders(tmp_path / "p", tmp_path / "u", size=8, cache_dir=tmp_path / "cache")
    model = fast_classifier().fit(data.X, data.y)
    chunks = list(iter_images(tmp_path / "u", size=8, mode="RGB", chunk_size=25))
    streamed = np.concatenate([model.decision_function(chunk.X) for chunk in chunks])
    np.testing.assert_array_equal(streamed, model.decision_function(data.X[data.y == 0]))
    assert [name for chunk in chunks for name in chunk.names] == data.names[30:]


def test_table__fit_then_predict_a_stream__as_on_the_array(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal(2)},red,yes" for _ in range(60)]
    lines += [f"{rng.normal(-2)},{rng.choice(['blue', 'red'])}," for _ in range(90)]
    (tmp_path / "t.csv").write_text("x,colour,label\n" + "\n".join(lines) + "\n")
    data = read_table(tmp_path / "t.csv", label="label", positive="yes", cache_dir=tmp_path)
    model = fast_classifier().fit(data.X, data.y)
    assert data.plan is not None
    assert model.columns_ is data.plan
    (chunk,) = iter_table(tmp_path / "t.csv", data.plan)
    np.testing.assert_array_equal(model.predict(chunk.X), model.predict(data.X))


def test_import__loads_no_decoder() -> None:
    heavy = ("torch", "sklearn", "pyarrow", "PIL", "rich", "pooch", "requests")
    code = (
        "import sys, vqpu.datasets, vqpu.files\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_kind_of__by_what_it_is(tmp_path: Path) -> None:
    assert kind_of(tmp_path) == "images"
    names = {"a.npz": "array", "a.CSV": "table", "a.feather": "table", "a.tsv.GZ": "table"}
    for name, kind in names.items():
        (tmp_path / name).write_bytes(b"")
        assert kind_of(tmp_path / name) == kind
    for name in ("a.ods", "a.parquet.gz"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(InputError, match="Expected a folder of images, an array"):
            kind_of(tmp_path / name)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "1.parquet").write_bytes(b"")
    assert kind_of(tmp_path / "parts") == "table"
    (tmp_path / "parts" / "1.png").write_bytes(b"")
    assert kind_of(tmp_path / "parts") == "images"
