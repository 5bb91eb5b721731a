"""Several processes that fit one model, started by torch's launcher on this machine."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vqpu.base._parameters import check_integer
from vqpu.distributed._refusals import REFUSAL
from vqpu.errors import EngineError
from vqpu.files._fitting import check_fit
from vqpu.files._settings import FitSettings

_LOGGERS = (
    "torch.distributed.elastic.multiprocessing.api",
    "torch.distributed.elastic.agent.server.api",
)
RESTARTS = 3  # after a killed process the first restart can fail


def launch(arguments: Sequence[str], processes: int, max_restarts: int = RESTARTS) -> None:
    """Run this Python with some arguments in several processes that know of each other.

    If one of them dies, all are started again.

    Parameters
    ----------
    arguments : sequence of str
    processes : int
    max_restarts : int
        Starts after the first one.
    """
    check_integer("processes", processes, 1)
    check_integer("max_restarts", max_restarts, 0)
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=f"vqpu-{os.getpid()}",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=max_restarts,
        monitor_interval=0.1,
    )
    with tempfile.NamedTemporaryFile(prefix="vqpu-") as refusal, _surroundings(refusal.name):
        try:
            elastic_launch(config, sys.executable)(*arguments)
        except ChildFailedError as error:
            refused = Path(refusal.name).read_text("utf-8")
            if refused:
                raise EngineError(refused) from None
            raise EngineError(
                f"One of {processes} processes failed, the last time after {max_restarts} "
                "restarts; what it said stands above. With --resume the fit goes on from its "
                "checkpoints."
            ) from error


def fit_in_processes(
    settings: FitSettings, processes: int, max_restarts: int, *, quiet: bool, as_json: bool
) -> None:
    """Run ``vqpu fit`` in several processes; the first of them saves and prints.

    Parameters
    ----------
    settings : FitSettings
    processes, max_restarts : int
    quiet, as_json : bool
        As of the command.
    """
    check_fit(settings)
    options = [option for option, is_set in (("--quiet", quiet), ("--json", as_json)) if is_set]
    with tempfile.TemporaryDirectory(prefix="vqpu-") as folder:
        config = Path(folder, "settings.json")
        config.write_text(settings.model_dump_json(exclude_unset=True), "utf-8")
        arguments = ["-m", "vqpu", "fit", "--config", str(config), *options]
        launch(arguments, processes, max_restarts)


@contextmanager
def _surroundings(refusal: str) -> Iterator[None]:
    """Set what the processes inherit: threads that do not fight over cores, where to refuse.

    The launcher itself is silent meanwhile: what it logs of a death is told in one sentence.
    """
    before = dict(os.environ)
    os.environ[REFUSAL] = refusal
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
