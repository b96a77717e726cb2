"""Sampling shares inside the units' polytopes."""

import numpy as np
from scipy import stats

from sumwise.kernels.simplex_sampler import _between, sample_shares


def test_truncated_draws_are_quantiles():
    for mean, low, high in ((0.5, 0.0, 1.0), (-2.0, 0.0, 1.0), (3.0, 0.1, 0.4)):
        law = stats.truncnorm((low - mean) / 0.3, (high - mean) / 0.3, loc=mean, scale=0.3)
        for u in (0.05, 0.5, 0.95):
            np.testing.assert_allclose(_between(mean, 0.3, low, high, u), law.ppf(u), atol=1e-6)
    assert _between(100.0, 0.01, 0.0, 1.0, 0.5) == 1.0


def test_chain_keeps_margins_and_finds_the_shares():
    rng = np.random.default_rng(0)
    rows = rng.dirichlet([1, 1], 60) * 300
    rows[0] = [300, 0]
    true = np.array([[0.7, 0.2, 0.1], [0.2, 0.3, 0.5]])
    cols = rows @ true
    cells = rows[:, :, None] * (cols / 300)[:, None, :]
    totals, average = sample_shares(cells, rows, np.ones(60), 300, 4, rng)
    np.testing.assert_allclose(cells.sum(axis=1), cols, atol=1e-8)
    np.testing.assert_allclose(cells.sum(axis=2), rows, atol=1e-8)
    np.testing.assert_allclose(average.sum(axis=1), cols, atol=1e-8)
    shares = totals[150:].mean(axis=0) / rows.sum(axis=0)[:, None]
    assert np.abs(shares - true).max() < 0.05
