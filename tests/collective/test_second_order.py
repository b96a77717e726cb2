"""FlowModel(order=2): memory of direction, against a junction tree on pairs of times and against sums over paths."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from scipy import sparse

from sumwise import Domain, Table, Tables, load, save
from sumwise.collective import FlowModel, GraphModel, Movement, Places, map_counts
from sumwise.errors import DataError
from sumwise.noise import Gaussian, Poisson

FOUR = Places(x=[0.0, 1.0, 2.0, 1.0], y=[0.0, 0.0, 0.0, 1.0], names=list("abcd"))
COUNTS = np.array([[60.0, 30, 10, 0], [30, 40, 20, 10], [20, 30, 40, 10], [10, 20, 60, 10]])
MEMORY = Movement(stay=0.5, scale=1.5, memory=1.3)


def dense(table):
    return table.toarray() if sparse.issparse(table) else np.asarray(table)


def memory_table(movement, places):
    """log p(k | i, j) by the formula, entry by entry."""
    logs, where = Movement(movement.stay, movement.scale).log_moves(places), places.positions
    n = len(places)
    out = np.empty((n, n, n))
    for i, j, k in product(range(n), repeat=3):
        a, b = where[j] - where[i], where[k] - where[j]
        size = np.linalg.norm(a) * np.linalg.norm(b)
        out[i, j, k] = logs[j, k] + (movement.memory * (a @ b) / size if size > 0 else 0.0)
    return out - np.logaddexp.reduce(out, axis=2, keepdims=True), logs


@pytest.mark.parametrize("noise", [Poisson(), Gaussian(4.0)], ids=str)
def test_flows_equal_those_of_a_junction_tree_on_triples(noise):
    table, first = memory_table(MEMORY, FOUR)
    names = ["t0", "t1", "t2", "t3"]
    domain = Domain(dict.fromkeys(names, 4))
    potentials = {("t0", "t1", "t2"): table + first[:, :, None], ("t1", "t2", "t3"): table}
    graph = GraphModel(domain, list(potentials), potentials)
    seen = Tables([Table(a, y, noise=noise) for a, y in zip(names, COUNTS)], domain, n=100)
    wanted = map_counts(graph, seen, tol=1e-9)
    model = FlowModel(FOUR, MEMORY, noise=noise, size=100, weight=1, order=2, tol=1e-9).fit(COUNTS)
    assert model.fit_.gap <= 1e-9 * abs(model.fit_.objective) + 1e-9
    assert model.fit_.objective == pytest.approx(wanted.objective, rel=1e-7)
    for k, pair in enumerate(pairwise(names)):
        np.testing.assert_allclose(dense(model.steps_[0][k]), wanted.table(*pair), atol=1e-3)


def test_without_memory_it_is_the_first_order_model():
    plain = Movement(0.5, 1.5)
    for options in ({}, {"population": "varying"}, {"cyclic": True}):
        first, second = (
            FlowModel(FOUR, plain, noise=Gaussian(4.0), order=k, tol=1e-8, **options).fit(COUNTS) for k in (1, 2)
        )
        np.testing.assert_allclose(second.nodes_, first.nodes_, atol=1e-2)
        np.testing.assert_allclose(dense(second.transitions(0, 3)), first.transitions(0, 3), atol=1e-3)


def test_masks_reach_and_counted_moves_are_kept_to():
    mask = np.ones((4, 4), dtype=bool)
    mask[1, 3] = False
    near = Places(x=FOUR.x, y=FOUR.y, reach=1.2)
    counts = COUNTS.copy()
    counts[1, 3] = np.nan
    model = FlowModel(near, MEMORY, noise=Gaussian(4.0), order=2).fit(counts, mask=mask)
    assert model.nodes_[1, 3] < 1e-9
    assert dense(model.steps_[0][0])[0, 2] == 0
    seen = np.full((4, 4), np.nan)
    seen[0, 1] = 25.0
    given = FlowModel(FOUR, MEMORY, noise=Gaussian(4.0), order=2, weight=1).fit(
        COUNTS, moves={(0, 1): (seen, Gaussian(0.1))}
    )
    assert dense(given.steps_[0][0])[0, 1] == pytest.approx(25.0, abs=0.2)


def test_routes_and_forecasts_remember(tmp_path):
    model = FlowModel(FOUR, MEMORY, noise=Gaussian(4.0), order=2).fit(COUNTS)
    drawn = model.routes(4000, random_state=0).pivot_table(index="route_id", columns="timestep", values="i") - 1
    pairs = model.chain(0).pairs
    first, second = model.pair_moves_
    m = int(np.flatnonzero((first == 0) & (second == 1))[0])
    among = drawn[(drawn[1] == 0) & (drawn[2] == 1)][3]
    share = pairs[0].toarray()[m][first == 1]
    np.testing.assert_allclose([(among == second[k]).mean() for k in np.flatnonzero(first == 1)], share, atol=0.06)
    assert share[2] > dense(model.transitions(1, 2))[1, 2]  # straight on is likelier than without memory
    ends = model.routes(5, start="a", end="c", random_state=1).groupby("route_id")["i"]
    assert (ends.nth(0) == 1).all()
    assert (ends.nth(-1) == 3).all()
    ahead = model.forecast(COUNTS[0], 0, steps=3)
    np.testing.assert_allclose(ahead.values[2], COUNTS[0] @ dense(model.transitions(0, 3)), rtol=1e-6)
    weights = np.zeros((4, 4))
    weights[0, 1] = 1.0
    save(model, tmp_path / "flow.sumwise")
    kept = load(tmp_path / "flow.sumwise")
    np.testing.assert_allclose(dense(kept.transitions(0, 3)), dense(model.transitions(0, 3)))
    with pytest.raises(DataError, match="no intervals with memory"):
        model.interval({"a to b": {(0, 1): weights}})


@pytest.mark.check
def test_memory_is_learned_from_counts():
    line = Places(x=np.arange(7.0), y=np.zeros(7), reach=1.0)
    rng, n = np.random.default_rng(0), 4000
    at, way = rng.integers(0, 3, n), np.zeros(n, dtype=int)
    counts = []
    for _ in range(12):  # everybody keeps going, mostly
        counts.append(np.bincount(at, minlength=7))
        turned = rng.random(n)
        way = np.where(turned < 0.1, 0, np.where(turned < 0.2, -way, np.where(way == 0, 1, way)))
        at = np.clip(at + way, 0, 6)
    model = FlowModel(line, noise=Poisson(), order=2, tol=1e-3).fit(np.array(counts, dtype=float))
    assert model.movements_[0].memory > 0
    assert model.scores_["chosen"].sum() == 1


def test_refusals_say_what_to_change(monkeypatch):
    with pytest.raises(DataError, match="set order=2"):
        FlowModel(FOUR, MEMORY).fit(COUNTS)
    with pytest.raises(DataError, match="Adaptive moves have no memory"):
        FlowModel(FOUR, "adaptive", order=2).fit(COUNTS)
    with pytest.raises(DataError, match="needs places"):
        FlowModel(None, MEMORY, order=2).fit(COUNTS)
    far = Places(distances=1.0 - np.eye(4))
    with pytest.raises(DataError, match="no coordinates"):
        FlowModel(far, MEMORY, order=2).fit(COUNTS)
    monkeypatch.setattr("sumwise.collective.flow_model.PER_PAIR", 1e12)
    grid = Places.grid(4, 4)
    with pytest.raises(DataError, match="pairs of moves"):
        FlowModel(grid, MEMORY, order=2).fit(np.ones((2, 16)))
