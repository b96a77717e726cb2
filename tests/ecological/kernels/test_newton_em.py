"""Newton steps reach the fixed point of the plain EM, in fewer passes."""

import numpy as np
import pytest

from sumwise.ecological.kernels.entropic_em import RakingProblem, common_shares
from sumwise.ecological.kernels.newton_em import newton_inverse, newton_shares


def units(n, seed, n_cols=3):
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(n_cols, 2.0), 3)
    rows = np.maximum(np.round(rng.dirichlet([1, 1, 1], n) * 300), 1)
    cells = np.array([[rng.multinomial(int(x), p) for x, p in zip(row, true)] for row in rows], float)
    return rows, cells.sum(axis=1)


@pytest.mark.parametrize("seed", range(4))
def test_fixed_point_is_that_of_the_plain_em(seed):
    rows, cols = units(200, seed)
    options = {"rho": 0.005, "gamma": 1.3, "alpha": 2.0}
    problem = RakingProblem(rows, cols, np.ones(200), **options)
    part = RakingProblem(rows[:60], cols[:60], np.full(60, 200 / 60), **options)
    start = np.tile(cols.sum(axis=0) / cols.sum(), (3, 1))
    plain = common_shares(problem, start, max_iter=3000, tol=1e-9)
    some = common_shares(part, start)
    inverse = newton_inverse(part, some.log_shares)
    done = newton_shares(problem, np.exp(some.log_shares), inverse, tol=1e-6)
    assert done.converged
    np.testing.assert_allclose(np.exp(done.log_shares), np.exp(plain.log_shares), atol=2e-3)
    one = common_shares(problem, np.exp(done.log_shares), max_iter=1, tol=1e-12)
    assert one.changes[0] < 1e-5  # an EM step hardly moves it


def test_columns_that_nobody_chose_take_plain_steps():
    rows, cols = units(80, 5)
    cols = np.column_stack([cols, np.zeros(80)])
    problem = RakingProblem(rows, cols, np.ones(80), alpha=0.1)
    start = np.tile([0.4, 0.3, 0.298, 0.002], (3, 1))
    inverse = newton_inverse(problem, np.log(start))
    np.testing.assert_array_equal(inverse[[3, 7, 11]], np.eye(12)[[3, 7, 11]])
    done = newton_shares(problem, start, inverse)
    assert np.exp(done.log_shares)[:, 3].max() < 0.002


def test_a_poor_factor_ends_unconverged_at_the_best_point():
    problem = RakingProblem(*units(50, 1), np.ones(50))
    start = np.full((3, 3), 1 / 3)
    done = newton_shares(problem, start, 2 * np.eye(9), tol=1e-12)
    assert not done.converged
    assert len(done.changes) == 15
    again = newton_shares(problem, np.exp(done.log_shares), 2 * np.eye(9), tol=1e-12)
    assert again.changes[0] <= done.changes.min() + 1e-6
