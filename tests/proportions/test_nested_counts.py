"""Counts at several levels: exact by subtraction, whole where groups cut through bags, refused where they disagree."""

import numpy as np
import pytest

from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions import CardinalityClassifier, nest

NAN = np.nan


def bags(*sizes):
    return Bags.from_arrays([np.full((n, 1), float(i)) for i, n in enumerate(sizes)])


def test_groups_of_known_parts_add_nothing():
    out, counts = nest(bags(3, 2), [1, 2], [([0, 0], [3])])
    assert out.sizes.tolist() == [3, 2]
    assert counts.tolist() == [1, 2]


def test_three_levels_leave_what_is_unknown_together():
    counties, county_counts = [0, 0, 1, 1], [3, NAN]
    out, counts = nest(bags(3, 2, 4, 5), [1, NAN, NAN, 2], [(counties, county_counts), ([0, 0, 0, 0], [9])])
    # precincts 0 and 3 known; county 0 leaves 2 for precinct 1; the state leaves 9 - 3 - 2 = 4 for precinct 2
    assert sorted(zip(out.sizes.tolist(), counts.tolist())) == [(2, 2.0), (3, 1.0), (4, 4.0), (5, 2.0)]


def test_class_counts_are_subtracted_too():
    out, counts = nest(bags(3, 2), [[1, 2], [NAN, NAN]], [([0, 0], [[2, 3]])])
    assert counts.tolist() == [[1, 2], [1, 1]]
    assert out.sizes.tolist() == [3, 2]


def test_groups_of_rows_that_cut_through_bags_are_added_whole():
    with pytest.warns(UserWarning, match="1 groups cut through bags"):
        out, counts = nest(bags(3, 3), [1, 2], [([0, 0, -1, -1, -1, 0], [2])])
    assert out.sizes.tolist() == [3, 3, 3]
    assert counts.tolist() == [1, 2, 2]


def test_fit_on_nested_counts_learns():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(600, 1)) + np.repeat(rng.normal(size=(60, 1)), 10, axis=0)
    labels = values[:, 0] > 0
    precincts = labels.reshape(60, 10).sum(axis=1).astype(float)
    counties = precincts.reshape(20, 3).sum(axis=1)
    precincts[::3] = NAN
    clf = CardinalityClassifier(penalty=0.1).fit(
        *nest(Bags(values, np.arange(0, 601, 10)), precincts, [(np.arange(60) // 3, counties)])
    )
    assert np.mean(clf.predict(values) == labels) > 0.9


@pytest.mark.parametrize(
    ("counts", "levels", "words"),
    [
        ([1, 2], [([0, 0], [4])], "Group 0 of level 0 has a count of 4"),
        ([1, NAN], [([0, 0], [0])], "its parts have 1.0 already"),
        ([1, NAN], [([-1, -1], [3])], "no rows"),
        ([1, NAN], [([0.0, 0.0], [3])], "have dtype float64"),
        ([1, NAN], [([0], [3])], r"shape \(1,\)"),
        ([1, NAN], [([0, 1], [3])], "a bag in group 1"),
        ([1, NAN], [([0, 0], [[3, 4]])], "counts of shape"),
        ([NAN, NAN], [([0, 0], [NAN])], "No bag and no group has a known count"),
    ],
)
def test_levels_that_do_not_agree_are_refused(counts, levels, words):
    with pytest.raises(DataError, match=words):
        nest(bags(3, 2), counts, levels)
