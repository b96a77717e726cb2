import numpy as np
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.synthetic import draws
from sumwise.synthetic.draws import float_dtype


def test_dirichlet_mean_and_variance():
    alpha = np.broadcast_to([1.0, 2.0, 5.0], (40_000, 3))
    x = draws.dirichlet(alpha, np.random.default_rng(0))
    mean = np.array([1, 2, 5]) / 8
    np.testing.assert_allclose(x.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(x.mean(axis=0), mean, atol=0.004)
    np.testing.assert_allclose(x.var(axis=0), mean * (1 - mean) / 9, rtol=0.05)


def test_dirichlet_of_tiny_and_zero_parameters_is_on_the_simplex():
    x = draws.dirichlet(np.full((1000, 4), 1e-6), np.random.default_rng(0))
    assert np.isfinite(x).all()
    np.testing.assert_allclose(x.sum(axis=1), 1)
    zero = draws.dirichlet(np.array([[0.0, 1.0, 2.0]]), np.random.default_rng(0))
    assert zero[0, 0] == 0


def test_scaled_dirichlet_without_spread_is_its_mean():
    mean = np.array([[0.25, 0.75]])
    np.testing.assert_array_equal(draws.scaled_dirichlet(mean, 0.0, np.random.default_rng(0)), mean)
    many = draws.scaled_dirichlet(np.broadcast_to(mean, (40_000, 2)), 0.3, np.random.default_rng(0))
    np.testing.assert_allclose(many[:, 0].var(), 0.3 * 0.25 * 0.75, rtol=0.05)


def test_multinomial_adds_up_and_keeps_empty_rows():
    counts = draws.multinomial(np.array([10, 0, 7]), np.array([0.2, 0.3, 0.5]), np.random.default_rng(0))
    assert counts.sum(axis=1).tolist() == [10, 0, 7]
    assert draws.multinomial(np.asarray(5), np.array([0.5, 0.5]), np.random.default_rng(0)).sum() == 5


def test_chain_tables_have_the_chain_distribution():
    start, step = np.array([0.7, 0.3]), np.array([[0.9, 0.1], [0.4, 0.6]])
    rng = np.random.default_rng(0)
    edges = np.array([draws.chain_tables(20, start, lambda t: step, 3, rng)[1] for _ in range(4000)])
    second = start @ step
    np.testing.assert_allclose(edges[:, 1].mean(axis=0), 20 * second[:, None] * step, atol=0.12)
    # walkers are independent, so each cell is binomial
    p = (start[:, None] * step)[0, 1]
    np.testing.assert_allclose(edges[:, 0, 0, 1].var(), 20 * p * (1 - p), rtol=0.1)


def test_chain_tables_are_consistent():
    step = np.full((3, 3), 1 / 3)
    nodes, edges = draws.chain_tables(100, np.array([1.0, 0, 0]), lambda t: step, 4, np.random.default_rng(0))
    for t, edge in enumerate(edges):
        np.testing.assert_array_equal(edge.sum(axis=1), nodes[t])
        np.testing.assert_array_equal(edge.sum(axis=0), nodes[t + 1])


def test_logistic_is_stable_at_the_ends():
    p = draws.logistic(np.array([-1e6, -50.0, 0.0, 50.0, 1e6]))
    np.testing.assert_allclose(p[1], np.exp(-50), rtol=1e-12)
    assert p[2] == 0.5
    assert 0 <= p[0] < 1e-300
    assert p[4] == 1


def test_logsumexp_and_softmax_agree():
    logits = np.array([[1000.0, 1001.0], [-np.inf, 0.0]])
    np.testing.assert_allclose(np.exp(logits - draws.logsumexp(logits)), draws.softmax(logits))


def test_cell_centres_run_by_row_from_the_bottom_left():
    np.testing.assert_array_equal(draws.cell_centres(2, 3)[[0, 2, 3]], [[0.5, 0.5], [2.5, 0.5], [0.5, 1.5]])


@pytest.mark.parametrize("given", [0, 1.5, "x", "int64", True, [1]])
def test_only_floats_are_drawn(given):
    with raises(DataError, "dtype-float-float"):
        float_dtype(given)
