"""Inverse calibration: log-odds on bag means within an insensitive band."""

import numpy as np
import pytest
from sklearn.svm import SVR

from sumwise import Bags
from sumwise.errors import DataError, NotConverged
from sumwise.proportions import InverseCalibration


def test_exact_log_odds_are_recovered():
    """Bags whose members are alike and whose log-odds are linear in them; Rueping's problem has them as solution."""
    x = np.linspace(-2, 2, 9)
    sizes = np.full(9, 5000)
    shares = 1 / (1 + np.exp(-(1.5 * x + 0.3)))
    bags = Bags(np.repeat(x, sizes)[:, None], np.concatenate([[0], np.cumsum(sizes)]))
    clf = InverseCalibration(epsilon=0.0, penalty=1.0).fit(bags, np.rint(shares * sizes))
    assert clf.coef_[0, 0] == pytest.approx(1.5, abs=0.01)
    assert clf.intercept_[0] == pytest.approx(0.3, abs=0.01)


def test_errors_within_the_band_cost_nothing():
    bags = Bags.from_arrays([np.full((100, 1), m) for m in (-1.0, 1.0)])
    clf = InverseCalibration(epsilon=5.0, penalty=1.0).fit(bags, [40, 60])
    assert clf.coef_[0, 0] == pytest.approx(0.0, abs=1e-6)


def test_fit_is_the_support_vector_regression_whatever_the_sizes():
    rng = np.random.default_rng(3)
    sizes = np.tile([5, 15], 20)
    values = rng.normal(size=(400, 2)) + np.repeat(rng.normal(size=(40, 2)), sizes, axis=0)
    bags = Bags(values, np.concatenate([[0], np.cumsum(sizes)]))
    means = np.add.reduceat(values, bags.offsets[:-1]) / sizes[:, None]
    counts = rng.binomial(sizes, 1 / (1 + np.exp(-means[:, 0])))
    clf = InverseCalibration(penalty=5.0).fit(bags, counts)
    odds = np.log((counts + 0.5) / (sizes + 0.5 - counts))
    theirs = SVR(kernel="linear", C=2.0, epsilon=0.1, tol=1e-6).fit(means, odds)  # C: mean size over penalty

    def cost(model):
        off = np.abs(odds - means @ model.coef_[0] - model.intercept_[0])
        return 0.5 * (model.coef_**2).sum() + 2.0 * np.maximum(off - 0.1, 0.0).sum()

    assert cost(clf) < 1.001 * cost(theirs)  # corners are rounded
    np.testing.assert_allclose(clf.coef_, theirs.coef_, atol=0.02)


def test_a_negative_band_is_refused():
    with pytest.raises(DataError, match="epsilon is -1"):
        InverseCalibration(epsilon=-1.0).fit(Bags(np.zeros((2, 1)), np.array([0, 1, 2])), [0, 1])


def test_stopping_early_is_owned_up():
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(200, 8)), np.arange(0, 201, 5))
    with pytest.warns(NotConverged):
        InverseCalibration(penalty=1e-6, max_iter=1).fit(bags, rng.integers(0, 6, 40))
