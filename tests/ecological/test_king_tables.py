"""The two strategies for larger tables, by themselves."""

import warnings

import numpy as np
import pytest

from messages import raises, warns
from sumwise import Margins
from sumwise.ecological import King, king_tables
from sumwise.ecological.kernels.king import KingData, KingPriors, simulate
from sumwise.ecological.kernels.king_multivariate import natural
from sumwise.ecological.king_tables import fit_iterated, fit_multivariate
from sumwise.errors import DataError, NotConverged

# One of the drawn units is unanimous; the test of that warning asks for it by name.
pytestmark = pytest.mark.filterwarnings("ignore:.*are unanimous:sumwise.errors.ModelWarning")

TRUE = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])


def margins(n=40):
    rng = np.random.default_rng(0)
    rows = rng.dirichlet([1, 1], n) * 300
    rows[0] = 0
    return Margins(rows, rows @ TRUE)


def test_iterated_reports_the_distance_of_its_two_ways():
    done = fit_iterated(margins(), KingPriors(), 40, 200, np.random.default_rng(0))
    assert 0 <= done.mean_disagreement <= done.disagreement < 0.2
    assert done.fit.n_iter == 12  # six cells, seen from both sides
    m = margins()
    np.testing.assert_allclose((done.cells * m.rows[:, :, None]).sum(axis=1), m.cols, atol=1e-6)


def drawn_margins(n=60, sharp=30):
    rng = np.random.default_rng(2)
    rows = rng.dirichlet([1, 1], n) * 300
    rows[0] = 0
    shares = np.array([[rng.dirichlet(sharp * p) for p in TRUE] for _ in rows])
    return Margins(rows, np.einsum("ir,irc->ic", rows, shares))


@pytest.mark.check
def test_multivariate_keeps_margins_and_converges():
    m = drawn_margins()
    done = fit_multivariate(m, KingPriors(), 40, 200, np.random.default_rng(0))
    assert done.draws.shape == (40, 2, 3)
    assert done.fit.converged
    assert done.change < done.tol
    np.testing.assert_allclose((done.cells * m.rows[:, :, None]).sum(axis=1), m.cols, atol=1e-6)
    assert np.abs(done.draws.mean(axis=0) - TRUE).max() < 0.1


def test_multivariate_on_two_by_two_is_king():
    rng = np.random.default_rng(3)
    x = rng.random(60)
    b, w = np.clip(0.7 + 0.12 * rng.standard_normal(60), 0, 1), np.clip(0.3 + 0.1 * rng.standard_normal(60), 0, 1)
    x[:2], b[2], w[2] = (0.0, 1.0), 1.0, 1.0  # units of one group, and one that chose alike
    t = x * b + (1 - x) * w
    m = Margins(500 * np.stack([x, 1 - x], axis=1), 500 * np.stack([t, 1 - t], axis=1))
    two = King(n_draws=400).fit(m)
    done = fit_multivariate(m, KingPriors(), 400, 500, np.random.default_rng(1))
    np.testing.assert_allclose(done.fit.answer, two.phi_, atol=0.4)  # a mode is known to part of its standard errors
    none = np.zeros((60, 0))
    phi = rng.multivariate_normal(two.phi_, two.phi_covariance_, 400)  # King's programs propose half as wide
    sides = simulate(phi, KingData(x, t, np.ones(60), none, none), rng=rng)
    totals = np.stack([sides[0] @ x / x.sum(), sides[1] @ (1 - x) / (1 - x).sum()], axis=1)
    first = done.draws[:, :, 0]
    error = 5 * np.sqrt((totals.var(axis=0) + first.var(axis=0)) / 100)
    assert (np.abs(first.mean(axis=0) - totals.mean(axis=0)) < error).all()
    assert error.max() < 0.02
    np.testing.assert_allclose(first.std(axis=0), totals.std(axis=0), rtol=0.3)


@pytest.mark.check
def test_a_full_covariance_finds_what_one_correlation_cannot():
    rng = np.random.default_rng(1)
    sd = np.array([0.15, 0.12, 0.15])
    cov = np.array([[1, 0.75, -0.5], [0.75, 1, -0.2], [-0.5, -0.2, 1]]) * np.outer(sd, sd)
    shares = rng.multivariate_normal([0.6, 0.4, 0.3], cov, 300)
    shares = shares[((shares > 0) & (shares < 1)).all(axis=1)][:200]
    x = rng.dirichlet([1.2] * 3, len(shares))
    t = (x * shares).sum(axis=1)
    m = Margins(1000 * x, 1000 * np.column_stack([t, 1 - t]))
    errors, found = {}, {}
    for full in (False, True):
        done = fit_multivariate(m, KingPriors(), 40, 160, np.random.default_rng(0), full)
        _, sds, made = natural(done.fit.answer, 3, 2)
        found[full] = (made / np.outer(sds, sds))[np.triu_indices(3, 1)]
        errors[full] = float(np.sqrt((x * (done.cells[:, :, 0] - shares) ** 2).sum() / x.sum()))
    assert np.ptp(found[False]) < 1e-12
    assert found[True][0] - found[True][1] > 0.3  # of .75 and -.5: margins show them weakly
    assert errors[True] < errors[False]


def test_a_full_covariance_needs_units():
    rows = np.random.default_rng(0).dirichlet(np.ones(3), 40) * 100
    m = Margins(rows, rows @ [[0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])
    with raises(DataError, "full-covariance-shares", 9, 40):
        fit_multivariate(m, KingPriors(), 20, 10, None, full=True)


def test_multivariate_refuses_tables_that_it_cannot_integrate():
    rows = np.random.default_rng(0).dirichlet(np.ones(7), 30) * 100
    m = Margins(rows, rows[:, :4] + rows[:, 4:].sum(axis=1, keepdims=True) / 4)
    with raises(DataError, "kings-multivariate-strategy", 21):
        fit_multivariate(m, KingPriors(), 20, 10, None)


@pytest.mark.filterwarnings("ignore:King's model has five")
def test_an_uncertain_constant_is_told(monkeypatch):
    monkeypatch.setattr(king_tables, "UNCERTAIN", 0.0)
    monkeypatch.setattr(king_tables, "DISTANCE", 1e9)
    monkeypatch.setattr(king_tables, "TRIES", 1)
    with warns(NotConverged, "log-posterior-known"):
        est = King(strategy="multivariate", n_draws=10, max_iter=20).fit(drawn_margins(12))
    assert est.integration_error_ > 0


def test_iterated_draws_are_tables_about_the_estimate():
    rng = np.random.default_rng(17)
    cells = rng.integers(5, 90, (40, 3, 3)) * (rng.random((40, 3, 1)) < 0.8)
    cells[:6, :, 1:] = 0  # unanimous units, by which the two decompositions disagree
    m = Margins(cells.sum(axis=2), cells.sum(axis=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = King(n_draws=200).fit(m)
    np.testing.assert_allclose(est.draws_.sum(axis=2), 1.0, atol=1e-9)
    np.testing.assert_allclose(est.draws_.mean(axis=0), est.shares_, atol=2e-3)
    np.testing.assert_allclose(est.draws(400).values.mean(axis=0), est.draws_.mean(axis=0), atol=1e-12)
    low, high = est.interval(0.95)
    assert ((low <= est.shares_) & (est.shares_ <= high)).all()
