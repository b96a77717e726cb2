"""Masses of normals on simplices, against quadrature and plain simulation."""

import numpy as np
from scipy import stats
from scipy.special import ndtri

from sumwise.ecological.kernels import ghk_simulator as tp
from sumwise.ecological.kernels import truncated_normal as tn

MEAN = np.array([0.6, 0.3, 0.2, 0.3])
CHOL = np.array([[0.2, 0, 0, 0], [-0.1, 0.15, 0, 0], [0.05, 0.02, 0.2, 0], [0.0, 0.05, -0.1, 0.2]])


def cube(size, dims, seed=0):
    return (stats.qmc.Sobol(dims, scramble=False).random(size) + np.random.default_rng(seed).random(dims)) % 1.0


def test_quantiles_are_those_of_a_truncated_normal():
    for p in (1e-200, 1e-12, 0.01, 0.3, 0.5, 0.97, 1 - 1e-10):
        np.testing.assert_allclose(tp._lower_ndtri(p), ndtri(p), rtol=1e-9, atol=1e-12)
    for a, b in ((-1.0, 2.0), (5.0, 6.0), (-30.0, -20.0)):
        np.testing.assert_allclose(tp.quantile_between(a, b, 0.3), stats.truncnorm(a, b).ppf(0.3), rtol=1e-6)
    assert 50.0 < tp.quantile_between(50.0, 60.0, 0.5) < 50.02  # about log(2) / 50 above the end


def test_mass_of_the_simplices_is_the_share_of_draws_inside():
    draws = MEAN + np.random.default_rng(1).normal(size=(400_000, 4)) @ CHOL.T
    rows = draws.reshape(-1, 2, 2)
    inside = ((rows >= 0).all(axis=2) & (rows.sum(axis=2) <= 1)).all(axis=1)
    mass = np.exp(tp.log_simplices_mass(MEAN, CHOL @ CHOL.T, 2, cube(1024, 4)))
    error = np.sqrt(inside.mean() * (1 - inside.mean()) / len(inside))
    assert abs(mass - inside.mean()) < 4 * error + 1e-4


def test_mass_of_the_square_is_kings():
    for mb, mw, sb, sw, rho in ((0.5, 0.4, 0.3, 0.2, 0.3), (1.1, -0.1, 0.4, 0.5, -0.5), (0.8, 0.1, 0.1, 0.15, 0.0)):
        cov = np.array([[sb**2, rho * sb * sw], [rho * sb * sw, sw**2]])
        exact = tn.log_square_mass(mb, mw, sb, sw, rho, tn.NODES, tn.WEIGHTS)
        np.testing.assert_allclose(tp.log_simplices_mass(np.array([mb, mw]), cov, 2, cube(1024, 2)), exact, atol=2e-3)
