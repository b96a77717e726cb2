"""Tables of a model and counts of its trellis are the same thing."""

import numpy as np
import pytest
from scipy import sparse

from collective_cases import random_evidence, random_tree
from sumwise import Domain, Table, Tables
from sumwise.collective import GraphModel, TreeModel
from sumwise.collective.kernels.path_sampler import draw_population
from sumwise.collective.observations import observe
from sumwise.collective.trellis import walk_of
from sumwise.noise import Laplace


def population(model, tables, n=30):
    seen = observe(model, tables, n)
    walk = walk_of(seen, model, np.zeros(seen.problem.observations.size))
    flat = draw_population(walk.trellis, n, np.random.default_rng(0))[2]
    return walk, flat, walk.counts(flat, n)


@pytest.mark.parametrize("seed", range(6))
def test_counts_lie_in_the_polytope_and_functions_sum_them(seed):
    model = random_tree(seed)
    walk, flat, counts = population(model, random_evidence(model, seed, n=30))
    model.check_counts(counts)
    rng = np.random.default_rng(seed)
    for key in [(a,) for a in model.domain] + list(model.edges) + [e[::-1] for e in model.edges]:
        weights = rng.normal(size=[model.domain[a] for a in key])
        index, w = walk.weights(key, weights)
        assert w @ flat[index] == pytest.approx(float((weights * counts.table(*key)).sum()))


def test_sparse_moves_and_exact_zeros_leave_entries_out():
    domain = Domain({"a": 3, "b": 3})
    moves = sparse.csr_array(([0.0, 1.0, 0.5, 0.2], ([0, 1, 2, 2], [0, 1, 2, 0])), shape=(3, 3))
    walk, _, counts = population(TreeModel(domain, [("a", "b")], {("a", "b"): moves}), None)
    assert len(walk.trellis.col) == 4
    assert counts.edges["a", "b"].toarray()[0, 1] == 0
    seen = Tables([Table(("a", "b"), [[5, np.nan, np.nan], [0, 0, 9], [0, 7, 0]])], domain)
    exact, _, _ = population(TreeModel(domain, [("a", "b")]), seen, 30)
    assert len(exact.trellis.col) == 5


def test_moves_between_very_many_states_keep_their_counts():
    size = 2**16 + 1  # in a dense table 0 -> 5 and 65535 -> 6 lie at 5 and 2**32 + 5: one place in 32 bits
    stay = np.arange(size)
    source, target = np.append(stay, [0, 65535]), np.append(stay, [5, 6])
    theta = np.append(np.zeros(size), [30.0, 30.0])
    moves = sparse.csr_array((theta, (source, target)), shape=(size, size))
    model = TreeModel(Domain({"a": size, "b": size}), [("a", "b")], {("a", "b"): moves})
    _, _, counts = population(model, None, n=3000)
    found = counts.edges["a", "b"]
    assert found.sum() == 3000
    assert found[0, 5] == pytest.approx(1500, abs=150)
    assert found[65535, 6] == pytest.approx(1500, abs=150)


def test_an_observed_edge_is_an_edge_again():
    domain = Domain({"a": 2, "b": 2})
    seen = Tables([Table(("b", "a"), [[1.0, 2.0], [3.0, 4.0]], noise=Laplace(2.0))], domain)
    walk, _, _ = population(TreeModel(domain, [("a", "b")]), seen, 10)
    t = walk.trellis
    assert len(t.base) == 4
    assert t.swaps.tolist() == [True]
    y = t.y[t.seen[walk.entries[0]]]
    assert y.tolist() == [1.0, 3.0, 2.0, 4.0]  # in the order of the edge


def test_a_graph_keeps_its_cliques():
    domain = Domain({"a": 2, "b": 2, "c": 2, "d": 2})
    square = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    model = GraphModel(domain, square, {pair: np.eye(2) for pair in square})
    _, _, counts = population(model, None)
    model.check_counts(counts)
