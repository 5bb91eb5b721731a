"""The error of experiments; all others are those of vqpu."""

from __future__ import annotations

from vqpu.errors import VqpuError


class FailedRunsError(VqpuError, RuntimeError):
    """Runs of an experiment that ended in an error; those that ended well are recorded."""
