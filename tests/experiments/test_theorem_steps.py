"""Every step of the paper's appendix, with the numbers that docs/theorem.md quotes."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from experiments.items.wide_network import (
    HIDDEN,
    LABELED,
    NEGATIVE,
    Floats,
    Linearised,
    Rates,
    Samples,
    System,
    WideNetwork,
    draw_samples,
    group_means,
    leftovers,
    limits,
    make_system,
    measure_rates,
    measured_window,
    paper_window,
)
from experiments.runner import Request, read_item

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "theorem.md").read_text()
MU_P, MU_U, EPSILON = 2.0, -1.0, 0.2


class Case(NamedTuple):
    samples: Samples
    system: System
    network: WideNetwork
    kernel: Floats
    rates: Rates
    model: Linearised


@cache
def case(alpha: float = 0.5, mu_p: float = MU_P, mu_u: float = MU_U) -> Case:
    samples = draw_samples(alpha, 200, 400, 5, 0.3, seed=0)
    system = make_system(samples, mu_p, mu_u)
    network = WideNetwork(6, 500, seed=1)
    kernel = network.kernel(samples.x) * np.outer(system.scale, system.scale)
    rates = measure_rates(kernel, system, alpha)
    return Case(samples, system, network, kernel, rates, Linearised(kernel, 1 / (2 * rates.Delta)))


@cache
def small() -> tuple[Samples, System, WideNetwork]:
    samples = draw_samples(0.5, 8, 12, 2, 0.3, seed=3)
    return samples, make_system(samples, MU_P, MU_U), WideNetwork(3, 10, seed=4)


def weighted_jacobian(samples: Samples, system: System, network: WideNetwork) -> Floats:
    return system.scale[:, None] * network.jacobian(samples.x)


def quoted(value: Any, text: str) -> None:
    """The page has this number, and it is what comes out."""
    assert text in PAGE
    assert float(value) == pytest.approx(float(text), rel=0.006), text


def test_loss__stacked_form__equals_the_three_means() -> None:
    samples, system, _ = small()
    v = np.random.default_rng(0).normal(size=len(samples.x))
    of = {group: v[samples.group == group] for group in (LABELED, HIDDEN, NEGATIVE)}
    expected = np.mean((of[LABELED] - MU_P) ** 2)
    expected += 0.5 * np.mean((of[HIDDEN] - MU_U) ** 2) + 0.5 * np.mean((of[NEGATIVE] - MU_U) ** 2)
    assert np.sum((system.scale * v - system.y) ** 2) == pytest.approx(expected)


def test_gradient__by_differences__is_twice_the_papers() -> None:
    J = weighted_jacobian(*small())
    y = small()[1].y
    theta = np.random.default_rng(1).normal(size=J.shape[1])
    direction = np.random.default_rng(2).normal(size=J.shape[1])
    h = 1e-5
    up, down = (np.sum((J @ (theta + s * direction) - y) ** 2) for s in (h, -h))
    assert (up - down) / (2 * h) == pytest.approx(2 * direction @ J.T @ (J @ theta - y))


def test_jacobian__by_differences__and_kernel_from_it() -> None:
    samples, _, network = small()
    direction = np.random.default_rng(5).normal(size=10 + 30)
    moved = []
    for h in (1e-5, -1e-5):
        other = WideNetwork(3, 10, seed=4)
        other.output = other.output + h * direction[:10]
        other.hidden = other.hidden + h * direction[10:].reshape(10, 3)
        moved.append(other(samples.x))
    J = network.jacobian(samples.x)
    np.testing.assert_allclose((moved[0] - moved[1]) / 2e-5, J @ direction, atol=1e-8)
    np.testing.assert_allclose(network.kernel(samples.x), J @ J.T, atol=1e-12)


def test_residuals__powers_of_the_kernel__as_explicit_steps() -> None:
    samples, system, network = small()
    J = weighted_jacobian(samples, system, network)
    model = Linearised(J @ J.T, 0.3)
    theta = np.zeros(J.shape[1])
    for _ in range(20):
        theta -= 0.3 * J.T @ (J @ theta - system.y)
    np.testing.assert_allclose(model.outputs(system, 20), J @ theta, atol=1e-12)


def test_network__twins__starts_at_zero_and_stays_near_the_linear_model() -> None:
    samples, system, _, _, _, model = case()
    network = WideNetwork(6, 500, seed=1)
    assert np.abs(network(samples.x)).max() < 1e-12
    gaps = []
    for step in range(1, 101):
        network.descend(samples.x, system, model.rate)
        if step in (1, 3, 10, 30, 100):
            gap = system.scale * network(samples.x) - model.outputs(system, step)
            gaps.append(np.linalg.norm(gap) / np.linalg.norm(system.y))
    quoted(max(gaps), "0.000125")


def test_descend__one_step__is_the_jacobians() -> None:
    samples, system, network = small()
    J = weighted_jacobian(samples, system, network)
    stepped = WideNetwork(3, 10, seed=4)
    stepped.descend(samples.x, system, 0.1)
    moved = np.concatenate(
        [stepped.output - network.output, (stepped.hidden - network.hidden).ravel()]
    )
    residual = system.scale * network(samples.x) - system.y
    np.testing.assert_allclose(moved, -0.1 * J.T @ residual, atol=1e-12)


def test_w__against_the_features__difference_of_their_means() -> None:
    samples, system, network = small()
    w = system.w_hat * math.sqrt(1.5)
    assert system.w_hat @ system.w_hat == pytest.approx(1)
    raw = network.jacobian(samples.x)
    means = [raw[samples.group == group].mean(axis=0) for group in (LABELED, HIDDEN)]
    J = weighted_jacobian(samples, system, network)
    np.testing.assert_allclose(J.T @ w, math.sqrt(0.5) * (means[0] - means[1]), atol=1e-12)
    gap = np.sum((means[0] - means[1]) ** 2)
    rates = measure_rates(J @ J.T, system, 0.5)
    assert rates.delta == pytest.approx(gap)
    assert rates.along == pytest.approx(0.5 / 1.5 * gap)
    assert w @ system.y == pytest.approx(math.sqrt(0.5) * (MU_P - MU_U))


def test_delta__four_times_the_samples__a_quarter() -> None:
    assert "0.13 a coordinate" in PAGE
    x = draw_samples(0.5, 4000, 8000, 5, 0.3, seed=0).x
    assert x[:, 1:5].std() == pytest.approx(0.13, abs=0.005)
    quoted(case().rates.along, "0.000271")
    quoted(case().rates.delta, "0.000813")
    network = WideNetwork(6, 50, seed=1)

    def mean_delta(n: int) -> float:
        found = []
        for seed in range(40):
            samples = draw_samples(0.5, n, 2 * n, 5, 0.3, seed=seed)
            system = make_system(samples, MU_P, MU_U)
            J = weighted_jacobian(samples, system, network)
            found.append(np.sum((J.T @ system.w_hat) ** 2))
        return float(np.mean(found))

    assert mean_delta(25) / mean_delta(100) == pytest.approx(4, rel=0.25)


def test_y_across__three_blocks__last_line_right_and_the_one_before_not() -> None:
    samples, system = case()[:2]
    blocks = system.y_across / system.scale
    limit = (MU_P + 0.5 * MU_U) / 1.5
    assert limits(0.5, MU_P, MU_U) == (limit, MU_U) == (1.0, -1.0)
    assert blocks[samples.group == LABELED] == pytest.approx(limit)
    assert blocks[samples.group == HIDDEN] == pytest.approx(limit)
    assert blocks[samples.group == NEGATIVE] == pytest.approx(MU_U)
    quoted((1 - 0.5 / 1.5) * MU_P + MU_U / 1.5, "0.667")
    quoted(MU_P + (1 - 1 / 1.5) * MU_U, "1.67")
    assert system.y_across @ system.y_across == pytest.approx(2)
    stated = (MU_P**2 + MU_U**2 + 2 * 0.5 * MU_P * MU_U) / 1.5
    assert stated == pytest.approx(2)


def test_delta_across__from_mean_features__nearly_the_quotient() -> None:
    samples, system, network, _, rates, _ = case()
    raw = network.jacobian(samples.x)
    positive, negative = (
        raw[samples.group != NEGATIVE].mean(axis=0),
        raw[samples.group == 2].mean(0),
    )
    mean = (MU_P + 0.5 * MU_U) * positive + 0.5 * MU_U * negative
    stated = 1.5 * mean @ mean / (MU_P**2 + MU_U**2 + 2 * 0.5 * MU_P * MU_U)
    assert "1.3854 both ways" in PAGE
    assert rates.Delta == pytest.approx(1.3854, abs=1e-4)
    assert stated == pytest.approx(1.3854, abs=1e-4)
    J_y = weighted_jacobian(samples, system, network).T @ system.y_across
    exact = sum(
        weight * value * raw[samples.group == group].mean(axis=0)
        for group, weight, value in ((0, 1, 1.0), (1, 0.5, 1.0), (2, 0.5, MU_U))
    )
    np.testing.assert_allclose(J_y, exact, atol=1e-12)


def test_delta_across__against_the_population__larger_or_smaller() -> None:
    network = WideNetwork(6, 50, seed=1)
    many = draw_samples(0.5, 4000, 8000, 5, 0.3, seed=99)
    features = network.jacobian(many.x)
    positive = features[many.group != NEGATIVE].mean(axis=0)
    mean = 1.5 * positive - 0.5 * features[many.group == NEGATIVE].mean(axis=0)
    stated = 1.5 * mean @ mean / 3
    signs = set()
    for seed in range(8):
        samples = draw_samples(0.5, 50, 100, 5, 0.3, seed=seed)
        system = make_system(samples, MU_P, MU_U)
        kernel = network.kernel(samples.x) * np.outer(system.scale, system.scale)
        signs.add(measure_rates(kernel, system, 0.5).Delta > stated)
    assert signs == {True, False}


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("n_steps", [1, 3, 10, 30, 100, 300])
def test_bounds__the_papers_and_ours__which_hold(alpha: float, n_steps: int) -> None:
    _, system, _, _, rates, model = case(alpha)
    left, learned = leftovers(model, system, n_steps)
    # Jensen: never below what the paper gives as the upper bound.
    assert left > (1 - model.rate * rates.Delta) ** n_steps
    outside = model.outside(system.y_across, 2) / float(np.linalg.norm(system.y_across))
    assert left <= (1 - model.rate * rates.second) ** n_steps + outside
    share, stated = (1 - (1 - model.rate * rate) ** n_steps for rate in (rates.along, rates.delta))
    component = system.w_hat @ (system.w_hat - model.shrink(system.w_hat, n_steps))
    assert component <= share * (1 + 1e-9)
    assert learned <= math.sqrt(share)
    assert n_steps > 30 or learned > stated  # the paper's bound fails early in the window


def test_bounds__quoted_numbers() -> None:
    _, system, _, _, rates, model = case()
    quoted(leftovers(model, system, 10)[0], "0.103")
    quoted((1 - model.rate * rates.Delta) ** 10, "0.000977")
    quoted(leftovers(model, system, 100)[1], "0.0589")
    quoted(1 - (1 - model.rate * rates.delta) ** 100, "0.0289")
    share = 1 - (1 - model.rate * rates.along) ** 100
    quoted(share, "0.00972")
    quoted(math.sqrt(share), "0.0986")
    quoted(system.w_hat @ (system.w_hat - model.shrink(system.w_hat, 100)), "0.00671")
    quoted(model.outside(system.y_across, 2) / np.linalg.norm(system.y_across), "0.0903")
    quoted(rates.second, "0.564")
    quoted(case(0.2).rates.second, "0.896")
    quoted(case(0.8).rates.second, "0.231")


def test_rate__one_over_twice_delta__may_diverge() -> None:
    quoted(case().rates.first * case().model.rate, "0.619")
    _, system, _, _, rates, model = case(0.8, 1.0, -1.0)
    quoted(rates.first * model.rate, "2.64")
    lengths = [np.linalg.norm(model.shrink(system.y, n_steps)) for n_steps in (10, 20, 40)]
    assert lengths[0] < lengths[1] < lengths[2]
    assert lengths[2] > 1e6


@pytest.mark.parametrize(
    ("alpha", "row"),
    [
        (0.2, "| 0.2 | 6 to 210 | 2.3 to 66 | 35 | 1.494 | 1.485 | 1.5 | -0.986 | -1 |"),
        (0.5, "| 0.5 | 11 to 423 | 2.3 to 180 | 68 | 1.001 | 0.987 | 1 | -0.982 | -1 |"),
        (0.8, "| 0.8 | 44 to 299 | 2.3 to 211 | 115 | 0.674 | 0.652 | 0.667 | -0.956 | -1 |"),
    ],
)
def test_window__several_alpha__ends_near_the_limits(alpha: float, row: str) -> None:
    samples, system, _, _, rates, model = case(alpha)
    window = measured_window(model, system, EPSILON, 1_000_000)
    assert window is not None
    stop = round(math.sqrt(window[0] * window[1]))
    means = group_means(model.outputs(system, stop) / system.scale, samples)
    positive, negative = limits(alpha, MU_P, MU_U)
    first, last = paper_window(EPSILON, rates.delta, rates.Delta)
    assert row in PAGE
    assert row == (
        f"| {alpha} | {window[0]} to {window[1]} | {first:.1f} to {last:.0f} | {stop} | "
        f"{means[0]:.3f} | {means[1]:.3f} | {positive:.3g} | {means[2]:.3f} | {negative:g} |"
    )
    assert means[:2] == pytest.approx((positive, positive), abs=0.02)
    assert means[2] == pytest.approx(negative, abs=0.05)


def test_window__its_ends__are_the_first_and_last_step_within_epsilon() -> None:
    _, system, _, _, _, model = case()
    window = measured_window(model, system, EPSILON, 1_000_000)
    assert window == (11, 423)
    assert [leftovers(model, system, t)[0] <= EPSILON / 2 for t in (10, 11)] == [False, True]
    assert [leftovers(model, system, t)[1] <= EPSILON / 2 for t in (423, 424)] == [True, False]
    assert measured_window(model, system, 0.01, 1_000_000) is None
    quoted(math.log2(2 / EPSILON), "3.32")
    quoted(math.log(2 / EPSILON), "2.30")


def test_stopping__inside_the_window__near_on_average_and_not_for_every_sample() -> None:
    _, system, _, _, _, model = case()
    off = model.outputs(system, 68) - system.y_across
    quoted(np.linalg.norm(off) / np.linalg.norm(system.y), "0.0577")
    assert np.linalg.norm(off) <= EPSILON / math.sqrt(2) * np.linalg.norm(system.y)
    quoted(np.abs(off / system.scale).max(), "0.351")
    quoted(np.linalg.norm(off) / np.linalg.norm(system.scale), "0.091")


def test_published__window_and_network__as_the_page_says() -> None:
    request = Request("theorem", paper_dir=ROOT / "paper", results_dir=ROOT / "results")
    off, gaps = [], []
    for record in read_item(request).values():
        metrics = record.metrics
        assert metrics is not None
        gaps.append(metrics["network_gap"])
        inside = [
            row
            for row in record.history
            if metrics["window_first"] <= row["step"] <= metrics["window_last"]
        ]
        limit = {"labeled": "positive", "hidden": "positive", "negative": "negative"}
        for group, kind in limit.items():
            off += [abs(row[f"linear_{group}"] - metrics[f"limit_{kind}"]) for row in inside]
            assert metrics[group] == pytest.approx(metrics[f"limit_{kind}"], abs=0.05)
        assert metrics["paper_last"] < metrics["window_last"]
    assert "at its beginning group means are up to 0.12 off" in PAGE
    assert max(off) == pytest.approx(0.12, abs=0.005)
    assert "with 2,000 units, at most 0.0011" in PAGE
    assert max(gaps) == pytest.approx(0.0011, abs=5e-5)


def test_descent__a_million_steps__memorises_the_labels() -> None:
    samples, system, _, _, _, model = case()
    labeled, hidden, _ = group_means(model.outputs(system, 1_000_000) / system.scale, samples)
    quoted(labeled, "1.158")
    quoted(hidden, "0.684")
