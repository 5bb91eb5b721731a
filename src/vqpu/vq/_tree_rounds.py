"""A round with trees: grow, check, stop; the stopping signal chooses the number of trees."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._seeding import Stream, derive_seed, torch_generator
from vqpu.base._source import ArraySource
from vqpu.base._split import weight_of_negatives
from vqpu.base._two_means import two_means_line
from vqpu.errors import InputError
from vqpu.nn import Codebook
from vqpu.training import (
    CheckResult,
    FitContext,
    History,
    Ranks,
    Row,
    RowMaker,
    StoppingRule,
    TrainingResult,
    progress_reporter,
)
from vqpu.trees import (
    Binned,
    Growth,
    Task,
    TreeArrays,
    arrays_of_texts,
    mean_of_trees,
)
from vqpu.vq._check import Measured, measure
from vqpu.vq._network import Encodings, draw_codebook
from vqpu.vq._rounds import Round, title_of
from vqpu.vq._settings import VQSettings
from vqpu.vq._tree_checkpoints import resume_round, write_round
from vqpu.vq._tree_network import Columns, TreeNetwork, build_tree_network, line_of_codes
from vqpu.vq._variant import Variant

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_TREES_PER_CHECK = 10


class TreeRounds:
    """Trains trees round by round; columns are cut into steps once for all of them.

    Parameters
    ----------
    context : FitContext
    settings : VQSettings
        With ``trees``.
    """

    def __init__(self, context: FitContext, settings: VQSettings) -> None:
        assert settings.trees is not None
        self._context, self._settings = context, settings
        self._columns = columns_of(context.source)
        self._binned: Binned | None = None

    def train(self, this: Round, before: TrainingResult | None) -> TrainingResult:
        """Train one round, or take it up from its checkpoint; its history follows ``before``.

        Parameters
        ----------
        this : Round
        before : TrainingResult or None
        """
        if self._context.checkpoints is None:
            return self._grow(this, before).following(before)
        name = None if this.number == 1 else f"round-{this.number}"
        folder = self._context.checkpoints.of_stage(name, this.identity())
        n_features = len(self._columns.low)
        result = resume_round(folder, n_features, self._n_members, self._codebook())
        if result is None:
            result = self._grow(this, before)
            if not result.interrupted:
                write_round(folder, result)
        return result.following(before)

    def prepare(self) -> None:
        """Cut the columns into steps, which is done once for all rounds."""
        self._make_growth(Round(1, self._context.split))

    def try_out(self) -> int:
        """Grow the trees up to the first check, look at them, and forget them; return how many."""
        this = Round(1, self._context.split)
        growth, codebook = self._make_growth(this), self._codebook()
        growing = _Growing(self._context, self._settings, this, growth, codebook)
        growing.grow(self._settings.variant.check_every or _TREES_PER_CHECK)
        growing.check()
        return growing.n_trees

    def _with_rounds_before(
        self, own: TreeNetwork, this: Round, before: TrainingResult | None
    ) -> TreeNetwork:
        """Return the mean of all rounds: it ranks better than any of them."""
        if before is None:
            return own
        arrays = mean_of_trees(before.state.encoder.arrays, own.encoder.arrays, 1 / this.number)
        network = self._build(arrays, None)
        looked_at = [
            network.encode(self._context.source, part).member_projections
            for part in self._context.sample.judged
        ]
        places = places_of_codes(self._settings.variant, this, self._context, looked_at)
        return self._build(arrays, places)

    @property
    def _n_members(self) -> int:
        return self._context.split.n_members

    def _grow(self, this: Round, before: TrainingResult | None) -> TrainingResult:
        context, settings = self._context, self._settings
        last_row = None if before is None else before.history[-1]
        rows = RowMaker(1, last_row, {"round": this.number})  # a tree sees every sample
        growing = _Growing(context, settings, this, self._make_growth(this), self._codebook())
        rule = StoppingRule(settings.variant.stopping_signal, settings.patience)
        history, stops, interrupted = History(), False, False
        title = title_of(this, settings)
        with progress_reporter(context.verbose, title, settings.max_steps) as report:
            try:
                while not stops and growing.n_trees < settings.max_steps:
                    row = self._next_check(growing, rows)
                    row["seconds"] += 0.0 if last_row is None else last_row["seconds"]
                    row = context.ranks.agreed(row)
                    history.append(row)
                    report(growing.n_trees, row)
                    stops = rule.update(row, growing.chosen) or growing.growth.is_grown
            except KeyboardInterrupt:
                if not context.keeps_best or rule.best_check < 0:
                    raise
                interrupted = True
        own = self._network(growing, rule.best_state)
        return TrainingResult(
            self._with_rounds_before(own, this, before),
            history,
            rule.best_check,
            stops,
            growing.n_trees,
            interrupted,
        )

    def _next_check(self, growing: _Growing, rows: RowMaker) -> Row:
        """Grow some trees, look at them and show them to the callback."""
        context, most = self._context, self._settings.max_steps
        every = self._settings.variant.check_every or _TREES_PER_CHECK
        growing.grow(min(every, most - growing.n_trees))
        seen, terms = growing.check()
        row = rows(growing.n_trees, terms, seen.columns)
        # Trees are taken out of the boosters for the callback alone: by all ranks, for the first's.
        if context.ranks.any(context.callback is not None):
            network = self._network(growing, growing.chosen)
            check = CheckResult(row, 0, network, context.device, seen.rule, seen.held_out)
            if context.callback is not None:
                context.callback(check)
        return row

    def _network(self, growing: _Growing, chosen: Chosen) -> TreeNetwork:
        return self._build(growing.growth.arrays(chosen.n_trees), chosen.places)

    def _build(self, arrays: TreeArrays, places: tuple[float, float] | None) -> TreeNetwork:
        codebook = self._codebook()
        place_codes(codebook, places)
        return build_tree_network(arrays, self._columns, self._n_members, codebook)

    def _codebook(self) -> Codebook:
        settings, variant = self._settings, self._settings.variant
        return draw_codebook(
            settings.codebook_size,
            settings.vector_dim,
            encoding=variant.encoding,
            anchor_mean=variant.anchor_mean,
            moving_anchors=False,
            generator=torch_generator(self._context.seed, Stream.CODEBOOK),
        ).requires_grad_(False)

    def _make_growth(self, this: Round) -> Growth | _SharedGrowth:
        source, settings = self._context.source, self._settings.trees
        assert settings is not None
        if self._binned is None:
            self._binned = Binned(source.rows(), source.categories, settings)
        ranks, members = self._context.ranks, np.arange(self._n_members)
        own = ranks.own_part(members).tolist()
        growth = Growth(self._binned, [_task(this, self._context.seed, one) for one in own])
        return growth if ranks.size == 1 else _SharedGrowth(growth, ranks, len(members))


class _SharedGrowth:
    """Members that grow in several processes, each in one of them; gathered where looked at."""

    def __init__(self, own: Growth, ranks: Ranks, n_members: int) -> None:
        self._own, self._ranks, self._n_members = own, ranks, n_members

    @property
    def is_grown(self) -> bool:
        return not self._ranks.any(not self._own.is_grown)

    def grow(self, n_trees: int) -> None:
        self._own.grow(n_trees)

    def outputs(self, rows: Any, first: int, n_trees: int) -> Floats:
        own = self._own.outputs(rows, first, n_trees)
        return self._ranks.gathered(own.T, self._n_members).T

    def arrays(self, n_trees: int) -> TreeArrays:
        own = json.dumps(self._own.texts(n_trees)).encode()
        every = map(json.loads, self._ranks.gathered_bytes(own))
        return arrays_of_texts([text for texts in every for text in texts])


class Chosen(NamedTuple):
    """What a check could end with.

    Attributes
    ----------
    n_trees : int
        Of every member.
    places : tuple of two float, or None
        Where on the line between the anchors c_1 and c_m lie; None: where they were drawn.
    """

    n_trees: int
    places: tuple[float, float] | None


class _Growing:
    """Trees on their way, and what they say of the samples that a check looks at."""

    def __init__(
        self,
        context: FitContext,
        settings: VQSettings,
        this: Round,
        growth: Growth | _SharedGrowth,
        codebook: Codebook,
    ) -> None:
        self._context, self._variant, self._round = context, settings.variant, this
        self.growth, self._codebook = growth, codebook
        clustered, judged = context.sample
        self._looked_at = np.unique(np.concatenate([*clustered, *judged]))
        self._rows = context.source.rows(self._looked_at)
        self._projections = np.zeros((len(self._looked_at), context.split.n_members))
        self.n_trees = 0
        self.chosen = Chosen(0, None)

    def grow(self, count: int) -> None:
        self.growth.grow(count)
        self._projections += self.growth.outputs(self._rows, self.n_trees, count)
        self.n_trees += count

    def check(self) -> tuple[Measured, dict[str, float]]:
        """Return what a check sees now and the first terms of equation 1 on trained samples."""
        looked_at = [self._of(indices) for indices in self._context.sample.judged]
        places = places_of_codes(self._variant, self._round, self._context, looked_at)
        self.chosen = Chosen(self.n_trees, places)
        place_codes(self._codebook, self.chosen.places)
        line = line_of_codes(self._codebook)

        def encode(indices: Indices) -> Encodings:
            projections = self._of(indices)
            return Encodings(line.nearest(projections), projections)

        this = self._round
        seen = measure(self._context, this.split, self._variant, this.shares, encode)
        return seen, self._terms()

    def _of(self, indices: Indices) -> Floats:
        return self._projections[np.searchsorted(self._looked_at, indices)]

    def _terms(self) -> dict[str, float]:
        sets, shares = self._context.sample.clustered, self._round.shares
        target = 0.0 if shares is None else shares[sets.unlabeled]
        positive = float(np.mean((self._trained(sets.positive) - 1) ** 2))
        unlabeled = float(np.mean((self._trained(sets.unlabeled) - target) ** 2))
        return {
            "loss": positive + unlabeled,
            "positive_target": positive,
            "unlabeled_target": unlabeled,
        }

    def _trained(self, indices: Indices) -> Floats:
        """Return s(x) by the members that were trained on each sample, by all if none was."""
        split, every = self._round.split, self._of(indices)
        is_trained = split.kept_from[indices, None] != np.arange(split.n_members)
        is_trained |= ~is_trained.any(axis=1, keepdims=True)
        return np.asarray((every * is_trained).sum(axis=1) / is_trained.sum(axis=1))


def places_of_codes(
    variant: Variant, this: Round, context: FitContext, looked_at: list[Floats]
) -> tuple[float, float] | None:
    """Return the centres of s(x) of held-out unlabelled samples, None if codes do not follow.

    Where they are all alike, c_m goes to the positives.

    Parameters
    ----------
    variant : Variant
    this : Round
    context : FitContext
    looked_at : list of two ndarray of shape (n, n_members)
        s(x) of the positives and of the unlabelled samples that a check judges.
    """
    if variant.codebook_update != "follow":
        return None
    positive, unlabeled = (
        this.split.unseen(by_member, indices)
        for by_member, indices in zip(looked_at, context.sample.judged, strict=True)
    )
    if np.ptp(unlabeled) == 0:
        return float(unlabeled[0]), float(positive.mean())
    return two_means_line(unlabeled)


def place_codes(codebook: Codebook, places: tuple[float, float] | None) -> None:
    """Put c_1 and c_m where the two clusters of s(x) of the unlabelled samples lie.

    It is where following the vectors that fall on them leads to, step by step.

    Parameters
    ----------
    codebook : Codebook
        Its anchors stay.
    places : tuple of two float, or None
        None leaves the codes as drawn.
    """
    if places is None:
        return
    start, axis = codebook.unlabeled_anchor, codebook.positive_anchor - codebook.unlabeled_anchor
    for code, place in zip((0, -1), places, strict=True):
        codebook.vectors.data[code] = start + place * axis


def columns_of(source: ArraySource) -> Columns:
    """Return what is to be known of the columns; raise if none of them varies.

    Parameters
    ----------
    source : ArraySource
    """
    low, high = source.extremes()
    if not (high > low).any():
        raise InputError(
            "X is constant: no feature varies from sample to sample, so nothing can be learned."
            " Check how X was read."
        )
    n_categories = np.zeros(len(low), dtype=np.int64)
    for column, count in source.categories.items():
        n_categories[column] = count
    is_known = np.isfinite(low) & np.isfinite(high)
    return Columns(np.where(is_known, low, 0.0), np.where(is_known, high, 0.0), n_categories)


def _task(this: Round, seed: int, member: int) -> Task:
    """Return positives with target 1 and unlabelled samples with 0 or q(x), both as heavy.

    Known negatives have target 0 and take their weight from the unlabelled samples.
    """
    sets, shares = this.split.training_sets(member), this.shares
    negatives = this.split.training_negatives(member)
    drawn = np.zeros(len(sets.unlabeled)) if shares is None else shares[sets.unlabeled]
    share = weight_of_negatives(len(sets.positive), len(negatives))
    parts, halves = [*sets], [1.0, 1.0]
    if len(negatives):
        parts, halves = [*sets, negatives], [1.0, 1.0 - share, share]
    rows = np.concatenate(parts)
    target = np.concatenate([np.ones(len(sets.positive)), drawn, np.zeros(len(negatives))])
    weight = np.repeat(
        [half * len(rows) / (2 * len(part)) for half, part in zip(halves, parts, strict=True)],
        [len(part) for part in parts],
    )
    order = np.argsort(rows)
    own = derive_seed(seed, Stream.MEMBER, member) % 2**31
    return Task(rows[order], target[order], weight[order], own)
