"""Summaries of a migration agree with the flows, and their intervals cover the truth."""

from __future__ import annotations

import numpy as np
import pytest

from flow_cases import LINE, population
from messages import raises
from sumwise.errors import DataError
from sumwise.flows import FlowModel, Movement, Places
from sumwise.flows.flow_summaries import _strength
from sumwise.noise import Gaussian


@pytest.fixture(scope="module")
def fitted():
    counts, flows = population(n=20000)
    return FlowModel(LINE, noise=Gaussian(20.0)).fit(counts), counts, flows


def test_connectivity_is_the_mean_of_its_draws_and_covers_the_truth(fitted):
    model, counts, flows = fitted
    regions = {"left": ["a", "b"], "right": ["c", "d", "e"]}
    draws = model.connectivity_draws(regions, 1, 2)
    found = draws.estimate(0.95)
    np.testing.assert_allclose(model.connectivity(regions, 1, 2), found.values)
    assert ((found.low < found.values) & (found.values < found.high)).all()
    np.testing.assert_allclose(found.values.sum(axis=1), 1.0)
    true = flows[1][:2, 2:].sum() / flows[1][:2].sum()
    assert found.low[0, 1] < true < found.high[0, 1]
    far = model.connectivity_draws(regions, 0, 5).estimate(0.95)
    moved = np.linalg.multi_dot([f / f.sum(axis=1, keepdims=True) for f in flows])
    true = (counts[0, :2] @ moved[:2, 2:]).sum() / counts[0, :2].sum()
    assert far.low[0, 1] < true < far.high[0, 1]


def test_strength_is_the_correlation_of_the_distances_of_pairs():
    apart = LINE.separations()
    start, moved = np.full(5, 0.2), np.eye(5)
    assert _strength(apart, start, moved) == pytest.approx(1.0)
    assert _strength(apart, start, np.full((5, 5), 0.2)) == pytest.approx(0.0)
    moved = np.random.default_rng(0).dirichlet(np.ones(5), 5)
    joint = start[:, None] * moved
    pairs = np.einsum("ij,kl->ikjl", joint, joint).ravel()
    first = np.broadcast_to(apart[:, :, None, None], (5,) * 4).ravel()
    later = np.broadcast_to(apart[None, None], (5,) * 4).ravel()
    means = [np.average(d, weights=pairs) for d in (first, later)]
    cov = np.cov(np.array([first, later]), aweights=pairs, bias=True)
    assert np.isfinite(means).all()
    assert _strength(apart, start, moved) == pytest.approx(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))


def test_migratory_connectivity_has_an_interval_around_it(fitted):
    found = fitted[0].migratory_connectivity(0, 3)
    assert found.low[0] < found.values[0] < found.high[0]
    assert 0 < found.values[0] < 1


def test_stopovers_last_as_long_as_simulated_stays():
    places = Places(x=[0.0, 1.0, 2.0], y=[0.0] * 3, names=["a", "b", "c"])
    moves, rng = np.array([[0.2, 0.8, 0.0], [0.0, 0.7, 0.3], [0.0, 0.0, 1.0]]), np.random.default_rng(0)
    state, seen = np.zeros(4000, dtype=int), [np.zeros(4000, dtype=int)]
    for _ in range(7):
        state = (rng.random((4000, 1)) > np.cumsum(moves[state], axis=1)).sum(axis=1)
        seen.append(state)
    track = np.array(seen).T
    stays = [(t == 1).sum() for t in track if 1 in t]
    counts = np.stack([np.bincount(s, minlength=3) for s in seen])
    flows = {(k, k + 1): (np.histogram2d(seen[k], seen[k + 1], np.arange(4))[0], None) for k in range(7)}
    model = FlowModel(places, Movement(0.3, 1.0)).fit(counts)
    model.steps_ = [[table for table, _ in flows.values()]]
    model.relative_ = True  # as of abundance: of the one set of flows
    found = model.stopover().set_index("place")
    assert found.loc["b", "steps"] == pytest.approx(np.mean(stays), abs=0.1)
    assert np.isnan(found.loc["a", "steps"])
    assert np.isnan(found.loc["b", "low"])


def test_arrivals_and_departures_are_dated_by_their_flows(fitted):
    model, _, flows = fitted
    found = model.timing(["d", "e"], 0.95)
    inward = flows[:, :3, 3:].sum(axis=(1, 2))
    true = inward @ np.arange(1, 6) / inward.sum()
    assert found.low["arrival"] < true < found.high["arrival"]
    assert found.loc["arrival", "time"] == model.times_[round(found.step["arrival"])]
    with raises(DataError, "region-no-places"):
        model.timing(list("abcde"))


def test_centroids_follow_the_counts(fitted):
    model, counts, _ = fitted
    found = model.centroid()
    assert (found["x low"] <= found["x"]).all()
    assert (found["x"] <= found["x high"]).all()
    np.testing.assert_allclose(found["x"], counts @ np.arange(5.0) / counts.sum(axis=1), atol=0.02)


def test_maps_of_uncertainty_have_the_intervals_of_the_counts(fitted):
    model, counts, _ = fitted
    found = model.uncertainty(2, 0.99)
    assert (found["low"] <= counts[2]).all()
    assert (counts[2] <= found["high"]).all()
    same = model.interval({"c": {2: [0, 0, 1, 0, 0]}}, 0.99)
    assert found.loc[2, "low"] == pytest.approx(same.low[0], rel=0.01)


def test_relative_abundance_has_summaries_without_intervals():
    shares = np.array([[0.5, 0.3, 0.2, 0.0, 0.0], [0.3, 0.3, 0.2, 0.1, 0.1], [0.1, 0.2, 0.3, 0.2, 0.2]])
    model = FlowModel(LINE, Movement(1.0, 0.8)).fit(shares)
    found = model.centroid()
    np.testing.assert_allclose(found["x"], model.nodes_ @ np.arange(5.0) / model.nodes_.sum(axis=1))
    assert found["x low"].isna().all()
    assert np.isnan(model.migratory_connectivity(0, 2).low[0])
