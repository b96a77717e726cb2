"""Losses, conjugates and gaps of flat observations, against the noise models."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise.collective.kernels.observations import gather
from sumwise.noise import Gaussian, Laplace, Poisson


def mixed():
    """Six cells: two of each kind, cell 5 twice, cell 2 with a poisson zero."""
    common = {"source": 0, "constant": 0.0}

    def part(kind, index, y, **more):
        arrays = {k: np.array(v) for k, v in more.items()}
        return {"kind": kind, "index": np.array(index), "y": np.array(y), **arrays, **common}

    parts = [
        part("linear", [4, 5], [1.0, 7.0], low=[-0.5, -2.0], high=[0.5, 2.0]),
        part("poisson", [2, 3], [0.0, 4.0], rate=[0.5, 2.0]),
        part("gaussian", [0, 5], [3.0, 2.0], var=[1.0, 4.0]),
    ]
    return gather(parts, 6)


def density(z):
    """-log p of the same, from the noise models, without terms that no count changes."""
    value = -Gaussian(1.0).log_density(3.0, z[0]) - Gaussian(2.0).log_density(2.0, z[5])
    value -= Poisson(0.5).log_density(0.0, z[2]) + Poisson(2.0).log_density(4.0, z[3])
    return float(value - Laplace(2.0).log_density(1.0, z[4]) - Laplace(0.5).log_density(7.0, z[5]))


def test_loss_follows_the_noise_models_and_its_gradient_the_loss():
    observations = mixed()
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0.5, 9.0, size=(2, 6))
    assert observations.loss(a)[0] - observations.loss(b)[0] == pytest.approx(density(a) - density(b), abs=1e-12)
    for smoothing in (0.0, 0.7):
        _value, gradient = observations.loss(a, smoothing)
        for k in range(6):
            step = np.eye(6)[k] * 1e-6
            difference = (observations.loss(a + step, smoothing)[0] - observations.loss(a - step, smoothing)[0]) / 2e-6
            assert gradient[k] == pytest.approx(difference, abs=1e-6)


def test_smoothing_lies_below_the_loss_by_at_most_half_of_it():
    observations = mixed()
    z = np.array([3.0, 1.0, 2.0, 2.0, 1.1, 6.9])
    short = observations.loss(z)[0] - observations.loss(z, 0.5)[0]
    assert 0 < short <= 0.25 * (0.5**2 + 2.0**2)


def test_conjugate_derivatives_and_fenchel_gap():
    observations = mixed()
    g = np.array([0.3, -1.0, 1.2, -0.2, 1.5])
    value, first, second = observations.conjugate(g)
    for k in range(5):
        step = np.eye(5)[k] * 1e-5
        up, down = observations.conjugate(g + step), observations.conjugate(g - step)
        assert first[k] == pytest.approx((up[0] - down[0]) / 2e-5, abs=1e-6)
        assert second[k] == pytest.approx((up[1][k] - down[1][k]) / 2e-5, abs=1e-5)
    z = np.array([4.0, 0.0, 1.0, 3.0, 0.5, 8.0])
    n = z[observations.index]
    gap, violation = observations.fenchel(g, n)
    loss = observations.loss(z)[0] - 0.5 * z[2]  # the poisson zero is no observation here
    assert gap == pytest.approx(loss + value - g @ n, abs=1e-12)
    assert violation == 0.0


def test_poisson_zeros_only_lower_the_potential():
    observations = mixed()
    assert observations.size == 5
    np.testing.assert_array_equal(observations.shift, [0, 0, -0.5, 0, 0, 0])


def test_exact_cells_report_how_far_they_are_off():
    part = {"kind": "linear", "index": np.array([0]), "y": np.array([3.0]), "source": 0, "constant": 0.0}
    observations = gather([{**part, "low": np.array([-np.inf]), "high": np.array([np.inf])}], 1)
    assert observations.fenchel(np.array([2.0]), np.array([3.5])) == (1.0, 0.5)
    assert observations.fenchel(np.array([2.0]), np.array([3.0])) == (0.0, 0.0)
