"""Several processes that fit one model, started by torch's launcher on this machine."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import threading
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
_THREADS, _SIGNALS = "OMP_NUM_THREADS", "TORCHELASTIC_SIGNALS_TO_HANDLE"  # the second by torch
RESTARTS = 3


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
            with _kept_handlers():
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
def _kept_handlers() -> Iterator[None]:
    """Put the handlers of signals back, which torch's launcher replaces for good.

    Its own exception for Ctrl-C becomes that of Python.
    """
    from torch.distributed.elastic.multiprocessing.api import SignalException

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    is_main = threading.current_thread() is threading.main_thread()  # the others may set none
    before = {number: signal.getsignal(number) for number in numbers} if is_main else {}
    try:
        yield
    except SignalException as error:
        if error.sigval == signal.SIGINT:
            raise KeyboardInterrupt from error
        raise
    finally:
        for number, handler in before.items():
            if handler is not None:  # one that was not set in Python cannot be
                signal.signal(number, handler)


@contextmanager
def _surroundings(refusal: str) -> Iterator[None]:
    """Set what the processes inherit: threads that do not fight over cores, where to refuse.

    The launcher itself is silent meanwhile: what it logs of a death is told in one sentence.
    """
    before = {name: os.environ.get(name) for name in (REFUSAL, _THREADS, _SIGNALS)}
    os.environ[REFUSAL] = refusal
    os.environ.setdefault(_THREADS, "1")
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
