"""What other processes and machines cost and bring, as ratios within one run.

usage: PYTHONPATH=. python benchmarks/scale.py [--rows 2000000] [--images 2000] [--steps 60]
       [--rounds 3] [--quick] [--record results/scale]

Needs the extra ``ray``. Prints one JSON object; with --record also writes it as ``record.json``
with the tables of docs/scale.md beside it, ``summary.md``. The goals: ``speedup_ratio`` (2 workers
over 1 on Ray, over what two local processes reach) at least 0.8; ``memory_ratio`` (a worker's peak
over 10 times the rows) at most 1.15. A machine with other work on it tells nothing here; --quick
is so small that its figures tell nothing either: it shows that all of it runs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from vqpu.distributed._launching import launch
from vqpu.distributed._ray import opened_cluster
from vqpu.distributed._ray_scoring import RayEngine
from vqpu.files._engine import Reading

N_COLUMNS = 64
_PARTS = 16  # of the largest table
_CORE_HOUR = 0.04  # an assumption: dollars of one core for one hour
_CORES = 64  # of a cluster that is reckoned with: 8 machines of 8
_QUICK = {"rows": 64_000, "steps": 10, "images": 50, "rounds": 1}
_HERE = Path(__file__).resolve()

# Scores every second part of a table, from the first or the second, as one of n processes.
LOCAL = """
import sys, time
from pathlib import Path
from vqpu.estimators._drift import watch_drift
from vqpu.files import Notes
from vqpu.files._engine import Reading, score_here
from vqpu.files._input_parts import cut_input, number_parts
from vqpu.files._models import open_model
from vqpu.files._writers import write_predictions
model, table, out, samples, first, step = sys.argv[1:]
opened = open_model(model)
parts = number_parts(cut_input(opened.input_format, table, samples=int(samples)), lambda p: [])
def score(part, place):
    watch = watch_drift(opened.estimator)  # as workers do
    found = score_here(opened, table, Reading(), Notes(), watch=watch, part=part)
    write_predictions(Path(out) / f"{place}.parquet", "id", found)
score(parts[0], -1)  # loads modules
print("ready", flush=True)
sys.stdin.readline()
for place in range(int(first), len(parts), int(step)):
    score(parts[place], place)
print("done", flush=True)
"""


def make_table(path: Path, n_rows: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    rng, group = np.random.default_rng(0), max(1, n_rows // _PARTS)
    schema = pa.schema([(f"x{i}", pa.float32()) for i in range(N_COLUMNS)])
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, group):
            block = rng.normal(size=(min(group, n_rows - start), N_COLUMNS)).astype(np.float32)
            writer.write_table(pa.table(dict(zip(schema.names, block.T, strict=True)), schema))


def make_model(path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    from vqpu.cli import main as run_command

    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(1, 1, (300, N_COLUMNS)), rng.normal(-1, 1, (300, N_COLUMNS))])
    columns = dict(zip((f"x{i}" for i in range(N_COLUMNS)), X.astype(np.float32).T, strict=True))
    known = ["yes"] * 150 + [""] * 450
    train = path.parent / "train.parquet"
    parquet.write_table(pa.table({**columns, "known": known}), train)
    labels = ["--label", "known", "--positive", "yes", "--seed", "0", "--quiet"]
    assert run_command(["fit", str(train), *labels, "--out", str(path)]) == 0


def local_seconds(folder: Path, table: Path, samples: int, processes: int) -> float:
    """Score a table in processes of this machine; start-up is not counted."""
    (folder / "local").mkdir(exist_ok=True)
    common = [folder / "model", table, folder / "local", samples]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", LOCAL, *map(str, [*common, first, processes])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for first in range(processes)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    started = time.perf_counter()
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
    seconds = time.perf_counter() - started
    for process in running:
        process.communicate()
    return seconds


def peak_bytes(_: int) -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def ray_seconds(folder: Path, table: Path, samples: int, workers: int) -> dict[str, float]:
    """Score a table on a fresh cluster of this machine; start-up is counted apart."""
    began = time.perf_counter()
    with (
        opened_cluster(workers=workers) as cluster,
        tempfile.TemporaryDirectory(dir=folder) as out,
    ):
        # Many small parts, so that every worker has loaded the model before the clock starts.
        warm_up = RayEngine(workers=workers, samples=60)
        warm_up.write_parts(folder / "model", folder / "small.parquet", Reading(), f"{out}/small")
        engine = RayEngine(workers=workers, samples=samples)
        start_up = time.perf_counter() - began
        started = time.perf_counter()
        engine.write_parts(folder / "model", table, Reading(), f"{out}/all")
        seconds = time.perf_counter() - started
        # More tasks than workers, so that those which scored are among the asked.
        tasks = [(number,) for number in range(8 * workers)]
        peaks = [peak for _, peak in cluster.results(peak_bytes, tasks)]
    return {"seconds": seconds, "start_up": start_up, "peak": float(max(peaks))}


def median_of(times: Callable[[], float], rounds: int) -> float:
    return statistics.median(times() for _ in range(rounds))


def measure_scoring(folder: Path, n_rows: int, rounds: int) -> dict[str, Any]:
    make_model(folder / "model")
    tables = {size: folder / f"{size}.parquet" for size in (n_rows // 10, n_rows // 2, n_rows)}
    for size, path in tables.items():
        make_table(path, size)
    make_table(folder / "small.parquet", 1000)
    samples, table = max(1, n_rows // _PARTS), tables[n_rows]
    local = {
        n: median_of(lambda n=n: local_seconds(folder, table, samples, n), rounds)  # type: ignore[misc]
        for n in (1, 2)
    }
    runs: dict[str, dict[str, float]] = {}
    for size, workers in ((n_rows, 1), (n_rows, 2), (n_rows // 10, 1), (n_rows // 2, 2)):
        every = [ray_seconds(folder, tables[size], samples, workers) for _ in range(rounds)]
        middle = {key: statistics.median(run[key] for run in every) for key in every[0]}
        runs[f"{size} rows, {workers} workers"] = {**middle, "rows": size, "workers": workers}
    whole_1, whole_2, tenth_1, half_2 = runs.values()
    ray_speedup = whole_1["seconds"] / whole_2["seconds"]
    # Seconds are a start and a rate: from two points, for one worker.
    rate = (whole_1["seconds"] - tenth_1["seconds"]) / (whole_1["rows"] - tenth_1["rows"])
    start = max(0.0, tenth_1["seconds"] - rate * tenth_1["rows"])
    share = (whole_2["seconds"] - start) / (rate * n_rows)  # of one worker's time that two need
    predicted = start + share * rate * half_2["rows"]
    return {
        "rows": n_rows,
        "local_speedup": local[1] / local[2],
        "ray_speedup": ray_speedup,
        "speedup_ratio": ray_speedup / (local[1] / local[2]),
        "overhead_seconds_per_million": (whole_1["seconds"] - local[1]) / n_rows * 1e6,
        "start_up_seconds": whole_1["start_up"],
        "memory_ratio": whole_1["peak"] / tenth_1["peak"],
        "peak_megabytes": whole_1["peak"] / 1e6,
        "seconds_per_million": rate * 1e6,
        "job_seconds": start,
        "loss": 2 * share,
        "predicted_seconds": predicted,
        "measured_seconds": half_2["seconds"],
        "prediction_error": predicted / half_2["seconds"] - 1,
    }


def measure_images(folder: Path, n_images: int) -> dict[str, Any]:
    """Score a folder of JPEG files with a small convolutional model, in this process."""
    from PIL import Image

    from vqpu import VQKMeansClassifier
    from vqpu.files._input_format import INPUT_FILE, InputFormat
    from vqpu.files._prediction import predict_file

    rng = np.random.default_rng(0)
    X = rng.integers(0, 255, (64, 64, 64, 3), dtype=np.uint8)
    model = VQKMeansClassifier(max_steps=5, n_rounds=1, n_members=1, random_state=0)
    extras = {INPUT_FILE: InputFormat("images", (64, 64, 3), "uint8", "RGB").to_json()}
    model.fit(X, np.repeat([1, 0], 32)).save(folder / "image-model", extras=extras)
    (folder / "images").mkdir()
    for number in range(n_images):
        pixels = rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "images" / f"{number:06}.jpg")
    times = []
    for _ in range(2):  # the first loads modules
        started = time.perf_counter()
        predict_file(folder / "image-model", folder / "images", folder / "images.jsonl")
        times.append(time.perf_counter() - started)
    return {"seconds_per_million": times[1] / n_images * 1e6}


def time_steps(steps: int, out: str) -> None:
    """Run in a rank, or alone: seconds and bytes of a step."""
    from vqpu import VQKMeansClassifier
    from vqpu.training import Ranks, _loop, joined_ranks

    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 255, (512, 32, 32, 3), dtype=np.uint8), np.repeat([1, 0], 256)
    times: list[float] = []
    sent: list[int] = []
    honest, honest_average = _loop.take_step, Ranks.average

    def timed(*arguments: Any) -> Any:
        started = time.perf_counter()
        found = honest(*arguments)
        times.append(time.perf_counter() - started)
        return found

    def counted(self: Any, tensors: Any) -> None:
        sent.append(sum(4 * tensor.numel() for tensor in tensors))
        honest_average(self, tensors)

    _loop.take_step, Ranks.average = timed, counted  # type: ignore[assignment,method-assign]
    with joined_ranks() as ranks:
        model = VQKMeansClassifier(max_steps=steps, n_rounds=1, n_members=1, random_state=0)
        model.set_params(variant__check_every=steps).fit(X, y, ranks=ranks)
    if ranks.is_first:
        # A ring sends every byte on 2 (n - 1) / n times.
        ring = 2 * (ranks.size - 1) / ranks.size
        found = {"seconds": statistics.median(times[5:]), "bytes": ring * max([0, *sent])}
        Path(out).write_text(json.dumps(found))


def measure_training(folder: Path, steps: int) -> dict[str, Any]:
    found = {}
    for processes in (1, 2):
        out = folder / f"steps-{processes}.json"
        launch([str(_HERE), "--time-steps", str(out), "--steps", str(steps)], processes, 0)
        found[processes] = json.loads(out.read_text())
    return {
        "step_ratio": found[2]["seconds"] / found[1]["seconds"],
        "step_milliseconds": 1e3 * found[1]["seconds"],
        "megabytes_per_step": found[2]["bytes"] / 1e6,
    }


def summary(found: dict[str, Any]) -> str:
    """Return the tables of docs/scale.md."""
    return "# Scale\n\n" + "\n".join([*_measured(found), "", *_cost_model(found)]) + "\n"


def _measured(found: dict[str, Any]) -> list[str]:
    scoring, training = found["scoring"], found["training"]
    rows = [
        ("2 workers over 1 on Ray", f"{scoring['ray_speedup']:.2f}", ""),
        ("two local processes over one", f"{scoring['local_speedup']:.2f}", ""),
        ("the first over the second", f"{scoring['speedup_ratio']:.2f}", "at least 0.80"),
        (
            "Ray's overhead, seconds a million rows",
            f"{scoring['overhead_seconds_per_million']:.2f}",
            "",
        ),
        (
            "start of a cluster on this machine, seconds",
            f"{scoring['start_up_seconds']:.1f}",
            "",
        ),
        (
            "a worker's memory, 10 times the rows",
            f"{scoring['memory_ratio']:.2f}",
            "at most 1.15",
        ),
        ("a training step, 2 ranks over 1", f"{training['step_ratio']:.2f}", ""),
        ("megabytes a rank sends in a step", f"{training['megabytes_per_step']:.1f}", ""),
    ]
    return ["| measure | value | goal |", "| --- | --- | --- |", *map(_line, rows)]


def _cost_model(found: dict[str, Any]) -> list[str]:
    scoring = found["scoring"]
    core_hours = {
        "10^10 rows": scoring["seconds_per_million"] * 1e4 * scoring["loss"] / 3600,
        "10^8 pictures of 64 x 64": (
            found["images"]["seconds_per_million"] * 1e2 * scoring["loss"] / 3600
        ),
    }
    rows = [
        (
            "seconds a million rows of 64 columns, one worker",
            f"{scoring['seconds_per_million']:.2f}",
        ),
        ("seconds a job beside that", f"{scoring['job_seconds']:.1f}"),
        ("loss: what two workers need, over half of one's time", f"{scoring['loss']:.2f}"),
        (
            "a run not used for the fit: predicted, measured, seconds",
            f"{scoring['predicted_seconds']:.1f}, {scoring['measured_seconds']:.1f}",
        ),
        ("error of the prediction", f"{scoring['prediction_error']:+.0%}"),
    ]
    for what, hours in core_hours.items():
        rows.append((f"{what}, extrapolated: core hours", f"{hours:.1f}"))
        rows.append((f"the same on {_CORES} cores, hours", f"{hours / _CORES:.2f}"))
        dollars = hours * _CORE_HOUR
        rows.append((f"at {_CORE_HOUR} dollars a core hour, an assumption", f"{dollars:.2f}"))
    return ["| cost model | value |", "| --- | --- |", *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--time-steps", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.quick:
        vars(given).update(_QUICK)
    if given.time_steps is not None:
        time_steps(given.steps, given.time_steps)
        return
    with tempfile.TemporaryDirectory() as folder:
        found = {
            "environment": {
                "cores": os.cpu_count(),
                **{name: version(name) for name in ("vqpu", "torch", "ray", "pyarrow")},
            },
            "scoring": measure_scoring(Path(folder), given.rows, given.rounds),
            "images": measure_images(Path(folder), given.images),
            "training": measure_training(Path(folder), given.steps),
        }
    print(json.dumps(found, indent=1))
    if given.record is not None:
        given.record.mkdir(parents=True, exist_ok=True)
        (given.record / "record.json").write_text(json.dumps(found, indent=1) + "\n")
        (given.record / "summary.md").write_text(summary(found))


if __name__ == "__main__":
    main()
