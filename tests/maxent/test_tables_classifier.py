"""What every classifier from tables offers, on any data frame."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sumwise import Tables, load, save
from sumwise.aggregate import aggregate
from sumwise.domain import Domain
from sumwise.encoding import Encoding, held_out_rows
from sumwise.maxent import BestPair, MaxEntClassifier, NaiveBayesTables, SampledLogistic
from sumwise.maxent.kernels.loglinear import layout, term_scores
from sumwise.maxent.tables_classifier import TablesClassifier, codes_of

FRAME = {"a": [0, 0, 1, 1, 0, 1], "b": ["u", "v", "u", "v", "v", "u"], "y": ["no", "no", "yes", "yes", "no", "no"]}


@pytest.mark.parametrize("kind", [BestPair, MaxEntClassifier, NaiveBayesTables, SampledLogistic])
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


@pytest.mark.parametrize("kind", [BestPair, MaxEntClassifier, NaiveBayesTables])
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


def test_unknown_and_missing_levels_are_minus_one():
    frame = pl.DataFrame({"a": ["x", None, "q"], "b": [1, 0, 5]})
    assert codes_of(frame, Domain({"b": 2, "a": ["x", "y"]})).tolist() == [[1, 0], [0, -1], [-1, -1]]


def test_missing_can_be_a_level():
    assert codes_of({"a": ["x", None]}, Domain({"a": ["x", None]})).tolist() == [[0], [1]]


def test_an_encoding_is_applied_first():
    enc = Encoding.fit({"age": [10.0, 20.0, 30.0, 40.0]}, {"age": {"kind": "quantiles", "bins": 2}})
    assert codes_of({"age": [11.0, 39.0]}, enc.domain, enc).tolist() == [[0], [1]]


def test_pairs_drop_with_either_level_and_singles_stay():
    theta = np.arange(6.0)[None]
    codes = np.array([[1, 1], [-1, 1], [1, -1]])
    found = term_scores(layout((2, 2), [(0, 1), (1,)]), codes, theta)
    assert found[:, 0].tolist() == [8.0, 5.0, 0.0]
