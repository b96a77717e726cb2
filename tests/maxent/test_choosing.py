"""Penalties from tables: the judge agrees with rows, the search finds a top, the choice comes near the best on rows."""

import warnings

import numpy as np
import pytest

from sumwise import DataError, NotConverged, Table, Tables, synthetic
from sumwise.maxent import MaxEntClassifier
from sumwise.maxent.choosing import Judge, best_on_line, between
from sumwise.maxent.sufficient import sufficient
from sumwise.noise import Laplace


@pytest.fixture(scope="module")
def halves():
    made = synthetic.rows(40_000, sizes=[4, 6, 5, 3], rate=0.3, correlation=0.4, random_state=3)
    frame, names = made.frame(), list(made.domain.attributes)
    label = next(c for c in frame.columns if c not in names)
    frame = frame.rename(columns={label: "label"})
    train, test = frame.iloc[:4000], frame.iloc[4000:]
    tables = [Tables.from_frame(f, names, label="label", domain=made.domain) for f in (train, test)]
    return tables, train, test, names


def nllh(y, p):
    q = np.mean(y)
    return 1 - np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)) / (q * np.log(q) + (1 - q) * np.log(1 - q))


def test_the_judge_agrees_with_rows(halves):
    """Differences between two models, by tables of the test part and by its rows."""
    (train, test), _, rows, names = halves
    models = [MaxEntClassifier((1.0, p), random_state=0).fit(train) for p in (0.05, 20.0, 2000.0)]
    codes, _ = models[1]._draws(40_000, 0)
    judge = Judge(sufficient(test), codes, models[1]._scores(codes))
    by_tables = [judge.score(m.theta_, m.offsets_) for m in models]
    by_rows = [nllh(rows["label"].to_numpy(), m.predict_proba(rows[names])[:, 1]) for m in models]
    np.testing.assert_allclose(np.diff(by_tables), np.diff(by_rows), atol=0.006)
    assert np.argmax(by_tables) == np.argmax(by_rows)


def test_auto_comes_near_the_best_penalty_on_rows(halves):
    (train, _), _, rows, names = halves
    y = rows["label"].to_numpy()
    chosen = MaxEntClassifier("auto", random_state=0).fit(train)
    best = max(nllh(y, MaxEntClassifier((1.0, p)).fit(train).predict_proba(rows[names])[:, 1]) for p in (4.0, 32.0))
    assert nllh(y, chosen.predict_proba(rows[names])[:, 1]) > best - 0.003
    assert len(chosen.penalty_theta_) == 2
    assert len(chosen.choice_["score"]) >= 5


def test_parts_of_the_data_judge_each_other(halves):
    _, train, _, names = halves
    domain = halves[0][0].domain
    parts = [Tables.from_frame(train.iloc[i::2], names, label="label", domain=domain) for i in range(2)]
    apart = MaxEntClassifier("auto", random_state=0).fit(parts)
    whole = MaxEntClassifier(apart.penalty_theta_, random_state=0).fit(halves[0][0])
    np.testing.assert_allclose(apart.theta_, whole.theta_, atol=1e-3)
    other = Tables.from_frame(train, names[:3], label="label")
    with pytest.raises(DataError, match="Part 1 has tables over other attributes"):
        MaxEntClassifier().fit([parts[0], other])


def test_noise_isnt_taken_for_signal(halves):
    (train, _), _, rows, names = halves
    rng, noise = np.random.default_rng(0), Laplace(100.0)
    made = [Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in train]
    noisy = Tables(made, train.domain, label="label", classes=train.classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        model = MaxEntClassifier("auto", random_state=0).fit(noisy)
    assert model.penalty_theta_[0] > 1.0
    assert nllh(rows["label"].to_numpy(), model.predict_proba(rows[names])[:, 1]) > 0.0


def test_the_search_goes_up_and_down_and_ends_between_neighbours():
    def score(p):
        return -(np.log(p / 7.0) ** 2)

    assert best_on_line(score, 1.0) == 4.0
    assert best_on_line(score, 1024.0) == 4.0
    assert between(score, 4.0) == pytest.approx(7.0)
    assert between(lambda p: None, 4.0) == 4.0


def test_refusals(halves):
    with pytest.raises(DataError, match="needs the margins"):
        MaxEntClassifier("auto", margins=False).fit(halves[0][0])
    with pytest.raises(DataError, match="penalty_theta"):
        MaxEntClassifier("best").fit(halves[0][0])
