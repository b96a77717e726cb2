"""Synthetic rows, densities, any table, held-out tables: against the exact joint, and within their errors."""

import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise import DataError, Domain, Table, Tables, synthetic
from sumwise.errors import UnknownName
from sumwise.maxent import MaxEntClassifier, SolverOptions, fitted_model
from sumwise.noise import Exact, Gaussian


@pytest.fixture(scope="module")
def world():
    made = synthetic.rows(8000, sizes=[3, 2, 4, 3], rate=0.4, random_state=2)
    frame, names = made.frame(), list(made.domain.attributes)
    label = next(c for c in frame.columns if c not in names)
    tables = Tables.from_frame(frame, names, label=label)
    return (
        frame,
        names,
        label,
        tables,
        MaxEntClassifier(engine="gibbs", options=SolverOptions(n_chains=2000), random_state=0).fit(tables),
    )


@pytest.fixture
def by_sampling(monkeypatch):
    """Pretend that the joint table is too large."""
    monkeypatch.setattr(fitted_model, "ENUMERABLE", 0)


def test_drawn_rows_have_the_models_tables(world, by_sampling):
    _, names, label, _, model = world
    drawn = model.sample(20_000, random_state=1)
    assert drawn.columns.tolist() == [*names, label]
    joint = model.model_.joint()
    share = drawn.groupby([label, names[0]]).size().to_numpy() / 20_000
    np.testing.assert_allclose(share, joint.sum(axis=(2, 3, 4)).ravel(), atol=0.015)
    assert drawn.equals(model.sample(20_000, random_state=1))


def test_expected_is_near_the_exact_answer_and_has_no_interval_before_bootstrap(world, by_sampling, monkeypatch):
    _, names, _, _, model = world
    asked = [names[2], names[0]]
    sampled = model.expected(asked, random_state=0)
    monkeypatch.setattr(fitted_model, "ENUMERABLE", 10**6)
    exact = model.expected(asked)
    assert sampled.shape == exact.shape == (4, 3, 2)
    np.testing.assert_allclose(sampled.values, exact.values, atol=4.5 * 8000 * np.sqrt(0.1 / 20_000))
    assert exact.values.sum() == pytest.approx(8000)
    assert sampled.low is exact.low is None


def test_intervals_of_a_margin_are_those_of_sampling_and_noise(monkeypatch):
    """A one-way table: the count of a level varies by n p (1 - p), and by the noise where there is any."""
    n, p = 4000, np.array([0.5, 0.3, 0.2])
    sums = n * p * [0.2, 0.5, 0.7]
    for noise, extra in ((Exact(), 0.0), (Gaussian(40.0), 40.0**2)):
        tables = Tables([Table("a", n * p, sums, noise)], Domain({"a": 3}), n=n)
        model = MaxEntClassifier(1e-3, options=SolverOptions(penalty_mu=1e-3), random_state=0).fit(tables)
        model.bootstrap(tables, n=150, random_state=0)
        found = model.expected("a")
        spread = (found.high - found.low).sum(axis=1) / 2 / 1.976  # both classes
        own = (found.high - found.low) / 2 / 1.976
        np.testing.assert_allclose(own[:, 1], np.sqrt(sums * (1 - sums / n) + extra), rtol=0.25)
        assert (spread > np.sqrt(n * p * (1 - p) + extra) * 0.9).all()
    monkeypatch.setattr(fitted_model, "ENUMERABLE", 0)
    drawn = model.expected("a", random_state=0)
    np.testing.assert_allclose(drawn.high - drawn.low, found.high - found.low, rtol=0.4)


def test_log_density_differs_from_the_joint_by_a_constant(world):
    frame, names, label, _, model = world
    rows = frame.head(50)
    joint = model.model_.joint()
    codes = rows[names].to_numpy()
    exact = np.log(joint[:, *codes.T])
    gaps = model.log_density(rows) - np.log(np.exp(exact).sum(axis=0))
    assert np.ptp(gaps) < 1e-9
    both = model.log_density(rows, rows[label]) - exact[rows[label].to_numpy(), np.arange(50)]
    assert np.ptp(both) < 1e-9
    with raises(UnknownName, "there-is-no", "class"):
        model.log_density(rows, ["maybe"] * 50)


def test_score_from_held_out_tables_is_near_that_from_rows(world):
    _, names, label, tables, model = world
    other = synthetic.rows(8000, sizes=[3, 2, 4, 3], rate=0.4, random_state=2).frame()
    held = Tables.from_frame(other, names, label=label, domain=tables.domain)
    score = model.held_out_score(held, random_state=0)
    p = model.predict_proba(other)[:, 1]
    y = other[label].to_numpy()
    q = y.mean()
    truth = 1 - np.mean(np.log(np.where(y == 1, p, 1 - p))) / (q * np.log(q) + (1 - q) * np.log(1 - q))
    assert abs(score.values[0] - truth) < 0.02
    assert score.low[0] < score.values[0] < score.high[0]


def test_held_out_tables_must_be_over_the_same_sets(world):
    frame, names, label, _, model = world
    with raises(DataError, "tables-arent-over"):
        model.held_out_score(Tables.from_frame(frame, names, label=label, order=1))


def test_an_unknown_attribute_is_refused(world):
    with raises(UnknownName, "there-is-no", "attribute", "zodiac"):
        world[-1].expected(["zodiac"])


def test_a_single_attribute_may_be_named_alone(world):
    assert world[-1].expected("f0").to_frame().columns.tolist()[:2] == ["f0", world[2]]
    assert isinstance(world[-1].sample(2), pd.DataFrame)


def test_labels_of_another_length_or_class_are_refused():
    tables = synthetic.rows(1000, sizes=[3, 2], rate=0.3, random_state=0).tables()
    rows = {a: [0, 1] for a in tables.domain.attributes}
    model = MaxEntClassifier(engine="gibbs", options=SolverOptions(max_iter=5), random_state=0)
    for held_out, words in (
        ((rows, [0]), ("labels-rows-each", 1, 2)),
        ((rows, [0, 7]), ("there-is-no", "class", 7)),
        (rows, ("held-out-type", "dict")),
    ):
        with raises(DataError, *words):
            model.fit(tables, held_out=held_out)
    with raises(DataError, "labels-rows-each", 1, 2):
        MaxEntClassifier().fit(tables).log_density(rows, [0])
    with raises(DataError, "takes-tables-type", "held_out_score"):
        MaxEntClassifier().fit(tables).held_out_score(rows)


def test_intervals_of_levels_that_noise_hides_hold_the_people_there():
    """A level of 15 people under noise of 20 by cell and class; refits alone gave intervals of no width."""
    one, held, widths = Gaussian(20.0), [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        joint = np.stack([[2000, 1500, 8], [1800, 2500, 7]])[..., None] * np.array([0.6, 0.4])
        people = rng.poisson(joint).astype(float)
        noisy = one.sample(people, rng)
        made = Table(("b", "a"), noisy.sum(axis=-1), noisy[..., 1], Gaussian(20 * 2**0.5), label_noise=one)
        data = Tables([made], Domain({"a": 3, "b": 2}))
        found = MaxEntClassifier(random_state=seed).fit(data).bootstrap(data, n=6, random_state=seed).expected("a")
        held.append(found.covers(joint.sum(axis=0))[2])
        widths.append((found.high - found.low)[2])
    assert np.mean(held) > 0.8
    assert np.min(widths) > 20
