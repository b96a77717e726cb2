"""R-hat and effective sizes on chains with known properties."""

import numpy as np

from sumwise.inference.kernels.chain_diagnostics import effective_size, split_r_hat


def autoregressive(rho, n=4000, chains=4, seed=0):
    rng = np.random.default_rng(seed)
    x = np.zeros((chains, n))
    for k in range(1, n):
        x[:, k] = rho * x[:, k - 1] + np.sqrt(1 - rho**2) * rng.normal(size=chains)
    return x


def test_effective_size_of_an_autoregressive_chain():
    expected = 16_000 * (1 - 0.9) / (1 + 0.9)
    assert 0.7 < float(effective_size(autoregressive(0.9))) / expected < 1.4


def test_drift_and_distance_raise_r_hat():
    x = autoregressive(0.1, n=500)
    assert split_r_hat(x) < 1.02
    assert split_r_hat(x + np.linspace(0, 3, 500)) > 1.1
    assert split_r_hat(x + np.arange(4)[:, None]) > 1.3


def test_constant_chains_agree():
    assert split_r_hat(np.ones((4, 10))) <= 1
    assert effective_size(np.ones((4, 10))) == 40
    assert np.isinf(split_r_hat(np.repeat(np.arange(4.0)[:, None], 10, axis=1)))
