import numpy as np
import pytest

from sumwise.distribution.kernels.frequencies import KINDS, draw_frequencies


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_cosines_average_to_the_gaussian_kernel(kind, d):
    rng = np.random.default_rng(0)
    omega, weights = draw_frequencies(kind, d, 8192, rng=rng)
    x = rng.normal(size=(40, d)) / np.sqrt(d)
    kernel = (np.cos(x @ omega) * weights) @ np.cos(x @ omega).T + (np.sin(x @ omega) * weights) @ np.sin(x @ omega).T
    exact = np.exp(-((x[:, None] - x) ** 2).sum(-1) / 2)
    full_grid = kind == "quadrature" and d <= 2
    assert omega.shape == (d, len(weights))
    assert weights.sum() == pytest.approx(1.0)
    assert np.abs(kernel - exact).max() < (1e-10 if full_grid else 0.05)


def test_orthogonal_frequencies_are_orthogonal():
    omega, _ = draw_frequencies("orthogonal", 6, 12, rng=np.random.default_rng(0))
    product = omega[:, :6].T @ omega[:, :6]
    assert np.allclose(product, np.diag(np.diag(product)))
    assert not np.allclose(np.diag(product), np.diag(product)[0])


def test_odd_grids_keep_the_origin_once():
    omega, weights = draw_frequencies("quadrature", 2, 50, rng=np.random.default_rng(0))  # 9 or 10 nodes per axis
    assert weights.sum() == pytest.approx(1.0)
    assert (np.linalg.norm(omega, axis=0) == 0).sum() <= 1


@pytest.mark.parametrize(("n", "reach"), [(32, 8.0), (64, 14.0), (128, 20.0)])
def test_more_nodes_on_a_line_reach_farther(n, reach):
    omega, weights = draw_frequencies("quadrature", 1, n, rng=np.random.default_rng(0))
    apart = np.linspace(0, reach, 50)
    assert np.allclose(np.cos(np.outer(apart, omega[0])) @ weights, np.exp(-(apart**2) / 2), atol=1e-9)
    assert omega.shape == (1, n)
