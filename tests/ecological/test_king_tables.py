"""The two strategies for larger tables, by themselves."""

import numpy as np

from sumwise import Margins
from sumwise.ecological.king_tables import fit_iterated, fit_multivariate
from sumwise.kernels.king import KingPriors

TRUE = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])


def margins(n=40):
    rng = np.random.default_rng(0)
    rows = rng.dirichlet([1, 1], n) * 300
    rows[0] = 0
    return Margins(rows, rows @ TRUE)


def test_iterated_reports_the_distance_of_its_two_ways():
    done = fit_iterated(margins(), KingPriors(), 40, 0.5, 200, np.random.default_rng(0))
    assert 0 <= done.mean_disagreement <= done.disagreement < 0.2
    assert done.fit.n_iter == 12  # six cells, seen from both sides
    m = margins()
    np.testing.assert_allclose((done.cells * m.rows[:, :, None]).sum(axis=1), m.cols, atol=1e-6)


def test_multivariate_reports_r_hat():
    done = fit_multivariate(margins(), 80, np.random.default_rng(0))
    assert done.draws.shape == (80, 2, 3)
    assert done.fit.objective > 0.9
    assert done.fit.converged == (done.change < done.tol)
