"""LoopyModel: exact on trees, near the junction tree on small grids, and there where that is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from brute_collective import joint_probabilities, margin
from messages import raises, warns
from sumwise import DataError, Domain, Table, Tables
from sumwise.collective import GraphModel, LoopyModel, TreeModel, map_counts
from sumwise.errors import NotConverged
from sumwise.noise import Exact, Gaussian, Laplace, Poisson


def grid(height, width, n_levels, strength=0.5, seed=0):
    rng = np.random.default_rng(seed)
    names = [[f"v{i}_{j}" for j in range(width)] for i in range(height)]
    domain = Domain({a: n_levels for row in names for a in row})
    across = [(row[j], row[j + 1]) for row in names for j in range(width - 1)]
    down = [(names[i][j], names[i + 1][j]) for i in range(height - 1) for j in range(width)]
    potentials = {e: strength * rng.normal(size=(n_levels, n_levels)) for e in across + down}
    return domain, across + down, potentials


def every_second(domain, n, noise, seed=1):
    rng = np.random.default_rng(seed)
    tables = []
    for a in list(domain)[::2]:
        counts = rng.multinomial(n, rng.dirichlet(np.full(domain[a], 5.0))).astype(float)
        tables.append(Table(a, counts, noise=noise))
    return Tables(tables, domain)


@pytest.mark.parametrize("noise", [Poisson(), Gaussian(3.0)])
def test_on_a_tree_it_equals_the_dual(noise):
    rng = np.random.default_rng(0)
    domain, edges = Domain({"a": 3, "b": 2, "c": 4, "d": 3}), [("a", "b"), ("b", "c"), ("b", "d")]
    potentials = {e: rng.normal(size=[domain[x] for x in e]) for e in edges} | {"a": rng.normal(size=3)}
    tables = every_second(domain, 100, noise)
    loopy = map_counts(LoopyModel(domain, edges, potentials), tables, n=100, method="nlbp-loopy", tol=1e-10)
    tree = map_counts(TreeModel(domain, edges, potentials), tables, n=100, tol=1e-11)
    assert loopy.objective == pytest.approx(tree.objective, abs=1e-5)
    for e in edges:
        np.testing.assert_allclose(loopy.edges[e], tree.edges[e], atol=1e-3)


def test_on_a_small_grid_it_is_near_the_junction_tree():
    domain, edges, potentials = grid(3, 3, 2)
    tables = every_second(domain, 1000, Poisson())
    loopy = map_counts(LoopyModel(domain, edges, potentials), tables, n=1000, method="nlbp-loopy")
    exact = map_counts(GraphModel(domain, edges, potentials), tables, n=1000)
    apart = [np.abs(loopy.edges[e] - exact.table(*e)).sum() / 1000 for e in edges]
    assert 0 < max(apart) < 0.02
    assert exact.gap < 1.0


def test_a_grid_whose_junction_tree_is_refused():
    domain, edges, potentials = grid(9, 9, 12)
    with raises(DataError, "needs-memory-free-drop", "tree", "GiB"):
        GraphModel(domain, edges, potentials)
    model = LoopyModel(domain, edges, potentials)
    fit = map_counts(model, every_second(domain, 1000, Poisson()), n=1000, method="nlbp-loopy")
    assert fit.converged
    assert np.isnan(fit.gap)
    assert fit.violation < 1e-2
    assert fit.edges["v0_0", "v0_1"].sum() == pytest.approx(1000)


def test_marginals_of_weak_interactions_are_near_the_joint_table():
    domain, edges, potentials = grid(2, 3, 2, strength=0.3)
    joint = joint_probabilities(domain, {**potentials})
    counts = LoopyModel(domain, edges, potentials).marginals(1.0)
    for group in [("v0_1",), ("v0_0", "v0_1")]:
        np.testing.assert_allclose(counts.table(*group), margin(joint, domain, group), atol=0.01)
    with warns(NotConverged, "stopped-after-steps"):
        LoopyModel(domain, edges, potentials).marginals(1.0, max_iter=2)


def test_forbidden_states_stay_empty():
    domain, edges = Domain({"a": 2, "b": 2, "c": 2}), [("a", "b"), ("b", "c"), ("c", "a")]
    moves = np.array([[0.0, -np.inf], [0.0, 0.0]])
    model = LoopyModel(domain, edges, {("b", "a"): moves, "c": [0.0, -np.inf]})
    listed = sparse.coo_array(([0.0, 0.0, 0.0], ([0, 1, 1], [0, 0, 1])), shape=(2, 2))
    np.testing.assert_array_equal(LoopyModel(domain, edges, {("b", "a"): listed}).log_potentials["a", "b"], moves.T)
    fit = map_counts(model, Tables([Table("a", [5.0, 7.0], noise=Poisson())], domain), n=12, method="nlbp-loopy")
    assert fit.nodes["c"][1] == 0
    assert fit.edges["a", "b"][1, 0] == 0


def test_what_it_does_not_take_is_refused():
    domain, edges, potentials = grid(2, 2, 2)
    model = LoopyModel(domain, edges, potentials)
    assert repr(model) == "LoopyModel(4 nodes, 4 edges)"
    assert all(table.ndim == len(names) for names, table in model.log_potentials.items())
    for noise in (Laplace(2.0), Exact()):
        with raises(DataError, "method-nlbp-loopy"):
            map_counts(model, every_second(domain, 10, noise), n=10, method="nlbp-loopy")
    tables = every_second(domain, 10, Poisson())
    with raises(DataError, "method-doesnt-take", "dual", "LoopyModel"):
        map_counts(model, tables, n=10)
    with raises(DataError, "method-doesnt-take", "GraphModel"):
        map_counts(GraphModel(domain, edges, potentials), tables, n=10, method="nlbp-loopy")
    for wrong, message in [
        ([("v0_0",)], ["edge-doesnt-join"]),
        ([("v0_0", "v0_0")], ["edge-edges-pairs", "doesn't join two attributes"]),
        ([edges[0], edges[0][::-1]], ["edge-edges-pairs", "is given twice"]),
    ]:
        with raises(DataError, *message):
            LoopyModel(domain, wrong)
    with raises(DataError, "potential-over-not"):
        LoopyModel(domain, edges, {("v0_0", "v1_1"): np.zeros((2, 2))})
    with raises(DataError, "edge-allows-no"):
        impossible = {"v0_0": [0.0, -np.inf], "v0_1": [0.0, -np.inf], edges[0]: [[-np.inf, 0.0], [0.0, 0.0]]}
        LoopyModel(domain, edges, impossible).marginals()
    with raises(DataError, "loopymodel-model-not"):
        LoopyModel(domain, edges, {edges[0]: np.zeros((3, 2, 2))})
