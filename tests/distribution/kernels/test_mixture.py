import itertools

import numpy as np
import pytest
from scipy.stats import norm

from sumwise.distribution.kernels.mixture import mean_gradients


@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_are_means_of_each_rows(weighted):
    rng = np.random.default_rng(0)
    values, offsets, columns = rng.normal(size=(30, 4)), np.array([0, 1, 1, 12, 30]), np.array([0, 1, 3])
    weights = rng.integers(0, 4, 30).astype(float) + (np.arange(30) == 0) if weighted else None
    shares, means, deviations = np.array([0.2, 0.8]), rng.normal(size=(2, 3)), rng.uniform(0.5, 2, (2, 3))
    centre, scale = rng.normal(size=3), rng.uniform(0.5, 2, 3)
    found = mean_gradients(
        values, offsets, weights, (shares, means, deviations), columns=columns, centre=centre, scale=scale
    )
    rows = (values[:, columns] - centre) / scale
    u = (rows[:, None] - means) / deviations
    part = shares * norm.pdf(rows[:, None], means, deviations).prod(axis=2)
    part /= part.sum(axis=1, keepdims=True)
    gradients = np.concatenate(
        [(part - shares)[:, :, None], part[:, :, None] * u, part[:, :, None] * (u**2 - 1) / np.sqrt(2)], axis=2
    ) / np.sqrt(shares)[:, None]  # fmt: skip
    for i, (a, b) in enumerate(itertools.pairwise(offsets)):
        if a < b:
            mine = None if weights is None else weights[a:b]
            assert np.allclose(found[i], np.average(gradients[a:b], axis=0, weights=mine), atol=1e-12)


def test_a_row_far_from_every_part_stays_finite():
    mixture = np.full(2, 0.5), np.array([[0.0], [1.0]]), np.full((2, 1), 0.01)
    options = {"columns": np.arange(1), "centre": np.zeros(1), "scale": np.ones(1)}
    found = mean_gradients(np.array([[1e6]]), np.array([0, 1]), None, mixture, **options)
    assert np.isfinite(found).all()
    assert found[0, 0, 1] == 0.0
    assert found[0, 1, 1] > 0.0
