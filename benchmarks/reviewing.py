"""The review page under load: a million samples opened, and a hundred requests a second.

usage: python benchmarks/reviewing.py [--samples 1000000] [--seconds 60] [--rate 100]

Prints one JSON object. Samples were scored before: a Parquet file of scores is opened in a process
of its own, which tells its time (goal: under 2 s) and its peak of resident memory (under 500 MB),
both without imports. Then ``vqpu review`` serves them on loopback, and requests leave at a fixed
rate, whether earlier ones were answered or not: of six, two decisions, the next items of a queue,
an item, the threshold with its audit, and the progress. Goal: 99 of 100 answers within 100 ms.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
from pyarrow import parquet

OPEN = """
import json, sys, time
from pathlib import Path
import fastapi, lightgbm, pyarrow.compute, pyarrow.csv, pyarrow.parquet, torch, uvicorn
import vqpu.review._serving, vqpu.review._server
from vqpu.files._models import open_model
from vqpu.review._session import ReviewRequest, open_review
folder = Path(sys.argv[1])
request = ReviewRequest(
    folder / "model", str(folder / "data.parquet"), folder / "opened.jsonl",
    folder / "scores.parquet",
)
def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
open_model(request.model)  # which imports the rest
before, started = peak(), time.perf_counter()
with open_review(request) as review:
    assert review.waiting("likely", 8, set())
    seconds = time.perf_counter() - started
    print(json.dumps({"open_seconds": round(seconds, 2), "imports_mb": round(before),
                      "samples_mb": round(peak() - before)}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rate", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_samples(folder, options.samples)
        done = subprocess.run(
            [sys.executable, "-c", OPEN, str(folder)], capture_output=True, text=True, check=True
        )
        found = {"samples": options.samples, **json.loads(done.stdout)}
        with serving(folder) as address:
            found |= under_load(address, options.seconds, options.rate, options.samples)
    print(json.dumps(found, indent=1))


def make_samples(folder: Path, n: int) -> None:
    """Write a table of n rows, a model of its first ones, and scores of all of them."""
    from vqpu.cli import main as command

    rng = np.random.default_rng(0)
    is_positive = rng.random(n) < 0.3
    columns = {f"c{index}": rng.normal(is_positive * 1.5, 1) for index in range(8)}
    known = np.where(is_positive & (rng.random(n) < 0.2), "yes", "")
    table = pa.table({"key": np.arange(n), **columns, "known": known})
    parquet.write_table(table, folder / "data.parquet", row_group_size=100_000)
    parquet.write_table(table.slice(0, 5_000), folder / "first.parquet")
    model = str(folder / "model")
    for arguments in (
        ["fit", folder / "first.parquet", "--label=known", "--positive=yes", "--id=key",
         "--out", model, "--seed=0", "--quiet", "--json"],
        ["predict", model, folder / "data.parquet", "--out", folder / "scores.parquet", "--json"],
    ):  # fmt: skip
        with contextlib.redirect_stdout(sys.stderr):
            assert command([str(argument) for argument in arguments]) == 0


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run ``vqpu review`` and give the address of its page."""
    server = subprocess.Popen(
        [sys.executable, "-m", "vqpu", "review", str(folder / "model"),
         str(folder / "data.parquet"), "--scores", str(folder / "scores.parquet"), "--no-browser"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        for line in server.stdout:
            if found := re.search(r"http://\S+/", line):
                yield found[0]
                break
    finally:
        server.terminate()
        server.wait()


def under_load(address: str, seconds: int, rate: int, n_samples: int) -> dict[str, Any]:
    """Send requests at a fixed rate and return how long answers took."""
    taken: list[float] = []
    codes: list[int] = []
    counting = threading.Lock()
    origin = address.split("/", 3)
    headers = {"origin": "/".join(origin[:3])}
    limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
    with httpx.Client(base_url=address, headers=headers, limits=limits, timeout=30) as client:

        def ask(number: int, due: float) -> None:
            code = send(client, number, n_samples)
            with counting:
                taken.append(time.perf_counter() - due)  # waiting for a thread counts too
                codes.append(code)

        started = time.perf_counter()
        with ThreadPoolExecutor(32) as threads:
            for number in range(seconds * rate):
                due = started + number / rate
                time.sleep(max(0.0, due - time.perf_counter()))
                threads.submit(ask, number, max(due, time.perf_counter()))
        whole = time.perf_counter() - started
    assert len(taken) == seconds * rate, "every request was answered"
    median, most = np.quantile(taken, [0.5, 0.99])
    return {
        "requests": len(taken),
        "requests_per_second": round(len(taken) / whole, 1),
        "median_ms": round(1000 * float(median), 1),
        "p99_ms": round(1000 * float(most), 1),
        "errors": sum(code >= 500 for code in codes),
        "decisions": sum(code == 201 for code in codes),
    }


def send(client: httpx.Client, number: int, n_samples: int) -> int:
    """Send the request of a number and return the code of its answer."""
    kind = number % 6
    if kind < 2:
        decision = {
            "id": uuid.uuid4().hex, "place": number * 7919 % n_samples, "queue": "likely",
            "answer": "no" if number % 3 else "yes", "reviewer": "ann",
        }  # fmt: skip
        return client.post("api/decisions", json=decision).status_code
    paths = ["api/queue/likely", f"api/item/{number}", "api/threshold?log_odds=1", "api/progress"]
    return client.get(paths[kind - 2]).status_code


if __name__ == "__main__":
    main()
