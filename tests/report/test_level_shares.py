"""Counts and shares at every level, by hand."""

import numpy as np

from sumwise import Domain, Table, Tables
from sumwise.maxent import MaxEntClassifier, NaiveBayesTables
from sumwise.noise import Gaussian
from sumwise.report.level_shares import class_margin, class_share_errors, level_shares

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


def test_noisy_tables_are_averaged_by_their_precision():
    """The margin is nearer to the truth than that of any one table, by as much as its errors say."""
    rng, truth = np.random.default_rng(1), np.array([[[300.0, 100.0], [50.0, 150.0]], [[20.0, 90.0], [70.0, 220.0]]])
    exact = {("a", "b"): truth, ("a",): truth.sum(axis=1)}
    scales = {("a", "b"): 8.0, ("a",): 16.0}
    share = truth.sum(axis=1)[:, 1] / truth.sum(axis=(1, 2))
    found = []
    for _ in range(800):
        made = []
        for names, counts in exact.items():
            noisy, one = counts + scales[names] * rng.standard_normal(counts.shape), Gaussian(scales[names])
            both = Gaussian(scales[names] * np.sqrt(2))
            made.append(Table(names, noisy.sum(axis=-1), noisy[..., 1], both, label_noise=one))
        tables = Tables(made, Domain({"a": 2, "b": 2}), n=1000)
        counts, sums = class_margin(tables, "a")
        found.append(sums[:, 1] / counts)
    errors = class_share_errors(tables, "a")[:, 1]
    sampling = share * (1 - share) / truth.sum(axis=(1, 2))
    np.testing.assert_allclose(np.var(found, axis=0), errors**2 - sampling, rtol=0.2)
    alone = class_share_errors(tables.with_tables(made[:1]), "a")[:, 1]
    assert np.all(errors < alone)
