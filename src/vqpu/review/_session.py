"""A review: the samples of an input, their queues, and what was decided about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError, UsageError
from vqpu.files import Chunk, Notes
from vqpu.files._decisions import Decision
from vqpu.files._input_streams import known_label, open_input
from vqpu.files._models import OpenedModel, model_digest, open_model
from vqpu.files._ranking import known_files, with_known
from vqpu.files._scoring import Predictions, predictions_of
from vqpu.priors._posterior import positive_probability
from vqpu.report._training_sample import read_training_sample
from vqpu.review._audit import AuditEstimate, estimate_audit
from vqpu.review._items import Items, gather_items, read_scores, require_pyarrow
from vqpu.review._log import DecisionLog
from vqpu.review._queues import Queues, ThresholdCurve, make_queues, threshold_curve
from vqpu.review._rows import RowStore
from vqpu.review._samples import SampleViewer

AUDIT_SEED = 0  # two reviewers, or two days, go through one audit


class ReviewRequest(NamedTuple):
    """What is to be reviewed.

    Attributes
    ----------
    model, input : path
    decisions : path
        File of decisions; a further review of the same goes on with it.
    scores : path or None
        What ``vqpu predict`` wrote for the input; None scores it now.
    labels, file_column : path or None, and str
        For a folder of pictures: the CSV that says which are labelled positive.
    id_column : str or None
    features : path or None
        Where the pretrained network of a model on features lies now; None: where it lay.
    """

    model: Path
    input: str
    decisions: Path
    scores: Path | None = None
    labels: Path | None = None
    file_column: str = "file"
    id_column: str | None = None
    features: str | None = None


class Review:
    """Items, queues, decisions and the audit, as the server asks for them; used by ``with``.

    Parameters
    ----------
    items : Items
    viewer : SampleViewer
    log : DecisionLog
    name : str
        Of the model, for the page.
    """

    def __init__(self, items: Items, viewer: SampleViewer, log: DecisionLog, name: str) -> None:
        self.items, self.viewer, self.log, self.name = items, viewer, log, name
        self.queues: Queues = make_queues(items.scores, items.is_labeled, AUDIT_SEED)
        self.curve: ThresholdCurve = threshold_curve(items.scores[self.queues.unlabeled])
        self._places: dict[Any, int] = {}
        here, foreign = self.decided()
        self.n_decided, self.n_foreign = len(here), len(foreign)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.viewer.close()
        self.log.close()

    def decided(self) -> tuple[dict[int, Decision], list[Decision]]:
        """Return the decisions that count by place, and those on items that are not here."""
        counting = self.log.counting()
        unknown = [item for item in counting if item not in self._places]
        self._places |= self.items.places_of(unknown)
        here, foreign = {}, []
        for item, decision in counting.items():
            if item in self._places:
                here[self._places[item]] = decision
            else:
                foreign.append(decision)
        return here, foreign

    def waiting(self, queue: str, count: int, skip: set[int]) -> list[int]:
        """Return the next places of a queue that nobody has decided about.

        Parameters
        ----------
        queue : str
        count : int
        skip : set of int
            Places that the page has already.
        """
        done = {*self.decided()[0], *skip}
        order, found = self.queues.orders[queue], []
        for start in range(0, len(order), 4096):
            for place in order[start : start + 4096].tolist():
                if place not in done:
                    found.append(place)
                    if len(found) == count:
                        return found
        return found

    def decide(self, entry_id: str, place: int, answer: str, queue: str, reviewer: str) -> Decision:
        """Write a decision about a place; it is on the disk when this returns."""
        item = self.items.name(place)
        self._places.setdefault(item, place)
        return self.log.add(
            id=entry_id,
            reviewer=reviewer,
            item=item,
            answer=answer,
            queue=queue,
            weight=self.queues.weight_of(queue, place),
            probability=self.probability(place),
        )

    def is_asked(self, queue: str, place: int) -> bool:
        """Return whether a queue asks about a sample: a labelled positive, or an unlabelled one."""
        if not np.isfinite(self.items.scores[place]):
            return False
        return bool(self.items.is_labeled[place]) == (queue == "labeled")

    def place_of(self, item: Any) -> int | None:
        """Return where the item of a decision stands, None if it is not of this input."""
        if item not in self._places:
            self._places |= self.items.places_of([item])
        return self._places.get(item)

    def probability(self, place: int) -> float:
        """Return what the model says of a sample."""
        return float(positive_probability(self.items.scores[place]))

    def probability_or_none(self, place: int) -> float | None:
        """Return the same, None of a sample that cannot be judged."""
        return self.probability(place) if np.isfinite(self.items.scores[place]) else None

    def audit(self, threshold: float) -> AuditEstimate | None:
        """Return what the random audit says so far, None if it has not begun.

        Parameters
        ----------
        threshold : float
            Log odds.
        """
        own = {
            place: decision
            for place, decision in self.decided()[0].items()
            if decision.model == self.log.model  # another model's audit had other strata
        }
        return audit_of(self.items, self.queues, own, threshold)


def audit_of(
    items: Items, queues: Queues, decided: dict[int, Decision], threshold: float
) -> AuditEstimate | None:
    """Estimate precision, recall and alpha from what was told of the samples of the random audit.

    Parameters
    ----------
    items : Items
    queues : Queues
    decided : dict of Decision
        By place.
    threshold : float
        Log odds.
    """
    # The audit passes over what another queue has told, so that counts too, as far as it has come.
    order = queues.orders["audit"]
    audited = [place for place, decision in decided.items() if decision.queue == "audit"]
    reached = np.flatnonzero(np.isin(order, audited))
    drawn = order[: reached[-1] + 1].tolist() if len(reached) else []
    told = {
        place: decided[place].answer == "yes"
        for place in drawn
        if place in decided and decided[place].answer != "unsure"
    }
    places: NDArray[np.int64] = np.array(sorted(told), dtype=np.int64)
    places = places[np.isin(places, queues.unlabeled)]
    if not len(places):
        return None
    return estimate_audit(
        items.scores[queues.unlabeled],
        queues.strata,
        np.searchsorted(queues.unlabeled, places),
        np.array([told[int(place)] for place in places]),
        threshold=threshold,
    )


def open_review(request: ReviewRequest) -> Review:
    """Open a model and an input for review.

    Parameters
    ----------
    request : ReviewRequest
    """
    require_pyarrow()
    model = open_model(request.model)
    if request.decisions.suffix != ".jsonl":
        raise UsageError(f"{request.decisions} must end in .jsonl: a line a decision.")
    if request.decisions.resolve().is_relative_to(Path(request.model).resolve()):
        raise UsageError(
            f"{request.decisions} lies in the model's own directory, where a further file makes "
            "the model unreadable. Choose another --decisions."
        )
    items = open_items(model, request)
    log = DecisionLog(request.decisions, model_digest(request.model))
    rows = None
    if model.input_format.kind != "images" or model.input_format.features is not None:
        texts = _text_columns(model)
        rows = RowStore(lambda: _chunks(model, request, texts), texts)
    viewer = SampleViewer(
        model.estimator, model.input_format, items, rows, read_training_sample(model.bundle)
    )
    return Review(items, viewer, log, model.bundle.path.name)


def open_items(model: OpenedModel, request: ReviewRequest) -> Items:
    """Return names, scores and known labels of an input, scored now or read from a file.

    Parameters
    ----------
    model : OpenedModel
    request : ReviewRequest
    """
    input_format = model.input_format
    if request.scores is not None:
        return read_scores(
            request.scores, input_format.name_column, input_format.label, input_format.positive
        )
    items = gather_items(_predictions(model, request))
    if not np.isfinite(items.scores).any():
        raise InputError(f"{request.input} has no sample that can be judged.")
    return items


def _predictions(model: OpenedModel, request: ReviewRequest) -> Iterator[Predictions]:
    input_format = model.input_format
    known = known_files(input_format, Path(request.input), request.labels, request.file_column)
    predictions = predictions_of(model.estimator, _chunks(model, request, []))
    return with_known(predictions, known) if known else predictions


def _chunks(model: OpenedModel, request: ReviewRequest, keep: list[str]) -> Iterator[Chunk]:
    input_format, id_column = model.input_format, request.id_column
    return open_input(
        input_format,
        request.input,
        # Decisions are kept under these names, so the column of training must be there.
        id_column=input_format.id_column if id_column is None else id_column,
        label=known_label(input_format, request.input),
        positive=input_format.positive,
        keep=keep,
        notes=Notes(),
        features=request.features,
    )


def _text_columns(model: OpenedModel) -> list[str]:
    if model.input_format.text is not None:
        return [model.input_format.text]
    plan = model.input_format.plan
    return [] if plan is None else [c.name for c in plan.columns if c.kind == "text"]
