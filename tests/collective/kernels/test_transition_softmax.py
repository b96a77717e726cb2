"""Multinomial regression of moves: gradients, and the optimum."""

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from sumwise.collective.kernels.transition_softmax import curvature, fit_rows, loss_and_slope, row_log_probabilities


def problem(seed, blocked=False):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(3, 5, 4, 2))
    allowed = rng.random((5, 4)) < 0.7 if blocked else None
    if blocked:
        allowed[:, 0] = True
    logs = row_log_probabilities(features, np.array([1.0, -2.0]), allowed)
    counts = np.stack([[rng.multinomial(300, np.exp(row)) for row in step] for step in logs]).astype(float)
    counts[0, 0] = 0.0
    return features, counts, allowed


@pytest.mark.parametrize("blocked", [False, True])
def test_slopes_and_curvature_are_those_of_differences(blocked):
    f, c, a = problem(0, blocked)
    w = np.array([0.3, 0.4])
    off = check_grad(lambda x: loss_and_slope(f, c, x, a)[0], lambda x: loss_and_slope(f, c, x, a)[1], w)
    assert off < 1e-2
    step = 1e-5
    columns = [
        (loss_and_slope(f, c, w + step * e, a)[1] - loss_and_slope(f, c, w - step * e, a)[1]) / (2 * step)
        for e in np.eye(2)
    ]
    assert np.allclose(curvature(f, c, w, a), columns, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 50.0])
def test_the_fit_is_the_minimum(blocked, ridge):
    parts = [problem(1, blocked), problem(2, blocked)]

    def loss(w):
        return sum(loss_and_slope(f, c, w, a)[0] for f, c, a in parts) + 0.5 * ridge * w @ w

    found = fit_rows(parts, np.zeros(2), ridge)
    best = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    assert np.allclose(found, best.x, atol=1e-4)
    assert loss(found) <= best.fun + 1e-6


def test_a_constant_feature_keeps_its_weight():
    f, c, _ = problem(3)
    f = f.copy()
    f[..., 1] = 7.0  # the same for every move: says nothing
    found = fit_rows([(f, c, None)], np.array([0.0, 0.5]))
    assert found[1] == pytest.approx(0.5, abs=1e-6)
    assert np.isfinite(found).all()
