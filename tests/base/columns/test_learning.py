"""What columns are taken for, by hand; and that odd ones stay cheap."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from vqpu.base.columns import EncodedRows, Notes, Wishes, encode_batch, fit_plan
from vqpu.base.columns._dates import date_parts, instants
from vqpu.base.columns._idlike import NeverRepeating
from vqpu.base.columns._rows import with_plan
from vqpu.base.columns._text import fit_components, text_features
from vqpu.base.columns._textfacts import TextFacts
from vqpu.errors import InputError, RowNumberWarning

pa = pytest.importorskip("pyarrow")


class Table:
    """A table in memory, in small batches."""

    name = "the table"

    def __init__(self, rows: int = 64, **columns: Any) -> None:
        self._table = pa.table(columns)
        self.schema, self._rows = self._table.schema, rows

    def batches(self, names: Any) -> Any:
        return iter(self._table.select(list(names)).to_batches(max_chunksize=self._rows))


def kind_of(values: Any, **wishes: Any) -> str:
    """What a column is taken for beside a plain one."""
    table = Table(x=np.random.default_rng(0).normal(size=len(values)), c=values)
    plan = fit_plan([table], Wishes(**wishes))
    (found,) = [text for name, text in plan.describe().items() if name == "c"]
    return found


N = 200
GUESSES: dict[str, tuple[list[Any], str]] = {
    "digits": ([str(i % 7) for i in range(N)], "number"),
    "digits with marks": ([["1.5", "?", "3"][i % 3] for i in range(N)], "number"),
    "decimal commas": ([f"{i % 9},{i % 7}" for i in range(N)], "number with a decimal comma"),
    "decimal commas and no whole part": ([f",{i % 90 + 10}" for i in range(N)], "number with"),
    "decimal commas and exponents": ([f"{i},5E-0{i % 9}" for i in range(N)], "number with"),
    "decimal commas, three digits": ([f"{i + 1000},{i % 900 + 100}" for i in range(N)], "number"),
    "thousands and a slip": ([*[f"{i + 10},403" for i in range(N)], "12,5"], "left out"),
    "commas of thousands alone": ([f"{i % 9 + 1},500" for i in range(N)], "category of 9"),
    "decimal commas and marks": ([["1,5", "?", "3"][i % 3] for i in range(N)], "number with"),
    "half of it words": ([["1", "2", "a", "b", "c", "d"][i % 6] for i in range(N)], "category"),
    "words of truth": ([["True", "FALSE"][i % 2] for i in range(N)], "boolean"),
    "yes and no": ([["yes", "no"][i % 2] for i in range(N)], "category of 2"),
    "days": ([f"2020-02-{i % 28 + 1:02}" for i in range(N)], "date"),
    "moments": ([f"2020-02-03T{i % 24:02}:00:00+01:00" for i in range(N)], "date with its time"),
    "months first": ([f"{i % 12 + 1}/{i % 28 + 1}/2020" for i in range(N)], "date"),
    "clock": ([f"{i % 24}:15" for i in range(N)], "time of the day"),
    "sentences": ([f"this is remark number {i} of many" for i in range(N)], "free text"),
    "few sentences": ([f"one of {i % 3} long answers here" for i in range(N)], "category of 3"),
    "names": ([f"n{i}" for i in range(N)], "left out: it has 200 different"),
    "one value": (["a"] * N, "left out: it is constant"),
    "one value and gaps": (["a", None] * (N // 2), "category of 1"),
    "gaps alone": ([None] * N, "left out: it has no value"),
    "one number and gaps": ([1.0, None] * (N // 2), "number"),
    "one number": ([7.0] * N, "left out: it is constant"),
    "lists": ([[1.0, float(i)] for i in range(N)], "list, 2 numbers"),
}


@pytest.mark.parametrize("case", GUESSES)
def test_guess__by_hand(case: str) -> None:
    values, expected = GUESSES[case]
    assert kind_of(values).startswith(expected)


def test_guess__american_dates__by_the_pattern_that_fits_all() -> None:
    plan = fit_plan([Table(d=[f"12/{i % 28 + 1}/2020" for i in range(N)])], Wishes())
    assert plan.columns[0].pattern == "%m/%d/%Y"
    X = encode_batch(plan, pa.record_batch({"d": ["12/25/2020"]}), Notes())
    assert X[0, 1:4].tolist() == [2020, 12, 25]


def test_decimal_commas__read_as_numbers__later_numbers_too() -> None:
    prices = ["1,5", "-0,125", "3", "1.140,50", "?", "2.500", "2,5E3"] * 20
    table = Table(x=prices)
    for wishes in (Wishes(), Wishes(number=("x",))):
        plan = fit_plan([table], wishes)
        X = encode_batch(plan, pa.record_batch({"x": [*prices[:7], None]}), Notes())
        expected = [1.5, -0.125, 3, 1140.5, np.nan, 2.5, 2500, np.nan]
        np.testing.assert_array_equal(X[:, 0], expected)
        np.testing.assert_array_equal(
            encode_batch(plan, pa.record_batch({"x": [2.5, None]}), Notes())[:, 0], [2.5, np.nan]
        )
        assert plan.columns[0].is_sound()
    with pytest.raises(InputError, match="20 unreadable"):
        fit_plan([table], Wishes(missing="refuse"))
    notes = Notes()
    encode_batch(plan, pa.record_batch({"x": ["12:30", "3 kg"] * 10}), notes)
    with pytest.raises(InputError, match="number with a decimal comma such as 1,5, but none"):
        notes.check_readable(plan)


def test_decimal_commas__trained_on_numbers__read_unless_they_can_mark_thousands() -> None:
    plan = fit_plan([Table(x=[1.0, 2.5, 3.0])], Wishes())
    notes = Notes()
    cells = ["580,24", "1.056,16", "0,125", "1,5E-3", "2.5", "1,500", "3 kg", None]
    X = encode_batch(plan, pa.record_batch({"x": cells}), notes)
    expected = [580.24, 1056.16, 0.125, 1.5e-3, 2.5, np.nan, np.nan, np.nan]
    np.testing.assert_array_equal(X[:, 0], expected)
    assert notes.counts == {"number": {"x": 2}}


DATES_BY_PATTERN = {
    "%d/%m/%Y": ("{d}/{m}/2020", "{m}/{d}/2020"),
    "%m/%d/%Y": ("{m}/{d}/2020", "{d}/{m}/2020"),
    "%d.%m.%Y": ("{d}.{m}.2020", "{m}.{d}.2020"),
    "%Y/%m/%d": ("2020/{m}/{d}", "2020/{d}/{m}"),
}


@pytest.mark.parametrize("pattern", DATES_BY_PATTERN)
def test_dates__day_and_month_the_other_way_round__refused_though_half_can_be_read(
    pattern: str,
) -> None:
    right, other = (
        [form.format(d=i % 28 + 1, m=i % 12 + 1) for i in range(N)]
        for form in DATES_BY_PATTERN[pattern]
    )
    plan = fit_plan([Table(d=right)], Wishes())
    assert plan.columns[0].pattern == pattern

    def noted(cells: list[Any]) -> Notes:
        notes = Notes()
        encode_batch(plan, pa.record_batch({"d": cells}), notes)
        return notes

    n_swapped = sum(i % 28 + 1 > 12 for i in range(60))
    nonsense = DATES_BY_PATTERN[pattern][0].format(d=31, m=31)
    notes = noted([*other[:60], nonsense, None])
    assert notes.counts == {"swapped": {"d": n_swapped}, "date": {"d": 1}}
    with pytest.raises(InputError, match=f"but {n_swapped} of its cells are dates only with"):
        notes.check_readable(plan)
    parts = Notes()
    for start in (0, 30):
        parts.add_plain(json.loads(json.dumps(noted(other[start : start + 30]).to_plain())))
    with pytest.raises(InputError, match=f"but {n_swapped} of its cells"):
        parts.check_readable(plan)
    few = noted(other[12:18])
    few.check_readable(plan)
    assert "day and month the other way round and count as missing: 6" in few.sentences()[0]
    noted([*other[12:28], *right]).check_readable(plan)  # slips among dates written as before
    unread = noted([*other[12:15], *["20-12-2020"] * 50])
    with pytest.raises(InputError, match="none of its 50 cells can be read"):
        unread.check_readable(plan)


def test_batches_of_different_types__one_column() -> None:
    class Changing(Table):
        def batches(self, names: Any) -> Any:
            assert names == ["x"]
            first, second = [1.0, 2.0, None] * 20, ["3", "?", "4"] * 20
            yield pa.record_batch({"x": pa.array(first)})
            yield pa.record_batch({"x": pa.array(second)})

    plan = fit_plan([Changing(x=[1.0])], Wishes())
    assert plan.columns[0].kind == "number"


def test_instants__text_and_types_agree__nonsense_is_missing() -> None:
    texts = pa.array(["2020-02-29", "2020-02-30", "1960-01-01T12:00", None, "x", "2020-01-01Z"])
    seconds = instants(texts)
    expected = np.array(["2020-02-29", "NaT", "1960-01-01T12:00"], "datetime64[s]")
    np.testing.assert_array_equal(seconds[[0, 2]], expected[[0, 2]].astype(float))
    assert np.isnan(seconds[[1, 3, 4, 5]]).all()
    typed = pa.array([None, 10**9], pa.timestamp("ns"))
    np.testing.assert_array_equal(instants(typed), [np.nan, 1.0])
    parts = date_parts(np.array([0.0, np.nan, -86400.0 * 365 + 3600]), has_time=True)
    assert parts[0].tolist() == [0, 1970, 1, 1, 3, 0]  # a Thursday
    assert parts[2].tolist()[1:] == [1969, 1, 1, 2, 1]
    assert np.isnan(parts[1]).all()


def test_text__alike_words_are_near__and_nothing_random() -> None:
    texts = [f"{w} delivery {i}" for i in range(50) for w in ("slow late", "quick early")]
    components = fit_components(texts)
    np.testing.assert_array_equal(components, fit_components(texts))
    slow, late, quick = text_features(["slow delivery", "late delivery", "quick early"], components)
    assert np.linalg.norm(slow - late) < np.linalg.norm(slow - quick)
    assert np.isfinite(fit_components(["", ""])).all()


def test_counting__a_million_different_texts__bounded_and_the_frequent_ones_right() -> None:
    facts = TextFacts(1)
    rng = np.random.default_rng(0)
    n_common = 0
    for part in range(20):
        words = [f"v{part}-{i}" for i in range(50_000)]
        words[:2000] = ["common"] * 2000
        n_common += 2000
        facts.update("c", pa.array(rng.permutation(words)))
    assert len(facts.counts) <= 100_000
    assert facts.counts["common"] == n_common
    assert facts.n_distinct > 900_000


@pytest.mark.parametrize("n", [40, 3000])
def test_ids__in_any_order__warned_of(n: int) -> None:
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(n) + 1_000.0
    sampled = rng.choice(n * n // 20, n, replace=False)
    with pytest.warns(RowNumberWarning, match=r"No value repeats in 'a', 'b', where") as seen:
        fit_plan([Table(a=shuffled, b=sampled, c=rng.normal(size=n))], Wishes())
    assert "rise" not in str(seen[0].message)
    parts = [Table(a=rng.permutation(n), c=rng.normal(size=n)) for _ in range(2)]
    with pytest.warns(RowNumberWarning, match=r"repeats in 'a'"):
        fit_plan(parts, Wishes())  # each numbers its own rows
    fit_plan([Table(a=shuffled, c=rng.normal(size=n))], Wishes(number=["a"]))


def test_ids__measurements_of_all_kinds__no_false_alarm() -> None:
    rng = np.random.default_rng(1)
    for n in (25, 200, 5000):
        once = rng.permutation(n).astype(float)
        once[0] = once[1]
        gaps = np.where(rng.random(n) < 0.05, np.nan, rng.permutation(n))
        gaps[0] = np.nan
        incomes = np.round(np.exp(rng.normal(10, 1, size=(n, 50))))
        evenly = rng.integers(0, n * n, size=(n, 200))  # wide: few repeat, and few should
        columns = {f"i{k}": part for k, part in enumerate(np.hstack([incomes, evenly]).T)}
        fit_plan([Table(once=once, gaps=gaps, x=rng.normal(size=n), **columns)], Wishes())


def test_ids__rate_of_false_alarms__below_one_in_a_thousand() -> None:
    rng = np.random.default_rng(2)
    n, alarms = 100, 0
    for _ in range(20):
        # As many as can be: evenly spread over the widest range that is still looked at.
        columns = rng.integers(0, int(n * (n - 1) / 14), size=(n, 1000)).astype(float)
        found = NeverRepeating(1000)
        found.update(np.arange(1000), columns)
        alarms += int(found.are_ids(columns.min(axis=0), columns.max(axis=0)).sum())
    assert alarms < 20


def test_texts__looked_at_once_or_as_they_come__the_same() -> None:
    words = ["12", "3.5", "2021-03-04", "12:30", "a b c", "true", "x"] * 10
    whole, forgetting = TextFacts(1), TextFacts(1)
    for start in range(0, 70, 10):
        whole.update("c", pa.array(words[start : start + 10]))
        forgetting.update("c", pa.array(words[start : start + 10]))
        if start == 20:
            forgetting.settle()  # as when some must be forgotten
    for facts in (whole, forgetting):
        facts.settle()
        assert (facts.n, facts.n_numbers, facts.n_clock, facts.n_words) == (70, 20, 10, 90)
        assert facts.n_dates["iso"] == 10
        assert facts.n_booleans == 10


def test_long_texts__are_no_categories_and_cost_nothing() -> None:
    facts = TextFacts(1)
    facts.update("c", pa.array(["x" * 1_000_000] * 10 + ["y"]))
    assert facts.counts == {"y": 1}
    assert facts.n_long == 10


def test_rows__keep_the_plan_only_while_columns_are_the_same() -> None:
    plan = fit_plan([Table(a=[1.0, 2.0], b=["x", "y"])], Wishes())
    rows = with_plan(np.arange(8.0).reshape(4, 2), plan)
    again = pickle.loads(pickle.dumps(rows))
    by_sklearn = train_test_split(rows, random_state=0)[0]
    for kept in (rows[1:], rows[[0, 2]], rows[rows[:, 0] > 2], rows[:2, :], rows[[1], ...], again):
        assert isinstance(kept, EncodedRows)
        assert kept.plan == plan
    assert by_sklearn.plan == plan
    for other in (rows[:, ::-1], rows.T, rows + 1, rows[0], rows[:2, 1:], np.array(rows)):
        assert getattr(other, "plan", None) is None


def test_wide_table__20000_columns__one_pass_of_seconds() -> None:
    n = 30
    numbers = {f"c{i}": np.arange(n) % (i % 7 + 2) for i in range(19_000)}
    words = {f"w{i}": [f"{j % 3}{i}a" for j in range(n)] for i in range(1000)}
    columns: dict[str, Any] = {**numbers, **words}
    plan = fit_plan([Table(**columns)], Wishes())
    assert len(plan.columns) == 20_000
    assert len(plan.categories) == 1000
