"""Penalties from tables: the judge agrees with rows, the search finds a top, the choice comes near the best on rows."""

import warnings

import numpy as np
import pytest

from sumwise import DataError, NotConverged, Table, Tables, synthetic
from sumwise.maxent import MaxEntClassifier, SolverOptions
from sumwise.maxent.penalty_search import DOUBT, Score, TableScorer, best_on_line, between, clearly
from sumwise.maxent.sufficient_statistics import sufficient_statistics
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


@pytest.mark.check
def test_the_scorer_agrees_with_rows(halves):
    """Differences between two models, by tables of the test part and by its rows."""
    (train, test), _, rows, names = halves
    models = [MaxEntClassifier((1.0, p), random_state=0).fit(train) for p in (0.05, 20.0, 2000.0)]
    reference = models[1].model_
    codes, _ = reference.draw(40_000, np.random.default_rng(0))
    scorer = TableScorer(sufficient_statistics(test), codes, reference.scores(codes))
    by_tables = [scorer.score(m.model_.parameters).value for m in models]
    by_rows = [nllh(rows["label"].to_numpy(), m.predict_proba(rows[names])[:, 1]) for m in models]
    np.testing.assert_allclose(np.diff(by_tables), np.diff(by_rows), atol=0.006)
    assert np.argmax(by_tables) == np.argmax(by_rows)


@pytest.mark.check
def test_auto_comes_near_the_best_penalty_on_rows(halves):
    (train, _), _, rows, names = halves
    y = rows["label"].to_numpy()
    chosen = MaxEntClassifier("auto", random_state=0).fit(train)
    best = max(nllh(y, MaxEntClassifier((1.0, p)).fit(train).predict_proba(rows[names])[:, 1]) for p in (4.0, 32.0))
    assert nllh(y, chosen.predict_proba(rows[names])[:, 1]) > best - 0.003
    assert len(chosen.penalty_theta_) == 2
    assert len(chosen.choice_["score"]) >= 5


@pytest.mark.check
def test_parts_of_the_data_are_held_out_in_turn(halves):
    _, train, _, names = halves
    domain = halves[0][0].domain
    parts = [Tables.from_frame(train.iloc[i::2], names, label="label", domain=domain) for i in range(2)]
    apart = MaxEntClassifier("auto", random_state=0).fit(parts)
    whole = MaxEntClassifier(apart.penalty_theta_, random_state=0).fit(halves[0][0])
    np.testing.assert_allclose(apart.theta_, whole.theta_, atol=1e-3)
    other = Tables.from_frame(train, names[:3], label="label")
    with pytest.raises(DataError, match="Part 1 has attributes or levels other than"):
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


def test_the_search_goes_up_or_down_and_ends_between_neighbours():
    def score(p):
        return -(np.log(p / 7.0) ** 2)

    def better(old, new):
        return score(new) > score(old)

    assert best_on_line(better, 1.0) == 4.0
    assert best_on_line(better, 1024.0) == 4.0
    assert between(score, 4.0, begin=4.0) == pytest.approx(7.0)
    assert between(score, 8.0, begin=1.0) == pytest.approx(7.0)
    assert between(score, 8.0, begin=8.0) == 8.0  # the top is below: scores of small penalties are too high
    assert between(score, 8.0, begin=64.0) == 8.0
    assert between(score, 1.0, begin=1.0) == 4.0
    assert between(lambda p: None, 4.0, begin=4.0) == 4.0


def test_a_weaker_penalty_must_gain_more_than_the_models_differ():
    """Predictions of 0.5 and 0.6 are 0.02 nats apart; 1,000 held-out individuals see gains with an error of 0.0063."""
    old = Score(0.40, np.log([[0.5, 0.5]]), 1.0, 1000.0)
    apart = float(np.sum(np.array([0.4, 0.6]) * np.log(np.array([0.4, 0.6]) / 0.5)))
    chance = np.sqrt(2 * apart / 1000)
    for weaker, needed in ((False, chance), (True, chance + DOUBT * apart)):
        for gain, wanted in ((0.99 * needed, False), (1.01 * needed, True)):
            new = Score(0.40 + gain, np.log([[0.4, 0.6]]), 1.0, 1000.0)
            assert clearly([new], [old], weaker) is wanted


@pytest.mark.check
def test_structure_that_tables_hide_doesnt_weaken_penalties():
    """Attributes that are functions of two others let weak penalties look good to tables, and do harm on rows."""
    made = synthetic.rows(4000, sizes=[5] * 7, correlation=0.6, joint_parents=3, pairwise=1.5, rate=0.3, random_state=1)
    frame, names = made.frame(), list(made.domain.attributes)
    tables = Tables.from_frame(frame, names, label="label", domain=made.domain)
    model = MaxEntClassifier("auto", options=SolverOptions(n_chains=1000, max_iter=100), engine="gibbs", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        model.fit(tables)
    tried = dict(zip(zip(model.choice_["penalty_1"], model.choice_["penalty_2"]), model.choice_["score"]))
    one, usual = model.choice_["penalty_1"][-1], 18.0
    assert tried[one, usual / 4] > tried[one, usual]  # the scorer asks for less
    assert model.penalty_theta_[1] >= usual


def test_refusals(halves):
    with pytest.raises(DataError, match="needs the margins"):
        MaxEntClassifier("auto", options=SolverOptions(margins=False)).fit(halves[0][0])
    with pytest.raises(DataError, match="penalty_theta"):
        MaxEntClassifier("best").fit(halves[0][0])
