"""How good the answers to labelled input are: with the truth, or by PU labels alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError, UsageError, did_you_mean
from vqpu.files import (
    Chunk,
    PUData,
    count_unlabeled,
    count_unlabeled_files,
    iter_table,
    read_array_file,
    read_labeled_images,
    table_columns,
)
from vqpu.files._input_contract import InputContract, check_kind
from vqpu.files._models import open_model
from vqpu.files._scoring import Predictions, answers_to
from vqpu.metrics import (
    lee_liu_score,
    proxy_auc,
    pu_f1_score,
    pu_precision_score,
    pu_recall_score,
    pu_roc_auc_score,
    pu_zero_one_risk,
    score_with_truth,
)
from vqpu.scenarios import Scenario

_ROWS = 4096


def open_labeled_input(
    contract: InputContract,
    path: str | Path,
    *,
    label: str | None,
    positive: str | None,
    labels_file: str | Path | None = None,
    file_column: str = "file",
    on_broken: str = "raise",
    needs_truth: bool = False,
) -> Iterator[Chunk]:
    """Give the samples of labelled input with ``y``, chunk by chunk.

    Parameters
    ----------
    contract : InputContract
    path : path
        A table, a folder of images, or an ``.npz`` file with X and y (1 and 0).
    label, positive : str or None
        Column of labels and value of positives; None takes those used in training. ``.npz`` files
        have neither.
    labels_file, file_column : path and str
        For a folder: the CSV with the labels, and its column of file names.
    on_broken : {"raise", "skip"}
        Of images and rows of tables.
    needs_truth : bool
        Whether a sample without a label is refused, as nobody knows what it is.
    """
    check_kind(contract, path)
    _check_labels_option(contract, label, labels_file)
    if contract.kind == "array":
        return _in_chunks(read_array_file(path))
    label, positive = label or contract.label, positive or contract.positive
    if label is None or positive is None:
        raise UsageError(
            "Say which column holds the labels and which value is positive: --label COLUMN "
            "--positive VALUE."
        )
    if contract.kind == "table":
        _check_label_column(path, label, needs_truth)
        assert contract.schema is not None
        # Without an id column: nothing is written that a row's name would stand in.
        return iter_table(
            path, contract.schema, label=label, positive=positive, on_broken=on_broken
        )
    assert labels_file is not None
    if needs_truth:
        n_unlabeled = count_unlabeled_files(labels_file, file_column, label)
        _check_all_labeled(labels_file, n_unlabeled)
    data = read_labeled_images(
        path,
        labels_file,
        positive=positive,
        file_column=file_column,
        label_column=label,
        size=contract.sample_shape[0],
        mode=contract.image_mode or "RGB",
        on_broken=on_broken,
    )
    return _in_chunks(data)


def _check_labels_option(
    contract: InputContract, label: str | None, labels_file: str | Path | None
) -> None:
    """Refuse a file of labels where there can be none, and its absence where it is needed."""
    if contract.kind == "array" and (label is not None or labels_file is not None):
        raise UsageError("An .npz file has its labels in y: leave --label and --labels out.")
    if contract.kind == "table" and labels_file is not None:
        raise UsageError("A table has its labels in a column: leave --labels out.")
    if contract.kind == "images" and labels_file is None:
        raise UsageError(
            "A folder of images needs --labels FILE.csv, which names its files, with --label "
            "COLUMN and --positive VALUE."
        )


def _check_label_column(path: str | Path, label: str, needs_truth: bool) -> None:
    columns = table_columns(path)
    if label not in columns:
        raise InputError(
            f"{path} has no column {label!r}.{did_you_mean(label, columns)} Without --label it "
            "is that of training: say with --label which column holds the labels here."
        )
    if needs_truth:
        _check_all_labeled(path, count_unlabeled(path, label))


def _check_all_labeled(path: str | Path, n_unlabeled: int) -> None:
    if n_unlabeled:
        raise InputError(
            f"{path} has {n_unlabeled} samples without a label, so they cannot be judged by the "
            "truth. Leave them out, or say with --scenario that they are unlabelled."
        )


def _in_chunks(data: PUData) -> Iterator[Chunk]:
    for start in range(0, len(data.X), _ROWS):
        some = slice(start, start + _ROWS)
        broken = data.broken if start == 0 else ()
        yield Chunk(np.asarray(data.X[some]), data.names[some], data.y[some], broken)


def evaluate_file(
    model_path: str | Path,
    input_path: str | Path,
    *,
    label: str | None = None,
    positive: str | None = None,
    labels_file: str | Path | None = None,
    file_column: str = "file",
    on_broken: str = "raise",
    scenario: str | None = None,
    alpha: float | None = None,
) -> dict[str, Any]:
    """Score a model on labelled input; parameters as in the functions below.

    Without ``alpha``, a scenario takes the model's own estimate.
    """
    if scenario is None and alpha is not None:
        raise UsageError("--alpha is for scores without negatives: give --scenario with it.")
    if scenario is not None:
        Scenario.parse(scenario)
    model = open_model(model_path)
    if scenario is not None and alpha is None:
        alpha = getattr(model.estimator, "alpha_", None)
        if alpha is None:
            raise UsageError("The model has no estimate of alpha: give --alpha.")
    chunks = open_labeled_input(
        model.contract,
        input_path,
        label=label,
        positive=positive,
        labels_file=labels_file,
        file_column=file_column,
        on_broken=on_broken,
        needs_truth=scenario is None,
    )
    return evaluate(answers_to(model.estimator, chunks), scenario=scenario, alpha=alpha)


def evaluate(
    answers: Iterable[Predictions],
    *,
    scenario: str | None = None,
    alpha: float | None = None,
) -> dict[str, Any]:
    """Score answers against their ``y``.

    Parameters
    ----------
    answers : iterable of Predictions
        With ``y``.
    scenario : {"case-control", "single-set"} or None
        None: ``y`` is the truth, 0 for negatives. Otherwise 0 means unlabelled, and only scores
        that need no negatives are given.
    alpha : float or None
        Share of positives among the unlabelled samples; needed with a scenario.

    Returns
    -------
    dict
        Numbers by name, ready for JSON.
    """
    n_broken, (y, scores, probabilities) = _gather(answers)
    predictions = (scores > 0).astype(np.int8)
    counts = {
        "n_samples": len(y),
        "n_positive": int(y.sum()),
        "n_called_positive": int(predictions.sum()),
        "n_broken": n_broken,
    }
    if y.all() or not y.any():
        left_out = f" ({n_broken} broken ones left out)" if n_broken else ""
        raise InputError(
            f"Of {len(y)} samples{left_out} {int(y.sum())} have the positive value. Scores need "
            "both kinds: see whether --positive names a value of the column of labels."
        )
    if scenario is None:
        found = score_with_truth(y, predictions, probabilities, scores=scores)._asdict()
        del found["alpha_error"]
        return {"judged_by": "truth", **counts, **found}
    return {"judged_by": "PU labels", "scenario": scenario, "alpha": alpha, **counts} | pu_scores(
        y, scores, scenario=scenario, alpha=alpha
    )


def pu_scores(
    y: NDArray[Any], scores: NDArray[np.float64], *, scenario: str, alpha: float | None
) -> dict[str, float]:
    """Return the scores that need PU labels alone.

    Parameters
    ----------
    y : ndarray of shape (n,)
        1 for labelled positives, 0 for unlabelled samples.
    scores : ndarray of shape (n,)
        Above 0 means called positive.
    scenario : {"case-control", "single-set"}
    alpha : float
        Share of positives among the unlabelled samples.
    """
    predictions = (scores > 0).astype(np.int8)
    shares: dict[str, Any] = {"scenario": scenario, "alpha": alpha}
    return {
        "recall": pu_recall_score(y, predictions),
        "proxy_auc": proxy_auc(y, scores),
        "lee_liu": lee_liu_score(y, predictions, scenario=scenario),
        "precision": pu_precision_score(y, predictions, **shares),
        "f1": pu_f1_score(y, predictions, **shares),
        "auc": pu_roc_auc_score(y, scores, **shares),
        "zero_one_risk": pu_zero_one_risk(y, predictions, **shares),
    }


def _gather(answers: Iterable[Predictions]) -> tuple[int, tuple[NDArray[Any], ...]]:
    """Count what is broken and join labels, scores and probabilities, 17 bytes a sample."""
    parts = [(len(part.broken), (part.y, part.scores, part.probabilities)) for part in answers]
    columns = zip(*(held for _, held in parts), strict=True)
    return sum(count for count, _ in parts), tuple(np.concatenate(column) for column in columns)
