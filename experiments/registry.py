"""All items by name: those of the paper, and the studies.

Only names stand here, so that the help of the command is quick; modules wait until asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from vqpu.errors import InputError

if TYPE_CHECKING:
    from experiments.item import Item

# Name, and module and name of the item in it; in the order in which "all" runs them.
PAPER_ITEMS = {
    "table2": "items.table2.ITEM",
    "table1": "items.table1.ITEM",
    "figure4": "items.figure4.ITEM",
    "gan-samples": "items.gan_samples.ITEM",
    "table3": "items.table3.ITEM",
    "alpha-sweep": "items.sweeps.ALPHA_SWEEP",
    "scenarios": "items.sweeps.SCENARIOS",
    "imbalance": "items.sweeps.IMBALANCE",
    "sensitivity": "items.sensitivity.ITEM",
    "figure1": "items.figure1.ITEM",
    "figure2": "items.figure2.ITEM",
    "theorem": "items.theorem.ITEM",
    "peers": "items.peers.ITEM",
}
STUDIES = {
    "accuracy": "studies.accuracy.ITEM",
    "study": "studies.study.ITEM",
    "rounds": "studies.rounds.ITEM",
    "forms": "studies.forms.ITEM",
    "small-images": "studies.small_images.ITEM",
    "encoders": "studies.encoders.ITEM",
    "doubt": "studies.doubt.ITEM",
    "peer-intervals": "studies.peer_intervals.ITEM",
    "borders": "studies.borders.ITEM",
    "margins": "studies.margins.ITEM",
    "network-sizes": "studies.network_sizes.ITEM",
    "tables": "studies.tables.ITEM",
    "review": "studies.review.ITEM",
    "features": "studies.features.ITEM",
    "text": "studies.texts.ITEM",
    "metrics": "studies.metrics.ITEM",
    "priors": "studies.priors.ITEM",
    "gaussians": "studies.gaussians.ITEM",
    "tedn-rates": "studies.tedn_rates.ITEM",
    "gan-budgets": "studies.gan_budgets.ITEM",
    "gan-forms": "studies.gan_forms.ITEM",
    "observer-tries": "studies.observer_tries.ITEM",
    "rival-forms": "studies.rival_forms.ITEM",
    "afhq-rank": "studies.afhq_rank.ITEM",
    "world-sizes": "studies.world_sizes.ITEM",
}
_EVERY = PAPER_ITEMS | STUDIES


def load_item(name: str) -> Item:
    """Return an item by its name."""
    if name not in _EVERY:
        raise InputError(f"Unknown item {name!r}. Valid items are {[*_EVERY, 'all']}.")
    module, _, attribute = _EVERY[name].rpartition(".")
    item: Item = getattr(import_module(f"experiments.{module}"), attribute)
    return item


def runs_of(name: str) -> str:
    """Return the item whose settings and runs an item reads, most often its own."""
    return load_item(name).runs_of or name
