"""Masses of normals on simplices and tables, against quadrature and plain simulation."""

import numpy as np
from scipy import stats
from scipy.special import ndtri

from sumwise.kernels import transport_normal as tp
from sumwise.kernels import truncated_normal as tn

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


def test_two_by_two_is_kings_likelihood():
    rng = np.random.default_rng(2)
    x, t = rng.random(30), rng.random(30)
    x[:2], t[2:4] = (0.0, 1.0), (0.0, 1.0)
    found = []
    for mb, mw, sb, sw, rho in ((0.5, 0.4, 0.3, 0.2, 0.3), (1.3, -0.2, 0.4, 0.5, -0.5), (0.8, 0.1, 0.1, 0.15, 0.0)):
        one = (np.array([mb]), np.array([mw]), sb, sw, rho)
        king = tn.units_log_likelihood(x, t, np.ones(30), *one, tn.NODES, tn.WEIGHTS)
        cov = np.array([[sb**2, rho * sb * sw], [rho * sb * sw, sw**2]])
        pair = np.stack([x, 1 - x], axis=1), np.stack([t, 1 - t], axis=1)
        both = np.array([mb, mw])
        ours = tp.tables_log_likelihood(*pair, np.ones(30), both, cov, cube(2, 1), cube(1024, 2))
        found.append(ours - king)
    np.testing.assert_allclose(found, found[0], atol=2e-2)  # equal up to a constant


def unit(x):
    return np.array([x]), np.array([[0.45, 0.3, 0.25]])


def test_unit_likelihood_is_the_density_of_its_columns():
    draws = MEAN + np.random.default_rng(3).normal(size=(1_500_000, 4)) @ CHOL.T
    rows = draws.reshape(-1, 2, 2)
    rows = rows[((rows >= 0).all(axis=2) & (rows.sum(axis=2) <= 1)).all(axis=1)]
    for share in (0.4, 0.7):
        x, t = unit([share, 1 - share])
        made = np.einsum("r,irc->ic", x[0], rows)
        near = (np.abs(made - t[0, :2]) < 0.02).all(axis=1)
        ours = tp.tables_log_likelihood(x, t, np.ones(1), MEAN, CHOL @ CHOL.T, cube(256, 2), cube(1024, 4))
        np.testing.assert_allclose(np.exp(ours), near.mean() / 0.04**2, rtol=0.05)
        rng = np.random.default_rng(4)
        tables = np.array([tp.draw_tables(x, t, MEAN, CHOL @ CHOL.T, cube(32, 2), rng)[0][0] for _ in range(3000)])
        np.testing.assert_allclose(np.einsum("r,irc->ic", x[0], tables), np.tile(t, (3000, 1)), atol=1e-9)
        np.testing.assert_allclose(tables[:, :, :2].mean(axis=0), rows[near].mean(axis=0), atol=0.015)


def test_absent_rows_and_columns_are_drawn():
    x, t = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])
    tables, quality = tp.draw_tables(x, t, MEAN, CHOL @ CHOL.T, cube(16, 2), np.random.default_rng(0))
    np.testing.assert_allclose(tables[0, 0], t[0])
    np.testing.assert_allclose(tables[1], [[0, 1, 0], [0, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(tables.sum(axis=2), 1.0)
    assert 0 < quality <= 1
    assert np.isfinite(tp.tables_log_likelihood(x, t, np.ones(2), MEAN, CHOL @ CHOL.T, cube(16, 2), cube(64, 4)))
