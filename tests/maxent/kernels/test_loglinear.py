"""All engines of log-linear models against enumeration, cell by cell."""

import numpy as np
import pytest

from brute_loglinear import joint, marginal
from messages import raises
from sumwise.errors import DataError
from sumwise.maxent.kernels import gibbs
from sumwise.maxent.kernels.loglinear import enumerate_cells, layout, log_weights, project, spread
from sumwise.maxent.kernels.loglinear_bp import bp_cells, trw_cells
from sumwise.maxent.kernels.loglinear_tree import tree_cells

SIZES = (2, 3, 2, 4)
CHAIN = [(0, 1), (1, 2), (2, 3), (0,)]
LOOP = [(0, 1), (1, 2), (2, 3), (0, 3), (1, 3), (3,)]
MIXED = [(0, 1, 2), (1, 3), (0, 2), (2,)]
APART = [(0, 1), (2,), (3,)]


def gibbs_cells(lay, weights, offsets):
    """The sampler under the engines' signature, run long enough for three digits."""
    rng = np.random.default_rng(5)
    theta = weights[1:] - weights[:1] if len(weights) == 2 else weights
    chains = gibbs.draw_chains(4000, [np.full(s, 1 / s) for s in lay.sizes], len(weights), rng)
    plan = gibbs.plan(lay)
    counts, sums, n = 0.0, 0.0, 0
    for t in range(120):
        c, s = gibbs.sweep(chains, plan, weights, theta, offsets)
        if t >= 20:
            counts, sums, n = counts + c, sums + s, n + 4000
    return gibbs.expectation(counts, sums, n)


EXACT = {"enumerate": enumerate_cells, "tree": tree_cells}
ON_TREES = {"loopy": bp_cells, "trw": trw_cells}


def problem(tables, n_classes, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    lay = layout(SIZES, tables)
    params = rng.normal(0, scale, (n_classes, lay.n_params))
    offsets = rng.normal(0, 0.5, n_classes)
    shaped = [
        [row[lay.term_starts[t] : lay.term_starts[t + 1]].reshape(lay.shape(term)) for t, term in enumerate(lay.terms)]
        for row in params
    ]
    p = joint(SIZES, lay.terms, shaped, offsets)
    expected = np.concatenate(
        [marginal(p, c, lay.shape(c), n_classes).reshape(n_classes, -1) for c in lay.cliques], axis=1
    )
    return lay, spread(lay, params), offsets, expected


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("tables", [CHAIN, LOOP, MIXED, APART], ids=["chain", "loop", "mixed", "apart"])
@pytest.mark.parametrize("engine", EXACT)
def test_exact_engines_equal_enumeration(engine, tables, n_classes):
    lay, weights, offsets, expected = problem(tables, n_classes)
    found = EXACT[engine](lay, weights, offsets)
    np.testing.assert_allclose(found.cells, expected, atol=1e-12)
    np.testing.assert_allclose(found.log_z, enumerate_cells(lay, weights, offsets).log_z, rtol=1e-12)


@pytest.mark.parametrize("engine", ON_TREES)
@pytest.mark.parametrize("tables", [CHAIN, APART], ids=["chain", "apart"])
def test_belief_propagation_is_exact_on_trees(engine, tables):
    lay, weights, offsets, expected = problem(tables, 2)
    found = ON_TREES[engine](lay, weights, offsets)
    np.testing.assert_allclose(found.cells, expected, atol=1e-6)
    np.testing.assert_allclose(found.log_z, enumerate_cells(lay, weights, offsets).log_z, atol=1e-6)


def test_belief_propagation_is_near_on_loops_and_trw_bounds_the_normaliser():
    lay, weights, offsets, expected = problem(LOOP, 2, scale=0.3)
    exact = enumerate_cells(lay, weights, offsets)
    for engine, most in ((bp_cells, 0.01), (trw_cells, 0.05)):
        assert np.abs(engine(lay, weights, offsets).cells - expected).max() < most
    assert (trw_cells(lay, weights, offsets).log_z > exact.log_z).all()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("tables", [LOOP, MIXED], ids=["loop", "mixed"])
def test_gibbs_equals_enumeration_within_its_error(tables, n_classes):
    lay, weights, offsets, expected = problem(tables, n_classes)
    error = np.abs(gibbs_cells(lay, weights, offsets).cells - expected)
    assert error.max() < 5 * np.sqrt(0.25 / 100_000)


def test_smaller_tables_share_the_cells_of_larger_ones():
    lay = layout(SIZES, MIXED)
    assert lay.cliques == ((0, 1, 2), (1, 3))
    assert set(lay.terms[2:]) == {(0, 2), (2,)}


def test_project_is_the_adjoint_of_spread():
    lay = layout(SIZES, MIXED)
    rng = np.random.default_rng(1)
    params, cells = rng.normal(size=lay.n_params), rng.normal(size=lay.n_cells)
    assert np.dot(spread(lay, params), cells) == pytest.approx(np.dot(params, project(lay, cells)))


def test_log_weights_of_two_and_of_three_classes():
    mu, theta = np.array([1.0, 2.0]), np.array([[0.5, -1.0]])
    np.testing.assert_array_equal(log_weights(mu, theta), [[1.0, 2.0], [1.5, 1.0]])
    assert log_weights(mu, np.zeros((3, 2))).shape == (3, 2)


def test_enumeration_refuses_a_domain_that_is_too_large():
    lay = layout([100] * 4, [(0, 1), (2, 3)])
    with raises(DataError, "joint-table-cells", "1e+08", 2, "4,000,000"):
        enumerate_cells(lay, np.zeros((2, lay.n_cells)), np.zeros(2))
