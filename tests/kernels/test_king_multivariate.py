"""King's model of tables: its covariance, and 2 x 2 as a case of it."""

import numpy as np

from sumwise.kernels import king
from sumwise.kernels import king_multivariate as tables


def test_one_correlation_between_rows_and_one_within():
    phi = np.zeros(14)
    phi[-2:] = 0.4, -0.3
    _, sd, cov = tables.natural(phi, 3, 3)
    corr = cov / np.outer(sd, sd)
    assert np.linalg.eigvalsh(corr).min() > 0
    np.testing.assert_allclose(corr[0, 2], (np.exp(0.8) - 1) / (np.exp(0.8) + 2))  # one outcome, two rows
    np.testing.assert_allclose(corr[0, 1], np.tanh(-0.3))  # one row, two outcomes
    np.testing.assert_allclose(corr[0, 3], corr[0, 1] * corr[0, 2])
    phi[-2] = -20.0  # as negative as three rows can be
    assert np.linalg.eigvalsh(tables.natural(phi, 3, 3)[2]).min() > -1e-12


def test_posterior_of_two_by_two_is_kings():
    rng = np.random.default_rng(0)
    x, t = rng.random(40), rng.random(40)
    pair = (np.stack([v, 1 - v], axis=1) for v in (x, t))
    data = tables.table_data(*pair, np.ones(40), rng=rng)
    none = np.zeros((40, 0))
    two = king.KingData(x, t, np.ones(40), none, none)
    gaps = []
    for _ in range(6):
        phi = np.array([0.0, 0.0, -1.0, -1.0, 0.0]) + 0.5 * rng.standard_normal(5)
        args = (king.KingPriors(),)
        gaps.append(tables.log_posterior(phi, data, *args) - king.log_posterior(phi, two, *args))
    np.testing.assert_allclose(gaps, gaps[0], atol=0.02)
    assert tables.log_posterior(np.array([0, 0, 4.9, 0, 0.0]), data, king.KingPriors()) == -1e10


def test_simulated_tables_keep_both_margins():
    rng = np.random.default_rng(1)
    x, t = rng.dirichlet([1, 1, 1], 12), rng.dirichlet([2, 2, 2], 12)
    data = tables.table_data(x, t, np.ones(12), rng=rng)
    phi = np.concatenate([np.full(6, -0.5), np.full(6, -1.2), [0.2, -0.2]])
    for shares, even in tables.simulate(np.stack([phi, phi]), data, rng=rng):
        np.testing.assert_allclose(np.einsum("ir,irc->ic", x, shares), t, atol=1e-9)
        assert 0.1 < even <= 1


def test_resampled_parameters_spread_by_the_scale():
    rng = np.random.default_rng(2)
    x = rng.random(30)
    data = tables.table_data(*(np.stack([v, 1 - v], axis=1) for v in (x, 0.3 + 0.4 * x)), np.ones(30), rng=rng)
    phi, cov, record = tables.maximise(data, king.KingPriors(), 100)
    assert np.abs(record.jac).max() < 0.1
    draws, effective = tables.resample(phi, cov, data, king.KingPriors(), 60, 0.5, rng=rng)
    assert draws.shape == (60, 5)
    assert 1 <= effective <= 60
