"""Predicted beside polled: matching, and errors that list both sides."""

import pandas as pd
import pytest

from sumwise.errors import DataError, UnknownName
from sumwise.metrics import compare_polls, share_scores

OURS = pd.DataFrame({"state": [1, 1, 2], "sex": ["m", "f", "m"], "share": [0.4, 0.5, 0.6]})
OURS["low"], OURS["high"] = OURS["share"] - 0.1, OURS["share"] + 0.1
THEIRS = pd.DataFrame({"sex": ["f", "m", "m"], "state": ["1", "2", "1"], "share": [0.7, 0.6, 0.44], "size": [3, 2, 1]})


def test_groups_meet_whatever_their_order_and_type():
    found = compare_polls(OURS, THEIRS, ["state", "sex"])
    assert found["polled"].tolist() == [0.44, 0.7, 0.6]
    assert found["weight"].tolist() == [1, 3, 2]
    assert found["covered"].tolist() == [True, False, True]
    assert share_scores(found["predicted"], found["polled"], found["weight"])["majority"] == 2


def test_groups_on_one_side_are_named_on_both_sides():
    other = THEIRS.replace({"sex": {"f": "women"}})
    told = "1 in the prediction alone .*'1, f'.*1 in the poll alone .*'1, women'.*Hint: rename"
    with pytest.raises(DataError, match=told):
        compare_polls(OURS, other, ["state", "sex"])
    assert len(compare_polls(OURS, other, ["state", "sex"], missing="drop")) == 2
    with pytest.raises(DataError, match="No group by sex is on both sides: predicted 'm'; polls 'Male'. Hint: rename"):
        compare_polls({"sex": ["m"], "share": [0.1]}, {"sex": ["Male"], "share": [0.1]}, ["sex"], missing="drop")


def test_columns_and_shares_are_checked():
    with pytest.raises(UnknownName, match="column of polls"):
        compare_polls(OURS, THEIRS.drop(columns="share"), ["state", "sex"])
    with pytest.raises(DataError, match="predicted has 3 rows for 2 groups by sex.*name the state's column in on="):
        compare_polls(OURS, THEIRS, ["sex"])
    with pytest.raises(DataError, match="share of polls"):
        compare_polls(OURS, THEIRS.assign(share=[0.1, None, 0.2]), ["state", "sex"])
