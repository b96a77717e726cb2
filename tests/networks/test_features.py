import numpy as np
import pytest

from sumwise.networks.features import centre_and_scale


def test_mean_and_deviation_of_each_column():
    values = np.random.default_rng(0).normal([3.0, 1e8], 2.0, (70_000, 2))  # more than one block
    centre, scale = centre_and_scale(values)
    np.testing.assert_allclose(centre, values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scale, values.std(axis=0), rtol=1e-6)


def test_indicators_and_constants_keep_their_scale():
    values = np.column_stack([np.arange(4.0), [0, 0, 0, 1], np.full(4, 7.0)])
    assert centre_and_scale(values)[1].tolist() == [pytest.approx(np.std([0, 1, 2, 3])), 1.0, 1.0]


def test_weights_count_like_repeated_rows():
    rng = np.random.default_rng(1)
    values, weights = rng.normal(size=(20, 3)), rng.integers(1, 4, 20)
    for one, other in zip(centre_and_scale(values, weights), centre_and_scale(np.repeat(values, weights, axis=0))):
        np.testing.assert_allclose(one, other, rtol=1e-12)
