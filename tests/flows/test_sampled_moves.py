"""Flows of a step of which a sample was counted: margins hold, and a sample brings them nearer to the truth."""

from __future__ import annotations

import numpy as np

from messages import raises
from sumwise.errors import DataError
from sumwise.flows.kernels.raking import raked
from sumwise.flows.sampled_moves import sampled_draws, sampled_flows
from sumwise.noise import Exact, Gaussian, Poisson

FAR = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
RNG = np.random.default_rng(0)
TRUE = np.stack([RNG.multinomial(n, p / p.sum()) for n, p in zip([900, 400, 300, 700, 500, 200], np.exp(-FAR))])
ROWS, COLS = TRUE.sum(axis=1).astype(float), TRUE.sum(axis=0).astype(float)


def error(flows):
    return np.abs(flows - TRUE).sum() / TRUE.sum()


def test_raking_keeps_odds_and_gives_the_margins():
    table = np.random.default_rng(0).random((4, 4)) + 0.1
    rows, cols = np.array([1.0, 2, 3, 4]), np.array([4.0, 3, 2, 1])
    made = raked(table, rows, cols)
    np.testing.assert_allclose(made.sum(axis=1), rows)
    np.testing.assert_allclose(made.sum(axis=0), cols)
    odds = made / table
    np.testing.assert_allclose(odds[0, 0] * odds[1, 1], odds[0, 1] * odds[1, 0])


def test_a_small_sample_does_better_with_distance_than_alone():
    sample = np.random.default_rng(1).binomial(TRUE, 0.02).astype(float)
    flows, shape, rate = sampled_flows(FAR, ROWS, COLS, sample, Poisson(0.02))
    np.testing.assert_allclose(flows.sum(axis=0), COLS, rtol=1e-6)
    assert error(flows) < 0.7 * error(raked(sample + 1e-9, ROWS, COLS))
    weights = np.stack([np.eye(6), TRUE > 0]).astype(float)
    margins = np.tile(ROWS, (300, 1)), np.tile(COLS, (300, 1))
    drawn = sampled_draws((shape, rate), *margins, weights)
    assert abs(drawn[:, 0].mean() - flows.trace()) < 2.0 * drawn[:, 0].std()
    np.testing.assert_allclose(sampled_draws((shape, rate), *margins, np.ones((1, 6, 6))), ROWS.sum())


def test_moves_that_are_exact_are_the_answer():
    flows, *_ = sampled_flows(FAR, ROWS, COLS, TRUE.astype(float), Exact())
    np.testing.assert_allclose(flows, TRUE, atol=1e-6)


def test_other_noise_of_moves_is_refused():
    with raises(DataError, "counts-moves-noise", "Gaussian"):
        sampled_flows(FAR, ROWS, COLS, TRUE.astype(float), Gaussian(3.0))
