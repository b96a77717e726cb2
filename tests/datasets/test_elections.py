"""Elections: the published truths come out, and margins agree with them."""

import numpy as np
import pytest

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


@pytest.mark.parametrize(
    ("name", "n_units", "R", "C"),
    [
        ("rxc_data", 60, 3, 2),
        ("redistrict", 150, 3, 3),
        ("texas", 249, 3, 3),
        ("stlouis", 349, 2, 5),
        ("elec_1968", 1143, 3, 4),
        ("gwinnett_2018", 156, 4, 3),
        ("santa_clara", 42, 3, 3),
        ("waterbury", 23, 2, 3),
    ],
)
def test_sets_without_truth_have_their_shape(load, name, n_units, R, C):
    e = load(name)
    assert (e.margins.n_units, e.margins.n_rows, e.margins.n_cols) == (n_units, R, C)
    assert e.total is None
    assert (e.margins.rows >= 0).all()
    assert (e.margins.cols >= 0).all()


def test_redistrict_and_elec_1968_carry_covariates(load):
    assert load("redistrict").margins.covariates.shape == (150, 2)
    assert load("elec_1968").margins.covariates.shape == (1143, 13)


def test_gwinnett_keeps_the_votes_and_scales_the_race_totals(load):
    e = load("gwinnett_2018")
    assert e.margins.cols.sum() == e.frame["turnout"].sum()
    unit = list(e.margins.units).index("035")
    assert e.margins.totals[unit] == pytest.approx(1658 + 368)


def test_chile_drops_or_rescales_boxes_that_differ(load):
    dropped, rescaled = load("chile_2021"), load("chile_2021", mismatch="rescale")
    assert dropped.margins.n_units == 36_887
    assert rescaled.margins.n_units == 46_606
    assert rescaled.margins.cols.sum() > dropped.margins.cols.sum()
    assert load("chile_2021", groups="sex").margins.row_names == ("M", "F")


def test_chile_refuses_other_options():
    with pytest.raises(DataError, match="groups is 'party'"):
        datasets.chile_2021(groups="party")
    with pytest.raises(DataError, match="mismatch is 'raise'"):
        datasets.chile_2021(mismatch="raise")
