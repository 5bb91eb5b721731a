"""Reading users' files: flat memory, and no crash on mutated ones, in processes of their own."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pa = pytest.importorskip("pyarrow")
from pyarrow import csv, feather, parquet  # noqa: E402

from tests.hostile_user import (  # noqa: E402
    image_bytes,
    mixed_table_bytes,
    npy_bytes,
    png_of_zeros,
    table_bytes,
    zeros_in_one_page,
    zip_of,
)

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is read from /proc"
)

PROGRAM = """
import json, sys, warnings
from pathlib import Path
import numpy, openpyxl, PIL.Image, pyarrow.compute, pyarrow.csv, pyarrow.ipc, pyarrow.parquet
import sklearn.decomposition, sklearn.feature_extraction.text
from vqpu import files
from vqpu.errors import VqpuError
PIL.Image.init()
warnings.simplefilter("ignore")

def read(path, cache):
    if path.is_dir():
        files.read_image_folders(path / "p", path / "u", size=16, cache_dir=cache)
    elif path.suffix == ".npy":
        for _ in files.iter_array(path): pass
    elif path.suffix == ".npz":
        for _ in files.iter_array(path, cache_dir=cache): pass
    else:
        plan = files.read_table(path, label="l", positive=1, cache_dir=cache).plan
        for _ in files.iter_table(path, plan, keep=["l"]): pass

def peak():  # not ru_maxrss, which a process inherits from the one that started it
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024

before, refused = peak(), []
for name in sys.argv[2:]:
    try:
        read(Path(name), sys.argv[1])
    except VqpuError as error:
        refused.append(type(error).__name__)
print(json.dumps([before, peak(), len(refused)]))
"""


def run_apart(cache: Path, *paths: Path) -> tuple[float, float, int]:
    """Return memory (MB) before and at the peak of reading, and the number of refused files."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(cache), *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    before, peak, refused = json.loads(done.stdout)
    return before, peak, refused


def in_folders(folder: Path, *images: bytes, ending: str = "png") -> Path:
    for name in ("p", "u"):
        (folder / name).mkdir(parents=True)
        for index, data in enumerate(images):
            (folder / name / f"{index}.{ending}").write_bytes(data)
    return folder


def test_bombs__at_most_300_mb(tmp_path: Path) -> None:
    large = io.BytesIO()
    Image.new("RGBA", (4999, 5000), (1, 2, 3, 4)).save(large, "PNG", compress_level=1)
    text = pa.DictionaryArray.from_arrays(np.zeros(100_000, np.int32), ["x" * 1_000_000])
    bombs = [in_folders(tmp_path / "image", png_of_zeros(30_000, 10_000))]
    for name, data in {
        "line.csv": b"x,l\n" + b"1" * 20_000_000,
        "columns.csv": b"," * 400_000 + b"\n",
        "text.parquet": table_bytes("parquet", x=text, l=np.arange(100_000)),
        "packed.csv.gz": gzip.compress(b"x,l\n" + b"1" * 20_000_000),
        "page.parquet": zeros_in_one_page(),
        "zeros.feather": table_bytes("feather", x=np.zeros(40_000_000)),
        "terabytes.npy": npy_bytes((10**12, 10)),
    }.items():
        bombs.append(tmp_path / name)
        bombs[-1].write_bytes(data)
    parquet.write_table(
        pa.table({"x": np.arange(1e7) % 3, "l": np.arange(10_000_000) % 2}),
        tmp_path / "rows.parquet",
        compression="zstd",
        use_dictionary=False,
        row_group_size=10_000_000,
    )
    allowed = in_folders(tmp_path / "allowed", large.getvalue()), tmp_path / "rows.parquet"
    before, peak, refused = run_apart(tmp_path / "cache", *bombs, *allowed)
    assert refused == len(bombs)
    assert peak - before <= 300, f"{peak - before:.0f} MB"


def test_npz_bomb__unpacked_to_disk__little_memory(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", X=np.zeros((4_000_000, 10)))  # 320 MB in 0.3
    before, peak, refused = run_apart(tmp_path / "cache", tmp_path / "x.npz")
    assert refused == 0
    assert peak - before <= 64, f"{peak - before:.0f} MB"


def test_images__ten_times_as_many__same_memory(tmp_path: Path) -> None:
    data = image_bytes("JPEG", 128)
    small = in_folders(tmp_path / "small", *[data] * 60)
    large = in_folders(tmp_path / "large", *[data] * 600)
    peaks = [run_apart(tmp_path / "cache", folder)[1] for folder in (small, large)]
    assert peaks[1] <= 1.05 * peaks[0], peaks


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_tables__ten_times_the_rows__same_memory(ending: str, tmp_path: Path) -> None:
    peaks = []
    for n in (200_000, 2_000_000):
        rng = np.random.default_rng(0)
        table = pa.table(
            {f"c{i}": rng.integers(0, 999, n) for i in range(8)} | {"l": np.arange(n) % 2}
        )
        path = tmp_path / f"{n}.{ending}"
        if ending == "csv":
            csv.write_csv(table, path)
        elif ending == "parquet":
            parquet.write_table(table, path, row_group_size=50_000)
        else:
            feather.write_feather(table, path)
        peaks.append(run_apart(tmp_path / "cache", path)[1])
    # As one array the larger table would take 115 MB more than the small one.
    assert peaks[1] - peaks[0] <= 40, peaks


@pytest.mark.parametrize(
    ("n_numbers", "n_words", "with_csv"),
    [
        pytest.param(4_999, 1_000, False, id="short"),
        pytest.param(19_999, 3_000, True, id="whole", marks=pytest.mark.torture),
    ],
)
def test_column_bombs__read_or_refused__at_most_500_mb(
    n_numbers: int, n_words: int, with_csv: bool, tmp_path: Path
) -> None:
    """A million different values, cells of 10 MB, thousands of columns."""
    n = 1_000_000
    names = pa.array([f"value {i}" for i in range(n)])
    parquet.write_table(
        pa.table({"x": np.arange(n) % 7, "names": names, "l": np.arange(n) % 2}),
        tmp_path / "names.parquet",
        row_group_size=100_000,
    )
    if with_csv:
        csv.write_csv(parquet.read_table(tmp_path / "names.parquet"), tmp_path / "names.csv")
    texts = [f"{i} word " * 1_200_000 for i in range(4)] * 3
    table = pa.table({"t": texts, "x": np.arange(12) % 5, "l": np.arange(12) % 2})
    parquet.write_table(table, tmp_path / "texts.parquet", row_group_size=4)
    wide = {f"c{i}": np.arange(50) % (i % 5 + 2) for i in range(n_numbers)}
    csv.write_csv(pa.table(wide | {"l": np.arange(50) % 2}), tmp_path / "wide.csv")
    words = {f"c{i}": [f"w{j % 4}" for j in range(50)] for i in range(n_words)}
    parquet.write_table(pa.table(words | {"l": np.arange(50) % 2}), tmp_path / "words.parquet")
    for path in sorted(path for path in tmp_path.iterdir() if path.is_file()):
        # One process a file: Arrow's pool keeps what it freed, for the next file to add to.
        before, peak, refused = run_apart(tmp_path / "cache", path)
        assert refused == 0, path.name
        assert peak - before <= 500, f"{path.name}: {peak - before:.0f} MB"


TABLE_KINDS = ["csv", "csv.gz", "csv.zst", "parquet", "feather", "jsonl", "xlsx"]
KINDS = ["npy", "npz", *TABLE_KINDS, "PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF"]


def changed_bytes(original: bytes, rng: np.random.Generator) -> bytes:
    """Change up to eight bytes: to any, to plain letters and marks, or to others of the file.

    Bytes of any kind make text that is no UTF-8, which is refused before it is looked at.
    """
    mutated = np.frombuffer(original, np.uint8).copy()
    places = rng.integers(0, len(mutated), rng.integers(1, 9))
    choices = (np.arange(256), np.arange(128), mutated.copy())[rng.integers(3)]
    mutated[places] = rng.choice(choices, len(places))
    return mutated.tobytes()


def changed_within(kind: str, original: bytes, rng: np.random.Generator) -> bytes:
    """Change bytes of what is packed and pack it again, so that no checksum gives them away."""
    if kind == "csv.gz":
        return gzip.compress(changed_bytes(gzip.decompress(original), rng), 1)
    if kind == "csv.zst":
        plain = mixed_table_bytes("csv")
        packed: bytes = pa.compress(changed_bytes(plain, rng), "zstd", asbytes=True)
        return packed
    if kind != "xlsx":
        return changed_bytes(original, rng)
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(original)) as old, zipfile.ZipFile(sink, "w") as new:
        names = old.namelist()
        chosen = names[rng.integers(len(names))]
        for name in names:
            data = old.read(name)
            new.writestr(name, changed_bytes(data, rng) if name == chosen else data)
    return sink.getvalue()


def mutated_files(kind: str, count: int, folder: Path) -> list[Path]:
    """Write files with some bytes changed, every third cut short, every other changed within."""
    originals = {
        "npy": npy_bytes((10, 1)),
        "npz": zip_of(X=npy_bytes((10, 1)), y=npy_bytes((10,))),
    }
    is_image = kind.isupper()
    if kind in TABLE_KINDS:
        original = mixed_table_bytes(kind)
    else:
        original = image_bytes(kind, 24) if is_image else originals[kind]
    rng = np.random.default_rng(0)
    paths = []
    for index in range(count):
        data = changed_within(kind, original, rng) if index % 2 else changed_bytes(original, rng)
        data = data[: None if index % 3 else int(rng.integers(len(data)))]
        if is_image:
            paths.append(in_folders(folder / str(index), data, ending=kind.lower()))
        else:
            paths.append(folder / f"{index}.{kind}")
            paths[-1].write_bytes(data)
    return paths


@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files__read_or_refused__never_a_crash(kind: str, tmp_path: Path) -> None:
    count = 90 if kind in TABLE_KINDS else 30
    before, peak, refused = run_apart(tmp_path / "cache", *mutated_files(kind, count, tmp_path))
    # Of most kinds, those cut short at the least; a table of lines is one still, cut anywhere.
    assert (0 if kind in ("csv", "jsonl") else count // 3) <= refused <= count
    assert peak - before <= 300


@pytest.mark.torture
@pytest.mark.timeout(3600)  # 10,000 workbooks take a quarter of an hour
@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files__thousands_of_them__no_crash_no_hang_under_1_gb(
    kind: str, tmp_path: Path
) -> None:
    count = 10_000 if kind in TABLE_KINDS else 2000
    paths, n_refused = mutated_files(kind, count, tmp_path), 0
    for start in range(0, count, 1000):
        _, peak, refused = run_apart(tmp_path / "cache", *paths[start : start + 1000])
        assert peak < 1000
        n_refused += refused
    assert (0 if kind in ("csv", "jsonl") else 0.3 * count) <= n_refused <= count


FIT_PROGRAM = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
from pathlib import Path
import vqpu
began = time.process_time()
data = vqpu.files.read_table(sys.argv[2], label="l", positive=1, cache_dir=sys.argv[1])
model = vqpu.VQKMeansClassifier(random_state=0).fit(data.X, data.y)
n = sum(len(model.decision_function(c.X)) for c in vqpu.files.iter_table(sys.argv[2], data.plan))
status = Path("/proc/self/status").read_text()
peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
print(json.dumps([data.X.shape[1], n, time.process_time() - began, peak]))
"""


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", ["words", "numbers"])
def test_20000_columns__fitted_and_predicted_in_bounded_time_and_memory(
    kind: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    n, path = 300, tmp_path / "wide.csv"
    truth = np.arange(n) % 2
    columns = {
        f"c{i}": [f"w{j}" for j in rng.integers(0, 4, n)] if kind == "words" else rng.normal(size=n)
        for i in range(19_999)
    }
    csv.write_csv(pa.table({**columns, "l": truth * (rng.random(n) < 0.5)}), path)
    done = subprocess.run(
        [sys.executable, "-c", FIT_PROGRAM, str(tmp_path / "cache"), str(path)],
        capture_output=True, text=True, check=False, timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    n_columns, n_predicted, seconds, peak = json.loads(done.stdout)
    assert (n_columns, n_predicted) == (19_999, n)
    assert seconds < 120  # of one core; on a quiet one about half of it
    assert peak < 2000
