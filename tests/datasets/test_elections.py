"""Elections: the published truths come out, and margins agree with them."""

import numpy as np

from messages import raises
from sumwise import datasets
from sumwise.errors import DataError


def test_senc_has_the_published_truth(load):
    e = load("senc")
    assert e.cells.shape == (212, 3, 3)
    np.testing.assert_array_equal(e.cells.sum(axis=2), e.margins.rows)
    np.testing.assert_array_equal(e.cells.sum(axis=1), e.margins.cols)
    expected = [[0.468, 0.374, 0.159], [0.895, 0.041, 0.065], [0.890, 0.060, 0.050]]
    np.testing.assert_allclose(e.shares, expected, atol=6e-4)
    assert e.margins.row_names == ("white", "black", "natam")
    assert e.margins.units[0] == "Bladen: ABBOTTS"


def test_chile_drops_or_rescales_boxes_that_differ(load):
    dropped, rescaled = load("chile_2021"), load("chile_2021", mismatch="rescale")
    assert dropped.margins.n_units == 36_887
    assert rescaled.margins.n_units == 46_606
    assert rescaled.margins.cols.sum() > dropped.margins.cols.sum()
    assert load("chile_2021", groups="sex").margins.row_names == ("M", "F")


def test_chile_refuses_other_options():
    with raises(DataError, "groups-take-age", "party"):
        datasets.chile_2021(groups="party")
    with raises(DataError, "mismatch-take-drop", "raise"):
        datasets.chile_2021(mismatch="raise")
