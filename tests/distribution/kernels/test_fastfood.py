import numpy as np
import pytest

from sumwise.distribution.kernels.fastfood import draw_fastfood, hadamard, mean_fastfood_features
from sumwise.distribution.kernels.fourier_features import mean_fourier_features


def explicit_hadamard(size):
    """Entries (-1)^(number of ones that i and j share), by counting them."""
    return np.array([[(-1.0) ** bin(i & j).count("1") for j in range(size)] for i in range(size)])


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_the_transform_is_the_product_with_the_hadamard_matrix(size):
    x = np.random.default_rng(size).normal(size=(size, 3))
    assert np.allclose(hadamard(x), explicit_hadamard(size) @ x, atol=1e-12)
    assert np.allclose(hadamard(hadamard(x)), size * x)


@pytest.mark.parametrize(("d", "n"), [(1, 5), (3, 4), (5, 20), (16, 16), (33, 70)])
@pytest.mark.parametrize("weighted", [False, True])
def test_features_are_those_of_the_explicit_product(d, n, weighted):
    rng = np.random.default_rng([d, n])
    blocks = draw_fastfood(d, n, rng=rng)
    size = blocks.signs.shape[1]
    h = explicit_hadamard(size)
    dense = [
        np.diag(s) @ h @ np.diag(g) @ np.eye(size)[p] @ h @ np.diag(b)
        for b, p, g, s in zip(blocks.signs, blocks.shuffle, blocks.gauss, blocks.lengths)
    ]
    dense = np.vstack(dense)[:n, :d].T
    assert np.allclose(blocks.dense(d, n), dense, atol=1e-12)
    values, offsets = rng.normal(size=(700, d + 2)), np.array([0, 0, 3, 650, 700])
    weights = rng.uniform(0.5, 2.0, size=700) if weighted else None
    columns, centre, factor = np.arange(d) + 2, rng.normal(size=d), rng.uniform(0.5, 2.0, size=d)
    fast = mean_fastfood_features(values, offsets, weights, blocks, n, 2, columns=columns, centre=centre, factor=factor)
    slow = mean_fourier_features(values, offsets, weights, dense * factor[:, None], 2, columns=columns, centre=centre)
    assert fast.shape == (4, 3, 2, n)
    assert np.allclose(fast, slow, atol=1e-11)
