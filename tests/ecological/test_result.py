"""The result that all methods on margins share."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate

from messages import raises
from sumwise import Contests, Margins
from sumwise.ecological import Bounds, EcologicalEM, Goodman, King, MultinomialDirichlet
from sumwise.ecological.result import EcologicalEstimator, inside
from sumwise.errors import DataError


def precincts(n=40, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.dirichlet([1, 1], n) * 300)
    cells = np.stack([rng.multinomial(int(a), [0.7, 0.2, 0.1]) + 0.0 for a in rows[:, 0]])
    cols = cells + np.stack([rng.multinomial(int(b), [0.2, 0.3, 0.5]) for b in rows[:, 1]])
    return Margins(rows, cols, row_names=["a", "b"], col_names=["x", "y", "z"])


def test_estimate_carries_names_interval_and_bounds():
    frame = Goodman().fit(precincts()).estimate(0.9).to_frame()
    assert list(frame.columns) == ["group", "outcome", "share", "low", "high", "lower_bound", "upper_bound"]
    assert frame["group"].tolist() == ["a"] * 3 + ["b"] * 3


def test_totals_are_group_sizes_times_shares():
    m = precincts()
    est = Goodman().fit(m)
    np.testing.assert_allclose(est.total_, est.shares_ * m.rows.sum(axis=0)[:, None])


def test_group_absent_from_a_unit_has_its_overall_shares_there():
    m = Margins([[10, 0], [5, 5], [2, 8]], [[6, 4], [5, 5], [3, 7]])
    est = Bounds().fit(m)
    np.testing.assert_allclose(est.cells_[0, 1], est.shares_[1])


def test_score_prefers_the_method_that_knows_the_groups():
    m, new = precincts(seed=0), precincts(seed=1)
    assert Goodman().fit(m).score(new) > Bounds().fit(m).score(new)


def test_cross_validation_and_grid_search_split_by_unit():
    m = precincts()
    scores = cross_validate(Goodman(), m, cv=4)["test_score"]
    assert scores.shape == (4,)
    assert np.isfinite(scores).all()
    search = GridSearchCV(Goodman(), {"alpha": [0.0, 100.0]}, cv=3).fit(m)
    assert search.best_params_ == {"alpha": 0.0}


def test_unfitted_use_and_bad_level_are_refused():
    with pytest.raises(NotFittedError):
        Goodman().interval()
    with raises(DataError, "must-lie-between", "level"):
        Goodman().fit(precincts()).interval(1.5)


def test_base_leaves_fit_to_the_method():
    base = EcologicalEstimator()
    with pytest.raises(NotImplementedError):
        base.fit(precincts())
    with pytest.raises(NotFittedError):
        base.interval(0.95)


def test_inside_keeps_shares_off_the_edge():
    kept = inside(np.array([[1.2, -0.2], [0.3, 0.7]]))
    assert kept.min() > 0
    np.testing.assert_allclose(kept.sum(axis=1), 1)


def test_prediction_adds_up_and_covers_units_like_those_fitted():
    from sumwise import synthetic
    from sumwise.ecological import Bounds, EcologicalEM

    m = synthetic.precincts(200, random_state=1).margins
    train, rest = m[np.arange(100)], m[np.arange(100, 200)]
    est = EcologicalEM().fit(train)
    found, (low, high) = est.predict(rest), est.predict_interval(rest, 0.9)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    held = (low <= rest.col_shares) & (rest.col_shares <= high)
    assert 0.8 <= held.mean() <= 0.99
    assert Bounds().fit(train).predict_interval(rest.rows)[0].shape == (100, 2)
    with raises(DataError, "groups-columns-model", 3, 2):
        est.predict([[1, 2, 3]])


METHODS = [
    EcologicalEM(),
    EcologicalEM(method="normal"),
    Goodman(),
    Bounds(),
    MultinomialDirichlet(n_draws=20, max_draws=20, n_chains=2),
]


def with_empty_units(m):
    """The margins with two empty units and one without weight; the others in another order."""
    order = np.random.default_rng(1).permutation(len(m))
    rows, cols = ([*side[order][:7], [0] * side.shape[1], *side[order][7:]] for side in (m.rows, m.cols))
    return Margins([*rows, [0] * m.n_rows], [*cols, [0] * m.n_cols]), order


@pytest.mark.filterwarnings("ignore::sumwise.errors.NotConverged")
@pytest.mark.parametrize("method", METHODS)
def test_empty_units_and_the_order_of_units_change_nothing(method):
    m = precincts()
    more, order = with_empty_units(m)
    first, second = (clone(method).fit(margins) for margins in (m, more))
    np.testing.assert_allclose(second.shares_, first.shares_, rtol=0, atol=1e-13)
    full = more.totals > 0
    np.testing.assert_allclose(second.cells_[full], first.cells_[order], rtol=0, atol=1e-12)
    if method.__class__ is not MultinomialDirichlet:  # too few draws for intervals
        np.testing.assert_allclose(second.interval(), first.interval(), rtol=0, atol=1e-12)


def test_empty_units_change_nothing_in_pooled_contests():
    contests = {k: precincts(seed=k) for k in range(3)}
    first = EcologicalEM().fit(Contests(contests))
    second = EcologicalEM().fit(Contests({k: with_empty_units(m)[0] for k, m in contests.items()}))
    for key in contests:
        np.testing.assert_allclose(second[key].shares_, first[key].shares_, rtol=0, atol=1e-12)
        np.testing.assert_allclose(second[key].interval(), first[key].interval(), rtol=0, atol=1e-12)


def test_empty_units_change_nothing_for_king():
    m = precincts()
    two = Margins(m.rows, np.column_stack([m.cols[:, 0], m.cols[:, 1:].sum(axis=1)]))
    more = Margins(np.vstack([two.rows, [0, 0]]), np.vstack([two.cols, [0, 0]]))
    np.testing.assert_array_equal(King(n_draws=50).fit(two).shares_, King(n_draws=50).fit(more).shares_)


@pytest.mark.parametrize("estimator", [Bounds(), Goodman(), EcologicalEM()], ids=lambda e: type(e).__name__)
def test_spread_and_score_are_those_without_what_is_empty(estimator):
    rng = np.random.default_rng(4)
    rows = rng.integers(10, 90, (17, 3)).astype(float)
    cols = np.array([rng.multinomial(int(n), rng.dirichlet([6, 4])) for n in rows.sum(axis=1)])
    margins = Margins(rows, cols)
    before = clone(estimator).fit(margins)
    longer = Margins(np.insert(rows, 4, 0, axis=0), np.insert(cols, 4, 0, axis=0))
    after = clone(estimator).fit(longer)
    assert after.dispersion_ == pytest.approx(before.dispersion_, rel=1e-9)
    assert after.score(longer) == pytest.approx(before.score(margins), rel=1e-9)
    nobodys = clone(estimator).fit(Margins(rows, np.column_stack([cols, np.zeros(17)])))
    assert nobodys.dispersion_ == pytest.approx(before.dispersion_, rel=0.02)  # a prior gives the outcome some votes
    assert before.dispersion_ > 0


def test_units_without_anybody_have_no_score():
    with pytest.raises(DataError):
        Bounds().fit(Margins([[5, 5]], [[4, 6]])).score(Margins(np.zeros((2, 2)), np.zeros((2, 2))))
    assert Bounds().fit(Margins(np.zeros((2, 2)), np.zeros((2, 2)))).dispersion_ == 0
