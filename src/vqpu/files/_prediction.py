"""``predict`` over whole files and folders, in memory that does not grow with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from vqpu.estimators._drift import watch_drift
from vqpu.estimators._finding import Finding
from vqpu.files import Notes
from vqpu.files._engine import Engine, Reading, score_here
from vqpu.files._input_streams import WHOLE, Shard
from vqpu.files._models import open_model
from vqpu.files._scoring import Predictions, sorted_by_score
from vqpu.files._writers import check_output, write_predictions


class Written(NamedTuple):
    """How a prediction went.

    Attributes
    ----------
    n_rows, n_positive, n_broken : int
        Rows of the result, one for every sample of the input; those called positive; those that
        could not be judged, which have a reason instead of a score.
    notes : Notes
        Cells that are not as in training, counted.
    drift : Finding or None
        Whether the samples are like the unlabelled ones of training; None if the model kept nothing
        to compare with.
    """

    n_rows: int
    n_positive: int
    n_broken: int
    notes: Notes
    drift: Finding | None = None


class _Counter:
    """Counts what passes by."""

    def __init__(self) -> None:
        self.n_positive = self.n_broken = 0

    def watch(self, predictions: Iterable[Predictions]) -> Iterator[Predictions]:
        for part in predictions:
            self.n_positive += int((part.scores > 0).sum())
            self.n_broken += part.n_broken
            yield part


def predict_file(
    model_path: str | Path,
    input_path: str | Path,
    out: str | Path,
    *,
    sort: bool = False,
    shard: Shard = WHOLE,
    id_column: str | None = None,
    keep: Sequence[str] = (),
    missing: str = "keep",
    features: str | Path | None = None,
    engine: Engine | None = None,
) -> Written:
    """Write label, score and probability of every sample of an input, or why there is none.

    Parameters
    ----------
    model_path, input_path : path
    out : path
        CSV, Parquet or JSON lines by its ending; it appears when all is written.
    sort : bool
        Whether the largest score comes first, rather than the input's order.
    shard : Shard
    id_column : str or None
    keep : sequence of str
        Columns of a table that go into the result.
    missing : {"keep", "refuse"}
        Of a table: whether missing values are an error.
    features : path or None
        Of a model on features: where the extractor lies now; None: where it lay.
    engine : callable or None
        What scores, such as an engine of :mod:`vqpu.distributed`; None: this process.
    """
    check_output(out, [input_path], model_path)
    model, notes = open_model(model_path), Notes()
    reading = Reading(shard, id_column, keep=keep, missing=missing, features=features)
    reading = reading.for_drift(model.input_format, input_path)
    counter, watch = _Counter(), watch_drift(model.estimator)
    score: Engine = score_here if engine is None else engine
    predictions = counter.watch(score(model, input_path, reading, notes, watch=watch))
    if sort:
        predictions = sorted_by_score(predictions, Path(out).resolve().parent)
    n_rows = write_predictions(out, model.input_format.name_column, predictions, keep)
    drift = None if watch is None else watch.finding()
    return Written(n_rows, counter.n_positive, counter.n_broken, notes, drift)
