"""Looks at what ``make dist`` built: ``python tools/check_dist.py dist``.

The wheel must hold the package and nothing else, say that it is typed, and carry the metadata that
an index and a reader expect.
"""

from __future__ import annotations

import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

NEEDED = (
    "vqpu/py.typed",
    "vqpu/report/page.html.jinja",
    "vqpu/review/page.html.jinja",
    "vqpu/review/review.js",
    "vqpu/cli/__init__.py",
)
FIELDS = ("Name", "Version", "Summary", "License-Expression", "Requires-Python", "Keywords")
_LARGEST = 1_000_000  # bytes; the package is code, and records or data would make it larger


def faults_of(wheel: Path) -> list[str]:
    """Return what is wrong with a wheel, a sentence each.

    Parameters
    ----------
    wheel : Path
    """
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (place,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(archive.read(place).decode("utf-8"))
    info = place.split("/")[0]
    faults = [f"{name} is missing." for name in NEEDED if name not in names]
    foreign = sorted({name.split("/")[0] for name in names} - {"vqpu", info})
    if foreign:
        faults.append(f"{foreign} do not belong into a wheel.")
    if wheel.stat().st_size > _LARGEST:
        faults.append(f"{wheel.stat().st_size:,} bytes are more than code needs.")
    return faults + _metadata_faults(metadata)


def _metadata_faults(metadata: Message) -> list[str]:
    faults = [f"The metadata lack {field}." for field in FIELDS if not metadata[field]]
    if not metadata.get_payload():
        faults.append("The metadata lack the README.")
    if "vqpu" not in (metadata["Name"] or ""):
        faults.append(f"The project is named {metadata['Name']!r}.")
    return faults


def main(folder: str) -> int:
    """Print the faults of all wheels of a folder and return the exit code."""
    wheels = sorted(Path(folder).glob("*.whl"))
    faults = [f"{wheel.name}: {fault}" for wheel in wheels for fault in faults_of(wheel)]
    if not wheels:
        faults.append(f"{folder} holds no wheel.")
    for fault in faults:
        print(fault, file=sys.stderr)
    for wheel in wheels:
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
