"""What every classifier from tables offers, on any data frame."""

import numpy as np
import polars as pl
import pytest

from sumwise import Tables
from sumwise.maxent import BestPair, MaxEntClassifier, NaiveBayesTables, SampledLogistic, TreeAugmentedNaiveBayes
from sumwise.maxent.tables_classifier import TablesClassifier

FRAME = {"a": [0, 0, 1, 1, 0, 1], "b": ["u", "v", "u", "v", "v", "u"], "y": ["no", "no", "yes", "yes", "no", "no"]}


@pytest.mark.parametrize(
    "kind", [BestPair, MaxEntClassifier, NaiveBayesTables, SampledLogistic, TreeAugmentedNaiveBayes]
)
def test_probabilities_sum_to_one_and_classes_keep_their_names(kind):
    model = kind().fit(Tables.from_frame(FRAME, ["a", "b"], label="y"))
    shares = model.predict_proba(pl.DataFrame({"b": ["u", "w"], "a": [1, 0]}))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert set(model.predict(pl.DataFrame(FRAME))) <= {"no", "yes"}


def test_the_base_learns_nothing():
    with pytest.raises(NotImplementedError):
        TablesClassifier().fit(None)
    with pytest.raises(NotImplementedError):
        TablesClassifier()._scores(np.zeros((1, 1)))
