"""The walk of a new user with a table as people have them: nothing is lost, every note counted."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vqpu
from tests.command_line import read_csv, run, run_json
from vqpu.cli import main

pytest.importorskip("pyarrow")

N, N_SHOPS = 12_000, 5000
HEADER = [
    "customer", "age", "income", "since", "member", "remark", "country", "shop", "code", "bought",
]  # fmt: skip


def write_rows(path: Path, first: int, n: int, seed: int, shops: int = N_SHOPS) -> list[bool]:
    """Age, remark and shop tell buyers apart; every cell that can be odd is so somewhere."""
    rng = np.random.default_rng(seed)
    is_buyer = rng.random(n) < 0.4
    is_known = rng.random(n) < 0.5  # not by the row's number, which the date would give away
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, delimiter=";")
        rows.writerow(HEADER)
        for place, buys in enumerate(is_buyer):
            words = ["great", "service", "again"] if buys else ["never", "arrived", "refund"]
            remark = " ".join(rng.choice([*words, "the", "order", "of", "shop"], 6))
            shop = int(rng.integers(0, shops // 2)) * 2 + int(buys)
            rows.writerow([
                f"{first + place:06}",
                "" if place % 10 == 0 else round(rng.normal(50 if buys else 30, 8), 1),
                "?" if place % 20 == 0 else int(rng.normal(3000, 500)),
                f"20{10 + place % 10}-{place % 12 + 1:02}-{place % 28 + 1:02}",
                ["true", "false", ""][place % 3],
                f"{remark} {first + place}",
                "NL",
                f"shop {shop}",
                rng.choice(["A", "B", ""]),
                "yes" if buys and is_known[place] else "",
            ])  # fmt: skip
    return [bool(buys) for buys in is_buyer]


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("walk")
    write_rows(folder / "data.csv", 0, N, 0)
    is_buyer = write_rows(folder / "new.csv", N, 500, 1, shops=N_SHOPS + 500)
    with open(folder / "new.csv", "a", encoding="utf-8") as file:
        file.write("999999" + ";" * (len(HEADER) - 1) + "\n")  # nothing is known of this one
    (folder / "truth.json").write_text(json.dumps(is_buyer))
    return folder


@pytest.mark.filterwarnings("default::vqpu.errors.ColumnWarning")
def test_walk__fit_inspect_predict_explain_report(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    line = ["fit", walk / "data.csv", "--label", "bought", "--positive", "yes", "--id", "customer"]
    budget = ["--set=max_steps=30", "--seed=0", "--quiet"]
    assert main([*map(str, line), "--out", str(tmp_path / "model"), *budget]) == 0
    said = capsys.readouterr().err
    assert said == (
        "vqpu: warning: Left out: 1 of 8 columns: 'country' (it is constant). Cells of 'income' "
        "that are no numbers and count as missing: 600, such as '?'.\n"
    )
    assert "a model already. Pass --overwrite" in run(
        capsys, *line, "--out", tmp_path / "model", code=2
    )

    found = run_json(capsys, "inspect", tmp_path / "model")
    shops = found["columns"].pop("shop")
    assert shops.startswith("category of ")
    assert 500 < int(shops.split()[2]) < N_SHOPS
    assert found["columns"] == {
        "age": "number", "income": "number", "since": "date", "member": "boolean",
        "remark": "free text, 24 numbers", "code": "category of 2 values and others",
        "country": "left out: it is constant",
    }  # fmt: skip
    assert "  since: date" in run(capsys, "inspect", tmp_path / "model")

    out = tmp_path / "out.csv"
    line = ["predict", tmp_path / "model", walk / "new.csv", "--keep", "shop", "--out", out]
    done = run_json(capsys, *line)
    rows, given = read_csv(out), _read_semicolons(walk / "new.csv")
    assert done["n_rows"] == len(rows) == 501
    assert [row["id"] for row in rows] == [row["customer"] for row in given]
    assert [row["shop"] for row in rows] == [row["shop"] for row in given]
    *judged, unknown = rows
    assert {row["label"] for row in judged} == {"yes", "not yes"}
    assert all(row["score"] and not row["reason"] for row in judged)
    assert "no value at all" in unknown["reason"]
    assert (unknown["id"], unknown["score"], unknown["label"]) == ("999999", "", "")
    plan = vqpu.load(tmp_path / "model").columns_
    known = set(next(c.values for c in plan.columns if c.name == "shop"))
    n_unseen = sum(row["shop"] not in {*known, ""} for row in given)
    notes = {"number": {"income": 25}, "unseen": {"shop": n_unseen}}
    assert done["notes"] == notes
    truth = json.loads((walk / "truth.json").read_text())
    right = [(row["label"] == "yes") == buys for row, buys in zip(judged, truth, strict=True)]
    assert np.mean(right) > 0.85

    explained = run_json(
        capsys, "explain", tmp_path / "model", walk / "new.csv", "--top", 501, "--include-labeled"
    )
    assert explained["notes"] == notes
    assert explained["n_seen"] + explained["n_broken"] == 501
    assert {sample["name"] for sample in explained["samples"]} == {row["id"] for row in judged}
    assert set(list(explained["importance"])[:3]) & {"age", "remark", "shop"}
    assert_words_are_named(explained, {row["customer"]: row["remark"] for row in given})

    ranked = run_json(capsys, "rank", tmp_path / "model", walk / "new.csv", "--top", 20)
    n_ranked = ranked["n_seen"] + ranked["n_labeled"] + ranked["n_broken"]
    assert (n_ranked, len(ranked["best"])) == (501, 20)
    run(capsys, "report", tmp_path / "model", "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "(missing)" in page
    assert "remark" in page


def assert_words_are_named(explained: dict[str, Any], remarks: dict[str, str]) -> None:
    """A text is one column with its own words, and those that buyers write speak for it."""
    assert "remark" in explained["importance"]
    assert sum(explained["importance"].values()) == pytest.approx(1)
    told = [
        (sample["name"], reason)
        for sample in explained["samples"]
        for reason in sample["for"]
        if reason["column"] == "remark"
    ]
    assert len(told) > 50
    assert all(reason["value"] == remarks[name] for name, reason in told)
    strongest = [next(iter(reason["words"]), "") for _, reason in told]
    assert np.mean([word in ("great", "service", "again") for word in strongest]) > 0.9


@pytest.mark.filterwarnings("default::vqpu.errors.ColumnWarning")
def test_no_id_column__rows_answered_by_number(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    some = _read_semicolons(walk / "data.csv")[:300]
    for name, left_out in (("fit", {"shop"}), ("new", {"shop", "customer"})):
        with open(tmp_path / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            rows = csv.DictWriter(file, [c for c in HEADER if c not in left_out])
            rows.writeheader()
            rows.writerows([{k: v for k, v in row.items() if k not in left_out} for row in some])
    line = ["fit", tmp_path / "fit.csv", "--label", "bought", "--positive", "yes", "--id"]
    model, out = tmp_path / "model", tmp_path / "out.csv"
    run(capsys, *line, "customer", "--out", model, "--set=max_steps=10", "--seed=0")
    assert main(["predict", str(model), str(tmp_path / "new.csv"), "--out", str(out)]) == 0
    assert "no column 'customer', which named rows in training" in capsys.readouterr().err
    assert [row["id"] for row in read_csv(out)] == [str(place) for place in range(300)]
    line = ["predict", model, tmp_path / "new.csv", "--out", out, "--id", "customer"]
    assert "lacks the column 'customer'" in run(capsys, *line, code=1)


def _read_semicolons(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=";"))
