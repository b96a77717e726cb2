"""The default method on bags with a response."""

from __future__ import annotations

import numpy as np

from sumwise import synthetic
from sumwise.distribution import default_method
from sumwise.distribution.method_choice import QUICK_METHODS

DATA = synthetic.gamma(24, 15, random_state=0)


def test_the_default_is_the_best_of_the_quick_methods_and_the_same_for_one_seed():
    found, again = (default_method(DATA.bags, DATA.response, n_folds=2, random_state=3) for _ in range(2))
    assert list(found.scores) == list(QUICK_METHODS)
    assert found.best == again.best
    for name, scores in found.scores.items():
        np.testing.assert_array_equal(scores, again.scores[name])


def test_fewer_than_four_bags_are_not_compared():
    found = default_method(DATA.bags[:3], DATA.response[:3])
    assert (found.best, found.scores) == ("means", {})
    assert "3 bags are too few to compare methods" in found.reasons[0]
