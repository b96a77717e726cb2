"""Columns of bags are exchanged with their distributions, and shifted by their means; bags themselves don't change."""

import numpy as np
import pytest

from messages import raises
from sumwise import Bags, load, save
from sumwise.bag_columns import BagColumn
from sumwise.errors import DataError


@pytest.fixture
def bags():
    rows = [[[3.0, 1.0], [1.0, 2.0]], [[10.0, 3.0], [30.0, 4.0], [20.0, 5.0], [40.0, 6.0]]]
    return Bags.from_arrays([np.array(part) for part in rows], ids=["a", "b"], features=["x", "y"])


def test_column_is_an_array_of_means(bags):
    assert np.asarray(bags.iloc[:, 0]).tolist() == [2.0, 25.0]
    assert np.asarray(bags.iloc[[1], 1]).tolist() == [4.5]
    assert bags.iloc[:, 0].shape == (len(bags.iloc[:, 0]),) == (2,)


def test_means_leave_missing_values_out_and_weigh_rows():
    bags = Bags(np.array([[1.0], [np.nan], [3.0], [5.0]]), [0, 3, 4], weights=[1.0, 9.0, 3.0, 1.0])
    assert np.asarray(bags.iloc[:, 0]).tolist() == [2.5, 5.0]


def test_take_gives_bags_or_columns(bags):
    assert bags.take([1]).ids.tolist() == ["b"]
    assert bags.take([1], axis=1).features == ("y",)
    assert isinstance(bags.iloc[:, [1]], Bags)
    assert isinstance(bags.iloc[:, 1], BagColumn)


def test_exchanged_columns_keep_the_order_within_bags(bags):
    made = bags.copy()
    made["x"] = bags.iloc[[1, 0], 0]
    assert made.values[:, 0].tolist() == [30.0, 10.0, 1.0, 3.0, 1.0, 3.0]  # quartiles of b, halves of a
    assert made.values[:, 1].tolist() == bags.values[:, 1].tolist()
    made["x"] = bags.iloc[:, 0]
    assert made == bags


def test_weights_count_in_quantiles():
    bags = Bags(np.array([[0.0], [1.0], [5.0], [6.0]]), [0, 2, 4], weights=[1.0, 1.0, 9.0, 1.0])
    made = bags.copy()
    made["x0"] = bags.iloc[[1, 0], 0]
    assert made.values[:, 0].tolist() == [5.0, 5.0, 0.0, 1.0]


def test_shift_sets_every_mean(bags):
    made = bags.copy()
    made.iloc[:, 0] = 7.0
    assert np.asarray(made.iloc[:, 0]).tolist() == [7.0, 7.0]
    assert made.values[:2, 0].tolist() == [8.0, 6.0]
    made.iloc[:, 0] = 0.0
    assert np.asarray(made.iloc[:, 0]).tolist() == [0.0, 0.0]
    assert np.asarray(bags.iloc[:, 0]).tolist() == [2.0, 25.0]


def test_bags_that_are_no_copy_are_an_error(bags):
    with raises(DataError, "bags-dont-change"):
        bags.iloc[:, 0] = 1.0
    with raises(DataError, "column-assigned-all"):
        bags.copy().iloc[[0], 0] = 1.0


def test_repeated_exchanges_lose_nothing(bags):
    made = bags.copy()
    for order in ([1, 0], [1, 0]):  # as permutation_importance shuffles what it shuffled before
        made["x"] = made.iloc[order, 0]
    assert made == bags


def test_copies_and_parts_of_a_copy_keep_their_values(bags):
    first = bags.copy()
    first.iloc[:, 0] = 3.0
    second, part = first.copy(), first[0:1]
    first.iloc[:, 0] = 5.0
    assert np.asarray(second.iloc[:, 0]).tolist() == [3.0, 3.0]
    assert np.asarray(part.iloc[:, 0]).tolist() == [3.0]


def test_a_column_of_fewer_bags_is_an_error(bags):
    with pytest.raises(DataError):
        bags.copy()["x"] = bags.iloc[[0], 0]


def test_masks(bags):
    assert bags.loc[np.array([False, True])].ids.tolist() == ["b"]
    assert bags.loc[:, [True, False]].features == ("x",)
    with raises(DataError, "bags-loc-takes"):
        bags.loc[0]


def test_a_copy_is_saved_as_bags(bags, tmp_path):
    save(bags.copy(), tmp_path / "bags")
    assert load(tmp_path / "bags") == bags


def test_a_missing_mean_is_no_value_to_shift_to(bags):
    with raises(DataError, "column-no-mean", "x"):
        bags.copy().iloc[:, 0] = np.nan
