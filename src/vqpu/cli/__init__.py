"""The command line: parses, calls, prints. Heavy imports wait inside the commands."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    arguments : list of str or None
        None takes those of the process.

    Returns
    -------
    code : int
        0 done, 1 refused input, 2 wrong usage, 130 stopped by Ctrl-C without a result.
    """
    from vqpu.cli._app import run

    return run(sys.argv[1:] if arguments is None else arguments)
