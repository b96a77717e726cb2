"""The 386 contests: shapes, truth, published scores."""

import numpy as np
import pandas as pd

from messages import raises
from sumwise.datasets import store
from sumwise.datasets.contests import _blocks
from sumwise.errors import DataError, UnknownName


def test_merged_contests_add_up_to_their_truth(load):
    found = load("contests")
    assert len(found) == 386
    for c in found:
        np.testing.assert_array_equal(c.total.sum(axis=1), c.margins.rows.sum(axis=0))
        np.testing.assert_array_equal(c.total.sum(axis=0), c.margins.cols.sum(axis=0))
    first = found[0]
    assert (first.dataset, first.district, first.key) == ("NZ_2002", "Aoraki", "Aoraki_G7_C5")
    assert first.election == "New Zealand 2002"
    assert found[-1].election == "Scotland 2007"
    assert first.margins.n_units == 80
    assert first.total.shape == (7, 5)
    assert first.margins.row_names[0] == "ACT"
    assert first.margins.col_names[0] == "BUNTING, Antony"
    assert first.total[0, :2].tolist() == [18, 24]
    np.testing.assert_allclose(first.shares.sum(axis=1), 1)


def test_raw_contests_hold_the_same_votes(load):
    merged, raw = load("contests"), load("contests", merged=False)
    assert [c.total.sum() for c in merged] == [c.total.sum() for c in raw]
    assert max(c.total.shape[0] for c in raw) == 26
    assert max(c.total.shape[1] for c in raw) == 15


def test_one_election_can_be_asked_for(load):
    assert len(load("contests", dataset="SCO_2007")) == 37
    with raises(UnknownName, "no-contests-elections", "NZ_1999"):
        load("contests", dataset="NZ_1999")


def test_published_scores_cover_every_contest(load):
    load("contests", dataset="SCO_2007")
    scores = store.read_csv("contests", 5, text=["run"])
    assert scores["method"].nunique() == 16
    assert len(scores.drop_duplicates(["dataset", "district"])) == 386
    assert set(scores["run"]) == {"1", "1_pinit123"}


def test_lines_that_dont_lie_together_are_refused():
    frame = pd.DataFrame({"dataset": ["a", "a", "a"], "district": ["x", "y", "x"]})
    with raises(DataError, "lines-contest-dont"):
        _blocks(frame, {("a", "x"): 0, ("a", "y"): 1})


def test_a_contest_without_lines_is_refused():
    frame = pd.DataFrame({"dataset": ["a"], "district": ["x"]})
    with raises(DataError, "some-contests-no"):
        _blocks(frame, {("a", "x"): 0, ("a", "y"): 1})
