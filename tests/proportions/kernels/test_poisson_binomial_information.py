"""Weighted sums of rows per bag."""

import numpy as np

from sumwise.proportions.kernels.poisson_binomial_information import weighted_sums


def test_sums_of_each_bag_also_an_empty_one():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(50, 3)), rng.random(50)
    offsets = np.array([0, 20, 20, 50])
    out = weighted_sums(values, offsets, weights)
    np.testing.assert_allclose(out[0], np.append(weights[:20] @ values[:20], weights[:20].sum()))
    np.testing.assert_array_equal(out[1], 0.0)
    np.testing.assert_allclose(out[2, :-1], weights[20:] @ values[20:])
