"""All items by name: those of the paper, and the studies."""

from __future__ import annotations

from experiments.item import Item
from experiments.items import (
    figure1,
    figure2,
    figure4,
    peers,
    sensitivity,
    sweeps,
    table1,
    table2,
    table3,
    theorem,
)
from experiments.studies import (
    accuracy,
    afhq_rank,
    forms,
    gan_budgets,
    gaussians,
    metrics,
    priors,
    rounds,
    study,
    tables,
    tedn_rates,
)
from vqpu.errors import InputError

# In the order in which "all" runs them.
PAPER_ITEMS: dict[str, Item] = {
    "table2": table2.ITEM,
    "table1": table1.ITEM,
    "figure4": figure4.ITEM,
    "table3": table3.ITEM,
    "alpha-sweep": sweeps.ALPHA_SWEEP,
    "scenarios": sweeps.SCENARIOS,
    "imbalance": sweeps.IMBALANCE,
    "sensitivity": sensitivity.ITEM,
    "figure1": figure1.ITEM,
    "figure2": figure2.ITEM,
    "theorem": theorem.ITEM,
    "peers": peers.ITEM,
}
STUDIES: dict[str, Item] = {
    "accuracy": accuracy.ITEM,
    "study": study.ITEM,
    "rounds": rounds.ITEM,
    "forms": forms.ITEM,
    "tables": tables.ITEM,
    "metrics": metrics.ITEM,
    "priors": priors.ITEM,
    "gaussians": gaussians.ITEM,
    "tedn-rates": tedn_rates.ITEM,
    "gan-budgets": gan_budgets.ITEM,
    "afhq-rank": afhq_rank.ITEM,
}
_EVERY = PAPER_ITEMS | STUDIES


def load_item(name: str) -> Item:
    """Return an item by its name."""
    if name not in _EVERY:
        raise InputError(f"Unknown item {name!r}. Valid items are {[*_EVERY, 'all']}.")
    return _EVERY[name]


def runs_of(name: str) -> str:
    """Return the item whose settings and runs an item reads, most often its own."""
    return load_item(name).runs_of or name
