"""A fitted model is tested where it is returned: label totals, one-way tables by class, calibration."""

import warnings

import numpy as np
import pytest

from maxent_settings import classifier
from sumwise import NotConverged, Table, Tables, synthetic
from sumwise.maxent import MaxEntClassifier, trainers
from sumwise.maxent.training import StepOptions
from sumwise.noise import Gaussian


def coin_flips(n_attributes, rate, n=8000, levels=3):
    rng = np.random.default_rng(n_attributes)
    names = [f"a{i}" for i in range(n_attributes)]
    rows = dict(zip(names, rng.integers(0, levels, (n_attributes, n)))) | {"y": (rng.random(n) < rate).astype(int)}
    return rows, Tables.from_frame(rows, names, label="y")


@pytest.mark.parametrize(
    ("n_attributes", "rate"),
    [
        (5, 0.5),
        (16, 0.06),
        pytest.param(30, 0.01, marks=pytest.mark.check),
        pytest.param(40, 0.3, marks=pytest.mark.check),
    ],
)
def test_independent_labels_are_predicted_at_their_rate(n_attributes, rate):
    rows, tables = coin_flips(n_attributes, rate)
    model = MaxEntClassifier(random_state=0).fit(tables)
    counted = np.mean(rows["y"])
    assert model.predict_proba(rows)[:, 1].mean() == pytest.approx(counted, rel=0.05)
    chance = np.sqrt(counted * (1 - counted) / 20_000)
    assert model.sample(20_000, random_state=0)["y"].mean() == pytest.approx(counted, abs=4 * chance)
    assert model.fit_.rate[1] == pytest.approx(counted)
    assert model.fit_.expected_rate[1] == pytest.approx(counted, rel=0.05)
    assert model.fit_.converged


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_a_label_that_depends_on_nothing_is_predicted_at_its_rate_for_everybody(rate):
    """Few positives for many levels: default penalties would let scores vary, and their mean miss the rate."""
    rows, tables = coin_flips(20, rate, n=2000, levels=4)
    model = MaxEntClassifier(random_state=0).fit(tables)
    p = model.predict_proba(rows)[:, 1]
    assert p.mean() == pytest.approx(np.mean(rows["y"]), rel=0.05)
    assert p.std() < 0.25 * p.mean()  # .66 at default penalties
    assert model.fit_.effect_scale < 0.1
    assert model.penalty_theta_[0] > 10


def test_effects_that_the_tables_show_keep_the_default_penalties():
    world = synthetic.rows(20_000, sizes=[4, 3, 5], rate=0.3, correlation=0.4, random_state=1)
    model = MaxEntClassifier(random_state=0).fit(world.tables())
    assert model.fit_.effect_scale == pytest.approx(1.0, abs=0.9)
    rows = world.frame()
    assert model.fit_.log_loss == pytest.approx(-model.score(rows, rows["label"]), abs=0.01)
    assert model.fit_.log_loss < model.fit_.anchor_log_loss


def test_a_fit_worse_than_a_linear_discriminant_says_so():
    world = synthetic.rows(20_000, sizes=[4, 3, 5, 2, 6, 3, 4], rate=0.3, correlation=0.4, random_state=1)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = classifier(1.0, engine="gibbs", max_iter=1, random_state=0).fit(world.tables())
    assert any("worse than a linear discriminant" in str(w.message) for w in said)
    assert model.fit_.log_loss > model.fit_.anchor_log_loss


def test_a_fit_that_misses_its_tables_says_so(monkeypatch):
    """Steps that are too long leave the label's total; what is tested is what is returned."""
    _, tables = coin_flips(16, 0.06)
    monkeypatch.setattr(trainers, "step_options", lambda problem: StepOptions(problem.penalties, 0.2, 0.2))
    with pytest.warns(NotConverged):
        model = classifier(max_iter=60, random_state=0).fit(tables)
    assert not model.fit_.converged
    assert model.fit_.miss > 1
    assert model.fit_.worst_miss >= model.fit_.miss
    drawn = model.sample(20_000, random_state=0)["y"].mean()
    assert model.fit_.expected_rate[1] == pytest.approx(drawn, abs=0.02)


def test_moments_are_those_of_the_returned_parameters_also_after_refitting_to_noise():
    world = synthetic.rows(20_000, sizes=[4, 3, 5, 2, 6, 3, 4], rate=0.3, correlation=0.4, random_state=1)
    exact, rng = world.tables(), np.random.default_rng(0)
    noisy = [
        Table(t.attributes, *(v + rng.normal(0, 30, v.shape) for v in (t.counts, t.label_sums)), noise=Gaussian(30.0))
        for t in exact
    ]
    model = classifier(engine="gibbs", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        model.fit(Tables(noisy, exact.domain, label=exact.label, n=20_000))
    drawn = model.sample(50_000, random_state=1)[exact.label].mean()
    assert model.fit_.expected_rate[1] == pytest.approx(drawn, abs=0.01)


def test_slope_is_one_where_scores_are_as_the_tables_say():
    world = synthetic.rows(20_000, sizes=[4, 3, 5], rate=0.3, random_state=1)
    fit = MaxEntClassifier(1e-6).fit(world.tables()).fit_
    assert fit.slope == pytest.approx(1.0, abs=0.05)
    shrunk = MaxEntClassifier(1e4).fit(world.tables()).fit_
    assert shrunk.slope > 1.2
    assert fit.miss < 0.1
    assert fit.chains == 0


def test_the_scale_of_effects_is_the_same_in_every_order_of_attributes():
    rng = np.random.default_rng(2)
    rows = {"a": rng.choice(["p", "q", "r"], 600), "b": rng.integers(0, 3, 600), "c": rng.integers(0, 2, 600)}
    rows["y"] = (rng.random(600) < 1 / (1 + np.exp(1.0 - rows["b"]))).astype(int)
    first, *others = (
        MaxEntClassifier().fit(Tables.from_frame(rows, list(order), label="y")).fit_.effect_scale
        for order in ("abc", "cab", "bca")
    )
    assert others == pytest.approx([first, first], rel=1e-6)
