"""A default fit of 900 photographs of 64 pixels, beside one of the sizes that large sets get.

usage: PYTHONPATH=. python benchmarks/photographs.py --data-dir DIR
           [--threads 2] [--record results/speed-of-photographs]

Prints one JSON object; with --record also writes it as ``record.json`` there. Both fits are runs of
the study of small images on AFHQ's cats and dogs (results/small-images), made one after the other
on a machine that should be idle: ``seconds`` of the default, at most 180 on two cores, and its
accuracy and AUC on hidden labels of U that were not trained on.
"""

from __future__ import annotations

import argparse
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from experiments.records import write_file
from experiments.studies import small_images
from vqpu.base._precision import has_native_bfloat16

FORMS = {
    "default": "5 members, batches of 32, 1350 steps",
    "large_sizes": "5 members to patience",
}


def fit(form: str, data_dir: Path) -> dict[str, Any]:
    (config,) = (
        config
        for config in small_images.expand(None).values()
        if (config["task"], config["n_positive"], config["form"]) == ("afhq-cats", 300, form)
    )
    found = small_images.run(config, data_dir).metrics
    return {name: round(float(value), 4) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--record", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    found = {name: fit(form, given.data_dir) for name, form in FORMS.items()}
    environment = {
        "cores": os.cpu_count(),
        "threads": given.threads,
        "bfloat16": has_native_bfloat16(torch.device("cpu")),
        "torch": version("torch"),
    }
    text = json.dumps({"environment": environment, **found}, indent=1)
    print(text)
    if given.record is not None:
        given.record.mkdir(parents=True, exist_ok=True)
        write_file(given.record / "record.json", (text + "\n").encode())


if __name__ == "__main__":
    main()
