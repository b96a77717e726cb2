"""BestPair finds the features that matter, and is a logistic regression on them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from messages import raises
from sumwise import DataError, Tables
from sumwise.maxent import BestPair
from sumwise.maxent.kernels.loglinear import layout
from sumwise.maxent.kernels.table_logistic import cell_design


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    made = pd.DataFrame({c: rng.integers(0, 3, 4000) for c in "abcd"})
    made["y"] = (rng.random(4000) < 0.1 + 0.2 * ((made["b"] + made["d"]) % 3)).astype(int)
    return made


def test_finds_the_pair_that_acts_together(frame):
    model = BestPair().fit(Tables.from_frame(frame, list("abcd"), label="y"))
    assert model.pair_ == ("b", "d")
    assert model.ranking_["criterion"].is_monotonic_decreasing
    assert len(model.ranking_) == 6


def test_is_a_logistic_regression_on_rows(frame):
    model = BestPair(penalty=2.0, pair=("d", "b")).fit(Tables.from_frame(frame, list("abcd"), label="y"))
    lay = layout((3, 3), [(0, 1), (0,), (1,)])
    design = cell_design(lay, frame[["b", "d"]].to_numpy())
    reference = LogisticRegression(C=0.25, tol=1e-8, max_iter=1000).fit(design, frame["y"])
    np.testing.assert_allclose(model.predict_proba(frame), reference.predict_proba(design), atol=1e-4)


def test_needs_a_table_of_two_features(frame):
    with raises(DataError, "no-table-two"):
        BestPair().fit(Tables.from_frame(frame, list("abcd"), label="y", order=1))
