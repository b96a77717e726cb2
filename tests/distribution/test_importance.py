"""What a model of bags depends on."""

import numpy as np
import pandas as pd
import pytest

from sumwise import Bags
from sumwise.distribution import BagLogistic, BagRidge, LinearEmbedding, partial_dependence, permutation_importance
from sumwise.errors import DataError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    rows = [np.column_stack([rng.normal(size=20), rng.normal(m, 0.3, 20)]) for m in y]
    return Bags.from_arrays(rows), y


def test_the_column_that_matters_is_found(data):
    bags, y = data
    model = BagRidge(LinearEmbedding()).fit(bags, y)
    found = permutation_importance(model, bags, y, n_repeats=3, random_state=0)
    assert found.importances.shape == (2, 3)
    assert found.importances_mean[1] > 0.9
    assert abs(found.importances_mean[0]) < 0.1
    again = permutation_importance(model, bags, y, n_repeats=3, random_state=0)
    assert np.array_equal(found.importances, again.importances)


def test_scorers_of_scikit_learn_are_taken(data):
    bags, y = data
    model = BagLogistic(LinearEmbedding(), penalty=0.01).fit(bags, y > 0)
    found = permutation_importance(model, bags, y > 0, scoring="roc_auc", n_repeats=2, random_state=0)
    assert found.importances_mean[1] > 0.3


def test_prediction_follows_the_shift(data):
    bags, y = data
    model = BagRidge(LinearEmbedding()).fit(bags, y)
    found = partial_dependence(model, bags, 1)
    assert found.individual.shape == (50, 9)
    slope = np.polyfit(found.shifts, found.average, 1)[0]
    assert slope == pytest.approx(1, abs=0.15)


def test_levels_cannot_be_shifted():
    frame = pd.DataFrame({"bag": [0, 0, 1, 1, 2, 2], "kind": list("abaabb"), "x": [0.0, 1, 2, 3, 4, 5]})
    bags = Bags.from_frame(frame, bag="bag", features=["kind", "x"])
    model = BagRidge(LinearEmbedding()).fit(bags, [0.0, 1.0, 2.0])
    with pytest.raises(DataError, match="'kind' has levels"):
        partial_dependence(model, bags, "kind")
    with pytest.raises(DataError, match="no column 'y'"):
        partial_dependence(model, bags, "y")
