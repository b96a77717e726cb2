"""Laplace intervals: against the sampler, and their coverage of flows that are known."""

import itertools

import numpy as np
import pytest

from messages import raises
from sumwise import Domain, Table, Tables, synthetic
from sumwise.collective import TreeModel, count_intervals, map_counts, sample_counts
from sumwise.errors import SumwiseError
from sumwise.noise import Exact, Gaussian, Laplace, Poisson


def flows(season):
    """Flights from the lower to the upper half of the map, week by week, and from cell to cell."""
    north = season.positions[:, 1] >= season.positions[:, 1].mean()
    out = {f"over {e[0]}": {e: np.outer(~north, north)} for e in season.edges}
    rng = np.random.default_rng(0)
    for e in season.edges:
        cell = np.zeros((len(north), len(north)))
        cell[rng.integers(len(north)), rng.integers(len(north))] = 1
        out[f"cell {e[0]}"] = {e: cell}
    return out | {"change": {"t1": 1.0 * north, "t0": -1.0 * north}}


@pytest.mark.check
def test_intervals_are_those_of_the_sampler():
    season = synthetic.birds(3, 4, 400, weights=(0.5, 1, 1, 1), random_state=2)
    model = TreeModel(season.domain, season.edges, season.log_potentials)
    functions = {k: v for k, v in flows(season).items() if not k.startswith("cell")}
    ours = count_intervals(model, season.tables, functions, level=0.9)
    drawn = sample_counts(model, season.tables, draws=400, functions=functions, random_state=0).interval(0.9)
    width = drawn.high - drawn.low
    assert (np.abs(ours.low - drawn.low) < 0.12 * width + 1).all()
    assert (np.abs(ours.high - drawn.high) < 0.12 * width + 1).all()


@pytest.mark.check
def test_true_flows_are_covered_as_often_as_promised():
    hits, level = [], 0.9
    for seed in range(40):
        season = synthetic.birds(4, 5, 300, weights=(0.5, 1, 1, 1), random_state=seed)
        model = TreeModel(season.domain, season.edges, season.log_potentials)
        functions = flows(season)
        found = count_intervals(model, season.tables, functions, level=level)
        for k, parts in enumerate(functions.values()):
            tables = {**season.nodes, **season.edge_counts}
            truth = sum(float((w * tables[key]).sum()) for key, w in parts.items())
            hits.append(found.low[k] - 0.5 <= truth <= found.high[k] + 0.5)
    assert level - 0.03 <= np.mean(hits) <= 0.98


def test_exact_counts_have_no_width_and_values_are_the_most_likely():
    domain = Domain({"t0": 2, "t1": 2})
    model = TreeModel(domain, [("t0", "t1")], {("t0", "t1"): [[1.0, 0.0], [0.0, 1.0]]})
    seen = Tables([Table("t0", [60, 40], noise=Exact()), Table("t1", [55, 44], noise=Poisson())], domain, n=100)
    functions = {"first": {"t0": [1, 0]}, "leave": {("t1", "t0"): [[0, 0], [1, 0]]}}
    found = count_intervals(model, seen, functions)
    assert found.high[0] - found.low[0] < 1e-3
    assert found.values[0] == pytest.approx(60)
    assert found.values[1] == pytest.approx(map_counts(model, seen).edges["t0", "t1"][0, 1], rel=1e-4)
    assert found.low[1] < found.values[1] < found.high[1]


def test_kinks_are_refused_and_the_sampler_is_named():
    domain = Domain({"t0": 2, "t1": 2})
    model = TreeModel(domain, [("t0", "t1")])
    seen = Tables([Table("t0", [60.0, 41.0], noise=Laplace(1.0))], domain, n=100)
    with raises(SumwiseError, "counts-lie-kink"):
        count_intervals(model, seen, {"f": {"t1": [1, 0]}})


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_bad_levels_are_refused(level):
    domain = Domain({"a": 2})
    seen = Tables([Table("a", [60, 41], noise=Poisson())], domain, n=100)
    with raises(SumwiseError, "must-lie-between", "level"):
        count_intervals(TreeModel(domain, []), seen, {"f": {"a": [1, 0]}}, level=level)


def test_no_functions_are_refused():
    domain = Domain({"a": 2})
    with raises(SumwiseError, "no-functions-flow"):
        count_intervals(TreeModel(domain, []), None, {}, n=10)


@pytest.mark.check
def test_flows_of_any_size_are_covered_zero_included():
    rng, level = np.random.default_rng(5), 0.9
    bins = np.array([0.05, 0.3, 1.0, 3.0, 10.0, 100.0])
    hits = [[] for _ in bins]
    for n in (60, 300, 5000) * 8:
        domain = Domain(dict.fromkeys("abc", 6))
        edges = [("a", "b"), ("b", "c")]
        model = TreeModel(domain, edges, {e: rng.normal(scale=1.7, size=(6, 6)) for e in edges})
        truth = model.sample_tables(n, random_state=rng)
        seen = Tables([Table(a, Poisson().sample(truth.nodes[a], rng), noise=Poisson()) for a in "abc"], domain, n=n)
        cells = {f"{i} to {j}": {("a", "b"): np.outer(np.eye(6)[i], np.eye(6)[j])} for i in range(6) for j in range(6)}
        found = count_intervals(model, seen, cells, level=level)
        covered = (found.low <= truth.edges["a", "b"].ravel()) & (truth.edges["a", "b"].ravel() <= found.high)
        for expected, hit in zip(model.marginals(n).edges["a", "b"].ravel(), covered):
            if expected >= 0.05:
                hits[int(np.searchsorted(bins, expected, side="right")) - 1].append(hit)
    assert all(len(h) > 40 for h in hits)
    assert min(np.mean(h) for h in hits) >= 0.88


@pytest.mark.parametrize("seed", range(4))
def test_many_functions_of_one_time_have_the_intervals_that_single_ones_have(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    names, size = ["t0", "t1", "t2", "t3"], 5
    domain = Domain(dict.fromkeys(names, size))
    edges = list(itertools.pairwise(names))
    model = TreeModel(domain, edges, {e: rng.normal(size=(size, size)) for e in edges})
    counts = rng.integers(1, 40, (4, size)).astype(float)
    counts[1, :2] = np.nan
    noises = [Gaussian(2.0), Poisson(), Gaussian(1.0), Poisson(0.5)]
    tables = Tables([Table(a, c, noise=e) for a, c, e in zip(names, counts, noises) if a != "t2"], domain, n=100)
    weights = [*np.eye(size), rng.normal(size=size)]
    for time in names:
        asked = {str(k): {time: w} for k, w in enumerate(weights)}
        single = count_intervals(model, tables, asked)
        monkeypatch.setattr("sumwise.collective.intervals.FEW_FUNCTIONS", 1)
        found = count_intervals(model, tables, asked)
        monkeypatch.undo()
        np.testing.assert_allclose(found.low, single.low, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.high, single.high, rtol=1e-5, atol=1e-6)
