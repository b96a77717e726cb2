"""Messages along edges, against sums written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from sumwise.collective.kernels.edges import DenseEdge, MarginEdge, SparseEdge


def random_table(rng, shape, closed=0.0):
    theta = 3.0 * rng.normal(size=shape)
    theta[rng.random(shape) < closed] = -np.inf
    theta[np.arange(min(shape)), np.arange(min(shape))] = 0.5
    return theta


def stored(theta):
    i, j = np.nonzero(theta > -np.inf)
    return sparse.coo_array((theta[i, j], (i, j)), shape=theta.shape)


def margin_theta(shape, axes):
    """The 0/1 table of a margin, in logs."""
    cells = np.indices(shape).reshape(len(shape), -1)
    kept = np.ravel_multi_index([cells[k] for k in axes], [shape[k] for k in axes])
    theta = np.full((cells.shape[1], kept.max() + 1), -np.inf)
    theta[np.arange(cells.shape[1]), kept] = 0.0
    return theta


def cases():
    rng = np.random.default_rng(0)
    dense, holes = random_table(rng, (4, 6)), random_table(rng, (5, 5), 0.5)
    yield pytest.param(DenseEdge(dense), dense, id="dense")
    yield pytest.param(DenseEdge(holes), holes, id="dense with forbidden moves")
    yield pytest.param(SparseEdge(stored(holes)), holes, id="sparse")
    yield pytest.param(MarginEdge((3, 4), (1,)), margin_theta((3, 4), (1,)), id="margin")
    yield pytest.param(MarginEdge((2, 3, 2), (0, 2)), margin_theta((2, 3, 2), (0, 2)), id="margin over two axes")


@pytest.mark.parametrize(("edge", "theta"), list(cases()))
@pytest.mark.parametrize("back", [False, True])
def test_messages_are_log_sums(edge, theta, back):
    rng = np.random.default_rng(1)
    oriented = theta.T if back else theta
    x = rng.normal(size=(3, oriented.shape[0]))
    with np.errstate(divide="ignore"):
        expected = logsumexp(oriented[None] + x[:, :, None], axis=1)
    np.testing.assert_allclose(edge.send(x[0], back)[0], expected[0], atol=1e-12)
    np.testing.assert_allclose(edge.send(x, back)[0], expected, atol=1e-12)


@pytest.mark.parametrize(("edge", "theta"), list(cases()))
@pytest.mark.parametrize("back", [False, True])
def test_tangents_are_finite_differences(edge, theta, back):
    rng = np.random.default_rng(2)
    size = theta.shape[1 if back else 0]
    x, dx = rng.normal(size=(2, size)), rng.normal(size=(2, size))
    for u, du in ((x[0], dx[0]), (x, dx)):
        memo = edge.send(u, back)[1]
        difference = (edge.send(u + 1e-6 * du, back)[0] - edge.send(u - 1e-6 * du, back)[0]) / 2e-6
        np.testing.assert_allclose(edge.tangent(memo, du), difference, atol=1e-7)


@pytest.mark.parametrize(("edge", "theta"), list(cases()))
def test_tables_scores_and_reach(edge, theta):
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=theta.shape[0]), rng.normal(size=theta.shape[1])
    full = np.exp(theta + a[:, None] + b)
    full *= 7.0 / full.sum()
    table = edge.table(a, b, 7.0)
    expected = full[full > 0] if isinstance(edge, SparseEdge) else full
    expected = full.sum(axis=1) if isinstance(edge, MarginEdge) else expected
    np.testing.assert_allclose(table, expected, rtol=1e-12)
    known = np.where(full > 0, full * np.where(full > 0, theta, 0.0), 0.0).sum()
    assert edge.score(table) == pytest.approx(known, abs=1e-12)
    mask = rng.random(theta.shape[0]) < 0.4
    np.testing.assert_array_equal(edge.reach(mask), (np.isfinite(theta) & mask[:, None]).any(axis=0))
    mask = rng.random(theta.shape[1]) < 0.4
    np.testing.assert_array_equal(edge.reach(mask, back=True), (np.isfinite(theta) & mask).any(axis=1))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_states_lost_to_underflow_are_summed_in_logs(kind):
    theta = np.array([[0.0, -5000.0, -9000.0], [-3000.0, 0.0, -2.0], [-1.0, -4000.0, 0.0]])
    edge = DenseEdge(theta) if kind == "dense" else SparseEdge(sparse.coo_array(theta - 1e-300))
    x = np.array([0.0, -8000.0, -20000.0])
    expected = logsumexp(theta + x[:, None], axis=0)
    np.testing.assert_allclose(edge.send(x)[0], expected, rtol=1e-13, atol=1e-13)
    dx = np.array([1.0, 2.0, 3.0])
    memo = edge.send(x)[1]
    weights = np.exp(theta + x[:, None] - expected)
    np.testing.assert_allclose(edge.tangent(memo, dx), dx @ weights, rtol=1e-12)
