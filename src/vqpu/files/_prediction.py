"""``predict`` and ``rank`` over whole files and folders, in memory that does not grow with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vqpu.errors import UsageError
from vqpu.files import Chunk, read_label_file, table_columns
from vqpu.files._input_contract import InputContract, open_input
from vqpu.files._models import open_model
from vqpu.files._ranking import Ranked, check_sheet, draw_sheet, rank
from vqpu.files._scoring import Predictions, answers_to
from vqpu.files._shards import WHOLE, Shard
from vqpu.files._sorting import sorted_by_score
from vqpu.files._writers import check_output, write_answers


class Written(NamedTuple):
    """How a prediction went.

    Attributes
    ----------
    n_rows, n_positive, n_broken : int
        Samples that were judged, those called positive, and files or rows that were left out.
    """

    n_rows: int
    n_positive: int
    n_broken: int


class _Counter:
    """Counts what passes by."""

    def __init__(self) -> None:
        self.n_positive = self.n_broken = 0

    def watch(self, answers: Iterable[Predictions]) -> Iterator[Predictions]:
        for part in answers:
            self.n_positive += int((part.scores > 0).sum())
            self.n_broken += len(part.broken)
            yield part


def predict_file(
    model_path: str | Path,
    input_path: str | Path,
    out: str | Path,
    *,
    sort: bool = False,
    shard: Shard = WHOLE,
    id_column: str | None = None,
    on_broken: str = "raise",
) -> Written:
    """Write label, score and probability of every sample of an input.

    Parameters
    ----------
    model_path, input_path : path
    out : path
        CSV, Parquet or JSON lines by its ending; it appears when all is written.
    sort : bool
        Whether the largest score comes first, rather than the input's order.
    shard : Shard
    id_column : str or None
    on_broken : {"raise", "skip"}
    """
    check_output(out, [input_path], model_path)
    model = open_model(model_path)
    chunks = open_input(
        model.contract, input_path, shard=shard, id_column=id_column, on_broken=on_broken
    )
    counter = _Counter()
    answers = counter.watch(answers_to(model.estimator, chunks))
    if sort:
        answers = sorted_by_score(answers, Path(out).resolve().parent)
    n_rows = write_answers(out, name_column(model.contract), answers)
    return Written(n_rows, counter.n_positive, counter.n_broken)


def rank_file(
    model_path: str | Path,
    input_path: str | Path,
    *,
    top: int,
    out: str | Path | None = None,
    sheet: str | Path | None = None,
    include_labeled: bool = False,
    labels_file: str | Path | None = None,
    file_column: str = "file",
    id_column: str | None = None,
    on_broken: str = "raise",
) -> Ranked:
    """Return the most likely hidden positives of an input; write and draw them if asked to.

    Parameters
    ----------
    model_path, input_path : path
    top : int
    out : path or None
        As in :func:`predict_file`.
    sheet : path or None
        A PNG for images.
    include_labeled : bool
        Whether rows compete that the table says are positive, by the label column of training.
    labels_file, file_column : path or None, and str
        For a folder: the CSV of labels of training and its column of file names; pictures that it
        calls positive do not compete.
    id_column : str or None
    on_broken : {"raise", "skip"}
    """
    if out is not None:
        inputs = [input_path] if labels_file is None else [input_path, labels_file]
        check_output(out, inputs, model_path)
    model = open_model(model_path)
    contract = model.contract
    if sheet is not None:
        check_sheet(sheet, contract.kind, input_path, model_path)
    known = _known_files(contract, Path(input_path), labels_file, file_column)
    label = None if include_labeled else _known_label(contract, input_path)
    chunks = open_input(
        contract,
        input_path,
        id_column=id_column,
        label=label,
        positive=contract.positive,
        on_broken=on_broken,
    )
    if known:
        chunks = _with_known(chunks, known)
    ranked = rank(answers_to(model.estimator, chunks), top)
    if out is not None:
        write_answers(out, name_column(contract), [ranked.best])
    if sheet is not None:
        draw_sheet(Path(sheet), ranked.best, contract.image_mode or "RGB")
    return ranked


def name_column(contract: InputContract) -> str:
    """Return the header of the samples' names."""
    return "path" if contract.kind == "images" else "id"


def _known_label(contract: InputContract, path: str | Path) -> str | None:
    """Return the label column of training if this table has it too."""
    if contract.kind != "table" or contract.label is None:
        return None
    return contract.label if contract.label in table_columns(path) else None


def _known_files(
    contract: InputContract, folder: Path, labels_file: str | Path | None, file_column: str
) -> frozenset[Path]:
    """Return the pictures that are labelled positive."""
    if labels_file is None:
        return frozenset()
    if contract.kind != "images" or contract.label is None:
        raise UsageError(
            "--labels is for models that were fitted on one folder of images with --labels: leave "
            "it out."
        )
    paths, y = read_label_file(
        folder, Path(labels_file), contract.positive, file_column, contract.label
    )
    return frozenset(path for path, is_known in zip(paths, y, strict=True) if is_known)


def _with_known(chunks: Iterable[Chunk], known: frozenset[Path]) -> Iterator[Chunk]:
    for chunk in chunks:
        yield chunk._replace(y=np.array([Path(name) in known for name in chunk.names], np.int8))
