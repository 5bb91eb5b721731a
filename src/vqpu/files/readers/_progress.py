"""Progress of reading: a bar on a terminal, a line a tenth elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from vqpu.files.readers._imagecache import Progress


@contextmanager
def show_progress() -> Iterator[Progress]:
    """Give a function for ``progress=`` that shows on standard error how far reading has come.

    Examples
    --------
    >>> with show_progress() as progress:  # doctest: +SKIP
    ...     data = read_image_folders("cats", "heap", progress=progress)
    """
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress as Bars

        with Bars(console=Console(stderr=True)) as bars:
            tasks = {}

            def update(stage: str, done: int, total: int) -> None:
                if stage not in tasks:
                    tasks[stage] = bars.add_task(f"{stage} images", total=total)
                bars.update(tasks[stage], completed=done)

            yield update
    else:
        yield _print_tenths


def _print_tenths(stage: str, done: int, total: int) -> None:
    if 10 * done // total > 10 * (done - 1) // total:
        print(f"{stage} images: {done} of {total}", file=sys.stderr)
