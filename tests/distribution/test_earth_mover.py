import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from messages import raises
from sumwise.distribution import earth_movers_distance
from sumwise.errors import DataError


def test_the_papers_example():
    assert earth_movers_distance([1, 2, 3], [1, 2, 1], [1, 2, 3], [1, 1, 1]) == pytest.approx(0, abs=1e-12)
    shares = [1 / 4, 1 / 2, 1 / 4], [1 / 3] * 3
    assert earth_movers_distance([1, 2, 3], shares[0], [1, 2, 3], shares[1]) == pytest.approx(1 / 6)


def test_equal_masses_give_the_wasserstein_distance():
    rng = np.random.default_rng(0)
    x, y, p, q = rng.normal(size=6), rng.normal(size=4), rng.uniform(1, 2, 6), rng.uniform(1, 2, 4)
    q *= p.sum() / q.sum()
    assert earth_movers_distance(x, p, y, q) == pytest.approx(wasserstein_distance(x, y, p, q))


def test_the_smaller_mass_takes_the_nearest_room():
    assert earth_movers_distance([[0.0, 0.0]], [1.0], [[3.0, 4.0], [0.0, 2.0]], [5.0, 0.5]) == pytest.approx(3.5)


def test_what_is_no_signature_is_refused():
    with raises(DataError, "mass-zero-everywhere"):
        earth_movers_distance([1], [0], [1], [1])
    with raises(DataError, "lengths-differ-entry"):
        earth_movers_distance([1, 2], [1], [1], [1])
    with raises(DataError, "x-columns-y", 2):
        earth_movers_distance([[1, 2]], [1], [1], [1])
