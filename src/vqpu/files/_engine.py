"""What scores an input for ``predict``, ``rank`` and ``evaluate``: this process, or others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from vqpu.files import Notes
from vqpu.files._input_parts import InputPart
from vqpu.files._input_streams import WHOLE, Shard, open_input
from vqpu.files._models import OpenedModel
from vqpu.files._scoring import Predictions, Watch, predictions_of


class Reading(NamedTuple):
    """How an input is read; all but ``files`` as in :func:`vqpu.files._input_streams.open_input`.

    Attributes
    ----------
    files : sequence of Path or None
        Of a folder: only these, in this order.
    """

    shard: Shard = WHOLE
    id_column: str | None = None
    label: str | None = None
    positive: Any = None
    keep: Sequence[str] = ()
    missing: str = "keep"
    features: str | Path | None = None
    files: Sequence[Path] | None = None

    def options(self) -> dict[str, Any]:
        """Return the options of ``open_input``."""
        options = self._asdict()
        del options["files"]
        return options


class Engine(Protocol):
    """Gives the predictions for an input, in its order."""

    def __call__(
        self, model: OpenedModel, path: str | Path, reading: Reading, notes: Notes
    ) -> Iterator[Predictions]:
        """Score all samples.

        Parameters
        ----------
        model : OpenedModel
        path : path
        reading : Reading
        notes : Notes
            Takes the counts of cells that are not as in training.
        """


def score_here(
    model: OpenedModel,
    path: str | Path,
    reading: Reading,
    notes: Notes,
    part: InputPart | None = None,
    watch: Watch | None = None,
) -> Iterator[Predictions]:
    """Score all samples, or a part of them, in this process, chunk by chunk.

    Parameters
    ----------
    model, path, reading, notes
        As of :class:`Engine`; ``files`` are those of the part.
    part : InputPart or None
    watch : Watch or None
        Sees samples and scores on their way.
    """
    chunks = open_input(model.input_format, path, notes=notes, part=part, **reading.options())
    return predictions_of(model.estimator, chunks, model.input_format.words(), watch)
