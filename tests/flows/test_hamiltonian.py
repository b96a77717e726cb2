import numpy as np
import pytest

from sumwise.flows.kernels.hamiltonian import hamiltonian_draws


def test_draws_have_the_moments_of_a_correlated_normal_density():
    covariance = np.array([[1.5, 0.8], [0.8, 1.0]])
    precision = np.linalg.inv(covariance)

    def log_density(u):
        return -0.5 * u @ precision @ u, -precision @ u

    draws = hamiltonian_draws(log_density, np.array([3.0, -3.0]), 4000, 50, np.random.default_rng(0))
    assert draws.mean(axis=0) == pytest.approx(0.0, abs=0.1)
    assert np.cov(draws.T) == pytest.approx(covariance, abs=0.15)


@pytest.mark.check
def test_where_there_is_no_density_nothing_is_accepted():
    def log_density(u):
        return (-u[0], -np.ones(1)) if u[0] > 0 else (np.nan, np.full(1, np.nan))

    draws = hamiltonian_draws(log_density, np.ones(1), 4000, 50, np.random.default_rng(0))
    assert (draws > 0).all()
    assert draws.mean() == pytest.approx(1.0, abs=0.15)  # of the exponential distribution
