"""Counts and shares at every level, by hand."""

import numpy as np

from sumwise import Domain, Table, Tables
from sumwise.diagnostics import class_margin, class_share_errors, level_shares
from sumwise.maxent import MaxEntClassifier, NaiveBayesTables
from sumwise.noise import Gaussian

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


def test_errors_of_shares_are_those_of_repeated_noise():
    rng, one = np.random.default_rng(0), Gaussian(12.0)
    by_class = np.array([[300.0, 100.0], [50.0, 150.0]])  # (level, class)
    drawn = one.sample(np.repeat(by_class[None], 4000, axis=0), rng)
    table = Table("a", by_class.sum(axis=1), by_class[:, 1], Gaussian(12.0 * np.sqrt(2)), label_noise=one)
    found = class_share_errors(Tables([table], Domain({"a": 2}), n=600), "a")[:, 1]
    share = by_class[:, 1] / by_class.sum(axis=1)
    expected = (drawn[..., 1] / drawn.sum(axis=-1)).var(axis=0) + share * (1 - share) / by_class.sum(axis=1)
    np.testing.assert_allclose(found, np.sqrt(expected), rtol=0.04)
