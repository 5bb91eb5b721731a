"""What the rounds of a fit leave as evidence of its quality."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vqpu.estimators._evidence import FitEvidence, Scored, gather_evidence
from vqpu.priors._posterior import positive_probability
from vqpu.training import SIGNALS, FitContext, History
from vqpu.vq._rounds import FitResult


def evidence_of_rounds(
    rounds: list[FitResult], context: FitContext, stopping_signal: str
) -> FitEvidence:
    """Look at the last round's scores, and at the first one's projections, while they are there.

    Parameters
    ----------
    rounds : list of FitResult
    context : FitContext
    stopping_signal : str
        A name of ``SIGNALS``.
    """
    first, last = rounds[0], rounds[-1]
    of_unlabeled = last.decision_rule.among_unlabeled().held_out_log_odds(last.held_out)[1]
    scored = Scored(
        first.projections,
        last.log_odds,
        positive_probability(of_unlabeled),
        context.split.without_confirmed(last.held_out.indices),
        last.held_out.unlabeled.member_projections,
        _last_signal(last.training.history, stopping_signal),
        context.split.keeps_apart,
        int(context.split.is_positive.sum()),
    )
    is_taught = len(rounds) > 1 and context.split.n_members > 1
    return gather_evidence(context.source, scored)._replace(is_taught=is_taught)


def _last_signal(history: History, name: str) -> NDArray[np.float64]:
    """Return the stopping signal at every check of the last round; more is better."""
    signal, rounds = SIGNALS[name], history.rounds()
    values = history.column(signal.column)
    return signal.sign * np.asarray(values[rounds.index(rounds[-1]) :], dtype=np.float64)
