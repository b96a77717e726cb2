"""Answers to other data against models trained on them."""

from dataclasses import replace

import numpy as np
import pytest

from messages import warns
from sumwise import NotConverged, Table, Tables
from sumwise.maxent import bootstrap
from sumwise.maxent.bootstrap import standing_rows
from sumwise.maxent.engines import Parameters
from sumwise.maxent.fitted_model import Schema
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.linear_response import LinearResponse
from sumwise.maxent.options import SolverOptions
from sumwise.maxent.penalties import usual_penalties
from sumwise.maxent.resampling import jittered
from sumwise.maxent.sufficient_statistics import sufficient_statistics
from sumwise.maxent.trainers import Problem, Settings, penalties_for, train, train_by_steps
from sumwise.noise import Gaussian


def problem(n_classes):
    rng, n = np.random.default_rng(0), 6000
    rows = {"a": rng.integers(0, 3, n), "b": rng.integers(0, 4, n), "c": rng.integers(0, 2, n)}
    drawn = rows["a"] * rows["c"] + (rng.random(n) < 0.4) + (rng.random(n) < 0.3) * (rows["b"] > 1)
    tables = Tables.from_frame({**rows, "y": drawn % n_classes}, list("abc"), label="y")
    settings = Settings()
    return sufficient_statistics(tables), Schema.of(tables), settings, rng


def moved(model, answer):
    now, first = model.parameters, np.zeros(1 if len(model.parameters.theta) == 1 else 0)
    offsets = now.offsets + np.concatenate([first, answer.offsets[:, 0]])
    return replace(model, parameters=Parameters(now.mu + answer.mu[:, 0], now.theta + answer.theta[:, :, 0], offsets))


@pytest.mark.check
@pytest.mark.filterwarnings("ignore::sumwise.errors.NotConverged")
@pytest.mark.parametrize(("n_classes", "rescale"), [(2, False), (3, False), (2, True)])
def test_answers_to_another_sample_are_those_of_a_refit(n_classes, rescale):
    stats, schema, settings, rng = problem(n_classes)
    penalty = (1.0, 6.0)

    def trained(data):
        if not rescale:
            return train(data, schema, settings, penalty)
        by_steps = Problem(data, schema, penalties_for(data, settings, penalty), "exact")
        return train_by_steps(by_steps, Settings(options=SolverOptions(max_iter=2000, tol=1e-6)), None)[0]

    model = trained(stats)
    codes, labels = model.draw(6000, rng)
    other = jittered(stats, codes, labels, rng)
    rows, weights = standing_rows(model, codes)
    response = LinearResponse(
        model, stats, rows, stats.n * weights, penalties_for(stats, settings, penalty), rescale=rescale
    )
    totals = stats.n * (other.shares - stats.shares)
    data = (other.data.counts - stats.data.counts)[None], (other.data.sums - stats.data.sums)[None]
    answer = response.answers(*data, totals[None, 1:] if n_classes == 2 else totals[None])
    refit = trained(other).joint()
    before, by_answer = model.joint(), moved(model, answer).joint()
    assert np.linalg.norm(refit - by_answer) < 0.12 * np.linalg.norm(refit - before)


def test_answers_to_a_pull_are_those_of_a_penalty_with_that_centre():
    stats, schema, settings, rng = problem(2)
    penalty = (20.0, 200.0)
    model = train(stats, schema, settings, penalty)
    centre = Moments(*(0.1 * rng.standard_normal(v.shape) for v in stats.data))
    rows, weights = standing_rows(model, np.zeros((1, 3), int))
    response = LinearResponse(
        model, stats, rows, stats.n * weights, penalties_for(stats, settings, penalty), rescale=False
    )
    nothing = np.zeros_like(stats.data.counts)[None], np.zeros_like(stats.data.sums)[None], np.zeros((1, 1))
    answer = response.answers(*nothing, Moments(centre.counts[None], centre.sums[None]))
    pull = penalties_for(stats, settings, penalty)
    rate = stats.shares[1]  # penalty_mu is on mu + rate theta
    common, alone = 2 * pull.counts * (centre.counts + rate * centre.sums[0]), 2 * pull.sums * centre.sums
    shifted = Moments(stats.data.counts + common, stats.data.sums + alone + rate * common)
    refit = train(replace(stats, data=shifted), schema, settings, penalty).joint()
    before, by_answer = model.joint(), moved(model, answer).joint()
    assert np.abs(refit - before).max() > 1e-4
    assert np.linalg.norm(refit - by_answer) < 0.12 * np.linalg.norm(refit - before)


def test_conjugate_gradients_that_stop_far_off_warn(monkeypatch):
    stats, schema, settings, rng = problem(2)
    model = train(stats, schema, settings, (1.0, 6.0))
    codes, labels = model.draw(6000, rng)
    other = jittered(stats, codes, labels, rng)
    rows, weights = standing_rows(model, codes)
    response = LinearResponse(model, stats, rows, stats.n * weights, penalties_for(stats, settings, (1.0, 6.0)), False)
    data = (other.data.counts - stats.data.counts)[None], (other.data.sums - stats.data.sums)[None]
    totals = stats.n * (other.shares - stats.shares)[None, 1:]
    response.answers(*data, totals)  # ends by itself
    monkeypatch.setattr("sumwise.maxent.linear_response.STEPS", 1)
    with warns(NotConverged, "stopped-after-steps", 1, "residual", "intervals"):
        response.answers(*data, totals)


def test_the_scale_of_noisy_tables_does_not_come_from_a_fit_with_penalties_of_its_own():
    tables = noisy_tables()
    stats, schema = sufficient_statistics(tables), Schema.of(tables)
    settings = Settings(own_penalties=True, random_state=0)
    usual = usual_penalties(3)
    model = train(stats, schema, settings, usual)
    rows, weights = standing_rows(model, np.zeros((1, 3), int))
    response = LinearResponse(
        model, stats, rows, stats.n * weights, penalties_for(stats, settings, usual), rescale=False
    )
    trained = train(stats, schema, settings, usual, weigh=False).parameters.theta
    found = bootstrap._optimum(response, model, stats)
    pairs = slice(0, 12 + 6 + 8)
    assert np.linalg.norm(model.parameters.theta[:, pairs]) < 0.6 * np.linalg.norm(trained[:, pairs])
    assert np.linalg.norm(found - trained) < 0.05 * np.linalg.norm(trained)
    assert np.linalg.norm((found - trained)[:, pairs]) < 0.1 * np.linalg.norm(trained[:, pairs])


def noisy_tables():
    rng, n = np.random.default_rng(3), 4000
    rows = {"a": rng.integers(0, 3, n), "b": rng.integers(0, 4, n), "c": rng.integers(0, 2, n)}
    exact = Tables.from_frame(
        {**rows, "y": (rng.random(n) < 0.2 + 0.2 * rows["a"]).astype(int)}, list("abc"), label="y"
    )
    noise = Gaussian(40.0)
    made = [Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in exact]
    return replace(exact, tables=tuple(made), n=None)
