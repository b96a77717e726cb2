"""What a fitted FlowModel knows agrees with its flows."""

from __future__ import annotations

import numpy as np
import pytest

from flow_cases import LINE, NEAR, population
from messages import raises
from sumwise.errors import DataError
from sumwise.flows import FlowModel, Movement, Places, Tracks
from sumwise.noise import Gaussian, Geometric, Laplace, Poisson


def test_what_comes_after_a_fit_agrees_with_the_flows():
    counts, _ = population()
    model = FlowModel(LINE, NEAR, noise=Gaussian(10.0)).fit(counts)
    first = model.flows(0)
    assert first["count"].sum() == pytest.approx(3000, rel=0.01)
    made = model.routes(4, random_state=0)
    assert made["route_id"].nunique() == 4
    crossed = model.flux([1.5, 1.0], [1.5, -1.0])
    step = np.asarray(model.steps_[0][0])
    assert crossed["net"][0] == pytest.approx(step[2:, :2].sum() - step[:2, 2:].sum(), rel=0.05)
    assert ((crossed["low"] < crossed["net"]) & (crossed["net"] < crossed["high"])).all()
    shares = model.connectivity({"left": ["a", "b"], "right": ["c", "d", "e"]}, 0, 5)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    ahead = model.forecast(counts[0], 0, 2, draws=50)
    np.testing.assert_allclose(ahead.values[1], counts[0] @ model.transitions(0, 2))
    found = model.interval(
        {"a to b": {(0, 1): np.outer([1, 0, 0, 0, 0], [0, 1, 0, 0, 0])}, "at c": {2: [0, 0, 1, 0, 0]}}
    )
    assert found.low[0] <= step[0, 1] <= found.high[0]


@pytest.mark.check
def test_left_out_times_are_checked_against_simple_rules():
    counts, _ = population(n=20000, times=8)
    found = FlowModel(LINE, noise=Gaussian(20.0)).fit(counts).check()
    assert found["kind"].tolist() == ["between", "ahead"]
    assert (found[["model", "neighbouring times", "time before"]] >= -1e-9).all(axis=None)
    assert found["model"][0] < found["time before"][0]


def test_routes_can_be_given_their_ends():
    counts, _ = population()
    model = FlowModel(LINE, NEAR, noise=Gaussian(10.0)).fit(counts)
    made = model.routes(5, start="a", end="c", random_state=1)
    first, last = (made.groupby("route_id")["i"].nth(k).to_numpy() for k in (0, -1))
    assert (first == 1).all()
    assert (last == 3).all()
    back = model.routes(20, returning=True, random_state=1).groupby("route_id")["i"]
    np.testing.assert_array_equal(back.nth(0).to_numpy(), back.nth(-1).to_numpy())


def test_returning_transitions_are_those_of_all_loops():
    """Brute force: paths of a year that end where they began, one by one."""
    from itertools import product

    from sumwise.flows import Movement, Places, Tracks

    three = Places(x=[0.0, 1.0, 2.5], y=[0.0, 0.0, 0.0], names=["a", "b", "c"])
    counts = np.array([[60.0, 30.0, 10.0], [30.0, 50.0, 20.0], [20.0, 30.0, 50.0], [40.0, 40.0, 20.0]])
    types = [Movement(0.5, 1.0), Movement(2.0, 0.5)]
    tracks = Tracks(["a", "b", "c"], [1, 2, 3], ["b", "b", "a"], [3, 1, 0])
    model = FlowModel(three, types, noise=Gaussian(5.0), cyclic=True).fit(counts, tracks=tracks)
    brute = np.zeros((3, 3))
    for kind, weight in enumerate(model.weights_):
        steps = [model.chain(kind).steps[k % 4] for k in range(1, 5)]
        for path in product(range(3), repeat=5):
            if path[0] == path[-1]:
                brute[path[0], path[2]] += weight * np.prod([p[i, j] for p, i, j in zip(steps, path, path[1:])])
    brute /= brute.sum(axis=1, keepdims=True)
    found = model.transitions(1, 3, returning=True)
    np.testing.assert_allclose(found, brute)
    assert model.predict_tracks(tracks, returning=True)[0] == pytest.approx(found[0, 1])
    assert found[0, 0] > model.transitions(1, 3)[0, 0]
    taught = FlowModel(three, types, noise=Gaussian(5.0), cyclic=True).fit(counts, tracks=tracks, returning=True)
    both = [taught.chain(k).returning_probabilities(taught._read_tracks(tracks)) for k in (0, 1)]
    each = np.column_stack([joint / whole for joint, whole in both])
    grid = np.linspace(0.01, 0.99, 99)
    prior = 0.5 * np.log(grid * (1 - grid))  # half a track for each type
    best = grid[np.argmax(np.log(each @ np.stack([grid, 1 - grid])).sum(axis=0) + prior)]
    assert taught.weights_[0] == pytest.approx(best, abs=0.02)
    assert taught.weights_[0] != pytest.approx(model.weights_[0], abs=1e-3)
    with raises(DataError, "returning-about-tracks"):
        FlowModel(three, types, cyclic=True).fit(counts, returning=True)
    with raises(DataError, "only-individuals-year"):
        FlowModel(three, types[0], noise=Gaussian(5.0)).fit(counts).transitions(0, 1, returning=True)


@pytest.mark.parametrize("noise", [Gaussian(60.0), Laplace(60.0 / np.sqrt(2)), Geometric(60.0 / np.sqrt(2))])
def test_abundance_that_movement_hardly_informs_is_as_uncertain_as_its_noise(noise):
    counts = np.array([[400.0, 300.0, 500.0, 800.0], [450.0, 330.0, 480.0, 740.0]])
    places = Places(x=[0.0, 1.0, 2.0, 3.0], y=[0.0] * 4)
    model = FlowModel(places, Movement(1.0, 1.0), noise=noise, size=2000.0).fit(counts)
    found = model.interval({"b": {0: [0, 1, 0, 0]}}, level=0.9)
    sd = 60.0 * np.sqrt(1 - 1 / 4)  # the total is known
    assert 0.7 * 2 * 1.645 * sd < found.high[0] - found.low[0] < 1.1 * 2 * 1.645 * sd


def test_a_flow_much_smaller_than_its_noise_has_an_interval_from_zero_to_that_noise():
    counts = np.array([[300.0, 10.0], [290.0, 5.0], [295.0, 8.0]])
    model = FlowModel(Places(x=[0.0, 1.0], y=[0.0, 0.0]), Movement(4.0, 1.0), noise=Gaussian(50.0), size=300.0)
    found = model.fit(counts).interval({"b": {1: [0, 1]}}, level=0.9)
    assert found.low[0] == 0
    assert 40 < found.high[0] < 120


def test_what_intervals_would_not_cover_is_refused():
    counts, flows = population()
    share = FlowModel(LINE, NEAR).fit(counts / 3000)
    with raises(DataError, "no-intervals-relative"):
        share.interval({"b": {0: [0, 1, 0, 0, 0]}})
    tracks = Tracks(["a"] * 9 + ["b"], [0] * 10, ["a"] * 9 + ["c"], [1] * 10)
    mixed = FlowModel(LINE, [Movement(6.0, 0.3), Movement(0.0, 1.0)], noise=Gaussian(10.0)).fit(counts, tracks=tracks)
    with raises(DataError, "no-intervals-mixture"):
        mixed.interval({"b": {0: [0, 1, 0, 0, 0]}})
    sampled = FlowModel(LINE, NEAR, noise=Gaussian(10.0)).fit(counts, moves={(0, 1): (flows[0], Poisson())})
    one = np.zeros((5, 5))
    one[0, 1] = 1.0
    assert sampled.interval({"a to b": {(0, 1): one}}).high[0] > 0
    assert sampled.interval({"stay": {(0, 1): np.eye(5)}}).low[0] > 0
    with raises(DataError, "function-sums-flows"):
        sampled.interval({"stay": {(0, 1): np.eye(5), (1, 2): np.eye(5)}})
