import numpy as np
import pandas as pd
import pytest

from sumwise import Bags
from sumwise.distribution.columns import Columns, check_bags
from sumwise.errors import DataError, ModelWarning


def test_check_bags_refuses_what_is_no_bags_and_empty_ones():
    with pytest.raises(DataError, match="bags is a list"):
        check_bags([[1.0]])
    kept = Bags.from_arrays([[1.0], []], ids=["a", "b"], empty="keep")
    with pytest.raises(DataError, match=r"1 of 2 bags are empty. First: bag 'b'"):
        check_bags(kept)
    assert check_bags(kept.drop_empty(), 1) is not None


def test_learn_counts_every_bag_the_same():
    bags = Bags.from_arrays([np.zeros((1000, 1)), np.full((1, 1), 2.0)])
    columns = Columns.learn(bags)
    assert columns.centre[0] == pytest.approx(1.0)
    assert columns.scale[0] == pytest.approx(1.0)


def test_constant_columns_are_left_out_and_said():
    bags = Bags.from_arrays([[[1.0, 3.0]], [[2.0, 3.0]]], features=["a", "b"])
    with pytest.warns(ModelWarning, match=r"1 of 2 columns are constant \('b'\)"):
        columns = Columns.learn(bags)
    assert columns.numeric.tolist() == [0]
    with pytest.raises(DataError, match="All 1 columns are constant"):
        Columns.learn(Bags.from_arrays([[1.0], [1.0]]))


def test_columns_of_large_level_and_small_spread_are_not_constant():
    bags = Bags.from_arrays([[1e9, 1e9 + 1], [1e9 + 2, 1e9]])
    assert Columns.learn(bags).scale[0] == pytest.approx(np.std([0, 1, 2, 0]))


def test_levels_are_translated_by_name(mixed_bags):
    columns = Columns.learn(mixed_bags)
    part = mixed_bags.subset(mixed_bags.values[:, 1] == 1).drop_empty()
    j = list(mixed_bags.features).index("sex")
    men = part.with_values(np.where(np.arange(4) == j, 0.0, part.values), part.features, {**part.levels, "sex": ("m",)})
    place = np.flatnonzero([name == "sex" and level == "m" for name, ls in columns.levels.items() for level in ls])
    assert np.allclose(columns.shares(columns.check(men))[:, place], 1.0)


def test_unknown_levels_and_other_columns_are_refused(mixed_bags):
    columns = Columns.learn(mixed_bags)
    frame = pd.DataFrame({"place": [0], "age": [1.0], "sex": ["x"], "colour": ["red"], "income": [1.0]})
    with pytest.raises(DataError, match="'sex' holds levels that training lacked in 1 rows. First: 'x'"):
        columns.check(Bags.from_frame(frame, bag="place"))
    with pytest.raises(DataError, match="have 1 columns"):
        columns.check(Bags.from_arrays([[1.0]]))
    with pytest.raises(DataError, match="give the same columns in the same order"):
        columns.check(Bags.from_frame(frame[["place", "income", "age", "sex", "colour"]], bag="place"))
    numbers = Bags(mixed_bags.values, mixed_bags.offsets, features=mixed_bags.features)
    with pytest.raises(DataError, match="has no levels"):
        columns.check(numbers)


def test_shares_are_weighted():
    frame = pd.DataFrame({"b": [0, 0, 1], "c": ["x", "y", "y"], "w": [1.0, 3.0, 2.0]})
    bags = Bags.from_frame(frame, bag="b", features=["c"], weight="w")
    assert np.allclose(Columns.learn(bags).shares(bags), [[0.25, 0.75], [0, 1]])
