"""Who belongs to which subgroup: every refusal, and sums by hand."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

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
    with pytest.raises(DataError, match="1 of 3 subgroups by 'g' have no members. First: 'c'"):
        gather(ROWS, {"g": empty}, None, FITTED)
    with pytest.raises(DataError, match="First: True"):
        gather(ROWS, {"Hispanic in Illinois": np.zeros(6, bool)}, None, FITTED)
    assert len(gather(ROWS, {"all": np.ones(6, bool)}, None, FITTED).groups) == 1


def test_zero_weights_are_refused():
    with pytest.raises(DataError, match="All 6 weights are zero"):
        gather(ROWS, (), np.zeros(6), FITTED)
    with pytest.raises(DataError, match="zero in 1 of 2 subgroups. First: g 'a'"):
        gather(ROWS, {"g": list("aabbbb")}, [0, 0, 1, 1, 1, 1], FITTED)
    with pytest.raises(DataError, match="negative"):
        gather(ROWS, (), [-1, 1, 1, 1, 1, 1], FITTED)


@pytest.mark.parametrize(
    ("by", "weights", "told"),
    [
        ({"g": ["a"]}, None, "1 labels for 6"),
        ({"g": [None, *"abcde"]}, None, "missing for 1 of 6"),
        ({"people": list("aabbbb")}, None, "called 'people'"),
        (["g"], None, "no columns called 'g'"),
        ((), [1.0], "1 weights for 6"),
        ((), "heavy", "no such column"),
    ],
)
def test_what_does_not_fit_is_refused(by, weights, told):
    with pytest.raises(DataError, match=told):
        gather(ROWS, by, weights, FITTED)


def test_unknown_columns_are_named():
    frame = pd.DataFrame({"a": [1.0, 2.0], "sex": ["f", "m"]})
    with pytest.raises(UnknownName):
        gather(frame, ["sax"], None, FITTED)
    with pytest.raises(UnknownName):
        gather(Bags(ROWS, [0, 6], features=["a"]), ["b"], None, FITTED)
    with pytest.raises(DataError, match="no individuals"):
        gather(np.zeros((0, 1)), (), None, FITTED)
