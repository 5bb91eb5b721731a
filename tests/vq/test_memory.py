"""Memory: what is read from a file must not pile up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is read from /proc"
)

PROGRAM = """
import json, sys, warnings
from pathlib import Path
import numpy as np, torch
torch.set_num_threads(1)
warnings.simplefilter("ignore")
from tests.support import fast_classifier
path, n = sys.argv[1], int(sys.argv[2])
X = np.load(path, mmap_mode="r")[:n]
y = (np.arange(n) % 4 == 0).astype(np.int8)
model = fast_classifier(max_steps=20).fit(X, y)
model.predict(X[:1000])
# Not ru_maxrss, which a process inherits from the one that started it.
print(json.dumps(int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])))
"""


def peak_memory(path: Path, n: int) -> int:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), str(n)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(json.loads(done.stdout))


def test_fit__file_ten_times_larger__a_tenth_more_memory_at_most(tmp_path: Path) -> None:
    path = tmp_path / "samples.npy"
    n = 300_000
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 100))
    rng = np.random.default_rng(0)
    for start in range(0, n, 20_000):
        array[start : start + 20_000] = rng.standard_normal((20_000, 100), dtype=np.float32)
    array.flush()
    del array
    small, large = peak_memory(path, n // 10), peak_memory(path, n)
    assert large <= 1.10 * small, f"{large / small:.2f} times the memory"
