"""Streaming ``predict`` and the ONNX graph beside ``predict`` in memory, as ratios.

usage: python benchmarks/serving.py [--rows 1000000] [--threads 2] [--rounds 3]

Prints one JSON object. A table of rows x 64 columns is written as Parquet to a temporary folder,
and one of a tenth of its rows. Every prediction runs in a process of its own, which tells its
time, without start-up (a tenth of the rows is judged before the clock starts), and its peak of
resident memory; once with the trees that are the default ("trees"), once with five networks
("five"), once with one ("single"), beside which reading weighs more.
The goals: ``memory_ratio`` (all rows over a tenth of them) at most 1.15; ``throughput_ratio``
(streaming over ``predict`` on an array in memory) at least 0.8; ``onnx_speed_ratio`` (onnxruntime
over ``predict``, on 1,000 images) at least 1, codes equal and scores within 1e-4.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from side_by_side import in_turn

N_COLUMNS = 64
_GROUP = 100_000  # rows of a group: fewer than most writers', so that one stays small in memory

IN_MEMORY = """
import json, sys, time
from pathlib import Path
import numpy as np, torch
import vqpu
torch.set_num_threads(int(sys.argv[4]))
folder, n = Path(sys.argv[1]), int(sys.argv[2])
model, X = vqpu.load(folder / sys.argv[5]), np.load(folder / f"{n}.npy", allow_pickle=False)
model.predict(X[: n // 10])
started = time.perf_counter()
model.predict(X)
print(json.dumps({"seconds": time.perf_counter() - started}))
"""

STREAMING = """
import json, sys, time
from pathlib import Path
import torch
from vqpu.files._prediction import predict_file
torch.set_num_threads(int(sys.argv[4]))
folder, n, ending = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
model = folder / sys.argv[5]
# Loads modules and has the system hand over what memory decoding needs, as above.
predict_file(model, folder / sys.argv[6], folder / f"small.{ending}")
started = time.perf_counter()
done = predict_file(model, folder / f"{n}.parquet", folder / f"out.{ending}")
seconds = time.perf_counter() - started
assert done.n_rows == n
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
print(json.dumps({"seconds": seconds, "megabytes": peak}))
"""


def write_rows(folder: Path, n: int) -> None:
    """Write the same n rows as Parquet and as one array, a group of rows at a time."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    names = [f"c{index}" for index in range(N_COLUMNS)]
    schema = pa.schema([(name, pa.float64()) for name in names])
    array = np.lib.format.open_memmap(
        folder / f"{n}.npy", mode="w+", dtype=np.float64, shape=(n, N_COLUMNS)
    )
    with parquet.ParquetWriter(folder / f"{n}.parquet", schema) as writer:
        for start in range(0, n, _GROUP):
            rows = make_rows(rng, min(_GROUP, n - start))
            array[start : start + len(rows)] = rows
            writer.write_table(pa.table(dict(zip(names, rows.T, strict=True))))
    array.flush()


def make_rows(rng: np.random.Generator, n: int) -> Any:
    rows = rng.normal(size=(n, N_COLUMNS))
    rows[rng.random(n) < 0.4, :8] += 2.0
    return rows


def fit_table_models(folder: Path) -> None:
    """Fit ``trees``, ``five`` networks and a ``single`` one by the command line."""
    from vqpu.cli import main

    rng = np.random.default_rng(1)
    rows = make_rows(rng, 4000)
    is_positive = rows[:, :8].mean(axis=1) > 1
    for name, part in (("p", rows[is_positive][:800]), ("u", rows[:3000])):
        import pyarrow as pa
        from pyarrow import parquet

        columns = {f"c{index}": part[:, index] for index in range(N_COLUMNS)}
        parquet.write_table(pa.table(columns), folder / f"{name}.parquet")
    arguments = ["--positives", folder / "p.parquet", "--unlabeled", folder / "u.parquet"]
    settings = ["--set=max_steps=200", "--set=n_rounds=1", "--seed=0", "--quiet", "--json"]
    encoders = {
        "trees": ["--encoder=trees"],
        "five": ["--encoder=network", "--set=n_members=5"],
        "single": ["--encoder=network", "--set=n_members=1"],
    }
    for name, encoder in encoders.items():
        line = ["fit", *map(str, arguments), f"--out={folder / name}", *settings, *encoder]
        with contextlib.redirect_stdout(sys.stderr):
            assert main(line) == 0


def apart(program: str, *arguments: object) -> dict[str, float]:
    """Run a program in a process of its own and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def streaming_ratios(folder: Path, n: int, threads: int, rounds: int) -> dict[str, Any]:
    fit_table_models(folder)
    for count in (n // 10, n):
        write_rows(folder, count)
    found: dict[str, Any] = {"rows": n}
    models = ("trees", "five", "single")
    for model, ending in (*((name, "parquet") for name in models), ("single", "csv")):
        small = apart(STREAMING, folder, n // 10, ending, threads, model, "p.parquet")
        tenth = f"{n // 10}.parquet"
        ratios, peaks = [], []
        for _ in range(rounds):
            memory = apart(IN_MEMORY, folder, n, ending, threads, model)
            stream = apart(STREAMING, folder, n, ending, threads, model, tenth)
            ratios.append(memory["seconds"] / stream["seconds"])
            peaks.append(stream["megabytes"])
        found[f"{model}_to_{ending}"] = {
            "throughput_ratio": statistics.median(ratios),
            "memory_ratio": statistics.median(peaks) / small["megabytes"],
            "megabytes": statistics.median(peaks),
            "rows_per_second": n / stream["seconds"],
        }
    return found


def onnx_ratios(folder: Path, side: int, threads: int, rounds: int) -> dict[str, Any]:
    import onnxruntime

    from vqpu import VQKMeansClassifier
    from vqpu.base._inference import IMAGE_CHUNK
    from vqpu.files._export import export_onnx

    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, (1000, side, side, 3), dtype=np.uint8)
    X[:500, ..., 0] += 50
    y = (np.arange(1000) < 250).astype(np.int64)
    model = VQKMeansClassifier(max_steps=60, n_members=1, random_state=0).fit(X, y)
    export_onnx(model, folder / "model.onnx", sample_shape=X.shape[1:], dtype="uint8")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(folder / "model.onnx", options)
    scores_only = onnxruntime.RunOptions()
    scores_only.only_execute_path_to_fetches = True
    scores, codes = session.run(["score", "codes"], {"x": X})

    def score_batches() -> None:  # as many at a time as predict takes
        for start in range(0, len(X), IMAGE_CHUNK):
            session.run(["score"], {"x": X[start : start + IMAGE_CHUNK]}, scores_only)

    return {
        "codes_equal": bool((codes == model.transform(X)).all()),
        "largest_score_error": float(np.abs(scores - model.decision_function(X)).max()),
        "onnx_speed_ratio": in_turn(lambda: model.predict(X), score_batches, rounds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("streaming", "onnx"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    found: dict[str, Any] = {"threads": options.threads}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.only != "onnx":
            found["streaming"] = streaming_ratios(
                folder, options.rows, options.threads, options.rounds
            )
        if options.only != "streaming":
            for side in (32, 64):
                found[f"onnx_{side}px"] = onnx_ratios(
                    folder, side, options.threads, 2 * options.rounds + 1
                )
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
