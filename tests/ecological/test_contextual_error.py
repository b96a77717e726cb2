"""What intervals of EcologicalEM allow for, and the draws that they are read off."""

import numpy as np
import pytest

from sumwise import Margins
from sumwise.ecological import EcologicalEM
from sumwise.ecological.contextual_error import TAU, contextual_error, draw_tables
from sumwise.errors import ModelWarning

SHARES = np.array([[0.8, 0.2], [0.3, 0.7]])


def units(slopes=(0.0, 0.0), n=80, seed=0):
    """Rows and cols of units whose groups' shares have these slopes on the first group's share."""
    rng = np.random.default_rng(seed)
    x = rng.beta(1.5, 2.0, n)
    rows = 800 * np.column_stack([x, 1 - x])
    z = x - x.mean()
    yes = rows[:, 0] * (0.8 + slopes[0] * z) + rows[:, 1] * (0.3 + slopes[1] * z) + rng.normal(0, 8, n)
    return rows, np.column_stack([yes, 800 - yes])


def error_of(slopes, **options):
    rows, cols = units(slopes)
    return contextual_error(rows, cols, SHARES, 0.005, **options)


def test_curvature_widens_and_its_absence_never_narrows():
    straight, shared, bent = (error_of(s) for s in ((0.0, 0.0), (0.3, 0.3), (0.4, -0.3)))
    prior = TAU * np.exp(0.5 * 0.4**2)
    assert straight.slope_deviation > 0.95 * prior
    assert shared.slope_deviation == pytest.approx(straight.slope_deviation, rel=0.1)  # shared slopes bend nothing
    assert bent.slope_deviation > 1.5 * prior
    assert (bent.standard_errors > 1.3 * straight.standard_errors).all()


def test_chance_alone_is_narrower_and_shrinks_with_units():
    wide, narrow = error_of((0, 0)), error_of((0, 0), context=False)
    assert (narrow.standard_errors < wide.standard_errors).all()
    rows, cols = units(n=800)
    many = contextual_error(rows, cols, SHARES, 0.005, context=False)
    assert (many.standard_errors < 0.5 * narrow.standard_errors).all()


def test_an_estimate_far_from_what_the_units_say_is_rejected():
    error = error_of((0, 0))
    moved = np.array([[0.5, -0.5], [-0.4, 0.4]])
    assert error.rejects(moved)
    assert not error.rejects(0.1 * moved)


def test_draws_have_the_estimates_as_their_mean_and_stay_in_the_bounds():
    rows, _ = units()
    low, high = np.array([[0.6, 0.0], [0.1, 0.5]]), np.array([[1.0, 0.4], [0.5, 0.9]])
    drawn = draw_tables(SHARES, rows.sum(axis=0), error_of((0.4, -0.3)), low, high, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.mean(axis=0), SHARES, atol=1e-3)
    assert ((drawn >= low) & (drawn <= high)).all()


@pytest.mark.check
def test_intervals_cover_slopes_up_to_three_tenths():
    from sumwise import Margins
    from sumwise.ecological import EcologicalEM

    covered = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = rng.beta(1.5, 2.0, 120)
        rows = rng.binomial(800, x)
        p = 0.25 + 0.5 * rng.random(2)[:, None] + rng.normal(0, rng.choice([0, 0.1, 0.2, 0.3]), (2, 1)) * (x - x.mean())
        cells = np.column_stack([rng.binomial(rows, p[0].clip(0, 1)), rng.binomial(800 - rows, p[1].clip(0, 1))])
        yes = cells.sum(axis=1)
        est = EcologicalEM().fit(Margins(np.column_stack([rows, 800 - rows]), np.column_stack([yes, 800 - yes])))
        low, high = est.interval(0.95)
        truth = cells.sum(axis=0) / [rows.sum(), (800 - rows).sum()]
        covered.append((low[:, 0] <= truth) & (truth <= high[:, 0]))
    assert np.mean(covered) > 0.87  # .90; .93 where slopes differ between more outcomes


def test_draws_of_few_units_have_both_totals_and_the_mean():
    rng = np.random.default_rng(4)
    cells = rng.integers(0, 80, (5, 3, 6)) * (rng.random((5, 3, 1)) < 0.7)
    est = EcologicalEM()
    with pytest.warns(ModelWarning):
        est.fit(Margins(cells.sum(axis=2), cells.sum(axis=1)))
    drawn = est.draws().values
    np.testing.assert_allclose(drawn.sum(axis=2), 1.0, atol=1e-12)
    totals = est.total_.sum(axis=0)
    np.testing.assert_allclose(est.group_sizes_ @ drawn, np.tile(totals, (len(drawn), 1)), atol=1e-6 * totals.sum())
    assert (drawn >= est.lower_bound_ - 1e-9).all()
    assert (drawn <= est.upper_bound_ + 1e-9).all()
    assert np.abs(drawn.mean(axis=0) - est.shares_).max() < 0.01
