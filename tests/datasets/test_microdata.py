"""Rows of persons: names, missing values, bags with hidden labels."""

import numpy as np
import pytest

from messages import raises
from sumwise import datasets
from sumwise.datasets.microdata import ADULT_COLUMNS
from sumwise.errors import UnknownName


def test_adult_has_names_missing_values_and_equal_labels(load):
    data = load("adult")
    assert data.train.shape == (32_561, 15)
    assert data.test.shape == (16_281, 15)
    assert list(data.train.columns) == ADULT_COLUMNS
    assert set(data.train["income"]) == set(data.test["income"]) == {"<=50K", ">50K"}
    assert data.train["workclass"].isna().sum() == 1836
    assert data.y_train.mean() == pytest.approx(0.2408, abs=1e-4)
    assert data.y_test.mean() == pytest.approx(0.2362, abs=1e-4)


def test_bank_keeps_unknown_as_a_level(load):
    data = load("bank")
    assert data.frame.shape == (41_188, 21)
    assert data.frame.isna().sum().sum() == 0
    assert (data.frame["default"] == "unknown").sum() == 8597


def test_pums_reads_n_as_missing_and_keeps_area_codes(load):
    data = load("pums_national")
    assert data.frame["PUMA"].nunique() == 20
    assert data.frame["MSP"].isna().sum() == 4247
    assert data.frame["PUMA"].iloc[0] == "01-01301"
    assert "SEX" in data.dictionary
    assert load("pums_ma").frame["PUMA"].nunique() == 5


def test_pums_hides_a_label(load):
    data = load("pums_ma")
    hidden = data.hide("DPHY", ["AGEP", "SEX"], weighted=True)
    assert len(hidden.bags) == 5
    assert hidden.counts.sum() == data.frame["DPHY"].notna().sum() == len(hidden.labels)
    assert hidden.bags.weighted
    source = data.frame.iloc[hidden.rows]
    np.testing.assert_array_equal(hidden.bags.values[:, 0], source["AGEP"])
    np.testing.assert_array_equal(np.array(hidden.classes)[hidden.labels], source["DPHY"])
    assert list(hidden.bags.ids) == sorted(data.frame["PUMA"].unique())


def test_franco_gives_bags_with_counts(load):
    data = load("franco", "hard-large-equal-mixed")
    assert len(data.bags) == 10
    assert data.bags.values.shape == (48_842, 179)
    assert data.counts.sum() == 48_842
    np.testing.assert_array_equal(
        data.counts[:, 1], [data.labels[a:b].sum() for a, b in zip(data.bags.offsets, data.bags.offsets[1:])]
    )
    assert sorted(data.rows) == list(range(48_842))


def test_franco_refuses_an_ambiguous_or_unknown_variant():
    with raises(UnknownName, "variant-fits-names", 6, 20):
        datasets.franco("hard")
    with raises(UnknownName, "variant-fits-names", 0, 20):
        datasets.franco("soft")
