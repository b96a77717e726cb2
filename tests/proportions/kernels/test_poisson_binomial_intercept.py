"""The random intercept's integral against quadrature on the exact kernel."""

import numpy as np
import pytest
from scipy import integrate, stats

from sumwise.proportions.kernels.poisson_binomial import count_posterior, exact_counts
from sumwise.proportions.kernels.poisson_binomial_intercept import intercept_posterior

OFFSETS = np.array([0, 12])


@pytest.mark.parametrize("count", [0, 3, 12])
@pytest.mark.parametrize("scale", [0.05, 0.8, 2.0])
def test_integral_matches_quadrature(count, scale):
    logits = np.random.default_rng(count).normal(size=12)
    observations = exact_counts([count])

    def integrand(b):
        log_prob = count_posterior(logits + b, OFFSETS, observations).log_prob[0]
        return np.exp(log_prob) * stats.norm.pdf(b, scale=scale)

    total = integrate.quad(integrand, -8 * scale, 8 * scale, epsabs=1e-14, epsrel=1e-9)[0]
    square = integrate.quad(lambda b: b * b * integrand(b), -8 * scale, 8 * scale, epsabs=1e-14, epsrel=1e-9)[0]
    extra, prior, second = intercept_posterior(logits, OFFSETS, np.ones(12), np.array([float(count)]), scale)
    plain = count_posterior(logits, OFFSETS, observations).log_prob[0]
    assert plain + extra[0] == pytest.approx(np.log(total), abs=1e-5)
    assert second[0] == pytest.approx(square / total, rel=1e-3)
    assert ((prior > 0) & (prior < 1)).all()


def test_gradient_is_posterior_minus_averaged_prior():
    logits = np.random.default_rng(1).normal(size=12)
    observations, counts = exact_counts([8]), np.array([8.0])

    def total(x, scale=0.7):
        return (
            count_posterior(x, OFFSETS, observations).log_prob[0]
            + intercept_posterior(x, OFFSETS, np.ones(12), counts, scale)[0][0]
        )

    _, prior, second = intercept_posterior(logits, OFFSETS, np.ones(12), counts, 0.7)
    gradient = count_posterior(logits, OFFSETS, observations).posterior - prior
    for i in (0, 5, 11):
        step = np.zeros(12)
        step[i] = 1e-4
        assert (total(logits + step) - total(logits - step)) / 2e-4 == pytest.approx(gradient[i], abs=1e-6)
    slope = (total(logits, 0.7 * np.exp(1e-4)) - total(logits, 0.7 * np.exp(-1e-4))) / 2e-4
    assert slope == pytest.approx(second[0] / 0.49 - 1.0, abs=1e-5)
