"""Individuals to codes, with and without an encoding; terms of unknown levels drop out."""

import numpy as np
import polars as pl

from sumwise.domain import Domain
from sumwise.encoding import Encoding
from sumwise.maxent.individuals import codes_of, term_scores


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
    found = term_scores(codes, [(0, 1), (1,)], np.array([0, 4, 6]), (2, 2), theta)
    assert found[:, 0].tolist() == [8.0, 5.0, 0.0]
