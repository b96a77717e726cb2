"""Steps on stacked tensors are those of `contrastive` on arrays."""

import numpy as np
import pytest

from sumwise.maxent.kernels import contrastive, loglinear
from sumwise.maxent.kernels import contrastive_device as device
from sumwise.maxent.kernels.contrastive import Moments

torch = pytest.importorskip("torch", reason="the extra 'torch' isn't installed")

LAYOUTS = {
    "pairs": loglinear.layout((3, 2, 5), [(0, 1), (1, 2), (0, 2), (0,), (1,), (2,)]),
    "triple": loglinear.layout((3, 2, 4, 2), [(0, 1, 2), (2, 3), (0, 1), (1, 2), (0,), (3,)]),
    "alone": loglinear.layout((3, 2), [(0,), (1,)]),
}


@pytest.fixture(params=LAYOUTS)
def lay(request):
    return LAYOUTS[request.param]


def single(array):
    return torch.as_tensor(array, dtype=torch.float32)


def test_spread_and_project_agree_with_the_arrays(lay):
    rng = np.random.default_rng(0)
    params, cells = rng.normal(size=(3, lay.n_params)), rng.normal(size=(3, lay.n_cells))
    np.testing.assert_allclose(device.spread(lay, single(params)), loglinear.spread(lay, params), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(device.project(lay, single(cells)), loglinear.project(lay, cells), rtol=1e-5, atol=1e-5)


def problem_of(lay, data, penalty, n):
    def stacked(m):
        return single(np.concatenate([m.counts[None], m.sums]))

    ones = Moments(np.ones_like(data.counts), np.ones_like(data.sums))
    shares = single([0.7, 0.3])
    known = stacked(data)
    return device.Problem(lay, known, stacked(ones), stacked(penalty), known + 1.0, shares, n), stacked


def test_a_step_is_that_of_the_arrays(lay):
    rng = np.random.default_rng(1)

    def drawn(low):
        counts = rng.uniform(low, 40.0, lay.n_params)
        return Moments(counts, counts[None] * rng.uniform(0.1, 0.9, lay.n_params))

    data, usual = drawn(1.0), drawn(1.0)
    cells = [(rng.uniform(0, 9, lay.n_cells), rng.uniform(0, 3, (1, lay.n_cells))) for _ in range(2)]
    penalty = Moments(np.ones(lay.n_params), np.full((1, lay.n_params), 4.0))
    mu, theta = rng.normal(size=lay.n_params), rng.normal(size=(1, lay.n_params))
    problem, stacked = problem_of(lay, data, penalty, 100.0)
    begin, offsets = stacked(Moments(mu, theta)), single([0.0, 0.2])
    running = [torch.zeros((2, lay.n_params)) for _ in range(2)]
    state = device.State(begin, offsets, begin.clone(), offsets.clone(), stacked(usual), running)
    pace = device.Pace(0.2, 0.15, 1.0, keep=0.9)
    halves = [(single(c), single(s), 10) for c, s in cells]
    distance, error = device.take_step(problem, state, halves, pace).tolist()

    moments = [Moments(*(10.0 * loglinear.project(lay, x) for x in half)) for half in cells]
    model = Moments(*(0.5 * (a + b) for a, b in zip(*moments)))
    pull = Moments(2 * penalty.counts * (mu + 0.3 * theta[0]), 2 * penalty.sums * theta)
    raw = [contrastive.gradients(data, m, rescale=True) for m in (*moments, model)]
    slopes = [Moments(*(a + b for a, b in zip(g, pull))) for g in raw]
    go = contrastive.steps(slopes[2], data, usual, penalty, Moments(0.2, 0.15))
    down = [go.counts, go.sums[0]]
    expected = np.stack([mu - down[0], theta[0] - down[1]])
    np.testing.assert_allclose(state.params, expected, rtol=1e-4, atol=1e-5)
    assert distance == pytest.approx(contrastive.misfit(slopes[0], slopes[1], data), rel=1e-4)
    off = np.abs(model.counts - data.counts)[: lay.n_cells].sum() / (100.0 * len(lay.cliques))
    assert error == pytest.approx(off, rel=1e-4)
    np.testing.assert_allclose(state.mean, state.params)
    np.testing.assert_allclose(state.usual[0], 0.9 * usual.counts + 0.1 * model.counts, rtol=1e-4)
    share = model.sums[0, : lay.starts[1]].sum() / 100.0
    assert state.offsets[1] == pytest.approx(0.2 + 0.15 * 2 * (0.3 - share) / 0.21, rel=1e-3)
