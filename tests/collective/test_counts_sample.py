"""What a sample says about itself."""

import numpy as np
import pytest

from messages import raises
from sumwise import Domain, Table, Tables
from sumwise.collective import TreeModel, sample_counts
from sumwise.errors import SumwiseError
from sumwise.noise import Gaussian

DOMAIN = Domain({"a": 3})
SEEN = Tables([Table("a", [30.0, 50.0, 20.0], noise=Gaussian(3.0))], DOMAIN, n=100)


@pytest.fixture(scope="module")
def sample():
    functions = {"last": {"a": [0, 0, 1]}}
    return sample_counts(TreeModel(DOMAIN, []), SEEN, draws=300, functions=functions, random_state=0)


def test_intervals_are_quantiles_of_the_draws(sample):
    drawn = sample.nodes["a"][..., 2]
    assert np.array_equal(sample.functions["last"], drawn)
    assert sample.interval(0.8).low == np.quantile(drawn, 0.1)
    node = sample.node_interval("a", 0.8)
    assert node.high[2] == np.quantile(drawn, 0.9)
    assert node.values.sum() == pytest.approx(100)


def test_it_shows_its_size(sample):
    assert "draws=300" in repr(sample)
    assert "paths" in repr(sample)


def test_what_was_not_recorded_is_refused(sample):
    with raises(SumwiseError, "there-is-no", "attribute"):
        sample.node_interval("z")
    plain = sample_counts(TreeModel(DOMAIN, []), SEEN, draws=10, random_state=0, burn_in=50)
    with raises(SumwiseError, "no-functions-recorded"):
        plain.interval()
