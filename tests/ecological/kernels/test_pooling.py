"""Tables by their log lifts, and units that add up to a table."""

import numpy as np

from sumwise.ecological.kernels.pooling import (
    association,
    cells_of_table,
    from_log_lifts,
    log_lifts,
    mixed_table,
    rake_table,
)

TABLE = np.array([[50.0, 20, 30], [10, 60, 30]])


def test_lifts_are_logs_of_shares_over_overall_shares_and_come_back():
    lifts = log_lifts(TABLE)
    assert np.isclose(lifts[0, 0], np.log(0.5 / 0.3))
    np.testing.assert_allclose(from_log_lifts(lifts, TABLE.sum(axis=1), TABLE.sum(axis=0)), TABLE, rtol=1e-6)


def test_raking_keeps_odds_ratios_and_meets_both_margins():
    rows, cols = np.array([80.0, 120.0]), np.array([100.0, 60, 40])
    raked = rake_table(TABLE, rows, cols)
    np.testing.assert_allclose(raked.sum(axis=1), rows, rtol=1e-6)
    np.testing.assert_allclose(raked.sum(axis=0), cols, rtol=1e-6)
    odds = [t[0, 0] * t[1, 1] / t[0, 1] / t[1, 0] for t in (raked, TABLE)]
    assert np.isclose(*odds, rtol=1e-6)


def test_mixing_goes_from_the_own_table_to_the_pooled_lifts():
    other = log_lifts(TABLE[::-1])
    np.testing.assert_allclose(mixed_table(TABLE, other, 0.0), TABLE, rtol=1e-6)
    assert mixed_table(TABLE, other, 1.0)[0, 0] < 25
    assert association(TABLE)[0, 0] > 0 > association(TABLE)[0, 1]


def test_units_add_up_to_the_table_and_to_their_margins():
    rng = np.random.default_rng(0)
    cells = np.array([rng.multinomial(100, p / p.sum(), 3)[:2] + 1.0 for p in rng.dirichlet(np.ones(3), 12)])
    rows, cols = cells.sum(axis=2), cells.sum(axis=1)
    table = mixed_table(cells.sum(axis=0), np.zeros((2, 3)), 0.3)
    found = cells_of_table(rows, cols, table)
    np.testing.assert_allclose(np.einsum("ir,irc->ic", rows, found), cols, rtol=1e-6)
    assert np.abs(np.einsum("ir,irc->rc", rows, found) - table).sum() < 1e-3 * table.sum()
