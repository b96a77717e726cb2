"""What every classifier from tables offers, on any data frame."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sumwise import Tables, load, save
from sumwise.aggregate import aggregate
from sumwise.encoding import Encoding, held_out_rows
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


@pytest.mark.parametrize("kind", [BestPair, MaxEntClassifier, NaiveBayesTables, TreeAugmentedNaiveBayes])
def test_encodings_are_kept_with_a_saved_model_and_take_unseen_values(kind, tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"site": rng.integers(0, 300, 2000), "age": rng.normal(40, 9, 2000)})
    rows["y"] = (rng.random(2000) < 0.2 + 0.4 * (rows["site"] % 2)).astype(int)
    held_out = held_out_rows(2000, 0.3, random_state=0)
    spec = {
        "site": {"kind": "target", "count_bins": 2, "rate_bins": 3},
        "cell": {"kind": "hash", "column": "site", "cells": 6},
        "age": "quartiles",
        "both": {"kind": "cross", "of": ["age", "site"], "cells": 5},
    }
    encoding = Encoding.fit(rows, spec, label="y", held_out=held_out)
    model = kind().fit(aggregate(rows[~held_out], ["site", "cell", "both"], label="y", encoding=encoding))
    save(model, tmp_path / "m.sumwise")
    again = load(tmp_path / "m.sumwise")
    new = pd.DataFrame({"site": [7, 10**9], "age": [20.0, 99.0]})  # the second site was never seen
    assert dict(again.encoding_.rules) == dict(encoding.rules)
    assert again.encoding_.transform(new)["site"].tolist()[1] == "unseen"
    assert np.array_equal(again.predict_proba(new), model.predict_proba(new))
