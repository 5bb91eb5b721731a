"""From the share of positives in U to the class prior of the population."""

from __future__ import annotations

SCENARIOS = ("case-control", "single-set")


def class_prior_of(alpha: float, n_positive: int, n_unlabeled: int, scenario: str) -> float:
    """Return pi.

    Case-control: U is a sample of the population, so pi = alpha. Single set: P was labelled in one
    sample and taken out of it, so pi counts P as well; with c = n_p / (n_p + alpha n_u) labelled
    among all positives this is alpha = (1 - c) pi / (1 - c pi), solved for pi.
    """
    if scenario == "case-control":
        return alpha
    return (n_positive + alpha * n_unlabeled) / (n_positive + n_unlabeled)
