"""Counts and shares at every level, by hand."""

import numpy as np

from sumwise import Tables
from sumwise.diagnostics import class_margin, level_shares
from sumwise.maxent import MaxEntClassifier, NaiveBayesTables

ROWS = {"a": [0, 1, 1, 0, 1], "b": [0, 0, 1, 1, 1], "c": [0, 1, 0, 1, 0], "y": [0, 1, 1, 0, 0]}


def tables():
    return Tables.from_frame(ROWS, ["a", "b", "c"], label="y")


def test_margin_of_every_attribute_counts_rows():
    for name in "abc":
        counts, sums = class_margin(tables(), name)
        levels = np.array(ROWS[name])
        np.testing.assert_array_equal(counts, np.bincount(levels))
        np.testing.assert_array_equal(sums[:, 1], np.bincount(levels, weights=ROWS["y"]))
        np.testing.assert_array_equal(sums.sum(axis=1), counts)


def test_model_columns_are_there_where_the_model_has_expected_tables():
    plain = level_shares(NaiveBayesTables().fit(tables()), tables())
    assert "share by model" not in plain
    assert len(plain) == 3 * 2 * 2
    model = MaxEntClassifier(engine="exact").fit(tables())
    found = level_shares(model, tables())
    per_level = found.groupby(["attribute", "level"])["share by model"].sum()
    np.testing.assert_allclose(per_level, 1)
