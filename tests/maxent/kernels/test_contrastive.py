"""Gradients by finite differences; the preconditioner is symmetric and positive; the misfit sees through noise."""

import numpy as np
import pytest

from sumwise.maxent.kernels.contrastive import (
    Moments,
    centring,
    counted_share,
    curvature,
    gradients,
    misfit,
    preconditioned,
    shared_pace,
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


@pytest.mark.parametrize(
    "tables", [[(0, 1), (1, 2), (0,)], [(0, 1, 2), (0, 1), (2,)], [(0, 1), (2,)], [(0,), (1,), (2,)]]
)
def test_preconditioner_is_symmetric_and_positive(tables):
    lay, rng = layout(SIZES, tables), np.random.default_rng(0)
    lines, weight, share = centring(lay), rng.uniform(1, 5, lay.n_params), rng.uniform(0.01, 1, lay.n_params)
    columns = [preconditioned(lay, lines, e / weight, weight, 0.1, 0.8, share) for e in np.eye(lay.n_params)]
    matrix = np.stack(columns)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    scaled = matrix * np.sqrt(np.outer(weight, weight))
    eigenvalues = np.linalg.eigvalsh(scaled)
    assert eigenvalues.min() > 0.099
    assert eigenvalues.max() < 0.801


def test_main_effects_move_slowly_and_interactions_fast():
    lay = layout((2, 2), [(0, 1)])
    lines, weight = centring(lay), np.ones(4)
    rows, checker = np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, -1.0, -1.0, 1.0])
    np.testing.assert_allclose(preconditioned(lay, lines, rows, weight, 0.1, 0.8, np.ones(4)), 0.1 * rows)
    np.testing.assert_allclose(preconditioned(lay, lines, checker, weight, 0.1, 0.8, np.ones(4)), 0.8 * checker)


@pytest.mark.parametrize("seed", range(6))
def test_penalties_do_not_make_a_main_effect_pass_for_an_interaction(seed):
    """Noise raises penalties of rare cells by orders of magnitude; a main effect changes counts in proportion."""
    lay, rng = layout((4, 3), [(0, 1)]), np.random.default_rng(seed)
    counts = 0.1 + rng.gamma(0.5, 100.0, (4, 3))
    penalty = rng.uniform(1, 1e4, (4, 3)) / counts
    weight = (counts + 2 * penalty).ravel()
    share = counted_share(weight, penalty.ravel())
    np.testing.assert_allclose(share, counts.ravel() / weight)
    step = (counts * rng.normal(size=(4, 1))).ravel() / weight

    def leaked(part):
        fast = preconditioned(lay, centring(lay), step, weight, 0.1, 0.8, part) - 0.1 * step
        return np.linalg.norm(np.sqrt(weight) * fast) / np.linalg.norm(np.sqrt(weight) * step)

    assert leaked(share) < 0.25
    assert leaked(share) < 0.5 * leaked(np.ones(12))


def test_steps_are_divided_by_the_curvature_and_cut():
    data = Moments(np.array([10.0, 0.0]), np.array([[4.0, 0.0]]))
    penalties = Moments(np.ones(2), np.full((1, 2), 3.0))
    assert curvature(data, data, penalties).counts.tolist() == [12.0, 2.0]
    made = steps(Moments(np.array([6.0, 100.0]), np.array([[5.0, 0.0]])), data, data, penalties, True)
    assert made.counts.tolist() == [0.5, 2.0]
    assert made.sums.tolist() == [[0.5, 0.0]]
    plain = steps(Moments(np.array([6.0, 100.0]), np.zeros((1, 2))), data, data, penalties, False)
    assert plain.counts.tolist() == [0.6, 10.0]


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


def test_what_penalties_hold_may_move_fast():
    weight = np.array([10.0, 100.0, 1000.0])
    pace = shared_pace(weight, np.array([0.0, 45.0, 499.9]), 20, 0.2)
    np.testing.assert_allclose(pace, [1 / 20, 0.2, 0.2])
