"""Data frames with mixed columns go straight into fit and predict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import vqpu
from tests.support import fast_classifier
from vqpu.errors import ColumnWarning, InputError, InputTypeError, MissingColumnWarning
from vqpu.rivals import (
    DistPUClassifier,
    ElkanNotoClassifier,
    NaivePUClassifier,
    ObserverGANClassifier,
    VPUClassifier,
)

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

N = 300
IS_POSITIVE = np.arange(N) % 2 == 0
Y = np.where(IS_POSITIVE & (np.arange(N) % 3 == 0), "known", "?")
QUICK: dict[str, Any] = {"max_steps": 20, "n_members": 1, "random_state": 0}


def fitted(X: Any, **parameters: Any) -> Any:
    """A quick classifier; what data frames add to it is set in ``fit`` alone."""
    return fast_classifier(**parameters).fit(X, Y)


def mixed() -> Any:
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "size": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N) + 3 * IS_POSITIVE),
        "count": pd.array([1, None, 3] * (N // 3), dtype="Int64"),
        "colour": pd.Categorical(np.where(IS_POSITIVE, "red", "blue")),
        "city": [f"c{i % 100}" for i in range(N)],
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), "D"),
        "flag": pd.array([True, None, False] * (N // 3), dtype="boolean"),
        "remark": [f"thing number {i % 150} was {'good' if p else 'bad'} and came on time"
                   for i, p in enumerate(IS_POSITIVE)],
    })  # fmt: skip


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "arrow batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frame__of_any_library__same_model_and_scores(kind: str) -> None:
    frame = mixed()
    expected = fitted(frame)
    made = FRAMES[kind](frame)
    model = fitted(made)
    assert [(c.name, c.kind) for c in model.columns_.columns] == [
        ("size", "number"), ("count", "number"), ("colour", "category"), ("city", "category"),
        ("day", "date"), ("flag", "boolean"), ("remark", "text"),
    ]  # fmt: skip
    scores = expected.decision_function(frame)
    np.testing.assert_array_equal(model.decision_function(made), scores)
    assert model.n_features_in_ == 7
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert set(model.predict(made)) <= {"known", "?"}
    assert roc_auc_score(IS_POSITIVE, scores) > 0.95


def test_frame__saved_and_loaded__same_scores_by_any_column_order(tmp_path: Path) -> None:
    frame = mixed()
    model = fitted(frame)
    model.save(tmp_path / "model")
    again = vqpu.load(tmp_path / "model")
    turned = frame[list(reversed(frame.columns))].assign(more=1)
    np.testing.assert_array_equal(again.decision_function(turned), model.decision_function(frame))
    with pytest.raises(InputError, match="lacks the column 'city'"):
        again.predict(frame.drop(columns="city"))
    with pytest.raises(InputError, match=r"pass a data frame that has them. Got ndarray of shape"):
        again.predict(np.zeros((3, 3)))


def test_frame__new_values__counted_in_one_warning() -> None:
    frame = mixed()
    model = fitted(frame)
    new = frame.assign(city=["nowhere", *frame["city"][1:]], count=["many", *["1"] * (N - 1)])
    message = r"'count' that are no numbers .*: 1, such as 'many'. Cells of 'city' .*: 1, such as"
    with pytest.warns(ColumnWarning, match=message):
        scores = model.decision_function(new)
    assert np.isfinite(scores).all()


def test_plain_frame__as_an_array__with_gaps_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) + 3 * IS_POSITIVE[:, None]
    X[::7, 1] = np.nan
    frame = pd.DataFrame(X, columns=list("abc"))
    model = fitted(frame)
    assert model.columns_ is None
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    scores = fitted(X).decision_function(X)
    np.testing.assert_array_equal(model.decision_function(frame), scores)
    nullable = frame.astype("Float64")
    np.testing.assert_array_equal(fitted(nullable).decision_function(frame), scores)


@pytest.mark.parametrize("kind", [NaivePUClassifier, VPUClassifier, DistPUClassifier])
def test_rivals_with_a_network__take_them(kind: Any, tmp_path: Path) -> None:
    frame = mixed()
    model = kind(**QUICK).fit(frame, Y)
    model.save(tmp_path / "model")
    scores = model.decision_function(frame)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(vqpu.load(tmp_path / "model").decision_function(frame), scores)


@pytest.mark.parametrize(
    "model", [ObserverGANClassifier(), ElkanNotoClassifier(LogisticRegression())]
)
def test_rivals_without__say_so(model: Any) -> None:
    with pytest.raises(InputTypeError, match=r"takes tables of numbers alone.*or drop them"):
        model.fit(mixed(), Y)


def test_missing_values__of_arrays__one_indicator_each_and_empty_columns_left_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4)) + 1e6
    X[:, 1] = np.nan
    X[::5, 2] = np.nan
    X[0, 3] = np.nan
    with pytest.warns(MissingColumnWarning, match=r"1 of 4 columns .*: \[1\]"):
        model = fitted(X)
    assert model.table_inputs_.gaps == (2, 3)
    assert model.table_inputs_.empty == (1,)
    normalizer: Any = model.network_.encoder.normalizer
    some = [0, 2, 3]
    np.testing.assert_allclose(normalizer.mean.numpy()[some], np.nanmean(X[:, some], 0))
    np.testing.assert_allclose(normalizer.std.numpy()[some], np.nanstd(X[:, some], 0))
    nearly_gone = np.full((2, 4), np.nan)
    nearly_gone[:, 0] = 1e6
    assert np.isfinite(model.decision_function(nearly_gone)).all()


@pytest.mark.filterwarnings("ignore::vqpu.errors.CollapsedCodesWarning")
@pytest.mark.parametrize("n_members", [1, 5])
def test_groups__whole_ones_held_out(n_members: int) -> None:
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(N, 3)), np.arange(N) % 3
    X[IS_POSITIVE] += 2
    model = fast_classifier(n_members=n_members, max_steps=20)
    held_out = model.fit(X, Y, groups=[f"g{g}" for g in groups // 1]).n_holdout_
    # Three groups, of which one has all labelled positives: nothing can be held out of five parts.
    assert held_out == (0, 0)
    many = fast_classifier(n_members=n_members, max_steps=20).fit(X, Y, groups=np.arange(N) // 6)
    assert many.n_holdout_ == ((50, 250) if n_members == 5 else (8, 40))


def test_labels__missing_ones__one_sentence() -> None:
    X = np.arange(12.0).reshape(6, 2)
    for y in (
        [1.0, np.nan, np.nan, 0.0, 1.0, 0.0],
        pl.Series([True, None, None, False, True, False]),
    ):
        with pytest.raises(InputError, match=r"^y has 2 missing values\. Unlabelled samples need"):
            fast_classifier().fit(X, y)


def test_lazy_frame__to_be_collected() -> None:
    X = pl.DataFrame({"a": np.arange(60.0), "b": ["x", "y"] * 30})
    y = np.arange(60) < 20
    with pytest.raises(InputTypeError, match=r"X is a LazyFrame.* Pass X\.collect\(\)"):
        fast_classifier().fit(X.lazy(), y)
