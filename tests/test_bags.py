import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.model_selection import GridSearchCV, cross_validate

from messages import raises
from sumwise import Bags
from sumwise.errors import DataError, UnknownName
from sumwise.estimator import Estimator

PARTS = [np.arange(6.0).reshape(3, 2), np.ones((1, 2)), np.zeros((4, 2)) - 1]


@pytest.fixture
def bags():
    return Bags.from_arrays(PARTS, ids=["a", "b", "c"])


def test_stored_as_one_matrix_with_offsets(bags):
    assert bags.values.shape == (8, 2)
    assert bags.offsets.tolist() == [0, 3, 4, 8]
    assert bags.sizes.tolist() == [3, 1, 4]
    assert bags.shape == (3,)
    assert tuple(bags.shape) == (3, 2)  # what scikit-learn's inspection asks for
    assert bags.shape != (2,)
    assert len(bags) == bags.n_bags == 3
    assert bags.bag_index.tolist() == [0, 0, 0, 1, 2, 2, 2, 2]
    assert bags.features == ("x0", "x1")
    assert bags.weights.tolist() == [1.0] * 8
    assert not bags.weighted
    assert bags.weights.strides == (0,)  # ones take no memory


def test_one_bag_is_a_view(bags):
    for i, part in enumerate(PARTS):
        assert np.array_equal(bags[i], part)
        assert np.shares_memory(bags[i], bags.values)
    assert np.array_equal(bags[-1], PARTS[2])
    assert [x.shape for x in bags] == [(3, 2), (1, 2), (4, 2)]
    with pytest.raises(IndexError):
        bags[3]


@pytest.mark.parametrize("index", [[2, 0], np.array([2, 0]), (np.array([2, 0]), ...), slice(None, None, -2)])
def test_indexing_takes_whole_bags(bags, index):
    part = bags[index]
    assert part.ids.tolist() == ["c", "a"]
    assert np.array_equal(part[0], PARTS[2])
    assert np.array_equal(part[1], PARTS[0])


def test_contiguous_bags_are_not_copied(bags):
    for index in (slice(1, 3), [1, 2], np.array([False, True, True])):
        assert np.shares_memory(bags[index].values, bags.values)
    assert not np.shares_memory(bags[[0, 2]].values, bags.values)
    assert bags[[0, 0]].sizes.tolist() == [3, 3]  # a bootstrap draw
    assert len(bags[[]]) == 0


def test_subset_keeps_bags_that_become_empty(bags):
    part = bags.subset(bags.values[:, 0] >= 0)
    assert part.sizes.tolist() == [3, 1, 0]
    assert part.ids.tolist() == ["a", "b", "c"]
    assert part.drop_empty().ids.tolist() == ["a", "b"]
    for mask in (np.ones(3, bool), np.ones(8)):
        with raises(DataError, "mask-dtype-shape"):
            bags.subset(mask)


def test_weights_follow_their_rows():
    bags = Bags.from_arrays(PARTS, weights=[[1, 2, 3], [4], [5, 6, 7, 0]])
    assert bags.weighted
    assert bags[[2, 0]].weights.tolist() == [5, 6, 7, 0, 1, 2, 3]
    assert bags.subset(bags.weights > 2).weights.tolist() == [3, 4, 5, 6, 7]
    assert bags.with_values(np.zeros((8, 1)), features=["z"]).weights.tolist() == bags.weights.tolist()


def test_effective_sizes_count_equal_weights():
    bags = Bags.from_arrays(
        [[1.0, 2.0], [1.0, 2.0, 3.0], []], weights=[[2.0, 2.0], [1.0, 0.0, 1.0], []], features=["x"], empty="keep"
    )
    assert np.allclose(bags.effective_sizes, [2, 2, 0])
    assert np.allclose(bags.total_weights, [4, 2, 0])
    assert np.allclose(bags.sums(bags.values), [[3], [6], [0]])


def test_rows_can_be_regrouped_with_their_weights():
    bags = Bags.from_arrays([[1.0, 2.0], [3.0]], weights=[[1.0, 4.0], [2.0]])
    other = bags.regrouped(np.array([2, 0, 1]), np.array([0, 1, 3]))
    assert [x.ravel().tolist() for x in other] == [[3.0], [1.0, 2.0]]
    assert other.weights.tolist() == [2.0, 1.0, 4.0]
    assert bags.subset(np.array([True, False, True])).given_weights.tolist() == [1.0, 2.0]
    assert Bags.from_arrays([[1.0]]).regrouped(np.array([0]), np.array([0, 1])).given_weights is None


def test_float32_stays_and_other_numbers_widen():
    assert Bags.from_arrays([np.ones((2, 2), np.float32)]).values.dtype == np.float32
    assert Bags.from_arrays([np.ones((2, 2), int), np.ones((1, 2), np.float32)]).values.dtype == np.float64
    assert Bags.from_arrays([[True, False]]).values.tolist() == [[1.0], [0.0]]


def test_the_constructor_does_not_copy_a_large_matrix():
    values = np.zeros((10_000, 3))
    bags = Bags(values, [0, 10_000])
    assert np.shares_memory(bags.values, values)
    with pytest.raises(ValueError, match="read-only"):
        bags.values[0, 0] = 1


def test_equality_copy_pickle(bags):
    for twin in (copy.deepcopy(bags), pickle.loads(pickle.dumps(bags)), bags[:]):
        assert twin == bags
    assert bags != bags[:2]
    assert bags != Bags.from_arrays(PARTS)
    assert bags != "bags"


def test_weights_survive_a_pickle():
    bags = Bags.from_arrays(PARTS, weights=[[1, 2, 3], [4], [5, 6, 7, 8]])
    assert pickle.loads(pickle.dumps(bags)).weighted
    for twin in (pickle.loads(pickle.dumps(bags[[0, 0]])), copy.deepcopy(bags[[0, 0]])):
        assert twin.ids.tolist() == [0, 0]


def test_weights_of_one_are_no_weights(bags):
    assert not Bags.from_arrays(PARTS, weights=[[1, 1, 1], [1], [1, 1, 1, 1]]).weighted
    assert not pickle.loads(pickle.dumps(bags)).weighted


def test_repr_html_describe(bags):
    assert repr(bags) == "Bags(bags=3, rows=8, features=[x0, x1], sizes=1 to 4)"
    assert "&lt;b&gt;" in Bags.from_arrays(PARTS, features=["<b>", "y"])._repr_html_()
    assert bags.describe()["median bag"] == 3.0
    assert repr(bags[[]])


@pytest.mark.parametrize(
    ("arrays", "options", "words"),
    [
        ([], {}, "no bags"),
        ([np.ones((2, 2)), np.ones((2, 3))], {}, "width in 1 of 2 cases. First: bag 1 has 3 columns"),
        ([np.ones((2, 2)), np.ones((0, 2))], {}, "1 of 2 bags are empty. First: bag 1"),
        ([[[1.0, np.inf]]], {}, "infinite"),
        ([[["a"]]], {}, "dtype"),
        ([np.ones((1, 1, 1))], {}, "3 dimensions"),
        ([5.0], {}, "0 dimensions"),
        (PARTS, {"ids": ["a", "a", "b"]}, "duplicates"),
        (PARTS, {"ids": ["a"]}, "1 entries for 3"),
        (PARTS, {"weights": [[1], [1]]}, "weights has 2"),
        (PARTS, {"weights": [[1, 2], [1], [1, 1, 1, 1]]}, "Bag 0 has 3 rows and 2 weights"),
        (PARTS, {"weights": [[1, 2, -3], [1], [1, 1, 1, 1]]}, "negative"),
        (PARTS, {"weights": [[1, 2, 3], [0], [1, 1, 1, 1]]}, "All weights are zero in 1 of 3 bags. First: bag 1"),
        (PARTS, {"features": ["a"]}, "1 names for 2"),
        (PARTS, {"empty": "drop"}, "empty is 'drop'"),
        ("bags", {}, "give a list of arrays"),
        (5, {}, "give a list of arrays"),
    ],
)
def test_bad_arrays_are_refused(arrays, options, words):
    with pytest.raises(DataError, match=words):
        Bags.from_arrays(arrays, **options)


def test_empty_bags_stay_when_asked_for():
    bags = Bags.from_arrays([np.ones((2, 2)), np.ones((0, 2))], empty="keep")
    assert bags.describe()["empty bags"] == 1


@pytest.mark.parametrize(
    ("offsets", "words"),
    [
        ([0, 2], ("offsets-run-over", 3)),
        ([1, 3], ("offsets-run-over", 1)),
        ([0, 2, 1, 3], ("offsets-run-over",)),
        ([0], ("offsets-dtype-shape",)),
        ([0.0, 3.0], ("offsets-dtype-shape",)),
        ([[0, 3]], ("offsets-dtype-shape",)),
    ],
)
def test_bad_offsets_are_refused(offsets, words):
    with raises(DataError, *words):
        Bags(np.ones((3, 1)), offsets)


def test_bad_values_weights_and_levels_are_refused():
    with raises(DataError, "use-nan-cell"):
        Bags(np.array([[1.0], [np.inf]]), [0, 2])
    with raises(DataError, "weights-rows", 1, 2):
        Bags(np.ones((2, 1)), [0, 2], weights=[1.0])
    with pytest.raises(UnknownName):
        Bags(np.ones((2, 1)), [0, 2], features=["a"], levels={"b": ("x",)})
    with raises(DataError, "feature-holds-row", 1):
        Bags(np.ones((2, 1)), [0, 2], features=["a"], levels={"a": ("x",)})


def test_frames_in_bags_are_read():
    assert Bags.from_arrays([pd.DataFrame({"a": [1, 2]})]).values.tolist() == [[1.0], [2.0]]


@given(
    st.lists(
        hnp.arrays(np.float64, st.tuples(st.integers(0, 4), st.just(2)), elements=st.floats(-9, 9)),
        min_size=1,
        max_size=6,
    ),
    st.data(),
)
def test_indexing_agrees_with_a_list_of_arrays(parts, data):
    bags = Bags.from_arrays(parts, empty="keep")
    index = data.draw(st.lists(st.integers(-len(parts), len(parts) - 1), max_size=8))
    chosen = bags[np.array(index, dtype=int)]
    assert len(chosen) == len(index)
    for got, i in zip(chosen, index):
        assert np.array_equal(got, parts[i])


class MeanLine(Estimator):
    def __init__(self, ridge=0.0):
        self.ridge = ridge

    def fit(self, bags, y):
        x = np.array([b.mean() for b in bags])
        self.slope_ = float(x @ y / (x @ x + self.ridge))
        return self

    def score(self, bags, y):
        return -float(np.mean((np.array([b.mean() for b in bags]) * self.slope_ - y) ** 2))


def test_scikit_learn_splits_by_bag():
    rng = np.random.default_rng(0)
    bags = Bags.from_arrays([rng.normal(i, 1, (5 + i, 2)) for i in range(9)])
    y = np.arange(9.0)
    assert cross_validate(MeanLine(), bags, y, cv=3)["test_score"].shape == (3,)
    search = GridSearchCV(MeanLine(), {"ridge": [0.0, 1e6]}, cv=3).fit(bags, y)
    assert search.best_params_ == {"ridge": 0.0}


def test_an_index_that_chooses_no_bags_is_refused(bags):
    for index in ([[0, 1]], None, True, np.True_, (0, 1)):
        with raises(DataError, "units-cant-chosen|units-cant-chosen-position"):
            bags[index]
    assert np.array_equal(bags[np.array(1)], PARTS[1])


def test_a_small_weight_after_a_huge_one_is_not_zero():
    assert Bags.from_arrays([[1.0], [2.0]], weights=[[1e20], [1.0]]).weights.tolist() == [1e20, 1.0]


def test_frames_name_the_features_and_must_agree():
    one, other = pd.DataFrame({"a": [1.0], "b": [2.0]}), pd.DataFrame({"b": [2.0], "a": [1.0]})
    assert Bags.from_arrays([one, one]).features == ("a", "b")
    with raises(DataError, "bag-columns-bag"):
        Bags.from_arrays([one, other])


def test_other_values_keep_repeated_ids():
    drawn = Bags.from_arrays([np.zeros((2, 1)), np.ones((1, 1))], ids=["a", "b"])[[0, 0, 1]]
    moved = drawn.with_values(drawn.values + 1.0, ["age"])
    assert moved.ids.tolist() == ["a", "a", "b"]
    assert moved.features == ("age",)


def test_missing_values_are_kept_and_counted():
    bags = Bags.from_arrays([[[1.0, np.nan]], [[np.nan, 2.0]]])
    assert bags.describe()["missing values"] == 2
    assert bags == Bags.from_arrays([[[1.0, np.nan]], [[np.nan, 2.0]]])


def appearing():
    people = pd.DataFrame({"area": ["s", "r", "s", "a"], "x": [1.0, 2.0, 3.0, 4.0], "votes": [1, 0, 1, 1]})
    return people, Bags.from_frame(people, bag="area", features=["x"])


def test_a_series_by_id_is_put_into_the_order_of_the_bags():
    people, bags = appearing()
    votes: Any = people.groupby("area")["votes"].sum()
    assert votes.index.tolist() == ["a", "r", "s"]
    assert bags.align(votes).tolist() == [2, 0, 1]
    both = pd.DataFrame({"no": 1 - votes, "yes": votes})
    assert bags.align(both)[:, 1].tolist() == [2, 0, 1]
    assert bags[[2, 0]].align(votes.iloc[[0, 2]]).tolist() == [1, 2]


def test_without_an_index_of_ids_the_order_is_the_bags():
    _, bags = appearing()
    assert bags.align([5, 6, 7]).tolist() == [5, 6, 7]
    assert bags.align(pd.Series([5, 6, 7])).tolist() == [5, 6, 7]
    assert bags.align(pd.Series([5, 6, 7]).iloc[[2, 0, 1]]).tolist() == [7, 5, 6]  # a part of a plain index


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (["a", "r", "q"], ("index-index-bags", 1, 3, "s")),
        (pd.Index([10, 20, 30], name="area"), ("index-index-bags", 3)),
        (["s", "s", "r"], ("index-index-bags", 1, 3, "a")),
    ],
)
def test_an_index_that_does_not_match_is_refused(index, words):
    _, bags = appearing()
    with raises(DataError, *words):
        bags.align(pd.Series([5, 6, 7], index=index))


def test_a_plain_index_beside_ids_that_count_in_another_order_is_refused():
    bags = Bags.from_arrays([[1.0], [2.0], [3.0]], ids=[2, 0, 1])
    with raises(DataError, "index-index-bags", "counts"):
        bags.align(pd.Series([5, 6, 7]))
    named = pd.Series([5, 6, 7], index=pd.Index([0, 1, 2], name="bag"))
    assert bags.align(named).tolist() == [7, 5, 6]


def test_sparse_rows_are_taken():
    from scipy import sparse

    rows = sparse.csr_matrix(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]]))
    assert Bags(rows, [0, 1, 3]).values.tolist() == rows.toarray().tolist()
    assert Bags.from_arrays([rows[:1], rows[1:]]).sizes.tolist() == [1, 2]
