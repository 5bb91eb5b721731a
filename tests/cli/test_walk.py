"""The walk of a new user with a table as people have them: nothing is lost, every note counted."""

from __future__ import annotations

import csv
import json
from pathlib import Path

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

    explained = run_json(capsys, "explain", tmp_path / "model", walk / "new.csv", "--top", 501)
    assert explained["notes"] == notes
    assert explained["n_seen"] + explained["n_broken"] == 501
    assert {sample["name"] for sample in explained["samples"]} == {row["id"] for row in judged}
    assert set(list(explained["importance"])[:3]) & {"age", "remark", "shop"}

    ranked = run_json(capsys, "rank", tmp_path / "model", walk / "new.csv", "--top", 20)
    n_ranked = ranked["n_seen"] + ranked["n_labeled"] + ranked["n_broken"]
    assert (n_ranked, len(ranked["best"])) == (501, 20)
    run(capsys, "report", tmp_path / "model", "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "(missing)" in page
    assert "remark" in page


def _read_semicolons(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=";"))
