"""The runner: strict settings, items that resume, summaries from records alone."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.__main__ import main
from experiments.errors import FailedRunsError
from experiments.item import Record, RunResult
from experiments.items.table1 import first_near_best, highest_accuracy
from experiments.methods import METHODS, flat_parameters, make_method
from experiments.records import find_same_run
from experiments.registry import PAPER_ITEMS, STUDIES, load_item, runs_of
from experiments.runner import (
    Request,
    csv_text,
    make_run,
    read_item,
    run_item,
    show_item,
    split_request,
)
from experiments.settings import PROFILES, read_expected, read_settings
from experiments.summary import (
    DEFAULT_STEPS,
    best_check,
    last_share,
    metric,
    summarize,
    top_distance,
)
from vqpu.base._source import ArraySource
from vqpu.errors import InputError, NonFiniteLossError
from vqpu.estimators._sizes import resolve_max_steps

ROOT = Path(__file__).resolve().parent.parent.parent
PAPER = ROOT / "paper"
N_ROWS = 34  # of table 2; "vq-literal-large" is one more in profile cpu
GRIDS = ["table2", "table3", "alpha-sweep", "scenarios", "imbalance", "sensitivity"]
MINE = [*GRIDS, "table1", "figure4"]


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that gathers smoke runs; what one test ran, the next finds."""
    return tmp_path_factory.mktemp("reproduce")


def request_for(name: str, results: Path, **changes: Any) -> Request:
    return Request(name, "smoke", PAPER, results)._replace(**changes)


@pytest.mark.parametrize("name", MINE)
def test_smoke__every_item__runs_and_shows(
    name: str, smoke: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--profile", "smoke", "--paper-dir", str(PAPER), "--results-dir", str(smoke)]
    assert main([name, *arguments]) == 0
    printed = capsys.readouterr().out
    assert "missing" not in printed
    text = (smoke / name / "summary.md").read_text()
    assert text in printed
    assert (smoke / name / "summary.png").read_bytes()[:4] == b"\x89PNG"
    rows = list(csv.DictReader(io.StringIO((smoke / name / "summary.csv").read_text())))
    assert rows
    settings = read_settings(name, "smoke", PAPER)
    for run_id, config in load_item(name).expand(settings).items():
        path = smoke / runs_of(name) / f"{run_id}.json"
        record = json.loads(path.read_text())
        assert record["config"] == config
        assert {*record} - {"copied_from"} == {"config", "environment", "metrics", "history"}
        assert path.stat().st_size < 50_000
    assert not list(smoke.glob("*/.*")), "no lock and no temporary file is left"


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", GRIDS)
def test_settings__every_profile__expands_into_distinct_runs(name: str, profile: str) -> None:
    configs = load_item(name).expand(read_settings(name, profile, PAPER))
    assert configs
    assert len({json.dumps(config, sort_keys=True) for config in configs.values()}) == len(configs)
    assert all(config["seed"] >= 0 for config in configs.values())


def test_table2__cpu__what_is_published() -> None:
    configs = load_item("table2").expand(read_settings("table2", "cpu", PAPER))
    runs = {(config["task"], config["row"], config["seed"]) for config in configs.values()}
    tasks = {task for task, _, _ in runs}
    assert tasks == {"afhq-cats", "cifar10-animals", "mnist-even-odd", "fashion-last5"}
    for task in tasks:
        quick = ("nnpu-true", "nnpu-estimated", "distpu-true", "robustpu-true", "p3mix", "ncpu")
        for row in ("vq", "tedn", "vpu", "naive", "oracle", *quick):
            assert {seed for one, name, seed in runs if (one, name) == (task, row)} >= {0, 1, 2}
    assert len({row for _, row, _ in runs}) == N_ROWS + 1
    # Defaults, and nothing tuned by data set.
    assert all(config["parameters"] == {} for config in configs.values() if config["row"] == "vq")


def test_table3__cpu__all_cells_of_the_paper() -> None:
    configs = load_item("table3").expand(read_settings("table3", "cpu", PAPER))
    rows = {config["row"] for config in configs.values()}
    kinds = ("constant", "distribution", "no-updates", "2-fixed")
    cells = {f"{kind}-{a}" for kind in kinds for a in (1, 5, 50, 100)}
    default = {*cells, "2-updated", "default"}
    assert rows == default | {f"paper-{row}" for row in default}


def test_default_steps__are_those_of_every_estimator() -> None:
    every = [flat_parameters(make_method(name, {})) for name in METHODS if name != "vqvae"]
    assert {parameters["max_steps"] for parameters in every} <= {None, DEFAULT_STEPS}
    without_bound = [
        config
        for name in GRIDS
        for profile in PROFILES
        for config in load_item(name).expand(read_settings(name, profile, PAPER)).values()
        if "max_steps" not in config["parameters"] and config["method"] in METHODS
    ]
    assert without_bound
    for config in without_bound:  # so that the budget a summary states is what None comes to
        assert config["n_positive"] + config["n_unlabeled"] >= DEFAULT_STEPS
    images = ArraySource(np.broadcast_to(np.zeros((1, 8, 8)), (DEFAULT_STEPS, 8, 8)))
    assert resolve_max_steps(None, None, images) == DEFAULT_STEPS


def test_parameters__of_the_item__go_to_every_network_and_below_a_method_s_own() -> None:
    item = load_item("sensitivity")
    settings = read_settings("sensitivity", "smoke", PAPER).model_copy(
        update={"parameters": {"max_steps": 7, "codebook_size": 99}}
    )
    rows = {config["row"]: config["parameters"] for config in item.expand(settings).values()}
    assert rows["default"] == {"max_steps": 7, "codebook_size": 99}
    assert rows["codes-16"] == {"max_steps": 7, "codebook_size": 16}
    assert rows["pca-kmeans"] == {"n_components": 50}  # trains no network


def test_seeds__given__every_method_has_them() -> None:
    settings = read_settings("table2", "cpu", PAPER).with_seeds((7, 8))
    configs = load_item("table2").expand(settings)
    assert {config["seed"] for config in configs.values()} == {7, 8}
    large = {config["task"] for config in configs.values() if config["row"] == "vq-literal-large"}
    assert large == {"mnist-even-odd"}
    assert len(configs) == (4 * N_ROWS + 1) * 2


BAD_SETTINGS = [
    ("[smoke]\nn_judgd = 1", "n_judged = 50", "n_judgd = 50", "Unknown key 'n_judgd' in"),
    ("top level", "[smoke]", "[smok]", "Unknown key 'smok' in .*Did you mean 'smoke'"),
    ("method", 'method = "vq"', 'methd = "vq"', "Unknown key 'methd' in .*methods"),
    ("size", "n_positive = 40", "n_positive = -1", "n_positive in .*cannot be used"),
    ("no toml", "[shared]", "[shared", "is not valid TOML"),
    ("alpha", "alphas = [0.5]", "alphas = [1.5]", "alphas cannot be used: .* less than 1"),
    ("no seed", "n_judged = 50", "n_judged = 50\nseeds = []", "seeds in .*cannot be used"),
    ("seed", "n_judged = 50", "n_judged = 50\nseeds = [-1]", "seeds cannot be used"),
    (
        "own task",
        "methods.tedn-double.parameters = { n_members = 1, max_steps = 16 }",
        "methods.tedn-double.tasks.digits = { n_positive = 40, n_unlabeled = 80 }",
        "tedn-double has a task 'digits' that the item has not",
    ),
    ("twice", "n_judged = 50", "n_judged = 50\nseeds = [1, 1]", "seeds must differ"),
]
# Found out only when the runs are made from the settings, but before the first of them is.
BAD_RUNS = [
    ('method = "vpu"', 'method = "vqu"', "Unknown method 'vqu'"),
    ("max_steps = 8,", "max_step = 8,", "has no parameter 'max_step'. Did you mean 'max_steps'?"),
    ("max_steps = 8,", "max_steps = -8,", "max_steps must be"),
    ("max_steps = 8,", "max_steps = inf,", "is not a plain value"),
    ("max_steps = 8,", "max_steps = 2020-01-01,", "is not a plain value"),
    ("tasks.digits-even-odd", "tasks.digits-odd", "Unknown task 'digits-odd'"),
    ("tasks.digits-even-odd", "tasks.mnist-even-odd", "needs mnist, which is not whole in"),
    ("tasks.digits-even-odd", 'tasks."../digits"', "cannot be the name of a file"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD_RUNS)
def test_runs__mistake__refused_before_the_first(
    tmp_path: Path,
    old: str,
    new: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> RunResult:
        raise AssertionError("nothing may be run")

    monkeypatch.setattr(load_item("table2"), "run", fail)
    shutil.copytree(PAPER, tmp_path / "paper")
    text = (PAPER / "table2.toml").read_text()
    assert old in text
    (tmp_path / "paper" / "table2.toml").write_text(text.replace(old, new))
    places = ["--paper-dir", str(tmp_path / "paper"), "--results-dir", str(tmp_path / "results")]
    places += ["--data-dir", str(tmp_path)]
    assert main(["table2", "--profile", "smoke", *places]) in (1, 2)
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.glob("results/*/*"))


@pytest.mark.parametrize(("old", "new", "message"), [case[1:] for case in BAD_SETTINGS])
def test_settings__mistake__one_sentence(
    tmp_path: Path, old: str, new: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (PAPER / "table2.toml").read_text()
    assert old in text
    (tmp_path / "table2.toml").write_text(text.replace(old, new))
    with pytest.raises(InputError, match=message) as caught:
        read_settings("table2", "smoke", tmp_path)
    assert "\n" not in str(caught.value).strip()
    arguments = ["table2", "--profile", "smoke", "--paper-dir", str(tmp_path)]
    assert main(arguments) == 1
    assert "experiments: " in capsys.readouterr().err


def test_settings__no_table__one_sentence(tmp_path: Path) -> None:
    (tmp_path / "table2.toml").write_text("smoke = 3\n")
    with pytest.raises(InputError, match=r"smoke in .* must be a table. Got 3 instead"):
        read_settings("table2", "smoke", tmp_path)


BAD_ARGUMENTS = [
    (["table9"], "Unknown item 'table9'"),
    (["table2", "--profile", "gpu"], "Unknown profile 'gpu'"),
    (["table2", "--profile", "smoke", "--seeds", "0,x"], "--seeds must be"),
    (["table2", "--profile", "smoke", "--seeds", "1,1"], "--seeds must be"),
    (["table2", "--profile", "smoke", "--seeds", "0,00"], "--seeds must be"),
    (["table9", "--seeds", "0"], "Unknown item 'table9'"),
    (["all", "--profile", "smoke", "--only", "nothing-like-it"], "No run of any item has"),
    (["table2", "--profile", "smoke", "--only", "nothing-like-it"], "No run of table2 has"),
    (["table2", "--paper-dir", "/nowhere"], "is not there"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_ARGUMENTS, ids=lambda case: str(case))
def test_command__mistake__one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--results-dir", str(tmp_path)]
    if "--paper-dir" not in arguments:
        places += ["--paper-dir", str(PAPER)]
    assert main([*arguments, *places]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_show__no_records__marks_all_as_missing_and_never_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> RunResult:
        raise AssertionError("--show must not train")

    for name in MINE:
        monkeypatch.setattr(load_item(name), "run", fail)
        shown = show_item(request_for(name, tmp_path))
        assert "missing" in shown.markdown
        assert len({tuple(row) for row in shown.rows}) == 1
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.glob("*/*")}
    assert names == {f"{name}/summary.{end}" for name in MINE for end in ("md", "csv", "png")}


class Killed(BaseException):
    """Stands for a kill: nothing of ours catches it."""


def fake_run(config: dict[str, Any], _: Path | None) -> RunResult:
    accuracy = 0.5 + 0.01 * len(config["row"])
    row = {"stage": 0, "step": 4, "epoch": 1.0, "seconds": 1.0, "accuracy": accuracy}
    vq = {"nearest_center": accuracy, "center_distance": 2.0, "top_distance": True}
    history = [row | vq] if config["method"] == "vq" else [row]
    metrics = {"seconds": 2.0, "n_epochs": 1.0, "test_accuracy": accuracy, "best_check": 0}
    return RunResult(metrics, history)


def test_resumption__killed_between_runs__same_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = load_item("table2")
    monkeypatch.setattr(module, "run", fake_run)
    run_item(request_for("table2", tmp_path / "whole"))
    whole = show_item(request_for("table2", tmp_path / "whole"))
    made: list[str] = []

    def interrupted(config: dict[str, Any], data_dir: Path | None) -> RunResult:
        if len(made) == 4:
            raise Killed
        made.append(config["row"])
        return fake_run(config, data_dir)

    monkeypatch.setattr(module, "run", interrupted)
    with pytest.raises(Killed):
        run_item(request_for("table2", tmp_path / "cut"))
    partly = show_item(request_for("table2", tmp_path / "cut"))
    assert "missing" in partly.markdown
    monkeypatch.setattr(module, "run", fake_run)
    run_item(request_for("table2", tmp_path / "cut"))
    again = show_item(request_for("table2", tmp_path / "cut"))
    assert again.markdown == whole.markdown
    assert again.rows == whole.rows


def reproduce_smoke(results: Path) -> subprocess.Popen[bytes]:
    """Start table 2 in a process group of its own, two runs at a time."""
    places = ["--paper-dir", str(PAPER), "--results-dir", str(results), "--workers", "2"]
    return subprocess.Popen(
        [sys.executable, "-m", "experiments", "table2", "--profile", "smoke", *places],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        env=os.environ | {"OMP_NUM_THREADS": "2"},  # one for each worker
    )


def untimed_table(results: Path) -> list[dict[str, str]]:
    text = (results / "table2" / "summary.csv").read_text()
    return [{**row, "seconds": ""} for row in csv.DictReader(io.StringIO(text))]


def marks(results: Path) -> dict[Path, int]:
    """Return when each finished run was finished."""
    return {path: path.stat().st_mtime_ns for path in results.glob("table2/[!.]*.json")}


@pytest.mark.torture
def test_resumption__killed_at_random_moments__same_table(tmp_path: Path) -> None:
    assert reproduce_smoke(tmp_path / "whole").wait() == 0
    cut, moments = tmp_path / "cut", random.Random(0)
    finished: dict[Path, int] = {}
    n_kills = 0
    while len(finished) < 11:
        process = reproduce_smoke(cut)
        while len(marks(cut)) == len(finished) and process.poll() is None:
            time.sleep(0.05)
        time.sleep(moments.uniform(0, 1))  # into the next runs
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        n_kills += process.wait() == -signal.SIGKILL
        there = marks(cut)
        assert finished.items() < there.items(), "a finished run is not made again"
        finished = there
    assert n_kills > 1
    assert reproduce_smoke(cut).wait() == 0
    assert untimed_table(cut) == untimed_table(tmp_path / "whole")


def test_resumption__record_is_gone__run_is_made_again_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = load_item("table2")
    made: list[str] = []

    def run(config: dict[str, Any], data_dir: Path | None) -> RunResult:
        made.append(config["row"])
        return fake_run(config, data_dir)

    monkeypatch.setattr(module, "run", run)
    request = request_for("table2", tmp_path)
    run_item(request)
    assert len(made) == N_ROWS
    (tmp_path / "table2" / "digits-even-odd_alpha0.5_naive_seed0.json").unlink()
    run_item(request)
    assert made[N_ROWS:] == ["naive"]


def test_other_config__finished_run__refused_and_says_what_to_delete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = load_item("table2")
    monkeypatch.setattr(module, "run", fake_run)
    request = request_for("table2", tmp_path / "results", only="naive")
    run_item(request)
    shutil.copytree(PAPER, tmp_path / "paper")
    path = tmp_path / "paper" / "table2.toml"
    path.write_text(path.read_text().replace("n_judged = 50", "n_judged = 51"))
    changed = request._replace(paper_dir=tmp_path / "paper")
    for act in (run_item, show_item):
        with pytest.raises(InputError, match=r"seed0.json holds .*different: n_judged.*Delete"):
            act(changed)


def test_record__broken_file__says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_item("table2"), "run", fake_run)
    request = request_for("table2", tmp_path, only="oracle")
    run_item(request)
    path = tmp_path / "table2" / "digits-even-odd_alpha0.5_oracle_seed0.json"
    path.write_text("{")
    with pytest.raises(InputError, match=r"seed0.json cannot be read .*Delete it"):
        show_item(request)
    for broken in ("{}", "null", '{"config": {}, "metrics": null}'):
        path.write_text(broken)
        with pytest.raises(InputError, match=r"seed0.json is no record .*Delete it"):
            run_item(request)


def test_results__place_that_cannot_be_written__refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    places = ["--paper-dir", str(PAPER), "--results-dir", str(tmp_path / "file")]
    assert main(["figure1", "--profile", "smoke", *places]) == 1
    assert "Results cannot be written to" in capsys.readouterr().err


def test_seeds__without_a_place__have_one_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["figure1", "--seeds", "3,4", "--paper-dir", str(PAPER)]) == 0
    found = (tmp_path / "runs" / "cpu" / "figure1").glob("*.json")
    assert {path.stem for path in found} == {"seed3", "seed4"}
    assert not (tmp_path / "results").exists()


def test_all__one_item_is_misspelt__nothing_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(PAPER, tmp_path / "paper")
    path = tmp_path / "paper" / "peers.toml"
    path.write_text(path.read_text().replace("timeout", "timeuot"))
    places = ["--paper-dir", str(tmp_path / "paper"), "--results-dir", str(tmp_path / "results")]
    assert main(["all", "--profile", "smoke", *places]) == 1
    assert "Unknown key 'timeuot'" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_all__ids_of_one_item__only_that_one_is_run(tmp_path: Path) -> None:
    request = request_for("all", tmp_path, only="alpha0.8_seed")
    assert [one.name for one in split_request(request)] == ["theorem"]


def test_expected__unknown_item__refused(tmp_path: Path) -> None:
    (tmp_path / "expected.toml").write_text("[tabel1]\nepochs = {}\n")
    with pytest.raises(InputError, match=r"Unknown key 'tabel1'.*Did you mean 'table1'"):
        read_expected("table1", tmp_path)


def test_run__made_by_another_process_meanwhile__its_record_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = load_item("table2")
    began, made = threading.Event(), []

    def run(config: dict[str, Any], data_dir: Path | None) -> RunResult:
        made.append(config["row"])
        began.set()
        time.sleep(0.2)
        return fake_run(config, data_dir)

    monkeypatch.setattr(module, "run", run)
    (config,) = read_item(request_for("table2", tmp_path, only="_naive_")).values()
    job = ("table2", config.config, tmp_path / "table2" / "run.json", None, 1)
    with ThreadPoolExecutor() as pool:  # a lock keeps out other handles of this process as well
        first = pool.submit(make_run, *job)
        assert began.wait(30)
        assert make_run(*job) == first.result() == 2.0
    assert made == ["naive"]


def test_failing_run__the_others_are_made_and_the_failure_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module: Any = load_item("table2")

    def run(config: dict[str, Any], data_dir: Path | None) -> RunResult:
        if config["row"] == "vq":
            raise NonFiniteLossError("The loss is not finite.")
        return fake_run(config, data_dir)

    monkeypatch.setattr(module, "run", run)
    with pytest.raises(FailedRunsError, match=rf"1 of {N_ROWS} runs failed.*vq_seed0: The loss"):
        run_item(request_for("table2", tmp_path))
    assert len(list((tmp_path / "table2").glob("*.json"))) == N_ROWS - 1
    places = ["--paper-dir", str(PAPER), "--results-dir", str(tmp_path)]
    assert main(["table2", "--profile", "smoke", *places]) == 1
    printed = capsys.readouterr().out
    assert "without any run yet, left out below: vq.\n" in printed
    assert "| vq | chosen check |" not in printed


def test_expected__every_number__stands_in_its_table(tmp_path: Path) -> None:
    expected = tomllib.loads((PAPER / "expected.toml").read_text())
    for name in ("table1", "table2", "table3"):
        assert name in expected
        rows = show_item(Request(name, "cpu", PAPER, tmp_path)).rows
        if name == "table1":
            shown = {row["method"]: row["paper_epochs"] for row in rows}
            for method, epochs in expected[name]["epochs"].items():
                assert shown[method] == epochs
            continue
        shown = {
            (row.get("task"), row["method"], row.get("measure")): (row["paper"], row["paper_std"])
            for row in rows
        }
        for cell in expected[name]["cells"]:
            for method in cell.get("rows", [cell.get("row")]):
                key = (cell.get("task"), method, cell.get("measure"))
                assert shown[key] == (cell["value"], cell["std"])
    assert len(expected["table2"]["cells"]) == 4 * 6
    assert len(expected["table3"]["cells"]) == 3 + 8


# Some of their runs are still to be made; what is there is published all the same.
UNFINISHED = {
    "table2",
    "table1",
    "gan-samples",
    "forms",
}


BENCHMARKS = {"scale"}  # by make bench-scale


def test_published__every_table_that_is_there() -> None:
    found = {path.parent.name for path in (ROOT / "results").glob("*/summary.md")}
    assert found - UNFINISHED - BENCHMARKS == {*PAPER_ITEMS, *STUDIES} - UNFINISHED


@pytest.mark.parametrize("name", sorted({*PAPER_ITEMS, *STUDIES}))
def test_published__made_again_from_the_records__same_text(name: str, tmp_path: Path) -> None:
    source = runs_of(name)
    if not (ROOT / "results" / name).exists():
        assert name in UNFINISHED
        return
    shutil.copytree(ROOT / "results" / source, tmp_path / source)
    request = Request(name, "cpu", PAPER, tmp_path)
    records = read_item(request)
    is_whole = all(record.metrics is not None for record in records.values())
    assert is_whole != (name in UNFINISHED)
    there = {path.stem for path in (tmp_path / source).glob("*.json")}
    assert {*records} >= there or name != source, "a record that no summary is made from"
    shown = show_item(request)
    published = ROOT / "results" / name
    assert (published / "summary.md").read_text() == shown.markdown
    assert not shown.rows or (published / "summary.csv").read_text() == csv_text(shown)


def test_study__seeds_and_profile__its_own_ids_and_no_settings(tmp_path: Path) -> None:
    request = Request("gaussians", "cpu", tmp_path, tmp_path, seeds=(77,), only="elkan-noto")
    run_item(request._replace(only="separated_alpha0.3_elkan-noto"))
    assert "| separated | 0.3 | elkan-noto |" in show_item(request).markdown
    assert [path.name for path in (tmp_path / "gaussians").glob("*.json")] == [
        "separated_alpha0.3_elkan-noto_seed77.json"
    ]
    with pytest.raises(InputError, match="is a study and has no profile 'smoke'"):
        run_item(request._replace(profile="smoke"))
    with pytest.raises(InputError, match="gaussians is a study: it has no settings"):
        read_settings("gaussians", "cpu", PAPER)


@pytest.mark.parametrize("name", STUDIES)
def test_study__configs__plain_and_distinct(name: str) -> None:
    for seeds in (None, (3, 4)):
        configs = load_item(name).expand(seeds)
        assert json.loads(json.dumps(configs, allow_nan=False)) == configs
        found = {json.dumps(config, sort_keys=True) for config in configs.values()}
        assert len(found) == len(configs)
        assert seeds is None or {config["seed"] for config in configs.values()} == {*seeds}


def test_table1__by_hand__first_check_with_90_percent_of_the_best() -> None:
    def row(stage: int, epoch: float, accuracy: float) -> dict[str, Any]:
        return {"stage": stage, "epoch": epoch, "seconds": 10 * epoch, "accuracy": accuracy}

    history = [row(2, 1, 0.99), row(1, 2, 0.6), row(1, 3, 0.81), row(0, 4, 0.9), row(0, 5, 0.85)]
    assert first_near_best(history) == history[2]  # 0.81 = 0.9 * 0.9; stage 2 was thrown away
    assert first_near_best([]) is None
    assert highest_accuracy(history) == 0.9
    assert first_near_best([row(0, 1, 0.4), row(0, 2, 0.55)]) is None, "no better than chance"


def test_sensitivity__change__against_the_default_of_the_same_seed() -> None:
    def record(row: str, seed: int, accuracy: float) -> Record:
        history = [{"stage": 0, "top_distance": True, "nearest_center": accuracy - 0.1}]
        config = {"task": "t", "row": row, "seed": seed, "n_judged": 1, "image_size": None}
        sizes = {"n_positive": 1, "n_unlabeled": 1, "parameters": {}}
        return Record({**config, **sizes}, {"test_accuracy": accuracy}, history)

    records = [record("default", seed, 0.9 + seed / 100) for seed in range(3)]
    records += [record("codes-2", 0, 0.92), record("codes-2", 7, 0.99)]
    shown = load_item("sensitivity").show({str(n): r for n, r in enumerate(records)}, {})
    assert "| codes-2 | 95.50 ± 3.50 | +2.00 | 85.50 ± 3.50 | +2.00 |" in shown.markdown


def test_run__same_run_of_another_item__copied_not_trained(tmp_path: Path) -> None:
    shutil.copytree(PAPER, tmp_path / "paper")
    text = (PAPER / "alpha-sweep.toml").read_text().replace("[0.2, 0.8]", "[0.5]")
    (tmp_path / "paper" / "alpha-sweep.toml").write_text(text)
    sweep = Request("alpha-sweep", "smoke", tmp_path / "paper", tmp_path / "results", only="naive")
    run_item(sweep)
    scenarios = sweep._replace(name="scenarios", only="alpha0.5_naive")
    run_item(scenarios)
    run_id = "breast-cancer_alpha0.5_naive_seed0"
    there, copied = (read_item(request)[run_id] for request in (sweep, scenarios))
    assert copied.copied_from == f"alpha-sweep/{run_id}"
    assert there.metrics is not None
    assert (copied.metrics, copied.history) == (there.metrics, there.history)
    # Of another config, or a file that cannot be read: not the same run.
    place = tmp_path / "results" / "new" / "run.json"
    scenarios.run_path(run_id).unlink()
    assert find_same_run(place, there.config) is not None
    assert find_same_run(place, {**there.config, "alpha": 0.6}) is None
    for broken in ("{", "null", '{"config": {}}'):
        sweep.run_path(run_id).write_text(broken)
        assert find_same_run(place, there.config) is None


def test_run__same_run_is_there_and_the_data_are_not__copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = load_item("alpha-sweep")
    monkeypatch.setattr(module, "run", fake_run)
    monkeypatch.setattr(module, "check", lambda *_: None)
    sweep = Request("alpha-sweep", "cpu", PAPER, tmp_path, tmp_path, only="alpha0.5_naive")
    run_item(sweep)
    scenarios = sweep._replace(name="scenarios", only="alpha0.5_naive")
    run_item(scenarios)
    assert all(record.metrics for record in read_item(scenarios).values())
    with pytest.raises(InputError, match="needs mnist, which is not whole"):
        run_item(scenarios._replace(only="single-set_naive"))


def test_measures__by_hand() -> None:
    history = [
        {"stage": 1, "accuracy": 0.99, "nearest_center": 0.1, "top_distance": False},
        *(
            {"stage": 0, "accuracy": k / 100, "nearest_center": 0.5, "top_distance": k < 3}
            for k in range(40)
        ),
    ]
    record = Record({}, {"test_accuracy": 0.8, "seconds": 10.0, "n_epochs": 2.0}, history)
    assert last_share(0.05)(record) == [0.38, 0.39]
    assert last_share(0.1)(record) == [0.36, 0.37, 0.38, 0.39]
    assert best_check(record) == [0.39]
    assert top_distance()(record) == [0.0, 0.01, 0.02]
    other = Record({}, {"test_accuracy": 0.9, "seconds": 20.0, "n_epochs": 4.0})
    found = summarize([record, other, Record({})], metric("test_accuracy"))
    assert found.mean == pytest.approx(85)
    assert found.std == pytest.approx(5)
    assert (found.n_seeds, found.n_missing, found.epochs, found.seconds) == (2, 1, 3.0, 15.0)
    assert found.text == "85.00 ± 5.00"
    assert found.runs == "2 (1 missing)"
    failed = Record({}, {"failed": "collapsed codes"})
    assert summarize([failed], metric("test_accuracy")).text == "collapsed"
    assert summarize([Record({})], metric("test_accuracy")).text == "missing"


def test_help__names_every_item_and_is_quick() -> None:
    program = (
        "import sys\nfrom experiments.__main__ import main\nmain(['--help'])\nprint(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    words = {word.strip(",.:") for word in done.stdout.split()}
    assert {*PAPER_ITEMS, *STUDIES} <= words
    assert "torch" not in words


def test_docs__every_item_is_named_and_the_paper_has_no_other_numbers() -> None:
    text = (ROOT / "docs" / "reproduce.md").read_text()
    for name in (*PAPER_ITEMS, *STUDIES):
        assert f"`{name}`" in text
    assert read_expected("figure4", PAPER) == {}
