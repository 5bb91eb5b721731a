"""One contract for all class-prior estimators: input, answer, errors, randomness."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import vqpu.priors._dedpul as dedpul_module
import vqpu.priors._km2 as km2_module
import vqpu.priors._tice as tice_module
from vqpu import VqpuError
from vqpu.errors import InputError, InputTypeError, ParameterError
from vqpu.priors import PRIOR_METHODS, PriorEstimate, cross_fit_scores, estimate_prior

ON_SAMPLES = ("km2", "tice")
ON_SCORES = tuple(method for method in PRIOR_METHODS if method not in ON_SAMPLES)
ALPHA = 0.4

Sets = tuple[NDArray[np.float64], NDArray[np.float64]]


def gaussians(n_positive: int, n_unlabeled: int, distance: float = 6.0) -> Sets:
    rng = np.random.default_rng(0)
    n_hidden = round(ALPHA * n_unlabeled)
    positive = rng.normal(size=(n_positive + n_hidden, 3)) + distance / np.sqrt(3)
    negative = rng.normal(size=(n_unlabeled - n_hidden, 3))
    return positive[:n_positive], np.concatenate([positive[n_positive:], negative])


@pytest.mark.parametrize("method", PRIOR_METHODS)
def test_estimate__separated_gaussians__near_the_truth(method: str) -> None:
    found = estimate_prior(method, *gaussians(300, 900), random_state=0)
    assert isinstance(found, PriorEstimate)
    assert found.alpha == pytest.approx(ALPHA, abs=0.1)
    assert (found.method, found.scenario) == (method, "case-control")
    assert found.class_prior == found.alpha
    assert (found.interval is not None) == (method == "bbe")
    if found.interval is not None:
        assert 0 <= found.interval[0] <= found.alpha <= found.interval[1] <= 1


@pytest.mark.parametrize("method", PRIOR_METHODS)
def test_estimate__single_set__same_alpha_and_the_prior_of_all(method: str) -> None:
    sets = gaussians(100, 200)
    apart = estimate_prior(method, *sets, random_state=0)
    single = estimate_prior(method, *sets, scenario="single-set", random_state=0)
    assert single.alpha == apart.alpha
    assert single.class_prior == pytest.approx((100 + 200 * single.alpha) / 300)


@pytest.mark.parametrize("method", ON_SCORES)
def test_estimate__samples__as_their_cross_fitted_scores(method: str) -> None:
    sets = gaussians(80, 160)
    scores = cross_fit_scores(*sets, random_state=3)
    direct = estimate_prior(method, *sets, random_state=3)
    assert direct == estimate_prior(method, *scores, random_state=3)


@pytest.mark.parametrize("method", ON_SCORES)
def test_estimate__lists_and_frames__as_arrays(method: str) -> None:
    positive, unlabeled = gaussians(60, 90)
    expected = estimate_prior(method, positive, unlabeled, random_state=0)
    given = pd.DataFrame(positive), unlabeled.tolist()
    assert estimate_prior(method, *given, random_state=0) == expected


def test_cross_fit__logistic_regression__out_of_fold_and_balanced() -> None:
    positive, unlabeled = gaussians(200, 800, distance=0.0)
    classifier = make_pipeline(StandardScaler(), LogisticRegression())
    scores = cross_fit_scores(positive, unlabeled, classifier=classifier, random_state=0)
    assert [len(part) for part in scores] == [200, 800]
    # P and U are alike: the balanced probability is one half, although U is four times as large.
    assert np.concatenate(scores).mean() == pytest.approx(0.5, abs=0.05)


def test_cross_fit__memorising_classifier__cannot_see_its_own_samples() -> None:
    # Fully grown trees would give every training sample its own label.
    positive, unlabeled = gaussians(200, 200, distance=0.0)
    forest = RandomForestClassifier(20)
    scores = cross_fit_scores(positive, unlabeled, classifier=forest, random_state=0)
    assert abs(scores[0].mean() - scores[1].mean()) < 0.15


@pytest.mark.parametrize(("median", "alpha"), [(1 / 1.04, 0.04), (1 / 2.04, 1.0), (1 / 0.96, 0.0)])
def test_estimate__outside_by_little__at_the_end(median: float, alpha: float) -> None:
    # 1 / median - 1 is .04, 1.04 and -.04.
    found = estimate_prior("geometry", np.full(5, median), np.zeros(5))
    assert found.alpha == pytest.approx(alpha)


def changed(values: NDArray[np.float64], value: float) -> NDArray[np.float64]:
    copied = values.copy()
    copied.flat[3] = value
    return copied


P, U = gaussians(12, 20)
S_P, S_U = np.linspace(0.5, 0.9, 12), np.linspace(0, 0.8, 20)

BAD_FOR_ALL: dict[str, tuple[Any, Any, type[VqpuError], str]] = {
    "no positives": (P[:0], U, InputError, "positive holds 0 samples"),
    "no unlabelled": (P, U[:0], InputError, "unlabeled holds 0 samples"),
    "one positive": (P[:1], U, InputError, "positive holds 1 samples"),
    "one unlabelled": (P, U[:1], InputError, "unlabeled holds 1 samples"),
    "no columns": (P[:, :0], U[:, :0], InputError, "no columns"),
    "NaN in P": (changed(P, np.nan), U, InputError, "positive holds NaN or infinity in row 1"),
    "NaN in U": (P, changed(U, np.nan), InputError, "unlabeled holds NaN or infinity in row 1"),
    "infinity": (P, changed(U, -np.inf), InputError, "unlabeled holds NaN or infinity in row 1"),
    "too large": (P, changed(U, -1e200), InputError, "unlabeled holds values beyond 1e.150"),
    "other width": (P, U[:, :2], InputError, r"shape \(12, 3\) and .* shape \(20, 2\)"),
    "scores and samples": (S_P, U, InputError, r"shape \(12,\) and .* shape \(20, 3\)"),
    "images": (np.zeros((9, 4, 4)), np.zeros((9, 4, 4)), InputError, "reshape images"),
    "a number": (3.0, U, InputError, r"shape \(\)"),
    "constant samples": (np.ones((9, 2)), np.ones((9, 2)), InputError, "equal"),
    "sparse": (scipy.sparse.csr_matrix(P), U, InputTypeError, "toarray"),
    "text": (np.full((9, 2), "a"), U, InputTypeError, "no real numbers"),
    "objects": (np.full((9, 2), {}), U, InputTypeError, "no real numbers"),
    "complex": (P + 1j, U, InputTypeError, "no real numbers"),
    "ragged": ([[1.0, 2.0], [3.0]], U, InputTypeError, "no real numbers"),
}


@pytest.mark.parametrize("method", PRIOR_METHODS)
@pytest.mark.parametrize("case", BAD_FOR_ALL)
def test_bad_samples__one_clear_error(method: str, case: str) -> None:
    positive, unlabeled, kind, message = BAD_FOR_ALL[case]
    with pytest.raises(kind, match=message):
        estimate_prior(method, positive, unlabeled, random_state=0)


BAD_SCORES: dict[str, tuple[tuple[str, ...], Any, Any, str]] = {
    "no positives": (ON_SCORES, [], S_U, "positive holds 0 scores"),
    "no unlabelled": (ON_SCORES, S_P, [], "unlabeled holds 0 scores"),
    "one positive": (ON_SCORES, S_P[:1], S_U, "positive holds 1 scores, but at least 2"),
    "one unlabelled": (ON_SCORES, S_P, S_U[:1], "unlabeled holds 1 scores, but at least 2"),
    "NaN": (ON_SCORES, changed(S_P, np.nan), S_U, "positive holds NaN or infinity in row 3"),
    "constant": (ON_SCORES, np.full(9, 0.3), np.full(9, 0.3), r"equal \(0.3\)"),
    "above 1": (("dedpul", "elkan-noto"), S_P + 1, S_U, "between 0 and 1.9"),
    "below 0": (("dedpul", "elkan-noto"), S_P, S_U - 1, "between -1 and 0.9"),
    "for samples": (ON_SAMPLES, S_P, S_U, "works on samples"),
    "P below U": (("bbe",), S_U - 1, S_P, "score below every unlabelled sample"),
    "P at 0": (("elkan-noto",), np.zeros(9), S_U, "All positives have score 0"),
    "negative projections": (("geometry",), -S_P, S_U, "median projection .* is -0.7"),
    "alpha above 1": (("elkan-noto", "geometry"), S_P - 0.5, S_U, "a share lies in"),
    "alpha below 0": (("geometry",), S_P + 0.9, S_U, "a share lies in"),
}


@pytest.mark.parametrize("case", BAD_SCORES)
def test_bad_scores__one_clear_error(case: str) -> None:
    methods, positive, unlabeled, message = BAD_SCORES[case]
    for method in methods:
        with pytest.raises(InputError, match=message):
            estimate_prior(method, positive, unlabeled)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "penL1"}, "Unknown method 'penL1'. Valid values are .*bbe"),
        ({"method": None}, "Unknown method None"),
        ({"scenario": "single"}, "Unknown scenario 'single'. Valid values are .*single-set"),
        ({"random_state": -1}, "random_state must be"),
        ({"classifier": LinearSVC()}, "with predict_proba"),
        ({"classifier": "logistic"}, "with predict_proba"),
        ({"method": "km2", "classifier": LogisticRegression()}, "needs no scores"),
        ({"positive": S_P, "unlabeled": S_U, "classifier": LogisticRegression()}, "given scores"),
    ],
)
def test_bad_parameters__one_clear_error(changes: dict[str, Any], message: str) -> None:
    arguments = {"method": "bbe", "positive": P, "unlabeled": U, **changes}
    with pytest.raises(ParameterError, match=message):
        estimate_prior(**arguments)


def test_km2__mostly_duplicates__clear_error() -> None:
    with pytest.raises(InputError, match="More than half of all pairs"):
        estimate_prior("km2", np.zeros((30, 2)), np.repeat([[0.0, 0], [1, 1]], [28, 2], axis=0))


def test_cross_fit__classifier_that_learns_nothing__clear_error() -> None:
    with pytest.raises(
        InputError, match="HistGradientBoostingClassifier gave all samples of a fold"
    ):
        cross_fit_scores(P, U, random_state=0)


def test_cross_fit__classifier_with_nan_answers__clear_error() -> None:
    class Broken(LogisticRegression):  # type: ignore[misc]
        def predict_proba(self, X: Any) -> Any:
            return np.full((len(X), 2), np.nan)

    with pytest.raises(InputError, match="Broken returned values outside"):
        cross_fit_scores(P, U, classifier=Broken())


@pytest.mark.parametrize("n", [5, 6, 11])
@pytest.mark.parametrize("method", PRIOR_METHODS)
def test_tiny_sets__a_share_or_a_clear_error(method: str, n: int) -> None:
    rng = np.random.default_rng(n)
    sets = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    try:
        found = estimate_prior(
            method,
            *sets,
            classifier=LogisticRegression() if method in ON_SCORES else None,
            random_state=0,
        )
    except InputError:
        return
    assert 0 <= found.alpha <= 1


@pytest.mark.parametrize("scale", [1e-250, 1e140])
@pytest.mark.parametrize("method", ON_SAMPLES)
def test_extreme_units__same_answer(method: str, scale: float) -> None:
    positive, unlabeled = gaussians(40, 80)
    constant = np.full((80, 1), 5.0)
    expected = estimate_prior(method, positive, unlabeled, random_state=0)
    scaled = (np.hstack([part * scale, constant[: len(part)]]) for part in (positive, unlabeled))
    found = estimate_prior(method, *scaled, random_state=0)
    assert found.alpha == pytest.approx(expected.alpha)


@pytest.mark.parametrize("method", PRIOR_METHODS)
def test_random_state__same__same_answer_and_global_state_untouched(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (dedpul_module, km2_module, tice_module):
        monkeypatch.setattr(module, "LARGEST_SET", 50)
    sets = gaussians(70, 120, distance=2.0)
    options = {"classifier": RandomForestClassifier(30)} if method in ON_SCORES else {}
    np.random.seed(7)  # noqa: NPY002
    random.seed(7)
    before = np.random.get_state()[1].tolist(), random.getstate()  # type: ignore[index] # noqa: NPY002
    first, again = (estimate_prior(method, *sets, random_state=1, **options) for _ in range(2))
    other = [estimate_prior(method, *sets, random_state=seed, **options) for seed in range(2, 5)]
    after = np.random.get_state()[1].tolist(), random.getstate()  # type: ignore[index] # noqa: NPY002
    assert first == again
    assert any(found != first for found in other)
    assert before == after


@pytest.mark.parametrize("method", PRIOR_METHODS)
def test_random_state__generator_object__accepted(method: str) -> None:
    sets = gaussians(30, 60)
    first, second = (
        estimate_prior(method, *sets, random_state=np.random.default_rng(3)) for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize("method", ["dedpul", *ON_SAMPLES])
def test_large_sets__only_a_sample_is_used(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = {"dedpul": dedpul_module, "km2": km2_module, "tice": tice_module}[method]
    monkeypatch.setattr(module, "LARGEST_SET", 200)
    positive, unlabeled = gaussians(300, 900)
    if method == "dedpul":
        positive, unlabeled = (
            1 / (1 + np.exp(9 - part.sum(axis=1))) for part in (positive, unlabeled)
        )
    found = estimate_prior(method, positive, unlabeled, random_state=0)
    assert found.alpha == pytest.approx(ALPHA, abs=0.15)
    # With equal draws from both, the counts of the whole still give the prior of a single set.
    single = estimate_prior(method, positive, unlabeled, scenario="single-set", random_state=0)
    assert single.class_prior == pytest.approx((300 + 900 * found.alpha) / 1200)


def test_import__loads_neither_scikit_learn_nor_torch() -> None:
    program = "import vqpu.priors, sys; print({'sklearn', 'torch', 'scipy'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_public_names__all_there() -> None:
    import vqpu.priors

    for name in vqpu.priors.__all__:
        assert getattr(vqpu.priors, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = vqpu.priors.nonsense
