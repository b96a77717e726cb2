"""Gradients by finite differences; the misfit sees through noise."""

import numpy as np
import pytest

from sumwise.maxent.kernels.contrastive import (
    Moments,
    curvature,
    gradients,
    misfit,
    steps,
)
from sumwise.maxent.kernels.loglinear import enumerate_cells, layout, log_weights, project, spread

SIZES = (2, 3, 2)


@pytest.mark.parametrize("tables", [[(0, 1), (1, 2), (0, 2), (1,)], [(0, 1, 2), (0, 1)], [(0,), (1,), (2,)]])
def test_gradient_is_the_derivative_of_the_loss(tables):
    lay, rng = layout(SIZES, tables), np.random.default_rng(0)
    mu, theta, n = rng.normal(size=lay.n_params), rng.normal(size=(1, lay.n_params)), 50.0
    data = Moments(rng.uniform(1, 9, lay.n_params), rng.uniform(0, 1, (1, lay.n_params)))

    def loss(m, t):
        found = enumerate_cells(lay, log_weights(spread(lay, m), spread(lay, t)), np.zeros(2))
        return n * np.logaddexp.reduce(found.log_z) - data.counts @ m - np.sum(data.sums * t), found.cells

    cells = loss(mu, theta)[1]
    model = Moments(n * project(lay, cells.sum(axis=0)), n * project(lay, cells[1:]))
    gradient = gradients(data, model, rescale=False)
    h = 1e-5
    for k in range(0, lay.n_params, 3):
        e = h * np.eye(lay.n_params)[k]
        assert gradient.counts[k] == pytest.approx(
            (loss(mu + e, theta)[0] - loss(mu - e, theta)[0]) / (2 * h), abs=1e-4
        )
        assert gradient.sums[0, k] == pytest.approx(
            (loss(mu, theta + e)[0] - loss(mu, theta - e)[0]) / (2 * h), abs=1e-4
        )


def test_rescaled_gradient_is_equation_6_with_the_larger_side_scaled_down():
    """(6) is c - (d / d^) c^. Ours has d + 1 and d^ + 1, and divides by d / d^ where that is above one."""
    d, d_hat, c, c_hat = (np.array(x) for x in ([3.0, 40.0, 0.0], [9.0, 20.0, 5.0], [2.0, 30.0, 0.0], [4.0, 8.0, 1.0]))
    found = gradients(Moments(d, c[None]), Moments(d_hat, c_hat[None]), rescale=True)
    ratio = (d + 1) / (d_hat + 1)
    np.testing.assert_allclose(found.sums[0], -(c - ratio * c_hat) / np.maximum(ratio, 1))
    np.testing.assert_array_equal(np.sign(found.sums[0][:2]), -np.sign(c - d / d_hat * c_hat)[:2])


def test_rescaled_gradient_vanishes_where_shares_agree():
    data = Moments(np.array([9.0, 99.0]), np.array([[3.0, 50.0]]))
    model = Moments(np.array([19.0, 49.0]), np.array([[6.0, 25.0]]))  # counts are off, shares of labels (per n + 1) not
    found = gradients(data, model, rescale=True)
    assert found.sums[0] == pytest.approx(0.0, abs=1e-12)
    assert gradients(data, model, rescale=False).sums[0] != pytest.approx(0.0)


def test_steps_are_divided_by_counts_over_the_pace_and_twice_the_penalty():
    data = Moments(np.array([10.0, 0.0]), np.array([[4.0, 0.0]]))
    penalties = Moments(np.ones(2), np.full((1, 2), 3.0))
    assert curvature(data.counts, data.counts, penalties.counts).tolist() == [12.0, 2.0]
    gradient = Moments(np.array([6.0, 100.0]), np.array([[5.0, 0.0]]))
    step = steps(gradient, data, data, penalties, Moments(0.5, 0.1))
    np.testing.assert_allclose(step.counts, [6 / 22, 50.0])
    np.testing.assert_allclose(step.sums, [[5 / 46, 0.0]])


@pytest.mark.parametrize("penalty", [0.0, 50.0])
def test_no_step_of_theta_is_too_long_however_attributes_correlate(penalty):
    """All attributes equal: every table moves the same, and the Hessian is tables times its diagonal."""
    n_tables, count = 30, 100.0
    hessian = np.full((n_tables, n_tables), count) + 2 * penalty * np.eye(n_tables)
    data, pull = np.full(n_tables, count), np.full(n_tables, penalty)
    scale = n_tables * curvature(data, data, pull / n_tables)
    assert np.linalg.eigvals(hessian / scale[:, None]).real.max() <= 1 + 1e-9


def test_misfit_is_zero_for_noise_and_counts_a_bias():
    rng = np.random.default_rng(0)
    data = Moments(np.full(20_000, 99.0), np.full((1, 20_000), 99.0))
    noise = [Moments(rng.normal(0, 10, 20_000), rng.normal(0, 10, (1, 20_000))) for _ in range(2)]
    assert misfit(noise[0], noise[1], data) < 0.15
    shifted = [Moments(m.counts + 5, m.sums + 5) for m in noise]
    assert misfit(shifted[0], shifted[1], data) == pytest.approx(0.5, abs=0.05)


def test_misfit_counts_noise_as_error():
    data = Moments(np.array([99.0]), np.array([[99.0]]))
    off = Moments(np.array([20.0]), np.array([[20.0]]))
    noise = Moments(np.array([300.0]), np.array([[300.0]]))
    assert misfit(off, off, data) == pytest.approx(2.0)
    assert misfit(off, off, data, noise) == pytest.approx(1.0)
