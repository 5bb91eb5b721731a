"""How the processes of one fit find each other, the first time and after a death."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from vqpu.errors import EngineError
from vqpu.training._ranks import ALONE, Ranks

_KEY = "vqpu/start"
_SECONDS_TO_MEET = 1800.0  # of all: those of other hosts may still load
_SECONDS_BETWEEN_LOOKS = 0.05
_distributed: Any = torch.distributed  # which hides what it is made of from mypy


def under_torchrun() -> bool:
    """Whether torch's launcher started this process as one of several."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def was_restarted() -> bool:
    """Whether torch's launcher starts this process again, after a death on this host."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


@contextmanager
def joined_ranks() -> Iterator[Ranks]:
    """Join the processes that torch's launcher started; alone without it.

    Where a process group is there already, as in a training function of Ray Train, it is that one,
    and stays.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        yield _ranks_of_group()
        return
    if not under_torchrun():
        yield ALONE
        return
    backend = "gloo"
    if torch.cuda.is_available():
        backend = "cpu:gloo,cuda:nccl"
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    store, rank, size = next(iter(_distributed.rendezvous("env://")))
    store = _distributed.PrefixStore(agreed_name(store, rank, size), store)
    torch.distributed.init_process_group(backend, store=store, rank=rank, world_size=size)
    try:
        yield _ranks_of_group()
        torch.distributed.barrier()  # nobody leaves while another still has to be told something
    finally:
        torch.distributed.destroy_process_group()


def _ranks_of_group() -> Ranks:
    backend = torch.distributed.get_backend_config()
    if "gloo" not in backend:  # checks and decisions are shared out on the CPU
        raise EngineError(
            f"The process group is of {backend}, which knows no tensors of the CPU: make it with "
            "the backend 'cpu:gloo,cuda:nccl', in Ray Train by TorchConfig(backend=...)."
        )
    return Ranks(torch.distributed.get_rank(), torch.distributed.get_world_size())


def agreed_name(store: Any, rank: int, size: int, *, seconds: float = _SECONDS_TO_MEET) -> str:
    """Return a name that all processes of this start share, and no start before had.

    The launcher's store outlives its processes: after a death one of them may find there at which
    address another one, now dead, was, and wait for it for ever. The launcher's count of restarts
    tells no starts apart, as every host has its own. So each process says who it is by a number of
    its own and whom it sees, until all see the same: what the dead said has no new number in it.

    Parameters
    ----------
    store : torch.distributed.Store
    rank, size : int
    seconds : float
        To wait for the others.
    """
    own, keys = uuid.uuid4().hex, [f"{_KEY}/{place}" for place in range(size)]
    seen = [own if place == rank else "" for place in range(size)]
    deadline = time.monotonic() + seconds
    store.set(keys[rank], json.dumps(seen))
    while time.monotonic() < deadline:
        said = [json.loads(store.get(key)) if store.check([key]) else None for key in keys]
        now = ["" if one is None else one[place] for place, one in enumerate(said)]
        if now != seen:
            seen = now
            store.set(keys[rank], json.dumps(seen))
        elif all(one == seen for one in said):
            return "-".join(seen)
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    missing = [place for place, one in enumerate(said) if one != seen]
    raise EngineError(
        f"Of {size} processes those of rank {missing} did not come within {seconds:.0f} seconds: "
        "see what they say on their hosts."
    )
