"""Who belongs to which subgroup: every refusal, and sums by hand."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise import Bags
from sumwise.errors import DataError, UnknownName
from sumwise.proportions.members import gather

FITTED = SimpleNamespace(n_features_in_=1)

ROWS = np.arange(6.0).reshape(6, 1)


def test_sums_and_means_by_subgroup_and_bag():
    bags = Bags(ROWS, [0, 2, 6], weights=[1.0, 2.0, 1.0, 1.0, 3.0, 1.0])
    m = gather(bags, {"g": list("abaabb")}, None, FITTED)
    assert m.groups.to_dict("list") == {"g": ["a", "b"], "rows": [3, 3], "people": [3.0, 6.0]}
    np.testing.assert_allclose(m.mean(ROWS)[:, 0], [(0 + 2 + 3) / 3, (2 + 12 + 5) / 6])
    np.testing.assert_allclose(m.bag_sums(ROWS[:, 0]), [1, 14])


def test_combinations_without_members_are_left_out():
    m = gather(ROWS, {"g": list("aabbbb"), "h": [1, 1, 1, 1, 2, 2]}, None, FITTED)
    assert m.groups[["g", "h"]].to_numpy().tolist() == [["a", 1], ["b", 1], ["b", 2]]


def test_a_subgroup_without_members_is_refused():
    empty = pd.Categorical(list("aabbbb"), categories=list("abc"))
    with raises(DataError, "subgroups-no-members", 1, 3, "g", "c"):
        gather(ROWS, {"g": empty}, None, FITTED)
    with raises(DataError, "subgroups-no-members-first", "True"):
        gather(ROWS, {"Hispanic in Illinois": np.zeros(6, bool)}, None, FITTED)
    assert len(gather(ROWS, {"all": np.ones(6, bool)}, None, FITTED).groups) == 1


def test_zero_weights_are_refused():
    with raises(DataError, "all-weights-zero-nobody", 6):
        gather(ROWS, (), np.zeros(6), FITTED)
    with raises(DataError, "all-weights-zero-subgroups", 1, 2, "g 'a'"):
        gather(ROWS, {"g": list("aabbbb")}, [0, 0, 1, 1, 1, 1], FITTED)
    with raises(DataError, "negative-counts-start"):
        gather(ROWS, (), [-1, 1, 1, 1, 1, 1], FITTED)


@pytest.mark.parametrize(
    ("by", "weights", "told"),
    [
        ({"g": ["a"]}, None, ("labels-individuals-per", 1, 6)),
        ({"g": [None, *"abcde"]}, None, ("missing-individuals-drop", 1, 6)),
        ({"people": list("aabbbb")}, None, ("column-answer-called", "people")),
        (["g"], None, ("matrix-no-columns", "g")),
        ((), [1.0], ("weights-individuals-per", 1, 6)),
        ((), "heavy", ("weights-individuals-no",)),
    ],
)
def test_what_does_not_fit_is_refused(by, weights, told):
    with raises(DataError, *told):
        gather(ROWS, by, weights, FITTED)


def test_unknown_columns_are_named():
    frame = pd.DataFrame({"a": [1.0, 2.0], "sex": ["f", "m"]})
    with pytest.raises(UnknownName):
        gather(frame, ["sax"], None, FITTED)
    with pytest.raises(UnknownName):
        gather(Bags(ROWS, [0, 6], features=["a"]), ["b"], None, FITTED)
    with raises(DataError, "no-individuals-rows"):
        gather(np.zeros((0, 1)), (), None, FITTED)
