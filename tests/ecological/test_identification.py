"""Refusals and warnings that the methods on margins share."""

import warnings

import numpy as np
import pytest

from messages import raises
from sumwise import Margins
from sumwise.ecological import Bounds, EcologicalEM, Goodman, King, doubts
from sumwise.ecological.identification import absent_outcomes, check_identified
from sumwise.errors import DataError, ModelWarning


def margins(rows):
    rows = np.array(rows, float)
    cols = rows.sum(axis=1, keepdims=True) * [[0.4, 0.6]]
    return Margins(rows, cols, row_names=list("abc")[: rows.shape[1]])


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[5, 5]], "single unit"),
        ([[5, 5], [0, 0]], "single unit"),
        ([[5, 5], [8, 8], [1, 1]], "All 3 units have the same row shares"),
        ([[5, 5, 0], [0, 0, 9], [1, 1, 4]], "span 2 of 3 groups"),
        ([[5, 5, 1], [3, 8, 2]], "span 2 of 3 groups"),
        ([[5, 5], [3, 8]], "2 units for 4 cells"),
    ],
)
def test_doubts_say_why_the_data_do_not_decide(rows, words):
    found = doubts(margins(rows))
    assert len(found) == 1
    assert words in found[0]
    with pytest.warns(ModelWarning, match=words):
        check_identified(margins(rows))
    assert Bounds().fit(margins(rows)).lower_bound_.shape == (len(rows[0]), 2)


def test_no_doubts_where_units_differ():
    good = margins([[5, 5], [3, 8], [9, 1], [2, 2]])
    assert doubts(good) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_identified(good)


def test_one_group_leaves_nothing_to_infer():
    assert doubts(margins([[5], [3]])) == []


def test_empty_groups_are_refused_by_name():
    with raises(DataError, "nobody-any-units", "b", 2):
        check_identified(margins([[5, 0], [3, 0]]))
    with raises(DataError, "nobody-any-units", "b', 'c"):
        check_identified(margins([[5, 0, 0], [3, 0, 0]]))


def test_margins_without_people_are_refused():
    with raises(DataError, "all-units-empty-check", 2):
        check_identified(margins([[0, 0], [0, 0]]))


def test_an_outcome_that_was_no_choice_in_some_units_is_named():
    rng = np.random.default_rng(0)
    rows = rng.integers(200, 600, (40, 2))
    yes = rng.binomial(rows[:, 0], 0.7) + rng.binomial(rows[:, 1], 0.2)
    cols = np.column_stack([yes, rows.sum(axis=1) - yes])
    assert absent_outcomes(Margins(rows, cols)) == []
    cols[:10] = np.column_stack([np.zeros(10), rows[:10].sum(axis=1)])
    m = Margins(rows, cols, col_names=["Lee", "Park"])
    assert absent_outcomes(m)[0].startswith("'Lee' has no votes in 10 of 40 units")


def test_homogeneous_units_without_votes_for_an_outcome_are_no_absence():
    rows = np.array([[500, 0], [400, 0], [0, 600], [0, 300], [450, 0], [0, 350]])
    assert absent_outcomes(Margins(rows, rows)) == []


@pytest.mark.filterwarnings("ignore:The row shares of")
def test_groups_that_are_alike_have_intervals_about_as_wide_as_the_bounds():
    rng = np.random.default_rng(0)
    one, two = rng.integers(20, 200, 40), rng.integers(50, 600, 40)
    rows = np.stack([one, one, two], axis=1)
    cols = sum(rng.multinomial(rows[:, k], p) for k, p in enumerate([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]))
    m = Margins(rows, cols, row_names=["a", "b", "c"])
    assert "the intervals of 'a' and 'b' are little narrower than the bounds" in doubts(m)[0]
    est = EcologicalEM().fit(m)
    low, high = est.interval()
    assert (high - low)[:2].min() > 0.9 * (est.upper_bound_ - est.lower_bound_)[:2].min()
    assert (high - low)[2, 0] < 0.4


@pytest.mark.filterwarnings("ignore::sumwise.errors.ModelWarning")
@pytest.mark.parametrize("method", [EcologicalEM, Goodman, King])
def test_units_without_weight_do_not_narrow_intervals(method):
    rng = np.random.default_rng(0)
    rows = rng.integers(100, 400, (40, 2))
    cols = sum(rng.multinomial(rows[:, k], p) for k, p in enumerate([[0.8, 0.2], [0.3, 0.7]]))
    m = Margins(rows, cols, weights=np.repeat([1.0, 0.0], [2, 38]))
    est = method().fit(m)
    low, high = est.interval()
    np.testing.assert_allclose(high - low, est.upper_bound_ - est.lower_bound_, atol=0.05)
    assert doubts(m) == ["There are 2 units for 4 cells: the answer leans on the model."]
