import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from sumwise.distribution.kernels.quantiles import cell_quantiles, line_distances


def line(x, n, w=None):
    x = np.asarray(x, dtype=float)[:, None]
    return cell_quantiles(x, np.array([0, len(x)]), None if w is None else np.asarray(w, dtype=float), n)[0, 0]


def test_cells_hold_the_integral_of_the_quantile_function():
    assert np.allclose(line([3, 1, 2], 3), [1, 2, 3])
    assert np.allclose(line([3, 1, 2], 6), [1, 1, 2, 2, 3, 3])
    assert np.allclose(line([3, 1, 2], 2), [4 / 3, 8 / 3])
    assert np.allclose(line([5.0], 4), 5.0)
    assert np.allclose(line([1, 2], 4, [1, 3]), [1, 2, 2, 2])


@pytest.mark.parametrize("n", [1, 3, 7, 100])
def test_cells_keep_the_mean_and_weights_are_replicated_rows(n):
    rng = np.random.default_rng(n)
    x, w = rng.normal(size=13), rng.integers(1, 5, 13)
    cells = line(x, n, w)
    assert cells.mean() == pytest.approx(np.average(x, weights=w))
    assert np.allclose(cells, line(np.repeat(x, w), n))
    assert (np.diff(cells) >= -1e-12).all()


def test_directions_columns_and_centre():
    rng = np.random.default_rng(0)
    x, turn = rng.normal(size=(20, 3)), rng.normal(size=(2, 4))
    out = cell_quantiles(x, np.array([0, 8, 20]), None, 4, directions=turn, columns=np.array([2, 0]), centre=np.ones(2))
    expected = np.sort((x[:8][:, [2, 0]] - 1) @ turn, axis=0).reshape(4, 2, 4).mean(axis=1).T
    assert np.allclose(out[0], expected)


def test_distances_are_wasserstein_distances():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    x[20:] += 0.7
    cells = cell_quantiles(x, np.array([0, 20, 40]), None, 20)
    first = line_distances(cells, None, 1)
    for j in range(2):
        assert first[j, 0, 1] == pytest.approx(wasserstein_distance(x[:20, j], x[20:, j]))
    second = line_distances(cells, cells + 0.0, 2)
    assert second[0, 0, 1] == pytest.approx(np.mean((np.sort(x[:20, 0]) - np.sort(x[20:, 0])) ** 2))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 5, 50])
def test_symmetric_and_cross_distances_agree(order, n):
    cells = np.random.default_rng(0).normal(size=(n, 3, 11))
    whole = line_distances(cells, None, order)
    assert np.allclose(whole, line_distances(cells, cells.copy(), order), atol=1e-12)
    slow = (np.abs(cells[:, None] - cells) ** order).mean(axis=-1).transpose(2, 0, 1)
    assert np.allclose(whole, slow, atol=1e-12)


def test_normal_bags_have_the_closed_form_of_w2():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, 40_000), rng.normal(1, 2, 40_000)])[:, None]
    cells = cell_quantiles(x, np.array([0, 40_000, 80_000]), None, 400)
    assert line_distances(cells, None, 2)[0, 0, 1] == pytest.approx(1 + 1, rel=0.03)  # (m - m')^2 + (s - s')^2
