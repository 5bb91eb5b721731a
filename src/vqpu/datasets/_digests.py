"""Digests of files, written ``algorithm:hexadecimal``."""

from __future__ import annotations

import hashlib
from typing import IO

_ALGORITHMS = ("sha256", "md5")  # md5 only beside or in want of sha256: it can be forged


def digest_fault(file: IO[bytes], digests: tuple[str, ...]) -> str | None:
    """Return what is wrong with the bytes of an open file, or None if every digest matches.

    Parameters
    ----------
    file : binary file
        Read from its start.
    digests : tuple of str
        At least one, such as ``"sha256:440f..."``.
    """
    expected = dict(digest.split(":") for digest in digests)
    if not expected or not set(expected) <= set(_ALGORITHMS):
        raise ValueError(f"Digests must be of {_ALGORITHMS}. Got {digests!r} instead.")
    sums = {name: hashlib.new(name, usedforsecurity=False) for name in expected}
    file.seek(0)
    while chunk := file.read(1 << 20):
        for total in sums.values():
            total.update(chunk)
    for name, total in sums.items():
        if total.hexdigest() != expected[name]:
            return f"its {name} is {total.hexdigest()}, expected {expected[name]}"
    return None
