import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sumwise.distribution.kernels.marginal_likelihood import NOISE, marginal_likelihood_path


@pytest.mark.parametrize("inflation", [None, np.linspace(1, 5, 12)])
def test_evidence_is_the_normal_density_at_the_best_noise_and_scale(inflation):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 1))
    gram = np.exp(-0.5 * (x - x.T) ** 2)
    y = rng.normal(size=(12, 2))
    found, noise = marginal_likelihood_path(gram, y, inflation)
    shape = np.ones(12) if inflation is None else inflation

    def log_density(level):
        total = 0.0
        for k in range(2):
            cover = gram + level * np.diag(shape)
            scale = y[:, k] @ np.linalg.solve(cover, y[:, k]) / 12
            total += multivariate_normal(np.zeros(12), scale * cover).logpdf(y[:, k])
        return total

    assert np.isclose(found, log_density(noise))
    assert found >= max(log_density(level) for level in NOISE[16:]) - 1e-9
