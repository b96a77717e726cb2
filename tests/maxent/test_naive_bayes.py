"""Naive Bayes from tables: its formula, the maximum entropy model that it is, and how training it diverges."""

import numpy as np
import pytest
from scipy.special import expit

from messages import raises
from sumwise import DataError, Table, Tables, synthetic
from sumwise.maxent import MaxEntClassifier, NaiveBayesTables, SolverOptions
from sumwise.maxent.engines import ExactMoments
from sumwise.maxent.kernels.loglinear import class_scores
from sumwise.maxent.penalties import penalties_of
from sumwise.maxent.sufficient_statistics import sufficient_statistics
from sumwise.maxent.training import StepOptions, by_steps, start
from sumwise.metrics import nllh
from sumwise.noise import Gaussian


@pytest.fixture(scope="module")
def people():
    world = synthetic.rows(20_000, sizes=[4, 3, 5, 4], rate=0.3, correlation=0.9, random_state=1)
    frame, names = world.frame(), list(world.domain.attributes)
    label = next(c for c in frame.columns if c not in names)
    return frame, names, label


def test_equals_counting_by_hand(people):
    frame, names, label = people
    model = NaiveBayesTables(smoothing=0.0).fit(Tables.from_frame(frame, names, label=label))
    row = frame.iloc[:1]
    odds = [(frame[label] == k).mean() for k in (0, 1)]
    for a in names:
        for k in (0, 1):
            odds[k] *= (frame.loc[frame[label] == k, a] == row[a].item()).mean()
    assert model.predict_proba(row)[0, 1] == pytest.approx(odds[1] / sum(odds))


@pytest.mark.parametrize("order", [1, 2])
def test_one_way_tables_make_the_maximum_entropy_model_naive_bayes(people, order):
    frame, names, label = people
    naive = NaiveBayesTables(smoothing=0.0).fit(Tables.from_frame(frame, names, label=label, order=order))
    one_way = Tables.from_frame(frame, names, label=label, order=1)
    free = MaxEntClassifier(1e-8, options=SolverOptions(max_iter=5000, tol=1e-3, penalty_mu=1e-8)).fit(one_way)
    np.testing.assert_allclose(naive.predict_proba(frame), free.predict_proba(frame), atol=1e-4)


@pytest.mark.check
def test_training_it_on_correlated_features_peaks_and_then_diverges(people):
    """Appendix A: the held-out score rises at first, then falls, as evidence is counted again and again."""
    frame, names, label = people
    twice = frame.assign(**{f"copy{i}_{a}": frame[a] for a in names for i in range(6)})
    columns = [c for c in twice.columns if c != label]
    tables = Tables.from_frame(twice.head(2_000), columns, label=label, order=1)
    rest = twice.tail(2_000)
    stats = sufficient_statistics(tables)
    codes, y = rest[columns].to_numpy(), rest[label].to_numpy()

    def held_out(now):
        z = class_scores(stats.layout, now.theta, now.offsets, codes)
        return nllh(y, expit(z[:, 1] - z[:, 0]))

    state, penalties, scores = start(stats), penalties_of(stats, 0.01, 1.0), []
    by_steps(
        stats,
        ExactMoments("tree", stats),
        StepOptions(penalties, 0.01, 0.01),
        state,
        300,
        lambda now: scores.append(held_out(now.parameters)),
    )
    course = np.array(scores)
    assert 0 < course.argmax() < 150
    assert course.max() > 0
    assert course[-1] < -0.1  # worse than a constant


def test_penalty_tempers_it(people):
    frame, names, label = people
    tables = Tables.from_frame(frame, names, label=label)
    bold, meek = (NaiveBayesTables(penalty=p).fit(tables).predict_proba(frame)[:, 1] for p in (1.0, 3000.0))
    assert meek.std() < bold.std()


def test_three_classes(people):
    frame, names, _ = people
    frame = frame.assign(kind=frame[names[0]] % 3)
    for model in (NaiveBayesTables(), NaiveBayesTables(penalty=1.0)):
        model.fit(Tables.from_frame(frame, names, label="kind"))
        assert (model.predict(frame) == frame["kind"]).mean() > 0.9


def test_negative_noisy_counts_are_cut(people):
    table = Table("a", [30.0, -2.0], [40.0, 1.0], Gaussian(3.0))
    model = NaiveBayesTables().fit(Tables([table, Table("a", [28.0, 1.0], [10.0, 0.5], Gaussian(3.0))], _domain()))
    assert np.isfinite(model.predict_proba({"a": [0, 1]})).all()


def test_a_negative_smoothing_is_refused(people):
    frame, names, label = people
    with raises(DataError, "must-least", "smoothing", -1):
        NaiveBayesTables(smoothing=-1).fit(Tables.from_frame(frame, names, label=label))


def _domain():
    from sumwise import Domain

    return Domain({"a": 2})
