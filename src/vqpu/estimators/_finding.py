"""What a finding is: severity, number, cause and one sentence."""

from __future__ import annotations

from typing import NamedTuple

from vqpu.priors._mixture import Interval

OK, DOUBT, FAILED = "ok", "doubt", "failed"
SEVERITY = (OK, DOUBT, FAILED)


class Finding(NamedTuple):
    """What was seen of a fitted model, and what it means.

    Attributes
    ----------
    name : str
        What was looked at.
    level : {"ok", "doubt", "failed"}
    value : float or None
        The number it rests on; None if it could not be had.
    sentence : str
        What was seen and, unless all is well, the likely cause and what to do.
    cause : str or None
        A name of the likely cause; None if all is well.
    """

    name: str
    level: str
    value: float | None
    sentence: str
    cause: str | None = None

    def __str__(self) -> str:
        return f"[{self.level}] {self.sentence}"


def worst(findings: list[Finding]) -> Finding:
    """Return the first of the most severe findings.

    Parameters
    ----------
    findings : list of Finding
        At least one.
    """
    return max(findings, key=lambda finding: SEVERITY.index(finding.level))


def shown(interval: Interval, digits: int = 2) -> str:
    """Return an interval as text.

    Parameters
    ----------
    interval : Interval
    digits : int
    """
    value, low, high = interval
    return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
