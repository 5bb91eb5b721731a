"""Estimate alpha again from the counts that the study of doubt's records hold.

``python -m experiments.studies.doubt_again`` brings the records that choose up to date with
``fit_mixture_of_cells``, whose constants are chosen on them, without a fit: alpha and the AUC are
all that it changes. Records that judge are never touched.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from experiments.item import Record
from experiments.records import read_record, write_record
from experiments.studies.doubt import expand
from experiments.studies.doubt_cases import JUDGING
from experiments.studies.doubt_summary import cells_of, plain_interval
from vqpu.priors._mixture import fit_mixture_of_cells


def estimated_again(record: Record) -> Record:
    """Return a record with the interval of alpha and of the AUC that its counts give now.

    Parameters
    ----------
    record : Record
        Of a finished fit.
    """
    metrics = dict(record.metrics or {})
    mixture = fit_mixture_of_cells(cells_of(metrics["evidence"]))
    metrics["evidence"] = metrics["evidence"] | {
        "alpha": plain_interval(mixture.shares.interval()),
        "auc": plain_interval(mixture.auc),
    }
    return replace(record, metrics=metrics)


if __name__ == "__main__":
    folder = Path("results/doubt")
    for name, config in expand(None).items():
        if config["number"] < JUDGING:
            path = folder / f"{name}.json"
            found = read_record(path, config)
            if "evidence" in found.values:
                write_record(path, estimated_again(found))
