import numpy as np
from scipy.optimize import minimize

from sumwise.maxent.kernels.loglinear import layout
from sumwise.maxent.kernels.noisy_counts import NoisyCounts, fit_noisy_counts
from sumwise.maxent.kernels.table_logistic import cell_design


def small(rng):
    codes = np.indices((2, 3, 2)).reshape(3, -1).T
    design = cell_design(layout((2, 3, 2), [(0, 1), (1, 2)]), codes)
    return design, rng.uniform(50, 150, len(codes)), NoisyCounts(
        rng.uniform(50, 400, 12), np.repeat([30.0, 80.0], 6), 1000.0, lambda v: v, np.ones(12, dtype=bool)
    )  # fmt: skip


def test_the_optimum_is_that_of_the_plain_objective():
    design, weights, observed = small(np.random.default_rng(3))
    penalty, begin = np.repeat([1.0, 3.0], 6), np.linspace(-1, 1, 12)

    def plain(mu):
        mass = weights * np.exp(design @ (mu - begin))
        off = design.T @ (mass * observed.n / mass.sum()) - observed.counts
        return np.sum(off**2 / observed.variance) / 2 + np.sum(penalty * mu**2)

    mu, expected = fit_noisy_counts(design, weights, observed, penalty, begin, max_iter=500)
    best = minimize(plain, begin, method="BFGS", options={"gtol": 1e-6})
    assert plain(mu) <= best.fun * (1 + 1e-5)
    mass = weights * np.exp(design @ (mu - begin))
    np.testing.assert_allclose(expected, design.T @ (mass * observed.n / mass.sum()))


def test_cells_without_rows_and_unknown_counts_stay():
    design, weights, observed = small(np.random.default_rng(3))
    used = design[:, 0].toarray().ravel() == 0  # no row is in the first cell
    unknown = np.where(np.arange(12) == 7, np.inf, observed.variance)
    free = np.arange(12) != 7
    mu, _ = fit_noisy_counts(
        design[used], weights[used], observed._replace(variance=unknown, free=free), np.ones(12), np.full(12, 0.5)
    )
    assert mu[0] == mu[7] == 0.5
    assert np.all(mu[[1, 2, 3, 6]] != 0.5)
