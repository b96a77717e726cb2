"""Densities of units' column totals against SciPy and against enumeration."""

from math import factorial, prod

import numpy as np
from scipy.stats import multivariate_normal

from brute_ecological import splits
from sumwise.ecological.kernels.unit_likelihood import dispersion, unit_log_density, unit_moments

SHARES = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])


def exact(rows, cols):
    """P(column totals | row totals) for independent multinomial rows, by enumeration."""
    total = 0.0
    for first in splits(rows[0], 3):
        second = np.array(cols) - first
        if (second >= 0).all():
            total += multinomial(first, SHARES[0]) * multinomial(second, SHARES[1])
    return total


def multinomial(n, p):
    return factorial(int(sum(n))) / prod(factorial(int(v)) for v in n) * prod(q**v for q, v in zip(p, n))


def test_density_equals_the_normal_one_on_the_free_coordinates():
    rows, cols = np.array([[30.0, 50.0]]), np.array([[22.0, 20.0, 38.0]])
    mean = rows[0] @ SHARES
    v = sum(x * (np.diag(p) - np.outer(p, p)) for x, p in zip(rows[0], SHARES))
    free = np.linalg.qr(np.c_[np.ones(3), np.eye(3)[:, :2]])[0][:, 1:]  # directions that sum to 0
    for rho in (0.0, 0.02):
        phi = 1 + rho * 79
        expected = multivariate_normal(np.zeros(2), phi * free.T @ v @ free).logpdf(free.T @ (cols[0] - mean))
        np.testing.assert_allclose(unit_log_density(rows, cols, SHARES, rho), expected)


def test_density_is_close_to_the_exact_multinomial_one():
    cols = np.array([[4.0, 4.0, 6.0]])
    density = unit_log_density(np.array([[6.0, 8.0]]), cols, SHARES, 0.0)[0]
    lattice = 0.5 * np.log(3)  # the lattice of whole tables has one point per sqrt(C) of the plane
    assert abs(density + lattice - np.log(exact([6, 8], cols[0]))) < 0.15


def test_empty_unit_has_log_density_zero():
    assert unit_log_density(np.zeros((1, 2)), np.zeros((1, 3)), SHARES, 0.1)[0] == 0


def test_impossible_unit_has_infinite_distance():
    shares = np.array([[1.0, 0.0], [1.0, 0.0]])
    distance, _, _ = unit_moments(np.array([[5.0, 5.0]]), np.array([[7.0, 3.0]]), shares)
    assert np.isinf(distance[0])


def test_dispersion_recovers_the_rate_of_beta_binomial_units():
    rng = np.random.default_rng(0)
    rho, n = 0.02, 4000
    rows = np.full((n, 1), 200.0)
    p = rng.beta(0.4 * (1 - rho) / rho, 0.6 * (1 - rho) / rho, n)
    yes = rng.binomial(200, p).astype(float)
    shares = np.array([[0.4, 0.6]])
    distance, _, rank = unit_moments(rows, np.stack([yes, 200 - yes], axis=1), shares)
    assert abs(dispersion(distance, rank, rows[:, 0], 1.0) - rho) < 0.002


def test_dispersion_is_never_negative_and_zero_without_room():
    assert dispersion(np.array([0.1]), np.ones(1), np.array([100.0]), 0.0) == 0.0
    assert dispersion(np.array([0.0]), np.zeros(1), np.array([100.0]), 0.0) == 0.0
