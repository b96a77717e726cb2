"""Dependence on composition: what would overturn a finding, and what a test can see."""

import numpy as np
import pytest

from sumwise import Margins
from sumwise.ecological import (
    EcologicalEM,
    Goodman,
    aggregation_bias_test,
    sensitivity,
    sensitivity_contours,
)
from sumwise.errors import DataError, UnknownName


def units(slope=0.0, own=0.0, n=200, seed=0):
    """Two groups; both groups' support rises by `slope` with the first group's share, the first's by `own` more."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.05, 0.95, n)
    rows = np.round(np.stack([1000 * x, 1000 * (1 - x)], axis=1))
    shares = np.stack([0.4 + (slope + own) * x, 0.2 + slope * x], axis=1)
    yes = np.einsum("ir,ir->i", rows, shares)
    return Margins(rows, np.stack([yes, rows.sum(axis=1) - yes], axis=1), col_names=["yes", "no"]), rows, shares


def test_the_tipping_slope_is_the_bias_that_regression_has():
    m, rows, shares = units(slope=0.3)
    est = Goodman().fit(m)
    truth = np.sum(rows * shares, axis=0) / rows.sum(axis=0)
    row = sensitivity(est, m).iloc[0]
    assert est.shares_[0, 0] - truth[0] == pytest.approx(0.3 * (1 - row["isolation"]), abs=0.01)
    gap = sensitivity_contours(est, m, "row0", steps=2, reach=row["tipping"])["gap"]
    assert gap[0, 0] == pytest.approx(row["gap"])
    assert gap[1, 1] == pytest.approx(0.0, abs=1e-9)


def test_findings_with_a_large_gap_are_robust_and_close_ones_are_not():
    rng = np.random.default_rng(1)
    first = rng.integers(100, 900, 60)
    rows = np.stack([first, 1000 - first], axis=1)
    yes = rng.binomial(rows[:, 0], 0.93) + rng.binomial(rows[:, 1], 0.47)
    m = Margins(rows, np.stack([yes, 1000 - yes], axis=1))
    found = sensitivity(EcologicalEM().fit(m), m)
    assert found["robust"].tolist() == [True, False]
    with pytest.raises(UnknownName, match="no group 'nobody'"):
        sensitivity_contours(EcologicalEM().fit(m), m, "nobody")
    named = Margins(rows, m.cols, col_names=["A", "NoVote"])
    with pytest.raises(DataError, match="fewer than two candidates"):
        sensitivity(EcologicalEM().fit(named), named)


def test_curvature_is_found_with_the_stated_power():
    rng = np.random.default_rng(2)
    hits, powers = [], []
    for seed in range(60):
        m, *_ = units(own=0.05, n=80, seed=seed)
        yes = np.clip(m.cols[:, 0] + rng.normal(0, 15, 80), 0, 1000)
        noisy = Margins(m.rows, np.stack([yes, m.totals - yes], axis=1))
        row = aggregation_bias_test(noisy, effect=0.05).iloc[0]
        hits.append(row["p value"] < 0.05)
        powers.append(row["power"])
    assert abs(np.mean(hits) - np.mean(powers)) < 0.15
    assert 0.2 < np.mean(powers) < 0.98


def test_adjusted_p_values_are_not_smaller_and_few_units_have_no_power():
    rng = np.random.default_rng(3)
    rows = rng.integers(50, 500, (40, 3))
    cols = np.array([rng.multinomial(n, [0.5, 0.3, 0.2]) for n in rows.sum(axis=1)])
    table = aggregation_bias_test(Margins(rows, cols))
    assert len(table) == 9
    assert (table["adjusted p"] >= table["p value"]).all()
    few = aggregation_bias_test(Margins([[5, 5], [6, 4]], [[5, 5], [5, 5]]))
    assert few["power"][0] == 0.0


def test_aggregation_bias_test_finds_curvature_and_no_more():
    x = np.linspace(0.05, 0.95, 60)
    for curve, found in ((0.0, False), (0.4, True)):
        t = 0.7 - 0.3 * x + curve * x * (1 - x) + np.random.default_rng(0).normal(0, 0.01, 60)
        sides = [np.stack([s, 1 - s], axis=1) * 500 for s in (x, t)]
        row = aggregation_bias_test(Margins(*sides, row_names=["a", "b"], col_names=["yes", "no"])).iloc[0]
        assert (row["p value"] < 0.01) == found
        assert (row["group"], row["outcome"]) == ("a", "yes")
