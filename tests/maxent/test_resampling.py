"""Noise drawn anew has the covariances of that of a release."""

import numpy as np
import pytest

from sumwise import Domain, Table, Tables
from sumwise.maxent.kernels.reconcile import effect
from sumwise.maxent.resampling import drawn_noise
from sumwise.maxent.sufficient_statistics import sufficient_statistics
from sumwise.noise import Gaussian


def test_noise_that_counts_and_label_sums_share_is_that_of_a_release():
    """Tables of noise alone, released by class: the covariance read off them is that of what was drawn."""
    rng, names = np.random.default_rng(0), ["a", "b", "c"]
    domain = Domain(dict.fromkeys(names, 3))
    one, both = Gaussian(4.0), Gaussian(4.0 * np.sqrt(2.0))
    read = []
    for _ in range(250):
        made = []
        for pair in (("a", "b"), ("a", "c"), ("b", "c")):
            by_class = np.full((3, 3, 2), [300.0, 100.0]) + 4.0 * rng.standard_normal((3, 3, 2))
            made.append(Table(pair, by_class.sum(axis=-1), by_class[..., 1], both, label_noise=one))
        read.append(sufficient_statistics(Tables(made, domain, n=3600)))
    stats = read[0]
    assert stats.shared is not None
    drawn = [drawn_noise(stats, rng) for _ in range(250)]
    for t in (0, 3):  # a pair, and a level
        at, shape = stats.part(t), stats.layout.shape(stats.layout.terms[t])
        free = np.prod([1 - 1 / k for k in shape])
        for values in ([s.data for s in read], drawn):
            counts = np.array([effect(m.counts[at].reshape(shape)).ravel() for m in values])
            sums = np.array([effect(m.sums[0, at].reshape(shape)).ravel() for m in values])
            for found, wanted in (
                (counts**2, stats.noise.counts[at]),
                (sums**2, stats.noise.sums[0, at]),
                (counts * sums, stats.shared[0, at]),
                ((sums - 0.25 * counts) ** 2, stats.noise_per_count(np.array([[0.25]]))[0, at]),
            ):
                assert found.mean() == pytest.approx(free * wanted[0], rel=0.15)


def test_independent_noise_shares_nothing():
    table = Table("a", [300.0, 200.0], [100.0, 50.0], Gaussian(3.0))
    stats = sufficient_statistics(Tables([table], Domain({"a": 2}), n=500))
    assert stats.shared is None
    assert not table.by_class
