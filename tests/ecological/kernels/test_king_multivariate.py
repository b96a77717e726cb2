"""King's model of tables: its covariance, its tables given the margins, its slope, and its mode."""

import numpy as np
import pytest

from sumwise.ecological.kernels import king_multivariate as tables

MEAN = np.array([0.6, 0.3, 0.2, 0.3])
COVARIANCE = 0.04 * np.array([[1, 0.1, 0.2, 0.02], [0.1, 1, 0.02, 0.2], [0.2, 0.02, 1, 0.1], [0.02, 0.2, 0.1, 1]])


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


def test_every_two_shares_can_have_their_own_correlation():
    tail = np.array([0.8, -0.5, 0.3, 0.2, -1.0, 0.6])
    _, sd, cov = tables.natural(np.concatenate([np.zeros(4), np.full(4, -1.0), tail]), 2, 3)
    corr = cov / np.outer(sd, sd)
    assert np.linalg.eigvalsh(corr).min() > 0
    np.testing.assert_allclose(np.diag(corr), 1.0)
    np.testing.assert_allclose(corr[0, 1:3], np.tanh(tail[[0, 1]]))
    given = (corr[1, 2] - corr[0, 1] * corr[0, 2]) / np.sqrt((1 - corr[0, 1] ** 2) * (1 - corr[0, 2] ** 2))
    np.testing.assert_allclose(given, np.tanh(tail[2]))  # given the first
    assert len(tables.limits(2, 3, full=True)[0]) == 14
    assert len(tables.limits(2, 3)[0]) == 10


def swept(x, t, n, mean=MEAN, covariance=COVARIANCE):
    made = np.repeat(np.array([t])[:, None, :], len(x), axis=1)
    rng, precision, kept = np.random.default_rng(4), np.linalg.inv(covariance), []
    for _ in range(n):
        tables.sweep_tables(made, np.array([x]), mean, precision, rng)
        kept.append(made[0].copy())
    return np.array(kept)


@pytest.mark.parametrize("share", [0.4, 0.7])
def test_tables_given_their_margins_are_those_of_the_model(share):
    t = np.array([0.45, 0.3, 0.25])
    draws = MEAN + np.random.default_rng(3).normal(size=(800_000, 4)) @ np.linalg.cholesky(COVARIANCE).T
    rows = draws.reshape(-1, 2, 2)
    rows = rows[((rows >= 0).all(axis=2) & (rows.sum(axis=2) <= 1)).all(axis=1)]
    near = (np.abs(np.einsum("r,irc->ic", [share, 1 - share], rows) - t[:2]) < 0.03).all(axis=1)
    found = swept([share, 1 - share], t, 6000)
    np.testing.assert_allclose(np.einsum("r,irc->ic", [share, 1 - share], found), np.tile(t, (6000, 1)), atol=1e-9)
    np.testing.assert_allclose(found[:, :, :2].mean(axis=0), rows[near].mean(axis=0), atol=0.015)
    np.testing.assert_allclose(found[:, :, :2].std(axis=0), rows[near].std(axis=0), rtol=0.1)


def test_absent_rows_and_columns_are_drawn():
    alone = swept([1.0, 0.0], [0.2, 0.3, 0.5], 400)
    np.testing.assert_allclose(alone[:, 0], np.tile([0.2, 0.3, 0.5], (400, 1)))
    assert alone[:, 1].std(axis=0).min() > 0.05
    np.testing.assert_allclose(alone.sum(axis=2), 1.0)
    np.testing.assert_allclose(swept([0.5, 0.5], [0.0, 1.0, 0.0], 3)[-1], [[0, 1, 0], [0, 1, 0]], atol=1e-12)


def test_random_cycles_of_large_tables_keep_both_margins():
    rng = np.random.default_rng(5)
    x, t = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(6))
    found = swept(x, t, 50, np.full(25, 0.2), 0.04 * np.eye(25))
    np.testing.assert_allclose(np.einsum("r,irc->ic", x, found), np.tile(t, (50, 1)), atol=1e-9)
    assert found.min() >= 0
    assert found.std(axis=0).min() > 0.001


def truncated(phi, n, rng):
    """Tables drawn from the model, by rejection."""
    mean, _, covariance = tables.natural(phi, 2, 3)
    rows = rng.multivariate_normal(mean, covariance, 40 * n).reshape(-1, 2, 2)
    rows = rows[((rows >= 0).all(axis=2) & (rows.sum(axis=2) <= 1)).all(axis=1)][:n]
    assert len(rows) == n
    return np.concatenate([rows, 1 - rows.sum(axis=2, keepdims=True)], axis=2)


PHI = np.array([0.6, -0.8, -0.9, 0.2, -1.6, -1.8, -1.7, -1.6, 0.3, -0.4])


def test_scores_have_mean_zero_at_the_truth():
    rng = np.random.default_rng(6)
    made = truncated(PHI, 4000, rng)
    data = tables.table_data(np.full((4000, 2), 0.5), made.mean(axis=1), np.ones(4000), (0.5, 0.5, 0.5), rng=rng)
    flat = made[:, :, :2].reshape(4000, 4)
    scores, _, _ = tables._slopes(PHI, flat, flat[:, :, None] * flat[:, None, :], data)
    assert (np.abs(scores.mean(axis=0)) < 4 * scores.std(axis=0) / np.sqrt(4000) + 0.01).all()


@pytest.mark.check
def test_climb_finds_the_parameters_behind_the_tables():
    rng = np.random.default_rng(7)
    x, made = rng.dirichlet([1, 1], 300), truncated(PHI, 300, rng)
    data = tables.table_data(x, np.einsum("ir,irc->ic", x, made), np.ones(300), (0.5, 0.5, 0.5), rng=rng)
    mode = tables.climb(data, 100, rng=rng)
    assert mode.distance < 1
    assert mode.course[-1] < mode.course[0]
    assert (np.abs(mode.phi - PHI) < 4 * np.sqrt(np.diag(mode.covariance)) + 0.05).all()
    assert tables.integration_error(mode.phi, data, rng=rng) < 2
    drawn = [d.copy() for d in tables.simulate(mode, data, 60, rng=rng)]
    np.testing.assert_allclose(np.einsum("ir,irc->ic", x, drawn[-1]), data.t, atol=1e-9)
    assert np.abs(np.mean(drawn, axis=(0, 1)) - made.mean(axis=0)).max() < 0.03
