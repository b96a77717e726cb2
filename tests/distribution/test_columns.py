import numpy as np
import pandas as pd
import pytest

from messages import raises, warns
from sumwise import Bags
from sumwise.distribution import BagKernelRidge, BagLogistic, BagRidge, MomentEmbedding
from sumwise.distribution.columns import Columns, check_bags
from sumwise.errors import DataError, ModelWarning


def test_check_bags_refuses_what_is_no_bags_and_empty_ones():
    with raises(DataError, "bags-type-build", "list"):
        check_bags([[1.0]])
    kept = Bags.from_arrays([[1.0], []], ids=["a", "b"], empty="keep")
    with raises(DataError, "bags-empty-first", 2, "bag 'b'"):
        check_bags(kept)
    assert check_bags(kept.drop_empty(), 1) is not None


def test_learn_counts_every_bag_the_same():
    bags = Bags.from_arrays([np.zeros((1000, 1)), np.full((1, 1), 2.0)])
    columns = Columns.learn(bags)
    assert columns.centre[0] == pytest.approx(1.0)
    assert columns.scale[0] == pytest.approx(1.0)


def test_constant_columns_are_left_out_and_said():
    bags = Bags.from_arrays([[[1.0, 3.0]], [[2.0, 3.0]]], features=["a", "b"])
    with warns(ModelWarning, "columns-constant-left", 1, 2, "b"):
        columns = Columns.learn(bags)
    assert columns.numeric.tolist() == [0]
    with raises(DataError, "all-columns-constant", 1):
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
    with raises(DataError, "feature-level-training-didnt", "sex", "100.0%", 2, "x"):
        columns.check(Bags.from_frame(pd.concat([frame, frame]), bag="place"))
    with raises(DataError, "bags-columns-those", 1):
        columns.check(Bags.from_arrays([[1.0]]))
    with raises(DataError, "bags-columns-those"):
        columns.check(Bags.from_frame(frame.rename(columns={"age": "years"}), bag="place"))
    numbers = Bags(mixed_bags.values, mixed_bags.offsets, features=mixed_bags.features)
    with raises(DataError, "column-no-levels"):
        columns.check(numbers)


def test_a_level_that_training_lacked_has_no_share():
    frame = pd.DataFrame({"b": [0, 0, 1, 1], "c": ["x", "y", "y", "x"]})
    columns = Columns.learn(Bags.from_frame(frame, bag="b"))
    new = Bags.from_frame(frame.assign(c=["x", "z", "y", "y"]), bag="b")
    with warns(ModelWarning, "feature-level-training", "c", "25.0%", 4, "z"):
        checked = columns.check(new)
    assert np.allclose(columns.shares(checked), [[0.5, 0], [0, 1]])


def test_shares_are_weighted():
    frame = pd.DataFrame({"b": [0, 0, 1], "c": ["x", "y", "y"], "w": [1.0, 3.0, 2.0]})
    bags = Bags.from_frame(frame, bag="b", features=["c"], weight="w")
    assert np.allclose(Columns.learn(bags).shares(bags), [[0.25, 0.75], [0, 1]])


def with_gaps(n=60, seed=0):
    """The response is the share of rows whose income is missing, and the mean of what is known."""
    rng = np.random.default_rng(seed)
    share, mean = rng.uniform(0.1, 0.6, n), rng.normal(size=n)
    frame = pd.DataFrame({"bag": np.repeat(np.arange(n), 40)})
    income = rng.normal(np.repeat(mean, 40), 1)
    frame["income"] = np.where(rng.random(len(frame)) < np.repeat(share, 40), np.nan, income)
    frame["kind"] = np.where(rng.random(len(frame)) < 0.2, None, rng.choice(["a", "b"], len(frame)))
    return frame, pd.Series(5 * share + mean, index=pd.Index(np.arange(n), name="bag"))


def test_missing_values_are_filled_and_indicated():
    frame, _ = with_gaps()
    bags = Bags.from_frame(frame, bag="bag", features=["income", "kind"])
    columns = Columns.learn(bags)
    assert columns.gaps == ("income",)
    assert columns.features == ("income", "kind", "income (missing)")
    assert columns.given == ("income", "kind")
    assert columns.levels["kind"][-1] == "missing"
    ready = columns.check(bags)
    assert not np.isnan(ready.values).any()
    gone = frame["income"].isna().to_numpy()
    assert np.allclose(ready.values[gone, 0], frame["income"].mean())
    assert np.array_equal(ready.values[:, 2], gone)
    shares = columns.shares(ready)
    assert np.allclose(shares[:, 2], frame["kind"].isna().groupby(frame["bag"]).mean())


@pytest.mark.parametrize("model", [BagRidge(MomentEmbedding(2)), BagKernelRidge(random_state=0)])
def test_missing_values_inform_a_regression(model):
    frame, y = with_gaps()
    bags = Bags.from_frame(frame, bag="bag", features=["income", "kind"])
    assert model.fit(bags[:45], y[:45]).score(bags[45:], y[45:]) > 0.7


def test_missing_values_that_training_lacked_are_filled_with_a_warning():
    columns = Columns.learn(Bags.from_arrays([[1.0, 3.0], [2.0, 2.0]]))
    with warns(ModelWarning, "column-missing-values", "x0"):
        assert columns.check(Bags.from_arrays([[np.nan, 3.0]])).values.ravel().tolist() == [2.0, 3.0]


def test_columns_are_taken_by_name(mixed_bags):
    columns = Columns.learn(mixed_bags)
    order = [2, 0, 3, 1]
    names = tuple(mixed_bags.features[j] for j in order)
    other = mixed_bags.with_values(np.asarray(mixed_bags.values)[:, order], names, mixed_bags.levels)
    assert np.array_equal(columns.check(other).values, columns.check(mixed_bags).values)


def test_responses_are_aligned_to_bags_by_their_index():
    rng = np.random.default_rng(0)
    names = rng.permutation([f"area {i}" for i in range(40)])
    mean = dict(zip(names, rng.normal(size=40)))
    frame = pd.DataFrame({"area": np.repeat(names, 30)})
    frame["x"] = rng.normal(frame["area"].map(mean), 0.3)
    bags = Bags.from_frame(frame, bag="area", features=["x"])
    y = frame.groupby("area")["x"].mean()  # sorted by name
    assert BagRidge(MomentEmbedding(1)).fit(bags, y).score(bags, y) > 0.99
    assert BagLogistic(MomentEmbedding(1)).fit(bags, y > 0).score(bags, y > 0) > 0.9
    with raises(DataError, "index-index-bags", "y"):
        BagRidge(MomentEmbedding(1)).fit(bags, y.rename({"area 1": "area one"}))


@pytest.mark.parametrize("numeric", [[0, 10**7], [0, -1], [0.0, 1.0], [0], [[0, 1]]])
def test_positions_that_no_column_has_are_refused(numeric):
    """From a forged file they were read beyond the values, in compiled code."""
    learned = Columns.learn(Bags.from_arrays([[[1.0, 3.0], [2.0, 5.0]], [[2.0, 2.0], [0.0, 1.0]]]))
    with raises(DataError, "columns-numbers-features", 2):
        Columns(learned.features, np.array(numeric), learned.centre, learned.scale, {})
