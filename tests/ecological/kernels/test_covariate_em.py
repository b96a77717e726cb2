"""Shares that depend on covariates: against brute force, and the plain EM where nothing depends on them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from sumwise.ecological.kernels.covariate_em import Logit, covariate_shares, unit_log_shares
from sumwise.ecological.kernels.entropic_em import RakingProblem, common_shares


def units(seed=0, n=12, slope=0.5):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 1))
    z -= z.mean(axis=0)
    rows = rng.integers(20, 200, (n, 2)).astype(float)
    p = np.exp(unit_log_shares(np.log([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]]), slope * np.array([[1.0, 0.0, -1.0]]), z))
    cells = np.array([[rng.multinomial(int(x), q) for x, q in zip(row, unit)] for row, unit in zip(rows, p)])
    return rows, cells.sum(axis=1).astype(float), z


def divergence(rows, cols, shares):
    """The least sum_r x_r KL(b_r, p_r) over tables with both margins, of all units, by raking."""
    table = rows[:, :, None] * shares
    for _ in range(400):
        table = table * (cols / table.sum(axis=1))[:, None]
        table = table * (rows / table.sum(axis=2))[:, :, None]
    return float(np.sum(table * (np.log(table / rows[:, :, None]) - np.log(shares))))


def objective(theta, rows, cols, z, alpha, ridge):
    shares = np.vstack([theta[:4].reshape(2, 2).T, np.zeros((1, 2))]).T
    shares = shares - np.log(np.exp(shares).sum(axis=1, keepdims=True))
    slopes = np.append(theta[4:], 0.0)[None]
    slopes = slopes - slopes.mean()
    p = np.exp(unit_log_shares(shares, slopes, z))
    return divergence(rows, cols, p) - alpha * shares.sum() + 0.5 * ridge * np.sum(slopes**2)


def test_solution_is_the_minimum_that_brute_force_finds():
    rows, cols, z = units()
    cols = np.maximum(cols, 1.0) * (rows.sum(axis=1) / np.maximum(cols, 1.0).sum(axis=1))[:, None]
    problem = RakingProblem(rows, cols, np.ones(12), gamma=0.0, alpha=0.5)
    done = covariate_shares(problem, np.full((2, 3), 1 / 3), z, ridge=0.1, tol=1e-7, max_iter=3000)
    start = np.concatenate(
        [(done.log_shares[:, :2] - done.log_shares[:, 2:]).ravel(), done.slopes[0, :2] - done.slopes[0, 2]]
    )
    found = objective(start, rows, cols, z, 0.5, 0.1)
    least = minimize(objective, start + 0.1, (rows, cols, z, 0.5, 0.1), method="BFGS", options={"gtol": 1e-4}).fun
    assert found == pytest.approx(least, abs=2e-3)
    assert found == pytest.approx(done.objectives[-1], abs=5e-3)


def test_without_dependence_slopes_vanish_and_shares_are_the_plain_ones():
    rows, cols, z = units(3, n=200, slope=0.0)
    problem = RakingProblem(rows, cols, np.ones(200), alpha=1.0)
    plain = common_shares(problem, np.full((2, 3), 1 / 3), tol=1e-6)
    done = covariate_shares(problem, np.full((2, 3), 1 / 3), z, tol=1e-6, max_iter=500)
    assert np.abs(done.slopes).max() < 0.05
    assert np.abs(np.exp(done.log_shares) - np.exp(plain.log_shares)).max() < 0.02


def test_logit_step_never_lowers_the_likelihood_and_stays_at_the_optimum():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((30, 2))
    counts = rng.poisson(5, (30, 2, 3)) + 1.0
    shares, slopes = np.log(np.full((2, 3), 1 / 3)), np.zeros((2, 3))
    for _ in range(15):
        shares, slopes = Logit(counts, counts.sum(axis=2), z, 0.0, 0.01).step(shares, slopes)
    again = Logit(counts, counts.sum(axis=2), z, 0.0, 0.01).step(shares, slopes)
    assert np.abs(again[0] - shares).max() < 1e-6
    assert np.abs(again[1] - slopes).max() < 1e-6
