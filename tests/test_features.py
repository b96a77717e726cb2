import warnings

import numpy as np
import pandas as pd
import pytest

from messages import raises, warns
from sumwise import Bags
from sumwise.errors import DataError, ModelWarning
from sumwise.features import Features, centre_and_scale, level_text, mean_and_std, refuse_far, refuse_missing


def test_mean_and_deviation_of_each_column():
    values = np.random.default_rng(0).normal([3.0, 1e8], 2.0, (70_000, 2))  # more than one block
    centre, scale = centre_and_scale(values)
    np.testing.assert_allclose(centre, values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scale, values.std(axis=0), rtol=1e-6)


def test_indicators_and_constants_keep_their_scale():
    values = np.column_stack([np.arange(4.0), [0, 0, 0, 1], np.full(4, 7.0)])
    assert centre_and_scale(values)[1].tolist() == [pytest.approx(np.std([0, 1, 2, 3])), 1.0, 1.0]


def test_weights_count_like_repeated_rows():
    rng = np.random.default_rng(1)
    values, weights = rng.normal(size=(20, 3)), rng.integers(1, 4, 20)
    for one, other in zip(centre_and_scale(values, weights), centre_and_scale(np.repeat(values, weights, axis=0))):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_weighted_mean_and_std_are_those_of_numpy():
    rng = np.random.default_rng(2)
    values, weights = rng.normal([0.0, 1e6], [1.0, 3.0], (70_000, 2)), rng.uniform(0.0, 2.0, 70_000)
    mean, std = mean_and_std(values, weights)
    centre = np.average(values, axis=0, weights=weights)
    np.testing.assert_allclose(mean, centre, rtol=1e-9)
    np.testing.assert_allclose(std, np.sqrt(np.average((values - centre) ** 2, axis=0, weights=weights)), rtol=1e-9)


def test_a_first_row_without_weight_may_lie_anywhere():
    values = np.append(1e9, np.arange(10.0))[:, None]
    for weight in (0.0, 1e-30):
        mean, std = mean_and_std(values, np.append(weight, np.ones(10)))
        assert (mean[0], std[0]) == (pytest.approx(4.5), pytest.approx(np.std(np.arange(10.0))))


def test_a_constant_column_has_no_deviation():
    assert mean_and_std(np.full((5, 1), 0.1), np.arange(5.0))[1] == 0.0


def people(**change):
    frame = pd.DataFrame(
        {"b": [1, 1, 2, 2], "age": [20.0, np.nan, 40.0, 30.0], "job": ["x", "y", None, "x"], "n": [1, 2, 3, 4]}
    )
    return frame.assign(**change)


def learned(**change):
    return Features.learn(Bags.from_frame(people(**change), bag="b"))


def test_levels_and_gaps_become_columns():
    features = learned()
    assert features.names == ("age", "age=missing", "job=x", "job=y", "job=missing", "n")
    expected = [[20, 0, 1, 0, 0, 1], [30, 1, 0, 1, 0, 2], [40, 0, 0, 0, 1, 3], [30, 0, 1, 0, 0, 4]]
    np.testing.assert_array_equal(features.matrix(people()), expected)
    assert [features.width(c) for c in features.columns] == [2, 3, 1]


def test_rows_without_levels_or_gaps_stay_as_they_are():
    bags = Bags(np.arange(6.0).reshape(3, 2), [0, 1, 3])
    features = Features.learn(bags)
    assert features.unchanged
    assert features.matrix(bags) is bags.values


def test_weights_count_in_the_mean_of_a_gap():
    bags = Bags.from_arrays([[1.0, 4.0, np.nan]], weights=[[3, 1, 5]])
    assert Features.learn(bags).means[0] == pytest.approx(7 / 4)


def test_columns_are_found_by_name_in_any_order():
    features = learned()
    shuffled = people()[["n", "job", "b", "age"]]
    np.testing.assert_array_equal(features.matrix(shuffled), features.matrix(people()))
    bags = Bags.from_frame(people(), bag="b", features=["n", "job", "age"])
    np.testing.assert_array_equal(features.matrix(bags), features.matrix(people()))
    with raises(DataError, "lack-features-training", 1, 3, "age"):
        features.matrix(people().drop(columns="age"))


def test_a_matrix_and_bags_without_names_go_by_position():
    features = learned()
    bags = Bags.from_frame(people(), bag="b")
    np.testing.assert_array_equal(features.matrix(bags.values), features.matrix(bags))
    plain = Features.learn(Bags(np.ones((2, 2)), [0, 1, 2]))
    assert plain.matrix(pd.DataFrame({"p": [1.0], "q": [2.0]})).tolist() == [[1.0, 2.0]]
    with raises(DataError, "x-features-classifier", 3, 2):
        plain.matrix(np.ones((4, 3)))


def test_levels_go_by_what_they_are_not_by_their_code():
    features = learned(job=["x", "y", "z", "x"])
    other = Bags.from_frame(people(job=["z", "y", "y", "z"]), bag="b")
    assert other.levels["job"] == ("y", "z")
    assert features.matrix(other)[:, 2:5].tolist() == [[0, 0, 1], [0, 1, 0], [0, 1, 0], [0, 0, 1]]


def test_new_levels_are_reported_and_have_no_indicator():
    features = learned()
    with warns(ModelWarning, "feature-level-training", "job", "25.0%", 4, "w"):
        found = features.matrix(people(job=["x", "w", "y", "x"]))
    assert found[1, 2:5].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("trained", "given"),
    [(["01234", "01235"], [1234, 1235]), (["yes", "no"], [True, False]), (["a", "b"], ["A", "B"])],
)
def test_a_column_without_any_known_level_is_refused(trained, given):
    features = learned(job=trained * 2)
    with raises(DataError, "feature-level-training-didnt", "100.0%", 4):
        features.matrix(people(job=given * 2))


def test_codes_are_one_level_whatever_their_type():
    features = Features.learn(Bags.from_frame(people(job=[1, 2, 1, 2]), bag="b", categorical=["job"]))
    for given in ([1, 2, 2, 1], [1.0, 2.0, 2.0, 1.0], ["1", "2", "2", "1"]):
        assert features.matrix(people(job=given))[:, 2].tolist() == [1, 0, 0, 1]
    assert level_text(2.0) == level_text(np.int64(2)) == "2"


def test_text_where_numbers_were_is_refused():
    with raises(DataError, "feature-holds-text", "n"):
        learned().matrix(people(n=["a", "b", "c", "d"]))


def test_gaps_that_training_did_not_have_are_reported():
    with warns(ModelWarning, "feature-missing-rows", "n", 1, 4):
        found = learned().matrix(people(n=[1.0, np.nan, 3.0, 4.0]))
    assert found[1, -1] == 2.5


def test_no_warning_where_all_is_known():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learned().matrix(people())


def test_missing_values_are_refused_by_name():
    with raises(DataError, "does-not-accept", "kernel", "age", 1, 4):
        refuse_missing(Bags.from_frame(people(), bag="b"), "A kernel")


def test_columns_far_from_zero_are_refused_by_name_and_constant_ones_are_not():
    rows = np.random.default_rng(0).normal(size=(50, 2))
    near = Bags(np.column_stack([rows + 1e4, np.full(50, 1e9)]), [0, 50])
    assert refuse_far(near) is near
    with raises(DataError, "columns-lie-too", 1, 2, "x1", "07"):
        refuse_far(Bags(rows + np.array([0, 1e7]), [0, 50]))
