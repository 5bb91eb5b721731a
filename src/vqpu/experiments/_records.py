"""Records: small JSON files, written whole or not at all."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

from vqpu._atomic import write_atomically

Record = dict[str, Any]


def write_json(path: Path, record: Any) -> None:
    """Write ``record`` to ``path``: a temporary file, flushed to disk, renamed into place."""
    text = json.dumps(record, indent=1, allow_nan=False) + "\n"
    write_atomically(path, text.encode())


def read_records(folder: Path) -> list[Record]:
    """Return every record of a folder, in the order of their names."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def environment() -> Record:
    """Return what a figure may depend on besides its seed."""
    import numpy
    import sklearn
    import torch

    import vqpu

    return {
        "vqpu": vqpu.__version__,
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
    }
