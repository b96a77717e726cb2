"""Engines for the shared tests: DuckDB always, Spark where there is Java."""

import numpy as np
import pandas as pd
import pytest

from nasty_names import NASTY_LEVELS, NASTY_NAMES


@pytest.fixture(scope="module", params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request):
    """The name of an engine that is ready to run."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    return request.param


@pytest.fixture(scope="module")
def rows():
    """Rows of every kind, with names and levels that hurt."""
    rng = np.random.default_rng(11)
    n = 400
    columns = {
        "text": rng.choice(NASTY_LEVELS, n),
        "number": rng.choice([-3, 5, 700, 10**12], n),
        "flag": rng.random(n) < 0.4,
        "upper": rng.integers(0, 3, n),
        "lower": rng.choice([0.5, 1.25, -1e-3], n),
        "dots": rng.choice(["p", "q"], n),
        "label": rng.integers(0, 2, n),
        "kind": rng.choice(["red", "green", "blue's"], n),
        "weight": rng.choice([0.0, 0.5, 1.0, 2.25], n),
    }
    return pd.DataFrame(columns).rename(columns=NASTY_NAMES)
