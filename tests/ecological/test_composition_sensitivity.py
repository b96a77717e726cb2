"""Dependence on composition: what would overturn a finding."""

import numpy as np
import pytest

from sumwise import Margins
from sumwise.ecological import (
    EcologicalEM,
    Goodman,
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
