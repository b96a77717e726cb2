"""Theta from noisy label sums, all at once: what it gains over single cells, and over taking noise for truth."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from messages import raises
from sumwise import DataError, Domain, Table, Tables, synthetic
from sumwise.maxent import MaxEntClassifier, skyline, trainers
from sumwise.maxent.fitted_model import Schema
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.noisy_label_fit import fit_on_rows, n_rows, noisy_label_fit, observed_sums, own_penalties
from sumwise.maxent.penalties import penalties_of, usual_penalties
from sumwise.maxent.sufficient_statistics import sufficient_statistics
from sumwise.maxent.trainers import Settings, penalties_for, train, train_on_rows, trained_share
from sumwise.metrics import nllh
from sumwise.noise import Gaussian


@pytest.fixture(scope="module")
def people():
    made = synthetic.rows(8000, sizes=[4, 5, 3], rate=0.3, correlation=0.4, random_state=1)
    names = list(made.domain.attributes)
    frame = made.frame()
    label = next(c for c in frame.columns if c not in names)
    tables = Tables.from_frame(frame.head(4000), names, label=label, domain=made.domain)
    rng, noise = np.random.default_rng(0), Gaussian(80.0)
    drawn = [Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in tables]
    return Tables(drawn, tables.domain, label=label, classes=tables.classes), frame, names, label


def test_given_rows_noise_is_weighed(people):
    tables, frame, names, label = people
    test = frame.iloc[4000:]
    known = sufficient_statistics(tables)
    silent = replace(known, noise=Moments(*(np.zeros_like(v) for v in known.noise)))
    found = {
        how: train_on_rows(stats, Schema.of(tables), Settings(), usual_penalties(3), frame[names].head(4000))
        for how, stats in (("aware", known), ("ignore", silent))
    }
    scores = {
        n: nllh(test[label].to_numpy(), expit(m.scores(m.schema.codes(test[names])) @ [-1, 1]))
        for n, m in found.items()
    }
    assert scores["aware"] > scores["ignore"] + 0.001


def test_noisy_tables_end_between_training_and_all_sums_at_once(people):
    """Theta is the weighted mean of what training gave and what the least squares on drawn rows gave."""
    tables, *_ = people
    found = sufficient_statistics(tables)
    settings, penalty = Settings(random_state=0), usual_penalties(3)
    model = train(found, Schema.of(tables), settings, penalty, weigh=False)
    by_cells = model.parameters
    both = MaxEntClassifier(random_state=0).fit(tables)
    codes, _ = model.draw(n_rows(found, 10_000), np.random.default_rng(0))
    plain = penalties_for(found, settings, penalty, aware=False).sums
    own, begin = own_penalties(found, codes, plain, (by_cells.theta, by_cells.offsets))
    at_once, *_ = noisy_label_fit(found, codes, own, begin)
    kept = trained_share(found, sampled=False)
    assert 0.25 <= kept < 0.5
    np.testing.assert_allclose(both.theta_, kept * by_cells.theta + (1 - kept) * at_once, atol=1e-6)
    assert np.abs(at_once - by_cells.theta).max() > 0.01


def test_counts_correct_rows_as_far_as_they_are_precise(people):
    tables, *_ = people
    found = sufficient_statistics(tables)
    here = np.maximum(found.data.counts, 1.0) * 1.5
    ratio = observed_sums(found, here).ratio
    assert (ratio[here > 500] < 1.0).all()
    assert observed_sums(found, None).ratio.tolist() == [1.0] * found.layout.n_params


@pytest.fixture(scope="module")
def counted():
    made = synthetic.rows(8000, sizes=[4, 3, 5, 4], rate=0.3, correlation=0.5, random_state=1)
    frame, names = made.frame(), list(made.domain.attributes)
    frame = frame.rename(columns={next(c for c in frame.columns if c not in names): "label"})
    return frame, names, Tables.from_frame(frame, names, label="label", domain=made.domain)


def test_all_rows_give_the_logistic_regression_on_them(counted):
    """With the counted rows themselves the tables say all that labels would; one penalty is doubled for one sample."""
    frame, names, tables = counted
    model = MaxEntClassifier((1.0, 8.0)).fit(tables, rows=frame[names])
    top = skyline(tables, frame, frame["label"], (2.0, 16.0))
    np.testing.assert_allclose(model.predict_proba(frame), top.predict_proba(frame), atol=2e-3)
    assert model.engine_ == "rows"


def test_few_rows_are_trusted_less(counted):
    frame, names, tables = counted
    few, many = (MaxEntClassifier().fit(tables, rows=frame[names].head(m)) for m in (50, 4000))
    assert np.abs(few.theta_).sum() < np.abs(many.theta_).sum()


def test_what_needs_the_model_of_x_is_refused(counted):
    frame, names, tables = counted
    model = MaxEntClassifier().fit(tables, rows=frame[names])
    with raises(DataError, "model-trained-rows"):
        model.sample(3)
    assert model.to_logistic()["weights"]


def test_rows_of_other_levels_are_refused(counted):
    _, _, tables = counted
    found = sufficient_statistics(tables)
    with raises(DataError, "no-row-levels"):
        fit_on_rows(found, np.full((3, 4), -1), penalties_of(found, 1.0, 1.0).sums)


def test_own_penalties_rise_where_rates_are_alike_in_every_class():
    rng, half = np.random.default_rng(3), np.full(4, 2500.0)
    share = np.array([[0.1, 0.3, 0.6], [0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.5, 0.4, 0.1]])
    noise = Gaussian(10.0)
    sums = [2500 * share, np.tile(2500 * share.mean(axis=0), (4, 1))]
    made = [Table(a, half, noise.sample(s, rng), noise) for a, s in zip("ab", sums)]
    stats = sufficient_statistics(Tables(made, Domain({"a": 4, "b": 4}), n=10_000, classes=(0, 1, 2)))
    given = np.ones((3, 8))
    found, (theta, offsets) = own_penalties(stats, rng.integers(0, 4, (3000, 2)), given)
    assert (found[:, :4] == 1).all()
    assert (found[:, 4:] > 10).all()
    assert np.ptp(found, axis=0).max() == 0  # one for all classes
    assert (theta.shape, offsets.shape) == ((3, 8), (3,))
    assert (given == 1).all()


def test_penalties_that_are_given_are_kept(monkeypatch):
    monkeypatch.setattr(trainers, "own_penalties", lambda *given: pytest.fail("asked for penalties of its own"))
    table = Table("a", [400.0, 600.0], [100.0, 300.0], noise=Gaussian(10.0))
    tables = Tables([table], Domain({"a": 2}), n=1000)
    MaxEntClassifier(penalty_theta=2.0, random_state=0).fit(tables)
    with pytest.raises(pytest.fail.Exception, match="of its own"):
        MaxEntClassifier(random_state=0).fit(tables)
