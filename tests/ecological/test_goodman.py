"""Ecological regression as an estimator."""

import numpy as np
import pytest
from scipy import stats

from messages import raises, warns
from sumwise import Margins
from sumwise.ecological import Goodman
from sumwise.ecological.kernels import least_squares as ls
from sumwise.errors import DataError, ModelWarning

TRUE = np.array([[0.8, 0.15, 0.05], [0.2, 0.5, 0.3]])


def precincts(shares=TRUE, n=60, noise=0.0, seed=0, size=400):
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(len(shares)), n) * rng.uniform(0.5, 1.5, (n, 1)) * size
    cols = rows @ shares
    cols = np.maximum(cols + noise * rng.normal(size=cols.shape) * cols, 1e-9)
    return Margins(rows, cols / cols.sum(axis=1, keepdims=True) * rows.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("options", [{}, {"weighting": "equal"}, {"constrained": True}])
def test_exact_margins_give_the_true_shares(options):
    est = Goodman(**options).fit(precincts())
    np.testing.assert_allclose(est.shares_, TRUE, atol=1e-6)
    np.testing.assert_allclose(est.cells_[7], TRUE, atol=1e-6)
    assert est.fit_.converged
    assert est.outside_ == []


def test_interval_covers_at_its_level():
    hits = []
    for seed in range(60):
        low, high = Goodman(weighting="equal").fit(precincts(noise=0.1, seed=seed)).interval(0.9)
        hits.append((low <= TRUE) & (high >= TRUE))
    assert 0.78 < np.mean(hits) < 0.97


def test_ridge_pulls_towards_the_overall_shares():
    m = precincts(noise=0.1)
    plain, ridge = Goodman().fit(m), Goodman(alpha=10.0).fit(m)
    overall = m.cols.sum(axis=0) / m.cols.sum()
    assert np.abs(ridge.shares_ - overall).max() < 0.5 * np.abs(plain.shares_ - overall).max()
    np.testing.assert_allclose(ridge.shares_.sum(axis=1), 1)


def outside():
    x = np.linspace(0.1, 0.6, 8)
    t = -0.05 + 1.3 * x
    return Margins(
        np.stack([x, 1 - x], 1) * 100, np.stack([t.clip(0.01), 1 - t.clip(0.01)], 1) * 100, row_names=["a", "b"]
    )


def test_leaving_the_unit_interval_is_said_and_the_constrained_fit_stays_inside():
    with warns(ModelWarning, "goodmans-estimate-leaves", 4, "a"):
        est = Goodman().fit(outside())
    assert len(est.outside_) == 4
    kept = Goodman(constrained=True).fit(outside())
    assert kept.shares_.min() >= 0
    assert kept.shares_.max() <= 1
    low, high = kept.interval()
    assert (low <= kept.shares_).all()
    assert (kept.shares_ <= high).all()
    assert low.min() >= 0


def test_unit_weights_count():
    m = precincts(noise=0.1)
    part = Margins(m.rows, m.cols, weights=np.repeat([1.0, 0.0], 30))
    np.testing.assert_allclose(Goodman().fit(part).shares_, Goodman().fit(m[:30]).shares_, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"weighting": "none"}, ("is-takes", "weighting")), ({"alpha": -1}, ("must-least", "alpha"))],
)
def test_bad_parameters_are_refused(options, words):
    with raises(DataError, *words):
        Goodman(**options).fit(precincts())


def test_one_unit_that_outweighs_the_others_is_named():
    rng = np.random.default_rng(0)
    rows = rng.integers(100, 900, (30, 2))
    rows[4] *= 40
    cols = rows @ np.array([[0.7, 0.3], [0.2, 0.8]])
    with warns(ModelWarning, "unit-weight-units", 4, 30):
        Goodman().fit(Margins(rows, cols))


@pytest.mark.filterwarnings("ignore:The row shares of")
@pytest.mark.parametrize("constrained", [False, True])
def test_groups_that_are_alike_have_the_bounds_for_intervals(constrained):
    rng = np.random.default_rng(0)
    one, two = rng.integers(20, 200, 40), rng.integers(50, 600, 40)
    rows = np.stack([one, one, two], axis=1)
    cols = sum(rng.multinomial(rows[:, k], p) for k, p in enumerate([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]))
    est = Goodman(constrained=constrained).fit(Margins(rows, cols))
    assert est.unidentified_.tolist() == [True, True, False]
    low, high = est.interval()
    np.testing.assert_allclose(low[:2], est.lower_bound_[:2])
    np.testing.assert_allclose(high[:2], est.upper_bound_[:2])
    assert high[2, 0] - low[2, 0] < 0.1
    assert est.draws(500).values[:, :2].std(axis=0).min() > 0.1


@pytest.mark.filterwarnings("ignore:There are 3 units")
def test_as_many_units_as_groups_have_the_bounds_for_intervals():
    m = Margins([[80, 10, 10], [10, 70, 20], [20, 20, 60]], [[50, 50], [40, 60], [45, 55]])
    est = Goodman().fit(m)
    low, high = est.interval()
    assert (high - low).min() > 0.3
    np.testing.assert_allclose(np.minimum(low, est.lower_bound_), low)


@pytest.mark.parametrize("constrained", [False, True])
def test_copied_units_add_nothing(constrained):
    m = precincts(noise=0.2, n=9)
    whole = np.round(m.rows), np.round(m.cols)
    whole[1][:, 0] += whole[0].sum(axis=1) - whole[1].sum(axis=1)
    once = Goodman(constrained=constrained).fit(Margins(*whole)).interval()
    with warns(ModelWarning, "units-all-counts", 27, 36):
        copied = Goodman(constrained=constrained).fit(Margins(*(np.repeat(side, 4, axis=0) for side in whole)))
    assert copied.freedom_ == 7
    np.testing.assert_allclose(
        np.diff(copied.interval(), axis=0), np.diff(once, axis=0), rtol=0.25 * constrained + 1e-6
    )


def test_small_units_with_the_same_counts_are_no_copies():
    m = Margins(np.tile([[1, 2], [2, 1], [3, 0], [0, 3]], (10, 1)), np.tile([[1, 2], [1, 2], [2, 1], [1, 2]], (10, 1)))
    assert Goodman().fit(m).freedom_ == 38


def test_one_unit_of_most_of_the_weight_has_robust_errors():
    rng = np.random.default_rng(3)
    sizes = np.r_[60_000, rng.integers(300, 900, 40)]
    rows = np.array([rng.multinomial(n, rng.dirichlet([1.5, 1.5])) for n in sizes])
    first = rng.binomial(rows, np.stack([rng.beta(42, 18, 41), rng.beta(18, 42, 41)], axis=1))
    cells = np.stack([first, rows - first], axis=2)
    with warns(ModelWarning, "unit-weight-units", 41):
        est = Goodman().fit(Margins(rows, cells.sum(axis=1)))
    weights = sizes / sizes.mean()
    x, t = rows / rows.sum(axis=1, keepdims=True), cells.sum(axis=1) / rows.sum(axis=1, keepdims=True)
    textbook = ls.residual_covariance(x, t, weights, est.shares_, 0.0)[0]
    assert est.standard_errors_.max() > 1.5 * textbook.max()


def test_draws_of_groups_are_correlated_as_the_regression_says():
    m = precincts(noise=0.1, n=30)
    est = Goodman().fit(m)
    draws = est.draws(8000).values
    x, w = m.row_shares, m.totals
    inverse = np.linalg.inv((x * w[:, None]).T @ x)
    expected = inverse[0, 1] / np.sqrt(inverse[0, 0] * inverse[1, 1])
    assert expected < -0.2
    np.testing.assert_allclose(np.corrcoef(draws[:, :, 0].T)[0, 1], expected, atol=0.04)


def test_draws_of_a_difference_follow_the_t_distribution():
    x = np.array([0.35, 0.42, 0.5, 0.58, 0.65])
    rows, chosen = 1000 * np.column_stack([x, 1 - x]), np.array([460, 500, 480, 540, 510])
    est = Goodman().fit(Margins(rows, np.column_stack([chosen, 1000 - chosen])))
    gap = np.subtract(*est.draws(40_000).values[:, :, 0].T)
    inverse = np.linalg.inv(rows.T @ rows / 1e6)
    se = np.sqrt((inverse[0, 0] + inverse[1, 1] - 2 * inverse[0, 1]) / inverse[0, 0]) * est.standard_errors_[0, 0]
    half = np.subtract(*np.quantile(gap, [0.975, 0.025])) / 2
    np.testing.assert_allclose(half, stats.t.ppf(0.975, 3) * se, rtol=0.025)


@pytest.mark.filterwarnings("ignore:Unit .* of the weight")
def test_intervals_hold_where_one_unit_has_most_people():
    inside = []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(300, 1500, 40)
        sizes[0] = int(sizes[1:].sum() * 0.7 / 0.3)
        rows = np.array([rng.multinomial(n, rng.dirichlet([1.5, 1.5])) for n in sizes])
        shares = rng.dirichlet([2.0, 2.0], 2)
        cells = np.array([[rng.multinomial(n, rng.dirichlet(60 * p)) for n, p in zip(r, shares)] for r in rows])
        truth = cells.sum(axis=0) / cells.sum(axis=(0, 2))[:, None]
        est = Goodman().fit(Margins(rows, cells.sum(axis=1)))
        assert est.freedom_by_group_.max() < est.freedom_
        low, high = est.interval(0.95)
        inside.append((low <= truth) & (truth <= high))
    assert np.mean(inside) > 0.92  # 0.87 with the t distribution of 38 degrees


def test_groups_that_units_cannot_identify_start_from_the_overall_shares():
    m = Margins([[60, 20, 20], [20, 40, 40], [10, 45, 45]], [[70, 30], [30, 70], [20, 80]])  # b and c go together
    for constrained in (False, True):
        with pytest.warns(ModelWarning):
            est = Goodman(constrained=constrained).fit(m)
        np.testing.assert_allclose(est.shares_.sum(axis=1), 1.0, atol=1e-9)
        np.testing.assert_allclose(est.shares_[1], est.shares_[2], atol=1e-6)
        low, high = est.interval(0.95)
        assert ((low <= est.shares_ + 1e-9) & (est.shares_ <= high + 1e-9)).all()
