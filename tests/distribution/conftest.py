"""Bags that every method of the family is tried on."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise import Bags


@pytest.fixture
def weighted_bags() -> Bags:
    rng = np.random.default_rng(5)
    parts = [rng.normal(m, 1.0 + 0.1 * k, (k, 3)) for m, k in zip(rng.normal(0, 1, 12), range(1, 13))]
    return Bags.from_arrays(parts, weights=[rng.integers(1, 4, len(p)) for p in parts])


@pytest.fixture
def mixed_bags() -> Bags:
    import pandas as pd

    rng = np.random.default_rng(6)
    n = 200
    frame = pd.DataFrame(
        {
            "place": rng.integers(0, 10, n),
            "age": rng.normal(40, 10, n),
            "sex": rng.choice(["f", "m"], n),
            "colour": rng.choice(["red", "blue", "green"], n),
            "income": rng.lognormal(10, 1, n),
        }
    )
    return Bags.from_frame(frame, bag="place")
