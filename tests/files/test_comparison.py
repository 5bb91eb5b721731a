"""Methods side by side on PU data: folds, leads that are chance, and methods that fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vqpu.base._registry import METHODS, Method
from vqpu.errors import InputError, ParameterError
from vqpu.files import PUData
from vqpu.files._compared_methods import default_methods, describe_parameters, make_methods
from vqpu.files._comparison import Comparison, compare, describe_leads, noise_of_lead

N = 400


class _Told:
    """Scores samples by one of their columns, and says how often it was fitted."""

    column = 0

    def __init__(self, random_state: int = 0, alpha: float | None = None) -> None:
        self.random_state, self.alpha, self.n_fits = random_state, alpha, 0

    def get_params(self) -> dict[str, Any]:
        return {"random_state": self.random_state, "alpha": self.alpha}

    def set_params(self, **parameters: Any) -> _Told:
        vars(self).update(parameters)
        return self

    def _check_parameters(self) -> None:
        pass

    def fit(self, X: Any, y: Any) -> _Told:
        assert self.alpha == 0.4, "alpha reaches methods that need it"
        assert 0 < y.mean() < 1
        self.rows_ = set(X[:, 3].tolist())
        return self

    def decision_function(self, X: Any) -> Any:
        assert not self.rows_ & set(X[:, 3].tolist()), "judged on what was fitted"
        return X[:, self.column]


class _Good(_Told):
    column = 0


class _AsGood(_Told):
    column = 1


class _Poor(_Told):
    column = 2


class _Leaking(_Told):
    """Calls P and nothing of U positive: the precision of that cannot be estimated."""

    column = 4


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> PUData:
    kinds = {"good": _Good, "as-good": _AsGood, "poor": _Poor, "leaking": _Leaking}
    added = [Method(name, kind.__name__, __name__) for name, kind in kinds.items()]
    monkeypatch.setattr("vqpu.base._registry.METHODS", (*METHODS, *added))
    rng = np.random.default_rng(0)
    y = (np.arange(N) % 4 == 0).astype(np.int8)
    signal = rng.normal(size=N) + 1.5 * y
    noise = rng.normal(size=(3, N))
    columns = [signal, signal + 0.2 * noise[0], 0.3 * signal + noise[1], np.arange(N), y - 0.5]
    return PUData(np.stack(columns, axis=1), y, range(N))


def found_of(data: PUData, *names: str, n_folds: int | None = None) -> Comparison:
    return compare(data, names, scenario="case-control", alpha=0.4, n_folds=n_folds)


def test_folds__every_sample_judged_once_and_a_lead_of_noise_called_one(data: PUData) -> None:
    found = found_of(data, "poor", "as-good", "good")
    assert (found.n_folds, found.n_judged) == (5, (N // 4, N - N // 4))
    best, second, last = found.rows
    assert {best["method"], second["method"]} == {"good", "as-good"}
    assert (best["behind"], best["noise"], best["is_level"]) == (0, 0, True)
    assert second["is_level"]
    assert second["behind"] <= second["noise"]
    assert not last["is_level"]
    assert last["behind"] == pytest.approx(best["proxy_auc"] - last["proxy_auc"])
    assert 0 < best["proxy_auc_spread"] < 0.2
    level, clear = describe_leads(found).splitlines()
    assert level.endswith("they are level on these data.")
    assert f"{best['method']} is ahead of {second['method']} by {second['behind']:.3f}" in level
    assert f"more than the noise of 5 folds ({last['noise']:.3f})" in clear


def test_one_split__says_that_it_cannot_tell(data: PUData) -> None:
    found = found_of(data, "good", "poor", n_folds=1)
    assert found.n_judged == (25, 75)
    assert found.rows[1]["is_level"] is None
    assert found.rows[0]["proxy_auc_spread"] is None
    assert "One split cannot tell a lead from chance" in describe_leads(found)
    assert describe_leads(found_of(data, "good")) == ""


def test_noise__hand_computed() -> None:
    # Two folds, leads 0 and 2: variance 2, times 1/2 + 1/1, and t(0.975) of 1 degree is 12.706.
    assert noise_of_lead(np.array([0.0, 2.0])) == pytest.approx(12.7062 * 3**0.5, rel=1e-4)
    assert noise_of_lead(np.full(5, 0.3)) == pytest.approx(0)


def test_noise__methods_that_are_level__are_called_so_in_19_of_20_comparisons() -> None:
    rng = np.random.default_rng(0)
    # Folds whose fits share samples: their leads go together, as far as the correction assumes.
    shared = rng.normal(size=(4000, 1)) * 0.5
    leads = shared + rng.normal(size=(4000, 5)) * 0.75**0.5
    called = [abs(lead.mean()) > noise_of_lead(lead) for lead in leads]
    assert np.mean(called) < 0.08


def test_a_method_that_cannot_be_scored__hides_no_other(data: PUData) -> None:
    found = found_of(data, "leaking", "good")
    assert found.rows[0]["method"] == "good"
    assert 0 < found.rows[0]["recall"] < 1
    assert "not one unlabelled" in found.rows[1]["error"]
    assert found.best_saved == "good"


def test_too_few_samples__said_with_the_number(data: PUData) -> None:
    few = PUData(data.X[:40], data.y[:40], range(40))  # 10 labelled: two folds of 5
    assert found_of(few, "good").n_folds == 2
    with pytest.raises(InputError, match=r"10 labelled positives are too few .* in 5 folds 2 are"):
        found_of(few, "good", n_folds=5)
    with pytest.raises(InputError, match=r"10 labelled positives .* a quarter of them is kept"):
        found_of(few, "good", n_folds=1)


def test_parameters__said_which_method_gets_them() -> None:
    told = describe_parameters(["naive", "vq"], {"n_rounds": 1, "max_steps": 40})
    assert told == "set: n_rounds=1 for vq; max_steps=40 for naive, vq"


def test_methods__scenario_and_seed_reach_those_that_have_them() -> None:
    own: dict[str, Any] = {"seed": 3, "alpha": None, "parameters": {}}
    models = make_methods(["elkan-noto", "vq"], scenario="single-set", **own)
    assert models["elkan-noto"].scenario == "single-set"
    assert {model.random_state for model in models.values()} == {3}
    with pytest.raises(ParameterError, match=r"^elkan-noto: holdout must be"):
        make_methods(["elkan-noto"], scenario="single-set", **own | {"parameters": {"holdout": 7}})


def gappy_table() -> PUData:
    rng = np.random.default_rng(0)
    y = (np.arange(300) % 3 == 0).astype(np.int8)
    X: NDArray[np.float64] = rng.normal(size=(300, 4)) + 2 * (np.arange(300) % 2)[:, None]
    X[rng.random(X.shape) < 0.1] = np.nan
    X[7] = np.nan  # nothing can be said of it
    return PUData(X, y, range(300))


def test_defaults__tables_with_gaps__trees_and_elkan_noto_around_trees() -> None:
    told: list[str] = []
    found = compare(
        gappy_table(), scenario="case-control", n_folds=2, parameters={"max_steps": 10},
        tell=told.append,
    )  # fmt: skip
    assert {row["method"] for row in found.rows} == set(default_methods(is_images=False))
    assert not any("error" in row for row in found.rows)
    assert (found.alpha_from, sum(found.n_judged)) == ("vq", 299)
    assert told[0] == "fitting vq"
    assert [line.split(" took")[0] for line in told if "took" in line] == [
        "vq: fold 1 of 2", "vq: fold 2 of 2", "elkan-noto: fold 1 of 2", "elkan-noto: fold 2 of 2",
    ]  # fmt: skip
