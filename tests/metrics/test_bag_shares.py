"""Expected against observed counts of bags."""

import numpy as np
import pytest

from sumwise import Bags
from sumwise.errors import DataError
from sumwise.metrics import bag_calibration


def drawn(own, n_bags=2000, size=20):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=n_bags * size)
    p = 1 / (1 + np.exp(-logits))
    true = 1 / (1 + np.exp(-logits - np.repeat(own * rng.normal(size=n_bags), size)))
    counts = (rng.random(len(p)) < true).reshape(n_bags, size).sum(axis=1)
    return Bags(logits[:, None], np.arange(0, len(p) + 1, size)), counts, p


def test_true_probabilities_are_calibrated_and_not_dispersed():
    bags, counts, p = drawn(0.0)
    table = bag_calibration(bags, counts, p)
    assert table["n"].sum() == 2000
    assert (((table["predicted"] - table["observed"]) / table["error"]) ** 2).sum() < 27  # chi squared, 10 degrees
    np.testing.assert_allclose(table["dispersion"].mean(), 1.0, atol=0.1)


def test_bags_that_differ_are_dispersed():
    bags, counts, p = drawn(0.7)
    assert bag_calibration(bags, counts, np.column_stack([1 - p, p]), bins=1)["dispersion"].item() > 2


def test_bad_shapes_are_refused():
    bags, counts, p = drawn(0.0, 3)
    with pytest.raises(DataError, match="Lengths differ"):
        bag_calibration(bags, counts[:2], p)
    with pytest.raises(DataError, match="shape"):
        bag_calibration(bags, counts, p[:5])
    with pytest.raises(DataError, match="1 bags are empty"):
        bag_calibration(Bags(np.zeros((2, 1)), [0, 0, 2]), [0, 1], [0.5, 0.5])
