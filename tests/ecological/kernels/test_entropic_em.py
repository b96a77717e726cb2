"""The raking EM against its own objective, a general solver and the truth."""

import numpy as np
import pytest
from scipy.optimize import minimize

from sumwise.ecological.kernels import entropic_em
from sumwise.ecological.kernels.entropic_em import RakingProblem, common_shares, em_step, unit_scales

TRUE = np.array([[0.7, 0.2, 0.1], [0.15, 0.25, 0.6]])


def units(n=40, seed=0, size=300):
    rng = np.random.default_rng(seed)
    rows = np.maximum(np.round(rng.dirichlet([1, 1], n) * size), 1)
    cells = np.array([[rng.multinomial(int(x), p) for x, p in zip(row, TRUE)] for row in rows], float)
    return rows, cells.sum(axis=1)


def objective(log_shares, rows, cols, rho=0.0, gamma=0.0, alpha=0.0):
    given = RakingProblem(rows, cols, np.ones(len(rows)), rho, gamma, alpha)
    return em_step(given.units(), log_shares, np.array([gamma, 60.0, 1e-11]), alpha)[1]


SETTINGS = [(0.0, 0.0, 0.0), (0.01, 0.0, 2.0), (0.0, 1.0, 1.0), (0.005, 1.3, 3.0)]


@pytest.mark.parametrize(("rho", "gamma", "alpha"), SETTINGS)
def test_answer_is_no_worse_than_a_general_solver(rho, gamma, alpha):
    rows, cols = units()
    options = {"rho": rho, "gamma": gamma, "alpha": alpha}
    ours = common_shares(
        RakingProblem(rows, cols, np.ones(40), **options), np.full((2, 3), 1 / 3), tol=1e-7, max_iter=500
    )

    def loss(z):
        z = np.concatenate([z.reshape(2, 2), np.zeros((2, 1))], axis=1)
        return objective(z - np.log(np.exp(z).sum(axis=1, keepdims=True)), rows, cols, **options)

    log = ours.log_shares
    first = (log[:, :2] - log[:, 2:]).ravel()
    other = minimize(loss, first, method="Nelder-Mead", options={"maxiter": 400, "fatol": 1e-9})
    assert objective(log, rows, cols, **options) <= other.fun + 0.05
    assert ours.converged


def test_truth_is_found_within_its_noise():
    rows, cols = units(n=200)
    done = common_shares(RakingProblem(rows, cols, np.ones(200), gamma=1.0, alpha=0.5), np.full((2, 3), 1 / 3))
    assert np.abs(np.exp(done.log_shares) - TRUE).max() < 0.03
    assert done.objectives[-1] <= done.objectives[0]


def test_raking_alone_is_symmetric_in_rows_and_columns():
    rows, cols = units()
    limits = {"tol": 1e-8, "max_iter": 2000}
    forth = common_shares(RakingProblem(rows, cols, np.ones(40), gamma=0.0), np.full((2, 3), 1 / 3), **limits)
    back = common_shares(RakingProblem(cols, rows, np.ones(40), gamma=0.0), np.full((3, 2), 1 / 2), **limits)
    first = np.exp(forth.log_shares) * rows.sum(axis=0)[:, None]
    second = (np.exp(back.log_shares) * cols.sum(axis=0)[:, None]).T
    np.testing.assert_allclose(first, second, atol=2e-3 * rows.sum())


def test_threads_give_the_same_step(monkeypatch):
    rows, cols = units()
    start = np.full((2, 3), 1 / 3)
    one = common_shares(RakingProblem(rows, cols, np.ones(40)), start, max_iter=5)
    monkeypatch.setattr(entropic_em, "BLOCK", 4)
    many = common_shares(RakingProblem(rows, cols, np.ones(40)), start, max_iter=5)
    np.testing.assert_allclose(one.log_shares, many.log_shares, atol=1e-9)


def test_units_without_weight_or_people_do_not_count():
    rows, cols = units()
    weight = np.repeat([1.0, 0.0], 20)
    start = np.full((2, 3), 1 / 3)
    part = common_shares(RakingProblem(rows[:20], cols[:20], np.ones(20)), start, tol=1e-7)
    whole = common_shares(RakingProblem(rows, cols, weight), start, tol=1e-7)
    np.testing.assert_allclose(part.log_shares, whole.log_shares, atol=1e-4)
    more = np.r_[rows[:20], np.zeros((1, 2))], np.r_[cols[:20], np.zeros((1, 3))]
    empty = common_shares(RakingProblem(*more, np.ones(21)), start, tol=1e-7)
    np.testing.assert_allclose(part.log_shares, empty.log_shares, atol=1e-4)


def test_large_units_count_less_the_more_units_vary():
    totals = np.array([100.0, 1000.0])
    even = unit_scales(totals, np.ones(2), 0.0)
    uneven = unit_scales(totals, np.ones(2), 0.1)
    np.testing.assert_allclose(even, 1)
    assert uneven[1] < 1 < uneven[0]
