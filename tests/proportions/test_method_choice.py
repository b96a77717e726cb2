"""The default method on bags with counts, which `advise` names too."""

from __future__ import annotations

import numpy as np

from sumwise import Bags, advise
from sumwise.proportions import default_method


def test_advise_gives_the_default_and_its_reason():
    bags = Bags.from_arrays([np.random.default_rng(k).normal(k % 3, 1, (10, 2)) for k in range(12)])
    for counts, n_classes in ((np.full(12, 4), 2), (np.tile([4, 3, 3], (12, 1)), 3)):
        method, why = default_method(bags, counts)
        assert f"12 bags with counts of {n_classes} classes" in why
        advice = advise((bags, counts), "individuals")
        assert (advice.method, advice.why[0]) == (f"sumwise.proportions.{method}", why)
