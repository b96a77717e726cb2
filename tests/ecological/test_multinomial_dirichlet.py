"""The hierarchical model: margins, convergence, rounding, refusals."""

import warnings

import numpy as np
import pytest

import public_data
from messages import raises, warns
from sumwise import Margins, synthetic
from sumwise.ecological import MultinomialDirichlet, multinomial_dirichlet
from sumwise.errors import DataError, ModelWarning, NotConverged


def precincts(n=40, seed=0):
    rng = np.random.default_rng(seed)
    true = np.array([[8.0, 2.0], [2.0, 6.0]])
    rows = np.round(rng.dirichlet([1, 1], n) * 60)
    cells = np.array([[rng.multinomial(int(x), rng.dirichlet(a)) for x, a in zip(row, true)] for row in rows], float)
    return Margins(cells.sum(axis=2), cells.sum(axis=1)), cells.sum(axis=0) / cells.sum(axis=(0, 2))[:, None]


def test_posterior_holds_the_truth_and_adds_up():
    m, truth = precincts()
    est = MultinomialDirichlet(n_draws=200).fit(m)
    assert est.fit_.converged
    assert est.r_hat_.max() < 1.05
    assert est.effective_size_.min() > 50
    np.testing.assert_allclose((est.cells_ * m.rows[:, :, None]).sum(axis=1), m.cols, atol=1e-6)
    low, high = est.interval(0.99)
    assert (low <= truth).all()
    assert (truth <= high).all()
    frame = est.estimate().to_frame()
    assert (frame["low"] <= frame["share"]).all()
    assert est.draws(9).values.shape == (9, 2, 2)


def test_same_seed_same_draws():
    m, _ = precincts(n=10)
    first, second = (MultinomialDirichlet(n_draws=20, r_hat=9.0, random_state=3).fit(m) for _ in range(2))
    np.testing.assert_array_equal(first.draws_, second.draws_)


def test_unconverged_chains_are_not_given_as_a_result():
    m, _ = precincts(n=30)
    with warns(NotConverged, "stopped-after-steps"):
        est = MultinomialDirichlet(n_draws=20, max_draws=20, r_hat=1.0001).fit(m)
    assert not est.fit_.converged
    for ask in (est.interval, est.estimate, est.draws):
        with raises(DataError, "chains-dont-agree"):
            ask()


def test_fractional_counts_are_rounded_and_it_is_said():
    m, _ = precincts(n=10)
    with warns(ModelWarning, "counts-fractional-rounded", 10):
        est = MultinomialDirichlet(n_draws=20, r_hat=9.0).fit(Margins(m.rows + 0.4, m.cols + 0.4))
    assert np.isfinite(est.shares_).all()


def test_shares_in_place_of_counts_are_refused():
    m, _ = precincts(n=10)
    with raises(DataError, "all-units-round"):
        MultinomialDirichlet().fit(Margins(m.rows / 1e4, m.cols / 1e4))


def test_homogeneous_and_empty_units_pass():
    m, _ = precincts(n=12)
    more = Margins(np.r_[m.rows, [[20, 0], [0, 0]]], np.r_[m.cols, [[15, 5], [0, 0]]])
    est = MultinomialDirichlet(n_draws=20, r_hat=9.0).fit(more)
    np.testing.assert_allclose(est.cells_[12, 0], [0.75, 0.25])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shape": 0}, ("not-above-zero-2", "shape")),
        ({"rate": -1}, ("not-above-zero-2", "rate")),
        ({"n_chains": 1}, ("must-least", "n_chains")),
        ({"n_draws": 5}, ("must-least", "n_draws")),
        ({"max_draws": 10}, ("must-least", "max_draws")),
        ({"thin": 0}, ("must-least", "thin")),
        ({"r_hat": 1.0}, ("r-hat-must",)),
    ],
)
def test_bad_parameters_are_refused(options, words):
    with raises(DataError, *words):
        MultinomialDirichlet(**options).fit(precincts(n=10)[0])


@pytest.mark.long  # generated precincts stand for it in `make test`
@pytest.mark.skipif(not public_data.present(), reason=public_data.REASON)
def test_senc_is_near_the_truth_with_the_posterior_s_narrow_intervals():
    from sumwise import datasets

    senc = datasets.senc()
    est = MultinomialDirichlet().fit(senc.margins)
    error = 50 * np.abs(est.total_ - senc.total).sum() / senc.total.sum()
    assert error < 2.25
    assert est.interval_kind == "model only"
    assert np.diff(est.interval(), axis=0).mean() < 0.04


def test_units_of_one_person_are_refused():
    rng = np.random.default_rng(0)
    x, t = rng.uniform(0.2, 0.8, (2, 40))
    margins = Margins(np.column_stack([x, 1 - x]), np.column_stack([t, 1 - t]))
    with raises(DataError, "rounding-whole-people", 1):
        MultinomialDirichlet(random_state=0).fit(margins)


def test_rounds_of_chains_are_one_progress(monkeypatch):
    seen = []

    class Counted(multinomial_dirichlet.Progress):
        def __exit__(self, *error):
            seen.append((self.label, self.done, self.total))
            return super().__exit__(*error)

    monkeypatch.setattr(multinomial_dirichlet, "Progress", Counted)
    margins = synthetic.precincts(6, 2, 2, random_state=0).margins
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        MultinomialDirichlet(n_chains=2, n_draws=20, max_draws=60, r_hat=1 + 1e-12, random_state=0).fit(margins)
    assert [(label, total) for label, _, total in seen] == [("Chains", 6)]
    assert seen[0][1] in (2, 4, 6)


def test_groups_that_round_to_nobody_have_overall_shares():
    rng = np.random.default_rng(3)
    rows = rng.integers(20, 60, (12, 3)).astype(float)
    rows[:4, 2] = 0.3
    cols = rows @ np.array([[0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])
    with warns(ModelWarning, "counts-fractional-rounded"):
        est = MultinomialDirichlet(r_hat=1.5).fit(Margins(rows, cols))
    np.testing.assert_allclose(est.cells_.sum(axis=2), 1.0, atol=1e-9)
    np.testing.assert_allclose(est.shares_.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(est.draws_.sum(axis=2), 1.0, atol=1e-9)
    np.testing.assert_allclose(est.draws_.mean(axis=0), est.shares_, atol=5e-3)
