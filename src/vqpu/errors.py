"""The errors and warnings of vqpu: one tree, and every leaf is a builtin type as well.

A message says what is wrong with its value, what is expected, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable


class VqpuError(Exception):
    """Base of every error that vqpu raises on purpose."""


class InputError(VqpuError, ValueError):
    """Data that cannot be used: wrong values, wrong shape, too few samples."""


class UnusableSampleError(InputError):
    """Single samples that cannot be judged, such as one with an infinite value."""


class InputTypeError(VqpuError, TypeError):
    """Data of a kind that cannot be used, such as sparse matrices."""


class BrokenImageError(InputError):
    """An image file that cannot be decoded, or not safely; the message says why."""


class MissingDependencyError(VqpuError, ImportError):
    """An optional package that is not installed; the message has the command that installs it."""


class CacheError(VqpuError, OSError):
    """A cache that cannot be written: full disk, read-only folder."""


class DownloadError(VqpuError, OSError):
    """A file that could not be fetched, or that is not the file it should be."""


class ModelFileError(VqpuError, OSError):
    """A model file that cannot be written, or that is not the file it should be."""


class CheckpointError(VqpuError, OSError):
    """A checkpoint that cannot be written, or that belongs to another fit."""


class ParameterError(VqpuError, ValueError):
    """An estimator parameter outside its range."""


class UsageError(VqpuError, ValueError):
    """Options of a command that cannot be used together, or not in this form."""


class OutputError(VqpuError, OSError):
    """A result that cannot be written: full disk, read-only folder, unknown ending."""


class EngineError(VqpuError, RuntimeError):
    """Other processes or machines that cannot be reached, or cannot do the work."""


class ExportError(VqpuError, ValueError):
    """A model that cannot be exported, or whose export answers otherwise than the model."""


class EncoderError(VqpuError, ValueError):
    """A user's encoder that does not return ``(n, K, p)`` vectors."""


class NonFiniteLossError(VqpuError, ArithmeticError):
    """The loss became NaN or infinite; the message names the step."""


class CollapsedCodesError(VqpuError, ValueError):
    """Every sample was given the same codes, so there is nothing to cluster."""


class VqpuWarning(UserWarning):
    """Base of every warning that vqpu issues."""


class CollapsedCodesWarning(VqpuWarning):
    """The codes say nothing, although the projection still separates the samples."""


class NoHiddenPositivesWarning(VqpuWarning):
    """No part of the unlabelled data looks like the labelled positives."""


class DoubtWarning(VqpuWarning):
    """What a fit knows of itself says that its labels cannot be trusted; ``diagnose`` tells all."""


class SwappedLabelsWarning(VqpuWarning):
    """The larger of two numbers in y marks the larger set, which is rarely that of positives."""


class InterruptedWarning(VqpuWarning):
    """Training was interrupted, and the best state so far was kept."""


class RowNumberWarning(VqpuWarning):
    """A column of a table counts its rows, and would be learned from."""


class ColumnWarning(VqpuWarning):
    """Columns were left out, or cells are not as expected; the message counts them."""


class MissingColumnWarning(VqpuWarning):
    """A column has no value in the training data and is left out."""


class BrokenImageWarning(VqpuWarning):
    """Image files were left out because they cannot be decoded."""


class BrokenTextWarning(VqpuWarning):
    """Texts were left out because they are missing, empty or unreadable."""


def did_you_mean(name: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a question about the most similar of some names, to end a message with, or nothing.

    ``cutoff`` is the least similarity, from 0 to 1: files that have nothing to do with each other
    often share an ending, so they need more of it than columns.

    Examples
    --------
    >>> did_you_mean("lable", ["id", "label"])
    " Did you mean 'label'?"
    """
    import difflib

    similar = difflib.get_close_matches(name, names, n=1, cutoff=cutoff)
    return f" Did you mean {similar[0]!r}?" if similar else ""
