"""Answers in records: packing, intervals of differences, sheets of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from experiments import correctness, sample_sheets
from experiments.item import Record
from experiments.items import gan_samples, table2
from experiments.summary import float32_text


def record(seed: int, right: NDArray[np.bool_] | None, **config: Any) -> Record:
    metrics: dict[str, Any] = {"n_test": 0 if right is None else len(right)}
    if right is not None:
        metrics |= {correctness.KEY: correctness.pack(right), "test_accuracy": float(right.mean())}
    return Record({"seed": seed, **config}, metrics)


class Generating:
    """Stands for a fitted GAN."""

    def __init__(self, images: NDArray[Any]) -> None:
        self._images = images

    def sample(self, n: int, random_state: int) -> NDArray[Any]:
        assert random_state == 0
        return self._images[:n]


@pytest.mark.parametrize("n", [1, 7, 8, 9, 1000])
def test_pack__unpacked__the_same(n: int) -> None:
    right = np.random.default_rng(n).random(n) < 0.7
    found = correctness.unpack(record(0, right))
    assert found is not None
    assert np.array_equal(found, right)


def test_unpack__record_without__none() -> None:
    assert correctness.unpack(record(0, None)) is None
    assert correctness.unpack(Record({})) is None


def test_difference__hand_computed__seeds_of_both_alone() -> None:
    right, half = np.ones(400, bool), np.arange(400) % 2 == 0
    found = correctness.difference(
        [record(0, right), record(1, right), record(5, half)],
        [record(0, half), record(1, right), record(7, half)],
    )
    assert found is not None
    assert found.mean == pytest.approx(25.0)  # 50 points with seed 0, none with seed 1
    assert found.n_seeds == 2
    assert found.low == pytest.approx(0.0)
    assert 45 < found.high < 60


def test_difference__one_seed__interval_of_the_binomial() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random(10_000) < 0.95, rng.random(10_000) < 0.94
    found = correctness.difference([record(0, first)], [record(0, second)])
    assert found is not None
    assert found.mean == pytest.approx(100 * (first.mean() - second.mean()))
    error = 100 * np.std(first.astype(float) - second) / 100  # of the mean of 10,000
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_difference__nothing_in_common__none() -> None:
    right = np.ones(5, bool)
    assert correctness.difference([record(0, right)], [record(1, right)]) is None
    assert correctness.difference([record(0, None)], [record(0, right)]) is None


def run_of(task: str, row: str, method: str, share: float) -> Record:
    """Return a run of table 2 that is right on this share of 1,000 samples."""
    config: dict[str, Any] = {"n_positive": 1, "n_unlabeled": 1, "parameters": {}}
    config["image_size"] = None
    right = np.arange(1000) < 1000 * share
    return record(0, right, task=task, row=row, method=method, n_judged=9, **config)


def test_table2__by_steps__first_round_chosen_by_its_own_signal() -> None:
    def check(stage: int, step: int, accuracy: float, **more: float) -> dict[str, Any]:
        return {"stage": stage, "step": step, "accuracy": accuracy, "epoch": step / 10, **more}

    ours, rival = run_of("a", "vq", "vq", 0.9), run_of("a", "tedn", "tedn", 0.8)
    first = [
        check(0, 10, 0.7, round=1, holdout_loss=3),
        check(0, 20, 0.6, round=1, holdout_loss=1),  # chosen, though the one before is better
        check(0, 30, 0.5, round=1, holdout_loss=2),
    ]
    ours.history.extend([*first, check(0, 50, 0.9, round=2, holdout_loss=0)])
    rival.history.extend([check(1, 4, 0.5), check(1, 8, 0.5), check(0, 70, 0.8)])
    assert ours.metrics is not None
    assert rival.metrics is not None
    ours.metrics["best_check"], rival.metrics["best_check"] = 3, 0
    text = table2.show({"ours": ours, "rival": rival}, {}).markdown
    assert "| a | 30 | 60.00 | 50 | 90.00 | 78 | 80.00 | -20.00 | +10.00 | 1 |" in text
    (tied := dict(first[1]))["step"] = 25
    ours.history.insert(2, tied)
    with pytest.raises(ValueError, match="too many values"):
        table2.show({"ours": ours, "rival": rival}, {})


def test_table2__ranks_and_intervals__from_records() -> None:
    def runs(row: str, method: str, shares: tuple[float, float]) -> dict[str, Record]:
        pairs = zip(("a", "b"), shares, strict=True)
        return {f"{task}_{row}": run_of(task, row, method, share) for task, share in pairs}

    records = {
        **runs("vq", "vq", (0.9, 0.8)),
        **runs("vq-adam", "vq", (0.95, 0.7)),
        **runs("naive", "naive", (0.8, 0.85)),
        **runs("oracle", "oracle", (0.99, 0.99)),
    }  # fmt: skip
    text = table2.show(records, {}).markdown
    assert "| vq | 2.00 | 2 | 2 |" in text
    assert "| naive | 2.00 | 3 | 1 |" in text
    assert "| oracle | " not in text.split("## Ranks")[1].split("##")[0]
    assert "| a | naive | +10.00 | +10.00 |" in text
    assert "| b | naive | -5.00 | -5.00 |" in text


def test_sheet__images__come_back_nearly_as_they_are() -> None:
    images = np.zeros((16, 12, 10, 3), np.float32)
    images[3] = 255
    model = Generating(images)
    sheet = sample_sheets.read_sheet(sample_sheets.draw_sheet(model))
    assert sheet.shape == (2 * 12, 8 * 10, 3)
    assert sheet[2:10, 32:38].min() > 240
    assert sheet[13:, :].max() < 15


@pytest.mark.parametrize("scale", [(0.0, 1.0), (-1.0, 1.0), (0.0, 1000.0)])
def test_sheet__another_range__is_spread_out(scale: tuple[float, float]) -> None:
    images = np.full((16, 8, 8), scale[0])
    images[0] = scale[1]
    model = Generating(images)
    sheet = sample_sheets.read_sheet(sample_sheets.draw_sheet(model))
    assert sheet[:6, :6].min() > 240
    assert sheet[10:].max() < 15


def test_gan_samples__runs_with_and_without_a_sheet__told_and_drawn() -> None:
    from matplotlib.figure import Figure

    images = np.zeros((16, 8, 8))
    model = Generating(images)
    sheet = {sample_sheets.KEY: sample_sheets.draw_sheet(model)}
    records = {
        "one": Record({"task": "mnist", "row": "d-gan"}, sheet),
        "two": Record({"task": "mnist", "row": "observer-gan"}, {}),
        "three": Record({"task": "mnist", "row": "d-gan-literal"}),
    }
    shown = gan_samples.show(records, {})
    assert "| mnist | d-gan | yes |" in shown.markdown
    assert "| mnist | observer-gan | missing |" in shown.markdown
    figure = Figure()
    assert shown.draw is not None
    shown.draw(figure)
    assert [axes.get_title() for axes in figure.axes] == ["d-gan, mnist"]
    empty = Figure()
    nothing = gan_samples.show({"two": records["two"]}, {}).draw
    assert nothing is not None
    nothing(empty)
    assert not empty.axes


def test_float32_text__names_runs_that_would_have_had_bfloat16_elsewhere() -> None:
    def record(precision: str, **environment: bool) -> Record:
        return Record({"parameters": {"precision": precision}}, {}, [], environment)

    records = {
        "auto": record("auto", native_bfloat16=False),
        "asked": record("float32", native_bfloat16=False),
        "native": record("auto", native_bfloat16=True),
        "before": record("auto"),
    }
    assert "itself: auto.\n" in float32_text(records)
    assert float32_text({"native": records["native"]}) == ""
