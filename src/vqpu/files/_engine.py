"""What scores an input for ``predict``, ``rank`` and ``evaluate``: this process, or others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vqpu.estimators._drift import DriftWatch
from vqpu.files import Chunk, Notes
from vqpu.files._input_format import InputFormat
from vqpu.files._input_parts import InputPart
from vqpu.files._input_streams import WHOLE, Shard, open_input, watched_label
from vqpu.files._models import OpenedModel
from vqpu.files._scoring import Predictions, Watch, predictions_of


class Reading(NamedTuple):
    """How an input is read; the first ones as in :func:`vqpu.files._input_streams.open_input`.

    Attributes
    ----------
    files : sequence of Path or None
        Of a folder: only these, in this order.
    y : sequence of int or None
        Of ``files``: 1 where one has the positive label.
    y_is_truth : bool
        Whether labels are the truth rather than who is labelled, so that drift is that of all.
    """

    shard: Shard = WHOLE
    id_column: str | None = None
    label: str | None = None
    positive: Any = None
    keep: Sequence[str] = ()
    missing: str = "keep"
    features: str | Path | None = None
    files: Sequence[Path] | None = None
    y: Sequence[int] | None = None
    y_is_truth: bool = False

    def options(self) -> dict[str, Any]:
        """Return the options of ``open_input``."""
        options = self._asdict()
        del options["files"], options["y"], options["y_is_truth"]
        return options

    def for_drift(self, input_format: InputFormat, path: str | Path) -> Reading:
        """Return the same with the label of training, where a table has it.

        So that labelled positives are not taken for a change of the unlabelled samples.

        Parameters
        ----------
        input_format : InputFormat
        path : path
        """
        label = watched_label(input_format, path)
        return self._replace(label=label, positive=input_format.positive)


class Engine(Protocol):
    """Gives the predictions for an input, in its order."""

    def __call__(
        self,
        model: OpenedModel,
        path: str | Path,
        reading: Reading,
        notes: Notes,
        *,
        watch: DriftWatch | None = None,
    ) -> Iterator[Predictions]:
        """Score all samples.

        Parameters
        ----------
        model : OpenedModel
        path : path
        reading : Reading
        notes : Notes
            Takes the counts of cells that are not as in training.
        watch : DriftWatch or None
            Takes the counts of samples and scores.
        """


def score_here(
    model: OpenedModel,
    path: str | Path,
    reading: Reading,
    notes: Notes,
    *,
    watch: Watch | None = None,
    part: InputPart | None = None,
) -> Iterator[Predictions]:
    """Score all samples, or a part of them, in this process, chunk by chunk.

    Parameters
    ----------
    model, path, reading, notes
        As of :class:`Engine`; ``files`` and ``y`` are those of the part.
    watch : Watch or None
        Sees samples and scores on their way.
    part : InputPart or None
    """
    chunks = open_input(model.input_format, path, notes=notes, part=part, **reading.options())
    if part is not None and part.y is not None:
        chunks = _with_y(chunks, np.array(part.y, np.int8))
    words, y_is_truth = model.input_format.words(), reading.y_is_truth
    return predictions_of(model.estimator, chunks, words, watch, y_is_truth=y_is_truth)


def _with_y(chunks: Iterator[Chunk], y: NDArray[np.int8]) -> Iterator[Chunk]:
    """Give the chunks of some files with their labels, broken files among them."""
    start = 0
    for chunk in chunks:
        stop = start + len(chunk.X) + len(chunk.broken_places)
        yield chunk._replace(y=y[start:stop])
        start = stop
