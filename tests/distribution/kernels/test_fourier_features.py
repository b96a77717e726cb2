import itertools

import numpy as np
import pytest

from sumwise.distribution.kernels.fourier_features import mean_fourier_features


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_means_of_cosines_and_sines_at_doubled_frequencies(dtype):
    rng = np.random.default_rng(0)
    values, offsets = rng.normal(0, 3, (50, 4)).astype(dtype), np.array([0, 1, 1, 20, 50])
    weights, omega = rng.uniform(0.1, 2, 50), rng.normal(size=(2, 5))
    columns, centre = np.array([3, 1]), np.array([1.0, -2.0])
    out = mean_fourier_features(values, offsets, weights, omega, 2, columns=columns, centre=centre)
    angle = (values[:, columns] - centre) @ omega
    for i, level in np.ndindex(4, 3):
        part = slice(offsets[i], offsets[i + 1])
        if i == 1:
            assert not out[1].any()
            continue
        for k, wave in enumerate((np.cos, np.sin)):
            expected = np.average(wave(2**level * angle[part]), axis=0, weights=weights[part])
            assert np.allclose(out[i, level, k], expected, atol=1e-13)


@pytest.mark.parametrize("x", [0.0, 1e-12, -0.3, np.pi / 2, -np.pi, 12345.6, -1e6, 3e8])
def test_angles_of_any_size_keep_their_digits(x):
    out = mean_fourier_features(np.array([[x]]), np.array([0, 1]), None, np.ones((1, 1)), 3)[0, :, :, 0]
    for level in range(4):
        assert np.allclose(out[level], [np.cos(2**level * x), np.sin(2**level * x)], rtol=0, atol=5e-15)


@pytest.mark.parametrize("size", [39, 512, 700])  # short bags are worked on together, long ones in parts
@pytest.mark.parametrize("d", [1, 2, 5])
def test_short_and_long_bags_give_the_same(size, d):
    rng = np.random.default_rng(size + d)
    values, weights, omega = rng.normal(0, 40, (2 * size, d)), rng.uniform(0.1, 2, 2 * size), rng.normal(size=(d, 3))
    cut = np.array([0, size, 2 * size])
    for given in (None, weights):
        out = mean_fourier_features(values, cut, given, omega, 1)
        angle = (values @ omega).reshape(2, size, 3)
        mass = np.ones((2, size)) if given is None else weights.reshape(2, size)
        for level, (k, wave) in itertools.product(range(2), enumerate((np.cos, np.sin))):
            expected = (wave(2**level * angle) * mass[:, :, None]).sum(axis=1) / mass.sum(axis=1)[:, None]
            assert np.allclose(out[:, level, k], expected, atol=1e-12)


def test_a_bag_has_the_same_features_to_the_last_bit_whatever_bags_are_beside_it():
    rng = np.random.default_rng(0)
    sizes = np.array([3, 0, 512, 1, 513, 40, 0, 1500, 7, 2, 600, 5])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    values, weights, omega = (
        rng.normal(size=(offsets[-1], 3)),
        rng.uniform(0.1, 2, offsets[-1]),
        rng.normal(size=(3, 9)),
    )
    together = mean_fourier_features(values, offsets, weights, omega, 2)
    for i, size in enumerate(sizes):
        part = slice(offsets[i], offsets[i + 1])
        alone = mean_fourier_features(values[part], np.array([0, size]), weights[part], omega, 2)
        assert np.array_equal(alone[0], together[i])
