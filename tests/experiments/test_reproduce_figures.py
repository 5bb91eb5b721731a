"""Figure 1, figure 2, the theorem and the peers as items: smoke runs, and what is shown."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from experiments.__main__ import main
from experiments.item import Record, Summary
from experiments.items.figure4 import _rank_correlation
from experiments.registry import load_item
from experiments.settings import PROFILES, read_settings
from vqpu.errors import InputError

PAPER = Path(__file__).resolve().parent.parent.parent / "paper"
NAMES = ("figure1", "figure2", "theorem", "peers")


def drawn(shown: Summary) -> list[str]:
    """Draw, and return every text of the picture."""
    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    assert shown.draw is not None
    shown.draw(figure)
    figure.canvas.draw()
    texts = [text.get_text() for text in figure.texts]
    for axes in figure.axes:
        texts += [axes.get_title(), *(text.get_text() for text in axes.texts)]
    return texts


@cache
def smoke(name: str) -> dict[str, Record]:
    item = load_item(name)
    configs = item.expand(read_settings(name, "smoke", PAPER))
    outcomes = {run_id: item.run(config, None) for run_id, config in configs.items()}
    return {
        run_id: Record(configs[run_id], outcome.metrics, outcome.history)
        for run_id, outcome in outcomes.items()
    }


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", NAMES)
def test_settings__every_profile__expands_to_plain_configs(name: str, profile: str) -> None:
    settings = read_settings(name, profile, PAPER)
    configs = load_item(name).expand(settings)
    assert configs
    assert json.loads(json.dumps(configs, allow_nan=False)) == configs
    other = load_item(name).expand(settings.with_seeds((7, 8)))
    assert {config["seed"] for config in other.values()} == {7, 8}


@pytest.mark.parametrize("name", NAMES)
def test_settings__unknown_key__refused(name: str, tmp_path: Path) -> None:
    text = (PAPER / f"{name}.toml").read_text().replace("[smoke]", "[smoke]\nn_unlabelled = 3")
    (tmp_path / f"{name}.toml").write_text(text)
    with pytest.raises(InputError, match="Unknown key 'n_unlabelled'"):
        read_settings(name, "smoke", tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_smoke__runs__plain_records_a_table_and_a_picture(name: str) -> None:
    records = smoke(name)
    for record in records.values():
        json.dumps([record.metrics, record.history], allow_nan=False)
    shown = load_item(name).show(records, {})
    assert "missing" not in shown.markdown
    assert len(shown.rows) == len(records)
    assert len({tuple(row) for row in shown.rows}) == 1
    assert drawn(shown)


@pytest.mark.parametrize("name", ["figure1", "theorem"])
def test_command__smoke__runs_then_shows_from_records_alone(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--profile", "smoke", "--paper-dir", str(PAPER), "--results-dir", str(tmp_path)]
    assert main([name, *places]) == 0
    files = [tmp_path / name / f"summary.{ending}" for ending in ("md", "csv", "png")]
    first = [path.read_bytes() for path in files]
    assert files[0].read_text() in capsys.readouterr().out
    assert main([name, *places, "--show"]) == 0
    assert [path.read_bytes() for path in files] == first


@pytest.mark.parametrize("name", NAMES)
def test_show__no_record_yet__missing_in_every_row(name: str) -> None:
    configs = load_item(name).expand(read_settings(name, "cpu", PAPER))
    shown = load_item(name).show({key: Record(config) for key, config in configs.items()}, {})
    assert shown.markdown.count("missing") >= len(shown.rows) > 0
    assert any(text in ("no run is there yet", "missing") for text in drawn(shown))


def metrics_of(name: str) -> list[dict[str, Any]]:
    return [record.metrics or {} for record in smoke(name).values()]


def test_figure1__smoke__the_positive_cluster_is_found() -> None:
    (metrics,) = metrics_of("figure1")
    assert metrics["positive_center"] == pytest.approx(0, abs=1)
    assert metrics["negative_center"] == pytest.approx(30, abs=1)
    assert metrics["unlabeled_accuracy"] > 0.99
    assert metrics["population_accuracy"] < metrics["best_accuracy"]
    (record,) = smoke("figure1").values()
    assert sum(row["labeled"] for row in record.history) == record.config["n_positive"]


def test_figure2__smoke__points_and_accuracies_of_both() -> None:
    for record in smoke("figure2").values():
        metrics = record.metrics or {}
        assert len(record.history) == record.config["n_mapped"]
        for space in ("index", "vector"):
            places = {tuple(row[space]) for row in record.history}
            assert len(places) > 1
            assert metrics[f"{space}_accuracy"] <= metrics[f"{space}_best_naming"] <= 1
        assert {row["positive"] for row in record.history} == {0, 1}
    assert [record.config["model"] for record in smoke("figure2").values()] == ["vqvae", "vq"]


def test_theorem__smoke__groups_rest_at_the_limits() -> None:
    for metrics in metrics_of("theorem"):
        assert metrics["window_first"] < metrics["stop"] < metrics["window_last"]
        limit = metrics["limit_positive"]
        assert metrics["labeled"] == pytest.approx(limit, abs=0.05)
        assert metrics["hidden"] == pytest.approx(limit, abs=0.05)
        assert metrics["negative"] == pytest.approx(metrics["limit_negative"], abs=0.05)
        assert metrics["network_gap"] < 0.01


def test_theorem__parts_of_the_residual__along_stays_while_across_falls() -> None:
    for record in smoke("theorem").values():
        stop = (record.metrics or {})["stop"]
        row = min(record.history, key=lambda row: abs(row["step"] - stop))
        assert row["linear_residual_along"] > 0.9
        assert row["linear_residual_across"] < 0.25
        assert row["left_across"] < 0.1


def test_peers__smoke__ours_and_the_forest_are_judged() -> None:
    for metrics in metrics_of("peers"):
        assert metrics["failure"] == ""
        assert metrics["seconds"] > 0
        assert 0.6 < metrics["balanced_accuracy"] <= 1


@pytest.mark.parametrize("method", ["pulern bagging", "pulearn baging", "vqpu"])
def test_peers__unknown_method__refused(method: str) -> None:
    config = {**next(iter(smoke("peers").values())).config, "method": method}
    with pytest.raises(InputError, match=f"Unknown method '{method}'.*'pulearn bagging'"):
        load_item("peers").check(config, None)


def test_figure2__unknown_parameter__refused() -> None:
    (config, *_) = (record.config for record in smoke("figure2").values())
    with pytest.raises(InputError, match="VQVAE has no parameter 'codebook_siz'"):
        load_item("figure2").check({**config, "parameters": {"codebook_siz": 3}}, None)


def test_figure4__rank_correlation__by_hand_and_of_the_last_round_alone() -> None:
    def check(number: int, distance: float, accuracy: float) -> dict[str, float]:
        return {"round": number, "center_distance": distance, "accuracy": accuracy}

    first = [check(1, 9.0, 0.1)]
    assert _rank_correlation([*first, check(2, 1.0, 0.5), check(2, 4.0, 0.6)]) == 1.0
    # Ranks 1, 2, 3 against 1, 3, 2: 1 - 6 * 2 / (3 * 8).
    assert _rank_correlation([check(1, 1.0, 0.5), check(1, 2.0, 0.9), check(1, 7.0, 0.6)]) == 0.5
    assert _rank_correlation([check(1, 1.0, 0.5), check(1, 2.0, 0.5)]) == "-"
