"""Published tables are made from committed records and from nothing else."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from experiments.item import Record
from experiments.methods import flat_parameters
from experiments.runner import Request, read_item
from experiments.studies import (
    accuracy,
    encoders,
    gaussians,
    margins,
    metrics,
    priors,
    rounds,
    study,
    tables,
    world_sizes,
)
from experiments.studies.tedn_rates import late_accuracy
from vqpu import VQKMeansClassifier
from vqpu.priors import PRIOR_METHODS
from vqpu.priors._posterior import RAISED_BY
from vqpu.vq._rounds import RAISED_FOR_TREES

ROOT = Path(__file__).resolve().parent.parent.parent


@cache
def records_of(name: str) -> list[Record]:
    """Return the published records of a study, in the order of their ids."""
    found = read_item(Request(name, results_dir=ROOT / "results"))
    return [found[run_id] for run_id in sorted(found)]


def test_study__defaults__are_the_ones_it_speaks_for() -> None:
    regrets = study.regrets(records_of("study"))
    default = flat_parameters(VQKMeansClassifier())
    chosen = f"{default['stopping_signal']}, {default['decision']}"
    assert regrets[chosen] == min(regrets.values())
    assert regrets[chosen] <= 1.0


QUOTING = [
    "README.md", "docs/features.md", "docs/findings.md", "docs/results.md", "docs/scale.md",
]  # fmt: skip
QUOTED = re.compile(r"<!-- from (\S+) -->\n(.*?)<!-- end -->", re.DOTALL)


@pytest.mark.parametrize("name", QUOTING)
def test_document__numbers_it_quotes__stand_in_the_summaries(name: str) -> None:
    quotes = QUOTED.findall((ROOT / name).read_text())
    assert quotes
    for source, quoted in quotes:
        lines = (ROOT / source).read_text().splitlines()
        for line in quoted.strip().splitlines():
            assert line in lines, source


# What is asked of the defaults, and reached.
TARGETS = {
    "digits-even-odd": 0.95,
    "mnist-even-odd": 0.985,
    "afhq-cats": 0.975,
    "cifar10-animals": 0.93,
}


@pytest.mark.parametrize("task", TARGETS)
def test_accuracy__defaults__reach_the_target_in_time(task: str) -> None:
    found = [
        record
        for record in [*records_of("accuracy"), *accuracy.image_records()]
        if record.config["task"] == task and record.config["method"] == "vq"
    ]
    assert found
    scores = [record.values["test_accuracy"] for record in found]
    assert sum(scores) / len(scores) >= TARGETS[task]
    # Two cores for a quarter of an hour; a run with one thread had one of them at most.
    used = [record.values["seconds"] * record.environment["threads"] for record in found]
    assert max(used) <= 2 * 15 * 60


def table_means() -> dict[str, dict[str, float]]:
    """Mean balanced accuracy in points, by table and method."""
    means: dict[str, dict[str, float]] = {}
    for table in tables.CASES:
        for method in tables.METHODS:
            values = tables.values_of(records_of("tables"), table, method, "test_balanced_accuracy")
            assert len(values) == 5
            means.setdefault(table, {})[method] = 100 * sum(values) / 5
    return means


def test_tables__networks__above_naive() -> None:
    assert all(row["vq"] > row["naive"] for row in table_means().values())


@pytest.mark.parametrize(("method", "oracle"), [("vq", "oracle"), ("trees", "boosted-oracle")])
def test_tables__within_3_points_of_the_same_with_all_labels(method: str, oracle: str) -> None:
    gaps = {table: row[oracle] - row[method] for table, row in table_means().items()}
    assert max(gaps.values()) <= 3, gaps


def encoder_cells() -> encoders.Cells:
    records = records_of("encoders")
    return encoders.cells_of([r for r in records if r.config["seed"] in encoders.SEEDS])


@pytest.mark.parametrize("rival", ["naive", "elkan-noto", *encoders.PEERS])
@pytest.mark.parametrize("score", ["auc", "average_precision"])
def test_encoders__default__above_every_rival_on_average(rival: str, score: str) -> None:
    both = [cell for cell in encoder_cells().values() if {rival, encoders.DEFAULT} <= cell.keys()]
    assert len(both) >= 50
    gaps = [cell[encoders.DEFAULT][score] - cell[rival][score] for cell in both]
    assert np.mean(gaps) > 2 * np.std(gaps) / len(gaps) ** 0.5


def test_encoders__default__within_2_points_of_boosted_trees_with_all_labels() -> None:
    cells = [cell for (_, alpha), cell in encoder_cells().items() if alpha in (0.2, 0.5)]
    assert len(cells) == 2 * 28
    gaps = [
        cell["oracle"]["balanced_accuracy"] - cell[encoders.DEFAULT]["balanced_accuracy"]
        for cell in cells
    ]
    assert 100 * np.mean(gaps) <= 2.0


def test_encoders__two_rounds__lower_nothing_where_classes_overlap() -> None:
    overlapping = [cell for cell in encoder_cells().values() if cell["oracle"]["auc"] < 0.95]
    assert len(overlapping) > 50
    for score, sign in (("average_precision", 1), ("calibration_error", -1)):
        gains = [sign * (cell["trees-2"][score] - cell["trees"][score]) for cell in overlapping]
        assert np.mean(gains) > -2 * np.std(gains) / len(gains) ** 0.5


def test_study__default__above_the_form_before() -> None:
    rows = study.mean_accuracies(records_of("study")).values()
    assert len(rows) == 8 * 3
    assert sum(row["holdout-loss, posterior"] for row in rows) / len(rows) > 92.0


def test_alpha_sweep__default__first_or_second_of_those_without_negatives() -> None:
    found: dict[float, dict[str, list[float]]] = {}
    for record in records_of("alpha-sweep"):
        config = record.config
        row = found.setdefault(config["alpha"], {}).setdefault(config["row"], [])
        row.append(record.values["unlabeled_accuracy"])
    assert len(found) == 5
    for rows in found.values():
        means = {name: sum(row) / len(row) for name, row in rows.items() if name != "oracle"}
        assert len(means) == 5
        assert sorted(means, key=means.__getitem__).index("vq") >= 3


def test_study__border_and_patience__lose_nothing_against_the_others_tried() -> None:
    border = study.border_accuracies(records_of("study"))
    patience = study.patience_accuracies(records_of("study"))
    assert border[RAISED_BY] >= max(border.values()) - 0.05
    assert patience[VQKMeansClassifier().patience] >= max(patience.values()) - 0.05


def test_margins__default__gains_balanced_accuracy_at_no_cost_beyond_chance() -> None:
    found = margins.gaps(records_of("margins"))[RAISED_FOR_TREES]
    assert found["balanced_accuracy"].mean > 2 * found["balanced_accuracy"].error
    assert found["accuracy"].mean > -found["accuracy"].error
    assert found["calibration_error"].mean < found["calibration_error"].error


def test_metrics__ours__within_a_hundredth_of_the_truth_everywhere() -> None:
    errors = metrics.largest_errors(records_of("metrics"), "vqpu")
    assert {scenario for scenario, _ in errors} == {"case-control", "single-set"}
    assert len(errors) == 2 * 10
    assert max(errors.values()) <= 0.01


@pytest.mark.parametrize("alpha", [0.3, 0.6])
@pytest.mark.parametrize("method", PRIOR_METHODS)
def test_priors__separated_gaussians__within_5_points_on_average(method: str, alpha: float) -> None:
    # By default, that is, on samples. The harder setting is published and not asserted.
    table = priors.collect(records_of("priors"))
    kind = "samples" if method in ("km2", "tice") else "boosting"
    values = [entry["alpha"] for entry in table["separated", alpha, method, kind]]
    assert len(values) == 10
    assert sum(values) / 10 == pytest.approx(alpha, abs=0.05)


def test_gaussians__separated__as_near_to_bayes_as_asked_but_for_what_is_named() -> None:
    gaps = gaussians.mean_gaps(records_of("gaussians"))
    missed = {
        (alpha, method)
        for (setting, alpha, method), gap in gaps.items()
        if setting == "separated" and gap < -gaussians.tolerance(method)
    }
    assert len([key for key in gaps if key[0] == "separated"]) == 2 * len(gaussians.METHODS)
    assert missed == {(0.6, "vpu")}  # by .04 points


def test_tedn_rates__the_collapse_at_a_tenth__does_not_show() -> None:
    """The authors' logs end at 85.0 % with rate .1 and at 95.5 % with .01."""
    late: dict[str, list[float]] = {}
    for record in records_of("tedn-rates"):
        late.setdefault(record.config["case"], []).append(late_accuracy(record))
    assert len(late["sgd 0.1"]) == len(late["sgd 0.01"]) == 3
    assert min(late["sgd 0.1"]) > 95
    assert min(late["sgd 0.01"]) > 95


def test_rounds__the_default__gains_on_average() -> None:
    records = records_of("rounds")
    accuracies = rounds.mean_by_round(records, "accuracy")
    assert len(records) == 3 * (3 + 2 + 1 + 1)  # alphas, seeds of each task
    assert accuracies[2] == max(accuracies) > accuracies[0] + 0.01  # three rounds for vectors
    images = [record for record in records if record.config["task"] == "digits-even-odd"]
    on_images = rounds.mean_by_round(images, "accuracy")
    assert on_images[1] > on_images[0] + 0.005  # and two for images
    assert on_images[2] < on_images[1] + 0.005


def test_afhq_rank__published__99_of_the_top_100_are_cats() -> None:
    assert min(record.values["precision_at_100"] for record in records_of("afhq-rank")) >= 0.99


@pytest.mark.parametrize("case", world_sizes.CASES)
def test_world_sizes__same_batch__same_accuracy_within_what_seeds_differ_by(case: str) -> None:
    found = {
        size: world_sizes.accuracies(records_of("world-sizes"), case, size)
        for size in world_sizes.SIZES
    }
    assert {len(values) for values in found.values()} == {3}
    for values in found.values():
        noise = np.sqrt((np.var(values, ddof=1) + np.var(found[1], ddof=1)) / 3)
        assert abs(np.mean(values) - np.mean(found[1])) <= 2 * noise


def test_gan_budgets__as_asked_but_for_what_is_named() -> None:
    values = [record.values for record in records_of("gan-budgets")]
    reached = {found["method"]: found["test_accuracy"] >= 0.9 for found in values}
    assert reached == {"d-gan": True, "observer-gan": False}  # it calls all real samples positive
