"""Labels and coefficients drawn in turn."""

import numpy as np
import pytest

from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions import CardinalityClassifier, LabelSampler


def test_the_posterior_mean_is_near_the_exact_fit():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(600, 2)) + np.repeat(rng.normal(size=(100, 2)), 6, axis=0)
    labels = rng.random(600) < 1 / (1 + np.exp(-values @ [1.0, -0.5]))
    bags, counts = Bags(values, np.arange(0, 601, 6)), labels.reshape(100, 6).sum(axis=1)
    exact = CardinalityClassifier(penalty=1.0).fit(bags, counts)
    chain = LabelSampler(penalty=1.0, n_draws=150, n_burn=50).fit(bags, counts)
    assert chain.draws_[0].shape == (150, 3)
    np.testing.assert_allclose(chain.coef_, exact.coef_, atol=0.2)
    again = LabelSampler(penalty=1.0, n_draws=150, n_burn=50).fit(bags, counts)
    np.testing.assert_array_equal(chain.coef_, again.coef_)


def test_weighted_rows_are_refused():
    bags = Bags.from_arrays([[0.0, 1.0], [1.0, 2.0]], weights=[[1, 2], [2, 1]])
    with pytest.raises(DataError, match="each row is one person"):
        LabelSampler(penalty=1.0).fit(bags, [1, 2])
    with pytest.raises(DataError, match="n_draws"):
        LabelSampler(n_draws=1).fit(bags, [1, 2])


def test_bags_that_count_by_parts_are_refused():
    bags = Bags.from_arrays([[0.0, 1.0], [1.0, 2.0]])
    with pytest.raises(DataError, match="not a whole number"):
        LabelSampler(penalty=1.0, n_draws=2).fit(bags, [1, 2], sample_weight=[1.5, 1.0])
