"""A shard: every n-th sample of an input, so that several processes share it out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from vqpu.errors import UsageError
from vqpu.files import Chunk


@dataclass(frozen=True)
class Shard:
    """The samples at ``number - 1``, ``number - 1 + count``, ...

    Attributes
    ----------
    number, count : int
        From 1; shard ``number`` of ``count``.
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``"i/n"``.

        Examples
        --------
        >>> Shard.parse("2/3")
        Shard(number=2, count=3)
        """
        match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise UsageError(
                f"shard must be i/n with 1 <= i <= n, such as 2/8. Got {text!r} instead."
            )
        return cls(int(match[1]), int(match[2]))

    def slice_from(self, start: int) -> slice:
        """Return what to take of samples whose first has the number ``start``."""
        return slice((self.number - 1 - start) % self.count, None, self.count)

    def take(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Thin a stream out."""
        start = n_broken = 0
        for chunk in chunks:
            mine, broken = self.slice_from(start), self.slice_from(n_broken)
            start += len(chunk.X)
            n_broken += len(chunk.broken)
            y = None if chunk.y is None else chunk.y[mine]
            yield Chunk(chunk.X[mine], chunk.names[mine], y, chunk.broken[broken])


WHOLE = Shard(1, 1)
