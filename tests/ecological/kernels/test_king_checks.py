"""The checks of King's assumptions fire when an assumption fails, and don't when it holds."""

import numpy as np

from sumwise.ecological.kernels import king_checks


def test_normality_has_uniform_ranks_under_the_model_and_rejects_another():
    rng = np.random.default_rng(0)
    phi = np.array([-0.2, 0.4, np.log(0.1), np.log(0.1), 0.0])
    x = rng.uniform(0.1, 0.9, 400)
    mean_b, mean_w = -0.2 * 0.26 + 0.5, 0.4 * 0.26 + 0.5
    t = x * rng.normal(mean_b, 0.1, 400) + (1 - x) * rng.normal(mean_w, 0.1, 400)
    assert king_checks.normality(x, t, phi, 4000, rng=rng)[1] > 0.01
    clumped = np.where(rng.random(400) < 0.5, t - 0.15, t + 0.15)
    assert king_checks.normality(x, clumped, phi, 4000, rng=rng)[1] < 1e-4


def test_curvature_is_seen_and_a_line_is_not():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, 200)
    line = 0.3 + 0.4 * x + 0.02 * rng.normal(size=200)
    assert king_checks.curvature_in_x(x, line, np.ones(200))[1] > 0.01
    curvature, p = king_checks.curvature_in_x(x, line + 0.3 * x**2, np.ones(200))
    assert abs(curvature - 0.3) < 0.1
    assert p < 1e-4


def test_curvature_without_room_says_nothing():
    assert king_checks.curvature_in_x(np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3]), np.ones(3)) == (0.0, 1.0)


def test_moran_sees_neighbours():
    rng = np.random.default_rng(2)
    place = rng.uniform(size=(150, 2))
    assert king_checks.moran(rng.normal(size=150), place, 99, rng=rng)[1] > 0.02
    assert king_checks.moran(np.sin(6 * place[:, 0]), place, 99, rng=rng)[1] == 0.01
