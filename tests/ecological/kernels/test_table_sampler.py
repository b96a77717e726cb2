"""Gibbs moves on whole tables against enumeration."""

from math import lgamma

import numpy as np
import pytest
from scipy.special import digamma, gammaln, polygamma

from brute_ecological import tables as every_table
from sumwise.ecological.kernels import table_sampler as ts

ALPHA = np.array([[2.0, 0.7, 1.5], [0.5, 3.0, 1.0]])


def exact(rows, cols, alpha):
    """All tables and their probabilities under Dirichlet-multinomial rows, given both margins."""
    found = np.array(list(every_table(rows, cols)))
    log = [sum(lgamma(n + a) - lgamma(n + 1) for n, a in zip(t.ravel(), alpha.ravel())) for t in found]
    weight = np.exp(np.array(log) - max(log))
    return found, weight / weight.sum()


@pytest.mark.parametrize(("rows", "cols"), [([5, 4], [3, 4, 2]), ([2, 9], [6, 1, 4])])
def test_tables_have_their_exact_distribution(rows, cols):
    found, p = exact(rows, cols, ALPHA)
    rng = np.random.default_rng(0)
    state = ts.north_west(np.array([rows]), np.array([cols]), np.zeros((1, 2, 3)))
    seen = np.zeros(len(found))
    place = {tuple(t.ravel().astype(int)): k for k, t in enumerate(found)}
    for _ in range(20_000):
        ts.sweep_tables(state, ALPHA, rng)
        seen[place[tuple(state[0].ravel())]] += 1
    assert 0.5 * np.abs(seen / seen.sum() - p).sum() < 0.03


def test_slice_sampling_has_the_distribution_of_exact_moves():
    rows, cols = [900, 700], [500, 1100]
    alpha = np.array([[2.0, 3.0], [0.6, 0.4]])
    p = exact(rows, cols, alpha)
    deciles = np.quantile(np.repeat(p[0][:, 0, 0], np.rint(1e6 * p[1]).astype(int)), np.arange(1, 10) / 10)
    state, rng, kept = (
        ts.north_west(np.array([rows]), np.array([cols]), np.zeros((1, 2, 2))),
        np.random.default_rng(4),
        [],
    )
    assert min(state[0, 0, 0], state[0, 1, 1]) + min(state[0, 0, 1], state[0, 1, 0]) <= 2 * ts.LONG
    for _ in range(30_000):
        table = state[0]
        cells = [float(table[r, c]) for r, c in ((0, 0), (1, 1), (0, 1), (1, 0))]
        k = ts._slice_move(ts.Block(*cells, *(alpha[r, c] for r, c in ((0, 0), (1, 1), (0, 1), (1, 0)))), rng)
        table += k * np.array([[1, -1], [-1, 1]])
        kept.append(int(table[0, 0]))
    assert np.abs(np.mean(np.array(kept)[:, None] <= deciles, axis=0) - np.arange(1, 10) / 10).max() < 0.02


def test_log_gamma_is_that_of_the_standard_library():
    x = np.geomspace(1e-4, 1e7, 200)
    np.testing.assert_allclose([ts._log_gamma(v) for v in x], [lgamma(v) for v in x], rtol=1e-11, atol=1e-11)


def test_large_tables_by_random_pairs_keep_their_margins():
    rng = np.random.default_rng(1)
    cells = rng.poisson(3, size=(5, 7, 6))
    rows, cols = cells.sum(axis=2), cells.sum(axis=1)
    state = ts.north_west(rows, cols, np.zeros(cells.shape))
    for _ in range(20):
        ts.sweep_tables(state, np.ones((7, 6)), rng)
    np.testing.assert_array_equal(state.sum(axis=1), cols)
    np.testing.assert_array_equal(state.sum(axis=2), rows)
    assert state.min() >= 0


def test_concentrations_concentrate_on_the_truth():
    rng = np.random.default_rng(2)
    true = np.array([[6.0, 3.0, 1.0]])
    tables = np.array([[rng.multinomial(200, rng.dirichlet(true[0]))] for _ in range(400)])
    alpha, kept = np.ones((1, 3)), []
    for k in range(300):
        ts.sweep_concentrations(tables, alpha, 0.5, 1.0, 0.01, rng)
        if k >= 100:
            kept.append(alpha[0].copy())
    np.testing.assert_allclose(np.mean(kept, axis=0), true[0], rtol=0.15)


def test_slopes_of_log_gamma_are_those_of_scipy():
    x = np.geomspace(1e-3, 1e6, 100)
    slopes = np.array([ts._gamma_slopes(v) for v in x])
    np.testing.assert_allclose(slopes[:, 0], digamma(x), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(slopes[:, 1], polygamma(1, x), rtol=1e-8)


def test_reflections_and_slices_have_the_distribution_of_slices_alone():
    rng = np.random.default_rng(5)
    tables = np.array([[rng.multinomial(12, rng.dirichlet([2.0, 0.5]))] for _ in range(5)])  # few, so that it is skew
    log_alpha = np.linspace(-6, 4, 200)
    grid = np.exp(np.stack(np.meshgrid(log_alpha, log_alpha, indexing="ij"), axis=-1))
    log_density = (4 * np.log(grid) - 2 * grid).sum(axis=-1)
    for counts in tables[:, 0]:
        log_density += (gammaln(counts + grid) - gammaln(grid)).sum(axis=-1)
        log_density -= gammaln(counts.sum() + grid.sum(axis=-1)) - gammaln(grid.sum(axis=-1))
    weight = np.exp(log_density - log_density.max())
    below = np.cumsum(weight.sum(axis=1)) / weight.sum()
    alpha, draws = np.ones((1, 2)), []
    for k in range(40_000):
        if k % 4:
            ts.reflect_concentrations(tables, alpha, np.ones((1, 2)), 4.0, 2.0, rng)
        else:
            ts.sweep_concentrations(tables, alpha, 0.5, 4.0, 2.0, rng)
        draws.append(np.log(alpha[0, 0]))
    share_below = np.searchsorted(np.sort(draws), log_alpha + (log_alpha[1] - log_alpha[0]) / 2) / len(draws)
    assert np.abs(share_below - below).max() < 0.02


def test_chain_returns_totals_and_means_that_add_up():
    rng = np.random.default_rng(3)
    cells = rng.poisson(5, size=(6, 2, 3))
    state = ts.north_west(cells.sum(axis=2), cells.sum(axis=1), cells.astype(float))
    totals, kept, mean = ts.sample_chain(state, ALPHA.copy(), 10, 2, 4.0, 2.0, rng)
    np.testing.assert_allclose(totals.sum(axis=1), np.tile(cells.sum(axis=(0, 1)), (10, 1)))
    np.testing.assert_allclose(mean.sum(axis=1), cells.sum(axis=1))
    assert kept.min() > 0


def test_rounding_keeps_totals():
    x = np.array([[1.4, 2.3, 0.3], [0.5, 0.5, 1.0]])
    whole = ts.largest_remainder(x, np.array([4, 2]))
    np.testing.assert_array_equal(whole.sum(axis=1), [4, 2])
    assert np.abs(whole - x).max() < 1
