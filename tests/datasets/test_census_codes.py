"""Census codes in few classes."""

import numpy as np

from messages import raises
from sumwise.datasets import coarse_education, coarse_race
from sumwise.errors import DataError


def test_every_code_of_schooling_has_its_class():
    assert np.bincount(coarse_education(np.arange(1, 25)).cat.codes).tolist() == [17, 3, 1, 3]
    assert np.bincount(coarse_education(np.arange(1, 13), "EDU").cat.codes).tolist() == [6, 2, 1, 3]
    assert coarse_education([np.nan, 21]).isna().tolist() == [True, False]


def test_hispanic_of_any_race_comes_first():
    assert coarse_race([1, 2, 6, 9, 3, 8], [0, 1, 4, 0, 0, 0], not_hispanic=0).tolist() == [
        "white", "hispanic", "hispanic", "other", "other", "other",
    ]  # fmt: skip
    assert coarse_race([1.0, np.nan], [1, 1]).isna().tolist() == [False, True]


def test_other_codes_are_refused():
    with raises(DataError, "holds-codes-arent", "SCHL", 1, 24, 25):
        coarse_education([16, 25])
    with raises(DataError, "holds-codes-arent", "RAC1P"):
        coarse_race([0], [1])
    with raises(DataError, "lengths-differ-entry"):
        coarse_race([1, 2], [1])
    with raises(DataError, "is-takes", "scheme"):
        coarse_education([16], "edu")
