"""VQ K-means with trees for its encoder."""

from __future__ import annotations

import io
import pickle
import tracemalloc
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from numpy.typing import NDArray

import vqpu
from tests.fit_and_die import digest_of
from vqpu import VQKMeansClassifier
from vqpu.base._source import ArraySource
from vqpu.errors import InputError, InputTypeError, InterruptedWarning, ParameterError
from vqpu.nn import Codebook, nearest_code
from vqpu.training import CheckResult
from vqpu.vq._tree_network import TreeNetwork, line_of_codes

Floats = NDArray[np.float64]
pytestmark = pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")


def trees(**parameters: Any) -> VQKMeansClassifier:
    settings = {"encoder": "trees", "max_steps": 30, "random_state": 0, **parameters}
    return VQKMeansClassifier().set_params(**settings)


@pytest.fixture(scope="module")
def table() -> tuple[Floats, NDArray[np.int64], NDArray[np.bool_]]:
    """300 positives among 900 samples, a third of them labelled."""
    rng = np.random.default_rng(0)
    truth = np.arange(900) < 300
    X = rng.normal(size=(900, 5))
    X[:, 0] += 3 * truth
    X[:, 1] *= 1 + 2 * truth
    y = (np.arange(900) < 100).astype(np.int64)
    order = rng.permutation(900)
    return X[order], y[order], truth[order]


Table = tuple[Floats, NDArray[np.int64], NDArray[np.bool_]]


@pytest.fixture(scope="module")
def fitted(table: Table) -> VQKMeansClassifier:
    X, y, _ = table
    return trees(max_steps=100, n_rounds=1).fit(X, y)


def test_fit__finds_hidden_positives(table: Table, fitted: VQKMeansClassifier) -> None:
    X, y, truth = table
    hidden = y == 0
    assert np.mean(fitted.predict(X)[hidden] == truth[hidden]) > 0.9
    assert fitted.alpha_ == pytest.approx(0.25, abs=0.08)
    low, high = fitted.alpha_interval_
    assert low < 0.25 < high
    assert fitted.n_members_ == 5
    assert fitted.n_rounds_ == 1
    assert fitted.transform(X).shape == (900, 5)
    assert set(np.unique(fitted.transform(X))) <= set(range(512))


def test_history__has_the_columns_of_networks(table: Table, fitted: VQKMeansClassifier) -> None:
    X, y, _ = table
    network = VQKMeansClassifier(encoder="mlp", max_steps=2, n_members=1, n_rounds=1).fit(X, y)
    own = {"positive_codebook", "unlabeled_codebook"}  # of equation 1; trees have no such terms
    assert set(network.history_[0]) - own == set(fitted.history_[0])
    assert [row["step"] for row in fitted.history_][:3] == [10, 20, 30]
    losses = fitted.history_.column("holdout_loss")
    assert fitted.best_check_ == int(np.argmin(losses))
    assert fitted.tree_sizes_.n_trees == 5 * fitted.history_[fitted.best_check_]["step"]


def test_scores__decision_function_is_the_rule_of_the_encodings(
    table: Table, fitted: VQKMeansClassifier
) -> None:
    X = table[0]
    scores = fitted.decision_function(X)
    np.testing.assert_array_equal(scores, fitted.decision_rule_.log_odds(fitted.encode(X)))
    np.testing.assert_array_equal(scores[3:4], fitted.decision_function(X[3:4]))
    assert (fitted.predict_proba(X)[:, 1] > 0.5).tolist() == (fitted.predict(X) == 1).tolist()


def test_nearest_center__decides_by_codes(table: Table) -> None:
    X, y, truth = table
    model = trees(variant__decision="nearest-center", max_steps=60).fit(X, y)
    assert np.mean(model.predict(X)[y == 0] == truth[y == 0]) > 0.85
    scores = model.decision_function(X)
    np.testing.assert_array_equal(scores, model.decision_rule_.log_odds(model.encode(X)))


def test_held_out__nobody_is_judged_by_trees_that_saw_him(table: Table) -> None:
    X, y, _ = table
    model = trees(n_members=5).fit(X, y)
    other = y.copy()
    other[np.flatnonzero(y)[:10]] = 0  # changes everything, so that equal numbers are no accident
    assert not np.array_equal(
        trees(n_members=5).fit(X, other).holdout_projections_[0][:5],
        model.holdout_projections_[0][:5],
    )
    by_member = model.encode(X).member_projections
    held_out = np.concatenate(model.holdout_projections_)
    found = np.concatenate([by_member[y == 1], by_member[y == 0]])
    assert (held_out[:, None] == found).any(axis=1).all()


def test_second_round__draws_unlabelled_samples_to_their_probability(table: Table) -> None:
    X, y, truth = table
    twice, once = (trees(max_steps=60, n_rounds=count).fit(X, y) for count in (2, 1))
    hidden, before = (one.holdout_projections_[1][truth[y == 0]] for one in (twice, once))
    assert hidden.mean() > before.mean()


def test_rounds__soft_and_two_by_default__answer_is_their_mean(table: Table) -> None:
    X, y, _ = table
    seen: list[CheckResult] = []
    model = trees().fit(X, y, callback=seen.append)
    assert model.n_rounds_ == 2
    assert model.variant_.rounds == "soft"
    projections = []
    for number in (1, 2):
        own = [check for check in seen if check.row["round"] == number]
        best = min(own, key=lambda check: float(check.row["holdout_loss"]))
        network: Any = best.network
        projections.append(network.encode(ArraySource(X), None).member_projections)
    mean = (projections[0] + projections[1]) / 2
    np.testing.assert_allclose(model.encode(X).member_projections, mean, rtol=0, atol=1e-12)


def test_same_seed__same_model_and_global_states_untouched(table: Table) -> None:
    X, y, _ = table
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # type: ignore[index]  # noqa: NPY002
    streams = io.StringIO()
    with redirect_stdout(streams), redirect_stderr(streams):
        digests = {digest_of(trees().fit(X, y), X) for _ in range(2)}
    assert len(digests) == 1
    assert streams.getvalue() == ""
    assert before == (np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())  # type: ignore[index]  # noqa: NPY002
    assert digest_of(trees(random_state=1).fit(X, y), X) not in digests


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint8, np.bool_])
def test_dtypes__fit_and_predict(table: Table, dtype: Any) -> None:
    X, y, _ = table
    shifted = (20 * X + 100).clip(0, 255).astype(dtype) if dtype != np.bool_ else X > 0
    model = trees().fit(shifted, y)
    assert np.isfinite(model.decision_function(shifted)).all()


def test_few_positives__thirty_are_enough() -> None:
    rng = np.random.default_rng(1)
    X, y = vqpu.stack_pu(
        rng.normal(2, 1, (30, 4)),
        np.vstack([rng.normal(2, 1, (30, 4)), rng.normal(-2, 1, (90, 4))]),
    )
    model = trees(max_steps=100).fit(X, y)
    assert np.mean(model.predict(X[30:]) == np.repeat([1, 0], [30, 90])) > 0.9


def test_missing_values__finite_projections(table: Table, fitted: VQKMeansClassifier) -> None:
    X = table[0][:20].copy()
    X[:, 0] = np.nan
    X[0] = np.nan
    projections = fitted.network_.encode(ArraySource(X), None, torch.device("cpu"))
    assert np.isfinite(projections.member_projections).all()


def test_callback__sees_a_network_that_scores(table: Table) -> None:
    X, y, _ = table
    seen: list[CheckResult] = []
    model = trees(patience=1, n_rounds=1).fit(X, y, callback=seen.append)
    assert [check.row["step"] for check in seen] == model.history_.column("step")
    chosen = seen[model.best_check_]
    assert isinstance(chosen.network, TreeNetwork)
    ours = chosen.network.project(ArraySource(X))
    np.testing.assert_array_equal(ours, model.encode(X).projection)
    assert np.isfinite(chosen.log_odds(X)).all()


def test_interrupt__keeps_the_best_check(table: Table) -> None:
    X, y, _ = table

    def stop(check: CheckResult) -> None:
        if check.row["step"] == 20:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning, match="step 10"):
        model = trees().fit(X, y, callback=stop, on_interrupt="keep-best")
    assert model.stop_reason_ == "interrupted"
    assert model.tree_sizes_.n_trees == 50
    with pytest.raises(KeyboardInterrupt):
        trees().fit(X, y, callback=stop)


def test_resume__after_a_finished_round__same_model(table: Table, tmp_path: Path) -> None:
    X, y, _ = table
    parameters = {"n_rounds": 2}
    whole = digest_of(trees(**parameters).fit(X, y), X)

    def die(check: CheckResult) -> None:
        if check.row["round"] == 2:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        trees(**parameters).fit(X, y, checkpoint_dir=tmp_path, callback=die)
    rounds: list[int] = []
    again = trees(**parameters).fit(
        X, y, checkpoint_dir=tmp_path, callback=lambda check: rounds.append(check.row["round"])
    )
    assert digest_of(again, X) == whole
    assert set(rounds) == {2}
    assert digest_of(trees(**parameters).fit(X, y, checkpoint_dir=tmp_path), X) == whole


def test_save_and_load__same_bits(table: Table, fitted: VQKMeansClassifier, tmp_path: Path) -> None:
    X = table[0]
    fitted.save(tmp_path / "model")
    loaded = VQKMeansClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))
    np.testing.assert_array_equal(loaded.transform(X), fitted.transform(X))
    assert digest_of(loaded, X) == digest_of(fitted, X)
    again = pickle.loads(pickle.dumps(loaded))
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))


def test_line_of_codes__as_the_full_search() -> None:
    for dim in (1, 2, 64):
        generator = torch.Generator().manual_seed(dim)
        book = Codebook(torch.randn(40, dim, generator=generator, dtype=torch.float64))
        places = np.linspace(-2, 3, 997)
        start, end = book.unlabeled_anchor, book.positive_anchor
        vectors = start + torch.from_numpy(places)[:, None] * (end - start)
        expected = nearest_code(vectors, book.vectors).numpy()
        np.testing.assert_array_equal(line_of_codes(book).nearest(places), expected)


def test_images__refused() -> None:
    X = np.random.default_rng(0).random((30, 8, 8))
    with pytest.raises(InputError, match=r"encoder='trees' needs \(n, d\)"):
        trees().fit(X, np.arange(30) % 2)


def test_constant_table__refused() -> None:
    with pytest.raises(InputError, match="X is constant"):
        trees().fit(np.ones((30, 2)), np.arange(30) % 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [("encoding", "constant"), ("anchors", "moving"), ("codebook_update", "adam")],
)
def test_forms_that_need_gradients__refused(table: Table, name: str, value: str) -> None:
    X, y, _ = table
    with pytest.raises(ParameterError, match=f"variant__{name} must be"):
        trees(**{f"variant__{name}": value}).fit(X, y)


def test_rivals__do_not_take_trees(table: Table) -> None:
    X, y, _ = table
    with pytest.raises(ParameterError, match=r"Unknown encoder 'trees'. Valid values are"):
        vqpu.rivals.NaivePUClassifier(encoder="trees").fit(X, y)
    with pytest.raises(ParameterError, match=r"Unknown encoder 'tree'.*'trees'"):
        trees(encoder="tree").fit(X, y)


def test_explain__sums_to_the_projection(table: Table, fitted: VQKMeansClassifier) -> None:
    X = table[0][:50]
    found = fitted.explain(X)
    assert found.contributions.shape == (50, 5)
    np.testing.assert_allclose(found.projection, fitted.encode(X).projection, rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        found.contributions.sum(axis=1), fitted.encode(X).projection - found.base, atol=1e-10
    )
    # Columns 0 and 1 hold all there is.
    strength = np.abs(found.contributions).mean(axis=0)
    assert strength[:2].min() > strength[2:].max()
    best = int(np.argmax(found.projection))
    assert found.strongest(best, 1, sign=1)[0] in (0, 1)
    assert all(found.contributions[best, i] < 0 for i in found.strongest(best, 5, sign=-1))


def test_importance__shares_of_columns(fitted: VQKMeansClassifier) -> None:
    shares = fitted.feature_importances_
    assert shares.sum() == pytest.approx(1)
    assert set(np.argsort(-shares)[:2]) == {0, 1}


def test_networks__are_not_explained(table: Table) -> None:
    X, y, _ = table
    model = VQKMeansClassifier(encoder="mlp", max_steps=2, n_members=1, n_rounds=1).fit(X, y)
    with pytest.raises(InputTypeError, match="Only encoder='trees' says exactly"):
        model.explain(X)
    assert not hasattr(model, "feature_importances_")


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array"])
def test_sparse__as_dense(table: Table, kind: str) -> None:
    X, y, _ = table
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    sparse = getattr(scipy.sparse, kind)(X)
    model, dense = trees().fit(sparse, y), trees().fit(X, y)
    np.testing.assert_allclose(model.decision_function(sparse), dense.decision_function(X))
    np.testing.assert_array_equal(model.decision_function(sparse), model.decision_function(X))
    np.testing.assert_array_equal(model.transform(sparse[:7]), model.transform(X[:7]))
    np.testing.assert_allclose(
        model.explain(sparse[:5]).contributions, model.explain(X[:5]).contributions
    )


def test_sparse__wide_table_is_never_made_dense(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((2_000, 30_000), density=1e-4, rng=rng, format="lil")
    y = (np.arange(2_000) < 100).astype(int)
    X[:200, [5]] = rng.normal(3, 1, (200, 1))  # the positives
    tracemalloc.start()
    model = trees(max_steps=10).fit(X.tocsr(), y, checkpoint_dir=tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000 * 30_000 * 8 / 8
    assert np.isfinite(model.decision_function(X.tocsr())).all()


def test_sparse__infinity_refused_and_networks_take_none(table: Table) -> None:
    X, y, _ = table
    sparse = scipy.sparse.csr_matrix(X)
    with pytest.raises(InputTypeError, match=r"[Ss]parse"):
        VQKMeansClassifier(encoder="mlp").fit(sparse, y)
    X = X.copy()
    X[17, 1] = np.inf
    with pytest.raises(InputError, match=r"infinity \(inf\) in sample 17"):
        trees().fit(scipy.sparse.csr_matrix(X), y)


def test_missing_values__fit_predict_explain_and_onnx(table: Table, tmp_path: Path) -> None:
    X, y, truth = table
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    X[np.isnan(X).all(axis=1), 0] = 0.0
    model = trees(max_steps=60).fit(X, y)
    scores = model.decision_function(X)
    assert np.isfinite(scores).all()
    assert np.mean((scores[y == 0] > 0) == truth[y == 0]) > 0.8
    assert np.isfinite(model.explain(X[:9]).contributions).all()
    pytest.importorskip("onnx")
    from vqpu.files._export import export_onnx

    assert export_onnx(model, tmp_path / "model.onnx").codes_apart == 0


def test_categories__of_a_data_frame_are_sets() -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    letters = rng.choice(list("abcdefghijkl"), 1_200)
    truth = np.isin(letters, list("adgj"))
    frame = pandas.DataFrame({"letter": letters, "noise": rng.normal(size=1_200)})
    y = (truth & (rng.random(1_200) < 0.5)).astype(int)
    model = trees(max_steps=60).fit(frame, y)
    network: Any = model.network_
    assert network.encoder.arrays.node_words.any()
    assert np.mean(model.predict(frame)[y == 0] == truth[y == 0]) > 0.9


def test_saved__more_members_than_tensors__come_back(table: Table, tmp_path: Path) -> None:
    X, y, _ = table
    model = trees(n_members=20, max_steps=10, n_rounds=1).fit(X, y)
    model.save(tmp_path / "model")
    loaded = vqpu.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.precision_ == "float64"


def test_predict__a_row_without_any_value__is_not_judged(table: Table) -> None:
    X, y, _ = table
    model = trees(max_steps=10, n_rounds=1).fit(X, y)
    rows = X[:3].copy()
    rows[0, 1:] = np.nan
    assert np.isfinite(model.decision_function(rows)).all()
    rows[1] = np.nan
    with pytest.raises(InputError, match="no value at all in sample 1"):
        model.decision_function(rows)


def test_rounds_that_leave_out__are_of_networks(table: Table) -> None:
    X, y, _ = table
    with pytest.raises(ParameterError, match="variant__rounds must be 'soft'"):
        trees(variant__rounds="leave-out").fit(X, y)
    auto = VQKMeansClassifier(max_steps=5, n_members=1, random_state=0)
    auto.set_params(variant__rounds="leave-out").fit(X, y)
    assert not hasattr(auto, "tree_sizes_")


def test_fit__members_in_threads__print_nothing_and_are_the_same(
    table: Table, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    X, y, _ = table
    alone = trees(max_steps=20).fit(X, y).decision_function(X)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr("vqpu.vq._tree_settings._VALUES_WORTH_THREADS", 1)
    together = trees(max_steps=20).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(alone, together)
    assert capfd.readouterr() == ("", "")
