"""Ecological regression as an estimator."""

import numpy as np
import pytest

from sumwise import Margins
from sumwise.ecological import Goodman
from sumwise.errors import DataError, ModelWarning

TRUE = np.array([[0.8, 0.15, 0.05], [0.2, 0.5, 0.3]])


def precincts(shares=TRUE, n=60, noise=0.0, seed=0, size=400):
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(len(shares)), n) * rng.uniform(0.5, 1.5, (n, 1)) * size
    cols = rows @ shares
    cols = np.maximum(cols + noise * rng.normal(size=cols.shape) * cols, 1e-9)
    return Margins(rows, cols / cols.sum(axis=1, keepdims=True) * rows.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("options", [{}, {"weighting": "equal"}, {"constrained": True, "n_bootstrap": 5}])
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
    with pytest.warns(ModelWarning, match=r"leaves \[0, 1\] in 4 of 4 cells. Farthest: 'a' has -0.2"):
        est = Goodman().fit(outside())
    assert len(est.outside_) == 4
    kept = Goodman(constrained=True, n_bootstrap=20).fit(outside())
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


def test_same_seed_same_interval():
    m = precincts(noise=0.2)
    first, second = (Goodman(constrained=True, n_bootstrap=10, random_state=3).fit(m).interval() for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"weighting": "none"}, "weighting"), ({"alpha": -1}, "alpha"), ({"n_bootstrap": 1}, "n_bootstrap")],
)
def test_bad_parameters_are_refused(options, words):
    with pytest.raises(DataError, match=words):
        Goodman(**options).fit(precincts())


def test_one_unit_that_outweighs_the_others_is_named():
    rng = np.random.default_rng(0)
    rows = rng.integers(100, 900, (30, 2))
    rows[4] *= 40
    cols = rows @ np.array([[0.7, 0.3], [0.2, 0.8]])
    with pytest.warns(ModelWarning, match="Unit '4' has [0-9]+% of the weight of 30 units"):
        Goodman().fit(Margins(rows, cols))
