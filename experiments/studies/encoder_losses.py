"""Where a method without true labels ranks better than the default, and why, from the records.

Reasons are rules on recorded numbers:

- few: the rival gives every sample one score, an AUC of 50, and the default does worse than that:
  so few rows say nothing.
- chance: over this draw and the others of the same cell, the mean lead is under one standard error
  of the default's own score on the fresh part, by Hanley and McNeil (1982) for the AUC and the
  binomial one of Boyd et al. (2013) for average precision. (Both are judged on the same samples, so
  the error of their difference is smaller than that of two.) Or the rival is boosted trees, and the
  same trees with all labels have no such lead.
- caution: they have. The border is sharp, and trees whose thresholds are drawn at random and whose
  leaves are shrunk blur it.
- form: the rival is no trees, and ahead of boosted trees with all labels as well, so that it is no
  matter of labels: a smooth function suits the table better than steps do.
- labels: none of these. With all labels boosted trees would be as good; from P and U they are not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from experiments.item import Record
from experiments.summary import markdown_table

Row = dict[str, float]
Cell = dict[str, Row]
Key = tuple[str, float]

SCORES = ("auc", "average_precision")
LEAD = 0.005  # from which on a lead is listed
_BOOSTED = ("naive", "elkan-noto")


class Sizes(NamedTuple):
    """Samples of a cell: labelled positives, and positives and negatives of the fresh part."""

    n_labeled: int
    n_positive: int
    n_negative: int


def sizes_of(records: list[Record]) -> dict[Key, Sizes]:
    """Return the sizes of every table and alpha."""
    found = {}
    for record in records:
        values = record.values
        alpha, n_fresh = values["alpha"], values["n_fresh"]
        n_positive = max(2, round(alpha * n_fresh))
        sizes = Sizes(values["n_positive"], n_positive, n_fresh - n_positive)
        found[values["table"], alpha] = sizes
    return found


def auc_error(auc: float, n_positive: int, n_negative: int) -> float:
    """Return the standard error of an AUC (Hanley and McNeil 1982, equation 2).

    Examples
    --------
    >>> round(auc_error(0.8, 20, 50), 4)
    0.0644
    """
    pairs_of_positives = auc / (2 - auc)
    pairs_of_negatives = 2 * auc**2 / (1 + auc)
    variance = auc * (1 - auc) + (n_positive - 1) * (pairs_of_positives - auc**2)
    variance += (n_negative - 1) * (pairs_of_negatives - auc**2)
    return float(np.sqrt(max(variance, 0.0) / (n_positive * n_negative)))


def precision_error(average_precision: float, n_positive: int) -> float:
    """Return the binomial standard error of an average precision (Boyd et al. 2013, section 3).

    Examples
    --------
    >>> precision_error(0.5, 25)
    0.1
    """
    return float(np.sqrt(average_precision * (1 - average_precision) / n_positive))


def losses(
    cells: dict[Key, Cell], sizes: dict[Key, Sizes], others: list[dict[Key, Cell]], default: str
) -> str:
    """Return a table of all cells on which somebody ranks better than the default.

    Parameters
    ----------
    cells : dict
        Scores of every method by table and alpha, of the draw that is shown.
    sizes : dict
    others : list of dict
        The same of other draws, as far as they were made.
    default : str
        The method that loses.
    """
    rows = []
    for key, cell in cells.items():
        if default not in cell or key not in sizes:
            continue
        for rival, row in cell.items():
            if rival.startswith("trees") or rival == "oracle":
                continue
            leads = _leads(row, cell[default])
            if max(leads) > LEAD:
                rows.append(_told(key, cell, rival, sizes[key], others, default))
    heads = [
        "table", "alpha", "labelled", "fresh positives", "who", "lead", "standard error",
        "on other draws", "oracle's lead", "alpha found", "reason",
    ]  # fmt: skip
    return markdown_table(heads, rows) if rows else "Nowhere."


def _told(
    key: Key, cell: Cell, rival: str, sizes: Sizes, others: list[dict[Key, Cell]], default: str
) -> list[str]:
    ours = cell[default]
    again = [
        _leads(other[key][rival], other[key][default])
        for other in others
        if {rival, default} <= other.get(key, {}).keys()
    ]
    oracle = _leads(cell["oracle"], ours) if "oracle" in cell else None
    errors = (
        auc_error(ours["auc"], sizes.n_positive, sizes.n_negative),
        precision_error(ours["average_precision"], sizes.n_positive),
    )
    leads = _leads(cell[rival], ours)
    is_blank = cell[rival]["auc"] == 0.5
    return [
        key[0], str(key[1]), str(sizes.n_labeled), str(sizes.n_positive), rival, _shown(leads),
        " / ".join(f"{100 * error:.1f}" for error in errors),
        "; ".join(map(_shown, again)) or "-",
        "-" if oracle is None else _shown(oracle),
        f"{ours['alpha_estimate']:.2f}" if "alpha_estimate" in ours else "-",
        "few" if is_blank else reason(rival, leads, errors, again, oracle),
    ]  # fmt: skip


def reason(
    rival: str,
    leads: tuple[float, float],
    errors: tuple[float, float],
    again: list[tuple[float, float]],
    oracle: tuple[float, float] | None,
) -> str:
    """Return why a rival leads that ranks samples, by the rules above.

    Parameters
    ----------
    rival : str
    leads, errors : tuple of two float
        Of AUC and average precision.
    again : list of tuple of two float
        Leads on other draws.
    oracle : tuple of two float, or None
        How far boosted trees with all labels are ahead of the default.
    """
    draws = np.array([leads, *again])
    bound = np.maximum(LEAD, np.array(errors) / len(draws) ** 0.5)
    is_clear = (draws[0] > LEAD) & (draws.mean(axis=0) > bound)
    if not is_clear.any():
        return "chance"
    place = int(np.argmax(is_clear))
    if oracle is None:
        return "labels"
    if rival in _BOOSTED:
        return "caution" if oracle[place] >= leads[place] / 2 else "chance"
    return "form" if leads[place] > oracle[place] else "labels"


def _leads(row: Row, ours: Row) -> tuple[float, float]:
    first, second = (row[name] - ours[name] for name in SCORES)
    return first, second


def _shown(leads: tuple[float, float]) -> str:
    return " / ".join(f"{100 * lead:+.1f}" for lead in leads)
