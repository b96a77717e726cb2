"""The penalty chosen from bags: high for noise, low for signal, the same for the same seed."""

from types import SimpleNamespace

import numpy as np
import pytest

from sumwise import Bags
from sumwise.proportions import CardinalityClassifier, penalty
from sumwise.proportions.counts import observe
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import LinearProblem, maximise
from sumwise.proportions.penalty import (
    FIRST,
    MIDDLE,
    _likelier_prior,
    _nearest_good,
    log_marginal_likelihood,
    reference_shape,
    search_penalty,
)


def search(strength, seed=0, capsys=None, verbose=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(1200, 4)) + np.repeat(rng.normal(size=(60, 4)), 20, axis=0)
    labels = rng.random(1200) < 1 / (1 + np.exp(-strength * values @ [1.0, -1.0, 0.5, 2.0]))
    bags = Bags(values, np.arange(0, 1201, 20))
    likelihood = BagLikelihood(bags.offsets, observe(bags, labels.reshape(60, 20).sum(axis=1)))
    return search_penalty(
        lambda part, multiple: LinearProblem(values, part, multiple * reference_shape(values)),
        likelihood,
        np.zeros(5),
        np.random.default_rng(1),
        verbose=verbose,
    )


def test_noise_wants_more_penalty_than_signal():
    noise, _ = search(0.0)
    signal, fit = search(1.0)
    assert noise.scores.argmax() > signal.scores.argmax()
    assert noise.best > signal.best
    assert signal.best in signal.penalties
    assert fit.theta[3] > 1.0
    again, _ = search(1.0)
    np.testing.assert_array_equal(again.scores, signal.scores)


@pytest.mark.parametrize("intercepts", [False, True])
@pytest.mark.parametrize(
    ("n_bags", "size", "strength"), [(6, 60, 1.0), (6, 60, 0.0), (12, 30, 5.0), (40, 10, 1.0), (40, 10, 0.0)]
)
def test_penalty_auto_makes_at_most_eight_fits(monkeypatch, n_bags, size, strength, intercepts):
    """Penalties that are fitted to all bags, whether by folds or by marginal likelihood, noise and signal alike."""
    rng = np.random.default_rng(n_bags)
    values = rng.normal(size=(n_bags * size, 3)) + np.repeat(rng.normal(size=(n_bags, 3)), size, axis=0)
    labels = rng.random(len(values)) < 1 / (1 + np.exp(-strength * values @ [1.0, -1.0, 0.5]))
    tried = []

    def counted(problem, theta, *args, **kwargs):
        if problem.likelihood.temper is None:  # all bags: without a fold, its bags have a temper of zero
            tried.append(problem.penalty)
        return maximise(problem, theta, *args, **kwargs)

    monkeypatch.setattr(penalty, "maximise", counted)
    clf = CardinalityClassifier(random_intercept=intercepts)
    clf.fit(Bags(values, np.arange(0, len(values) + 1, size)), labels.reshape(n_bags, size).sum(axis=1))
    assert 3 <= len(tried) <= 8


def test_search_that_always_improves_stops_after_eight(monkeypatch):
    """Held-out bags that prefer every larger penalty: without the limit all nine above the first would be fitted."""
    tried = []

    def improves(_make, likelihood, multiple, starts, _folds):
        tried.append(multiple)
        return penalty._Fits(SimpleNamespace(theta=starts[0]), starts[1:], np.full(likelihood.n_bags, multiple))

    monkeypatch.setattr(penalty, "_fit_folds", improves)
    found, _ = search(1.0)
    assert len(tried) == len(found.penalties) == penalty.MOST_FITS == 8


def test_progress_is_told(capsys):
    search(1.0, verbose=2)
    assert "held_out" in capsys.readouterr().err


def test_reference_scales_with_the_features():
    values = np.random.default_rng(0).normal(size=(100, 3))
    assert reference_shape(10 * values) == pytest.approx(100 * reference_shape(values))


def test_logits_have_variance_one_under_the_reference_prior():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3000, 4)) @ rng.normal(size=(4, 4)) + 3.0
    assert (values.var(axis=0) / reference_shape(values)).sum() == pytest.approx(1.0)


def test_reference_prior_knows_no_units():
    rng = np.random.default_rng(1)
    values = np.column_stack([rng.normal(size=500), rng.random(500) < 0.01, rng.exponential(size=500)]).astype(float)
    units, shift = np.array([10.0, 0.2, 1e3]), np.array([3.0, -1.0, 0.0])
    np.testing.assert_allclose(reference_shape(values * units + shift), reference_shape(values) * units**2)


def test_rare_levels_are_held_back():
    """Per deviation, a level of one row in a hundred gets a tenth of what a number gets."""
    rng = np.random.default_rng(1)
    values = np.column_stack([rng.normal(size=10_000), np.arange(10_000) % 100 == 0]).astype(float)
    deviation = values.std(axis=0) / np.sqrt(reference_shape(values))
    assert deviation[1] / deviation[0] == pytest.approx(0.1, rel=0.02)


def test_evidence_is_the_marginal_likelihood():
    """One feature, bags of one: the integral over coefficient and intercept by brute force."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(60, 1))
    labels = (rng.random(60) < 1 / (1 + np.exp(-values[:, 0]))).astype(int)
    bags = Bags(values, np.arange(61))
    likelihood = BagLikelihood(bags.offsets, observe(bags, labels))
    grid = np.linspace(-6.0, 6.0, 161)
    w, b = np.meshgrid(grid, grid, indexing="ij")
    logits = w[..., None] * values[:, 0] + b[..., None]
    fit = (labels * logits - np.logaddexp(0.0, logits)).sum(axis=-1)
    differences = []
    for multiple in (0.1, 1.0, 10.0):
        problem = LinearProblem(values, likelihood, multiple)
        found = maximise(problem, np.zeros(2), tol=1e-6)
        prior = 0.5 * np.log(multiple / (2 * np.pi)) - 0.5 * multiple * w**2
        exact = np.log(np.exp(fit + prior).sum() * (grid[1] - grid[0]) ** 2)
        differences.append(log_marginal_likelihood(problem, multiple, found) - exact)
    np.testing.assert_allclose(differences, differences[0], atol=0.05)


def test_nearest_good_stays_unless_the_gain_is_clear():
    rng = np.random.default_rng(1)
    base = rng.normal(size=50)
    clear = {8: base, 6: base + 1.0, 5: base + 0.5 + 0.1 * rng.normal(size=50)}
    assert _nearest_good(clear, 8) == 6
    assert _nearest_good({8: base, 6: base + rng.normal(0.05, 1.0, size=50)}, 8) == 8


@pytest.mark.parametrize(("gain", "expected"), [(4.9, FIRST), (5.1, MIDDLE), (-20.0, FIRST)])
def test_very_strong_evidence_moves_the_first_penalty_to_the_reference(gain, expected):
    """The gain is in the log-likelihood of all bags, however unevenly they share it."""
    base = np.random.default_rng(2).normal(size=10)
    one_bag = np.eye(10)[3] * gain
    assert _likelier_prior({FIRST: base, MIDDLE: base + one_bag}, FIRST) == expected
    assert _likelier_prior({FIRST: base, MIDDLE: base + gain / 10.0}, FIRST) == expected
    assert _likelier_prior({MIDDLE: base, MIDDLE + 1: base + 20.0}, MIDDLE) == MIDDLE
    many = np.tile(base, 3)  # 30 bags, for which standard errors decide
    assert _likelier_prior({FIRST: many, MIDDLE: many + gain}, FIRST) == FIRST


def test_overdispersed_bags_count_from_the_reference():
    """Ten large bags with strong effects of their own and features that predict little: the likelihood overstates what
    it knows, held-out bags say so, and the penalty ends at the reference or above."""
    rng = np.random.default_rng(5)
    bags = Bags(rng.normal(size=(10, 300, 6)).reshape(-1, 6) + np.repeat(rng.normal(size=(10, 6)), 300, axis=0),
                np.arange(11) * 300)  # fmt: skip
    chance = 1 / (1 + np.exp(-0.3 * bags.values[:, 0] - np.repeat(rng.normal(size=10), 300)))
    counts = (rng.random(3000) < chance).reshape(10, 300).sum(axis=1)
    found = CardinalityClassifier().fit(bags, counts).penalty_search_["best"]
    assert found >= 1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sumwise.proportions.penalty.VERY_STRONG", np.inf)
        assert CardinalityClassifier().fit(bags, counts).penalty_search_["best"] < found
