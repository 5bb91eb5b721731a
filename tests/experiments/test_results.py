"""Published tables are made from committed records and from nothing else."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from experiments import read_records
from vqpu.priors import PRIOR_METHODS

ROOT = Path(__file__).resolve().parent.parent.parent


def script(name: str) -> ModuleType:
    path = ROOT / "benchmarks" / f"{name.replace('-', '_')}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(path.parent)  # scripts share what lies beside them
        spec.loader.exec_module(module)
    return module


def records_of(name: str) -> Path:
    folder = ROOT / "results" / name
    assert (folder / "summary.md").exists(), f"the records of {name} are published"
    return folder


PUBLISHED = [
    "accuracy",
    "tables",
    "study",
    "metrics",
    "priors",
    "gaussians",
    "tedn-rates",
    "rounds",
    "gan-budgets",
]


@pytest.mark.parametrize("name", PUBLISHED)
def test_summary__made_again_from_the_records__same_text(name: str) -> None:
    folder = records_of(name)
    text = script(name).summary(read_records(folder))
    assert (folder / "summary.md").read_text() == text


def test_study__defaults__are_the_ones_it_speaks_for() -> None:
    from vqpu import VQKMeansClassifier

    records = read_records(records_of("study"))
    regrets = script("study").regrets(records)
    default = VQKMeansClassifier()
    chosen = f"{default.stopping_signal}, {default.decision}"
    assert regrets[chosen] == min(regrets.values())
    assert regrets[chosen] <= 1.0


QUOTING = ["README.md", "docs/findings.md", "docs/results.md"]
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
        for record in [*read_records(records_of("accuracy")), *script("accuracy").image_records()]
        if record["task"] == task and record["method"] == "vq"
    ]
    assert found
    assert sum(record["test_accuracy"] for record in found) / len(found) >= TARGETS[task]
    # Runs with one thread had but a share of the machine: they count where there are no others.
    timed = [record for record in found if record["environment"]["threads"] == 2] or found
    assert max(record["seconds"] for record in timed) <= 15 * 60


def table_means() -> dict[str, dict[str, float]]:
    """Mean balanced accuracy in points, by table and method."""
    means: dict[str, dict[str, float]] = {}
    records = read_records(records_of("tables"))
    for table in ("breast-cancer", "wide-noise", "nonlinear"):
        for method in ("vq", "naive", "oracle"):
            values = [
                100 * record["test_balanced_accuracy"]
                for record in records
                if record["task"] == table and record["method"] == method
            ]
            assert len(values) == 5
            means.setdefault(table, {})[method] = sum(values) / 5
    return means


def test_tables__defaults__above_naive() -> None:
    assert all(row["vq"] > row["naive"] for row in table_means().values())


def test_tables__defaults__within_3_points_of_the_oracle() -> None:
    gaps = {table: row["oracle"] - row["vq"] for table, row in table_means().items()}
    assert max(gaps.values()) <= 3, gaps


def test_study__default__above_naive_on_average() -> None:
    rows = script("study").mean_accuracies(read_records(records_of("study"))).values()
    assert len(rows) == 8 * 3
    default = [row["holdout-loss, posterior"] for row in rows]
    assert sum(default) > sum(row["naive"] for row in rows)
    assert sum(default) < sum(row["oracle"] for row in rows)


def test_study__border_and_patience__lose_nothing_against_the_others_tried() -> None:
    from vqpu import VQKMeansClassifier
    from vqpu.priors._posterior import RAISED_BY

    records = read_records(records_of("study"))
    border = script("study").border_accuracies(records)
    patience = script("study").patience_accuracies(records)
    assert border[RAISED_BY] >= max(border.values()) - 0.05
    assert patience[VQKMeansClassifier().patience] >= max(patience.values()) - 0.05


def test_metrics__ours__within_a_hundredth_of_the_truth_everywhere() -> None:
    errors = script("metrics").largest_errors(read_records(records_of("metrics")), "vqpu")
    assert {scenario for scenario, _ in errors} == {"case-control", "single-set"}
    assert len(errors) == 2 * 10
    assert max(errors.values()) <= 0.01


@pytest.mark.parametrize("alpha", [0.3, 0.6])
@pytest.mark.parametrize("method", PRIOR_METHODS)
def test_priors__separated_gaussians__within_5_points_on_average(method: str, alpha: float) -> None:
    # By default, that is, on samples. The harder setting is published and not asserted.
    table = script("priors").collect(read_records(records_of("priors")))
    kind = "samples" if method in ("km2", "tice") else "boosting"
    values = [entry["alpha"] for entry in table["separated", alpha, method, kind]]
    assert len(values) == 10
    assert sum(values) / 10 == pytest.approx(alpha, abs=0.05)


def test_gaussians__separated__as_near_to_bayes_as_asked_but_for_what_is_named() -> None:
    module = script("gaussians")
    gaps = module.mean_gaps(read_records(records_of("gaussians")))
    missed = {
        (alpha, method)
        for (setting, alpha, method), gap in gaps.items()
        if setting == "separated" and gap < -module.tolerance(method)
    }
    assert len([key for key in gaps if key[0] == "separated"]) == 2 * len(module.METHODS)
    assert missed == {(0.6, "vpu")}  # by .04 points


def test_tedn_rates__the_collapse_at_a_tenth__does_not_show() -> None:
    """The authors' logs end at 85.0 % with rate .1 and at 95.5 % with .01."""
    module = script("tedn-rates")
    late: dict[str, list[float]] = {}
    for record in read_records(records_of("tedn-rates")):
        late.setdefault(record["case"], []).append(module.late_accuracy(record))
    assert len(late["sgd 0.1"]) == len(late["sgd 0.01"]) == 3
    assert min(late["sgd 0.1"]) > 95
    assert min(late["sgd 0.01"]) > 95


def test_rounds__the_default__gains_on_average() -> None:
    records = read_records(records_of("rounds"))
    accuracy = script("rounds").mean_by_round(records, "accuracy")
    assert len(records) == 3 * (3 + 2 + 1 + 1)  # alphas, seeds of each task
    assert accuracy[2] == max(accuracy) > accuracy[0] + 0.01  # three rounds for vectors
    images = [record for record in records if record["task"] == "digits-even-odd"]
    on_images = script("rounds").mean_by_round(images, "accuracy")
    assert on_images[1] > on_images[0] + 0.005  # and two for images
    assert on_images[2] < on_images[1] + 0.005


def test_afhq_rank__published__99_of_the_top_100_are_cats() -> None:
    records = read_records(ROOT / "results" / "afhq-rank")
    assert records
    assert min(record["precision_at_100"] for record in records) >= 0.99


def test_gan_budgets__as_asked_but_for_what_is_named() -> None:
    records = read_records(records_of("gan-budgets"))
    reached = {record["method"]: record["test_accuracy"] >= 0.9 for record in records}
    assert reached == {"d-gan": True, "observer-gan": False}  # it calls all real samples positive
