"""The processes of one fit: what they average, gather and agree on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vqpu.base._split import BalancedBatches, Batch
from vqpu.persistence._checkpoints import Checkpoint, CheckpointFolder
from vqpu.persistence._tensors import pack, unpack

Plain = TypeVar("Plain")


class Ranks(NamedTuple):
    """The place of a process among those that train one model, by ``torch.distributed``.

    All of them take every step with the same weights; each on its own part of the batch.

    Attributes
    ----------
    rank : int
        From 0, which writes checkpoints and decides.
    size : int
        How many there are; 1: all that is below does nothing.
    """

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process speaks for all."""
        return self.rank == 0

    @torch.no_grad()
    def average(self, tensors: Sequence[Tensor]) -> None:
        """Put the mean over all ranks in place of every tensor: one message for all of them.

        Parameters
        ----------
        tensors : sequence of Tensor
            Of float32, as many and of the same shapes on every rank.
        """
        if self.size == 1:
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        torch.distributed.all_reduce(flat)
        flat /= self.size
        start = 0
        for tensor in tensors:
            tensor.copy_(flat[start : start + tensor.numel()].view_as(tensor))
            start += tensor.numel()

    def agreed(self, value: Plain) -> Plain:
        """Return what the first rank has; ready for JSON, which gives every float back exactly.

        Parameters
        ----------
        value : object
        """
        if self.size == 1:
            return value
        content = json.dumps(value).encode() if self.is_first else b""
        found: Plain = json.loads(self.broadcast(content))
        return found

    def agreed_array(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the first rank's array, which has the same type on all.

        Parameters
        ----------
        array : ndarray
        """
        if self.size == 1:
            return array
        content = np.ascontiguousarray(array).tobytes() if self.is_first else b""
        return np.frombuffer(bytearray(self.broadcast(content)), array.dtype).reshape(array.shape)

    def broadcast(self, content: bytes) -> bytes:
        """Return the first rank's bytes.

        Parameters
        ----------
        content : bytes
            Of no meaning on other ranks.
        """
        size = torch.tensor([len(content)])
        torch.distributed.broadcast(size, 0)
        held = torch.empty(int(size), dtype=torch.uint8)
        if self.is_first and content:
            held = torch.frombuffer(bytearray(content), dtype=torch.uint8)
        if int(size):
            torch.distributed.broadcast(held, 0)
        return held.numpy().tobytes()

    def gathered_bytes(self, content: bytes) -> list[bytes]:
        """Return what every rank has, in order.

        Parameters
        ----------
        content : bytes
        """
        sizes = self.gathered(np.array([len(content)]), self.size).tolist()
        padded = np.zeros((1, max(sizes)), np.uint8)
        padded[0, : len(content)] = np.frombuffer(content, np.uint8)
        rows = self.gathered(padded, self.size)
        return [row[:size].tobytes() for row, size in zip(rows, sizes, strict=True)]

    def any(self, flag: bool) -> bool:
        """Return whether a flag is set on one of the ranks."""
        return bool(self.gathered(np.array([flag]), self.size).any())

    @contextmanager
    def first_alone(self) -> Iterator[None]:
        """Let the first rank run a block before the others, which then find what it left."""
        if self.size > 1 and not self.is_first:
            torch.distributed.barrier()
        yield
        if self.size > 1 and self.is_first:
            torch.distributed.barrier()

    def own_part(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the part of some samples that this rank looks at, one after the other.

        Parameters
        ----------
        indices : ndarray of int, shape (n,)
        """
        return np.array_split(indices, self.size)[self.rank]

    def gathered(self, part: NDArray[Any], n: int) -> NDArray[Any]:
        """Return what all ranks have of ``n`` samples, in order.

        Parameters
        ----------
        part : ndarray of shape (n_own, ...)
            Of :meth:`own_part`.
        n : int
        """
        if self.size == 1:
            return part
        counts = [len(some) for some in np.array_split(np.arange(n), self.size)]
        padded = np.zeros((max(counts), *part.shape[1:]), part.dtype)
        padded[: len(part)] = part
        # As bytes: gloo knows few types.
        own = torch.from_numpy(padded).reshape(-1).view(torch.uint8)
        every = [torch.empty_like(own) for _ in counts]
        torch.distributed.all_gather(every, own)
        arrays = [one.numpy().view(part.dtype).reshape(padded.shape) for one in every]
        return np.concatenate([one[:count] for one, count in zip(arrays, counts, strict=True)])


ALONE = Ranks()


class RankBatches:
    """A rank's part of every batch: of both sets every ``size``-th sample, from its own number.

    The batch as a whole is that of one process, so that world sizes see the same samples.

    Parameters
    ----------
    batches : BalancedBatches
    ranks : Ranks
    """

    def __init__(self, batches: BalancedBatches, ranks: Ranks) -> None:
        self._batches, self._ranks = batches, ranks

    @property
    def steps_per_epoch(self) -> int:
        """Steps after which the larger set has been gone through once, by all ranks together."""
        return self._batches.steps_per_epoch

    def __getitem__(self, step: int) -> Batch:
        mine = slice(self._ranks.rank, None, self._ranks.size)
        positive, unlabeled = self._batches[step]
        return Batch(positive[mine], unlabeled[mine])


class SharedCheckpoints(CheckpointFolder):
    """The checkpoints of a fit in ranks: the first writes and reads, the others are told.

    Parameters
    ----------
    ranks : Ranks
    path : Path
    identity : dict
        Plain values that say which fit it is: a checkpoint of another one is refused.
    """

    def __init__(self, ranks: Ranks, path: Path, identity: dict[str, Any]) -> None:
        super().__init__(path, identity)
        self._ranks = ranks

    def of_stage(self, name: str | None, identity: Mapping[str, Any]) -> SharedCheckpoints:
        """Return the checkpoints of one stage of the fit."""
        if not self._ranks.is_first:
            return SharedCheckpoints(self._ranks, self.path, {})
        inner = super().of_stage(name, identity)
        return SharedCheckpoints(self._ranks, inner.path, inner.identity)

    def newest(self) -> Checkpoint | None:
        """Return the newest checkpoint that is whole, None if there never was one."""
        found = super().newest() if self._ranks.is_first else None
        header = self._ranks.agreed(None if found is None else found.header)
        if header is None:
            return None
        tensors = self._ranks.broadcast(b"" if found is None else pack(found.tensors))
        return Checkpoint(header, unpack(tensors))

    def write(self, step: int, header: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Write a checkpoint, on the first rank."""
        if self._ranks.is_first:
            super().write(step, header, tensors)
