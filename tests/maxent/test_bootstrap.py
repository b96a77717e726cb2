"""Intervals: how often they cover the truth, what widens them, what is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from messages import raises
from sumwise import DataError, Domain, Table, Tables
from sumwise.maxent import MaxEntClassifier, bootstrap
from sumwise.maxent.bootstrap import prior_variance, suggested_scale, suggested_scales
from sumwise.maxent.effects import effects_of
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.kernels.loglinear import layout
from sumwise.maxent.sufficient_statistics import sufficient_statistics
from sumwise.maxent.trainers import penalties_for
from sumwise.noise import Gaussian

SHARES = np.array([0.1, 0.2, 0.1, 0.25, 0.15, 0.2])
TRUTH = np.array([0.2, 0.5, 0.35, 0.15, 0.6, 0.3])
GRID = pd.DataFrame({"a": [0, 0, 1, 1, 2, 2], "b": [0, 1, 0, 1, 0, 1]})
DOMAIN = Domain({"a": 3, "b": 2})


def tables(rng, n=3000, noise=None):
    """One saturated table, so that the model is right and only sampling and noise are left."""
    counts = rng.multinomial(n, SHARES).astype(float)
    sums = rng.binomial(counts.astype(int), TRUTH).astype(float)
    if noise is None:
        return Tables([Table(("a", "b"), counts.reshape(3, 2), sums.reshape(3, 2))], DOMAIN)
    counts, sums = (noise.sample(v.reshape(3, 2), rng) for v in (counts, sums))
    return Tables([Table(("a", "b"), counts, sums, noise)], DOMAIN, n=n)


@pytest.mark.parametrize("noise", [None, Gaussian(15.0)], ids=["exact", "noisy"])
def test_intervals_cover_the_truth(noise):
    rng = np.random.default_rng(0)
    covered = []
    for seed in range(3):
        data = tables(rng, noise=noise)
        model = MaxEntClassifier(1.0).fit(data).bootstrap(data, n=5, random_state=seed)
        low, high = model.predict_interval(GRID, level=0.9)
        covered.append((low[:, 1] <= TRUTH) & (high[:, 1] >= TRUTH))
        np.testing.assert_allclose(low[:, 0], 1 - high[:, 1])
    assert np.mean(covered) > 0.8


def drawn(seed):
    """Tables of a model of its own, and its log-odds, (5, 4)."""
    rng = np.random.default_rng(seed)
    odds = -0.5 + 0.7 * (rng.standard_normal((5, 1)) + rng.standard_normal(4)) + 0.4 * rng.standard_normal((5, 4))
    counts = rng.multinomial(4000, rng.dirichlet(np.full(20, 3.0))).reshape(5, 4)
    sums = rng.binomial(counts, 1 / (1 + np.exp(-odds)))
    return Tables([Table(("a", "b"), counts, sums)], Domain({"a": 5, "b": 4})), odds


def test_intervals_cover_what_large_penalties_take():
    """Without it they would hold a third of the truth."""
    grid = pd.DataFrame(list(np.ndindex(5, 4)), columns=["a", "b"])
    held, alone = [], []
    for seed in range(3):
        data, odds = drawn(seed)
        model = MaxEntClassifier((20.0, 200.0)).fit(data).bootstrap(data, n=6, random_state=seed)
        truth = 1 / (1 + np.exp(-odds.ravel()))
        low, high = (end[:, 1] for end in model.predict_interval(grid))
        held.append((low <= truth) & (truth <= high))
        effects = model.effect_intervals()
        shares = np.split(model.replicates_["shares"], [5])
        real = np.concatenate([e.ravel() for e in effects_of(layout((5, 4), [(0, 1)]), odds.ravel(), shares)])
        alone.append((effects["low"] <= real) & (real <= effects["high"]))
    assert np.mean(held) > 0.85
    assert 0.85 < np.mean(alone) < 1.0


def test_contraction_is_high_for_frequent_levels_and_low_for_one_that_nobody_has():
    data, _ = drawn(0)
    seen = (np.asarray(v) for v in (data["a", "b"].counts, data["a", "b"].label_sums))
    counts, sums = (np.vstack([v, np.zeros((1, 4))]) for v in seen)
    rare = Tables([Table(("a", "b"), counts, sums)], Domain({"a": 6, "b": 4}))
    model = MaxEntClassifier().fit(rare).bootstrap(rare, n=6, random_state=0)
    for frame, at_least in ((model.effect_intervals(), 0.9), (model.coefficient_intervals(), 0.5)):
        alone = frame[frame["table"] == ("a",)]
        unseen = alone["levels"] == (5,)
        known = np.asarray(alone["contraction"])
        assert np.min(known[~unseen]) > at_least
        assert np.max(known[unseen]) < 0.8
        assert np.all(frame["high"].to_numpy() > frame["low"].to_numpy())


def test_effects_of_three_classes_are_against_their_mean():
    rng = np.random.default_rng(0)
    rows = {"a": rng.integers(0, 3, 900), "b": rng.integers(0, 2, 900)}
    rows["y"] = np.array(["red", "green", "blue"])[(rows["a"] + (rng.random(900) < 0.3)) % 3]
    data = Tables.from_frame(rows, ["a", "b"], label="y")
    found = MaxEntClassifier().fit(data).bootstrap(data, n=3, random_state=0).effect_intervals()
    assert len(found) == 3 * (3 + 2 + 6)
    np.testing.assert_allclose(np.asarray(found.groupby(["table", "levels"])["effect"].sum()), 0.0, atol=1e-12)
    assert found["contraction"].between(0.0, 1.0).all()


def test_noise_widens_intervals_and_coefficients_have_them():
    rng = np.random.default_rng(1)
    widths = []
    for noise in (None, Gaussian(30.0)):
        data = tables(rng, noise=noise)
        model = MaxEntClassifier(1.0).fit(data).bootstrap(data, n=5, random_state=0)
        low, high = model.predict_interval(GRID)
        widths.append(np.mean(high - low))
    assert widths[1] > 1.3 * widths[0]
    frame = model.coefficient_intervals()
    assert np.all(np.diff(frame[["low", "coefficient", "high"]].to_numpy(), axis=1) > 0)


def test_what_own_penalties_of_noisy_tables_take_widens_effects():
    data = tables(np.random.default_rng(3), noise=Gaussian(15.0))
    model = MaxEntClassifier().fit(data).bootstrap(data, n=5, random_state=0)
    taken = np.abs(model.replicates_["away"]).max()
    assert taken > 0.01
    asked = (model.effect_intervals, model.coefficient_intervals)
    wide = [ask()["high"].to_numpy() for ask in asked]
    del model.replicates_["away"]  # as in models saved before it was kept
    narrow = [ask()["high"].to_numpy() for ask in asked]
    assert all(np.all(w >= n) and np.any(w > n + 1e-4) for w, n in zip(wide, narrow))
    exact = tables(np.random.default_rng(3))
    assert not MaxEntClassifier().fit(exact).bootstrap(exact, n=5, random_state=0).replicates_["away"].any()


def test_before_and_on_other_tables_it_is_refused():
    data = tables(np.random.default_rng(0))
    model = MaxEntClassifier().fit(data)
    for ask in (lambda: model.predict_interval(GRID), model.effect_intervals, model.coefficient_intervals):
        with pytest.raises(NotFittedError, match="call bootstrap"):
            ask()
    with raises(DataError, "tables-arent-those"):
        model.bootstrap(Tables([Table("a", [5.0, 5.0], [1.0, 2.0])], Domain({"a": 2})))


def test_refits_of_another_fit_are_forgotten_and_a_part_of_the_tables_is_refused():
    data = tables(np.random.default_rng(0))
    model = MaxEntClassifier().fit(data).bootstrap(data, n=2, random_state=0)
    assert not hasattr(model.fit([data, data]), "replicates_")
    with raises(DataError, "tables-count-those", 3000, 6000):
        model.bootstrap(data)


def test_variances_are_those_of_the_usual_penalties_less_what_large_attributes_raise():
    given, usual = np.array([[2.0, 50.0, 0.0]]), np.array([[4.0, 5.0, 1.0]])
    found = prior_variance(Moments(np.array([2.0, 0.1, 0.0]), given * [1.0, 3.0, 1.0]), given, usual)
    np.testing.assert_allclose(found.sums, [[1 / 8, 1 / 30, 0.0]])
    np.testing.assert_allclose(found.counts, [0.5, 0.5, 0.0])


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_scale_is_found_where_parameters_are_informative_and_three_where_they_are_not(scale):
    rng = np.random.default_rng(0)
    sampled, answered = rng.uniform(0.1, 1.0, 4000), rng.uniform(0.5, 2.0, 4000)
    values = rng.standard_normal(4000) * np.sqrt(sampled + scale * answered)
    assert suggested_scale(values, sampled, answered, np.ones(4000)) == pytest.approx(scale, rel=0.1)
    assert suggested_scale(values, sampled, 1e-9 * answered, np.ones(4000)) == pytest.approx(2.96, rel=0.05)


def test_levels_and_pairs_have_a_scale_each():
    rng = np.random.default_rng(0)
    single = np.arange(4000) < 1500
    sampled, answered = rng.uniform(0.1, 1.0, 4000), np.where([single, ~single], 1.0, 0.05)
    values = rng.standard_normal(4000) * np.sqrt(sampled + np.array([0.3, 8.0]) @ answered)
    np.testing.assert_allclose(suggested_scales(values, sampled, answered, np.ones(4000)), [0.3, 8.0], rtol=0.25)


def test_noisy_pairs_near_independence_have_a_small_prior_variance_of_mu():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.integers(0, 4, 8000), "b": rng.integers(0, 3, 8000), "y": rng.integers(0, 2, 8000)})
    exact = Tables.from_frame(rows, ["a", "b"], label="y")
    t, noise = exact["a", "b"], Gaussian(5.0)
    noisy = Tables([Table(t.attributes, t.counts, t.label_sums, noise)], exact.domain, n=8000)
    stats = [sufficient_statistics(tables) for tables in (exact, noisy)]
    settings = MaxEntClassifier()._settings()
    plain = [penalties_for(s, settings, (1.0, 3.0), aware=False) for s in stats]
    by_exact, by_noisy = (bootstrap._prior(s, settings, (1.0, 3.0), p).counts for s, p in zip(stats, plain))
    assert (by_exact == 0.5).all()
    assert by_noisy[0] == pytest.approx(0.05)  # 1 / (2 * 10), the largest penalty that is estimated
    assert by_noisy[-1] == 0.5  # of a level
