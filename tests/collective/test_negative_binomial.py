"""Negative binomial noise: the stationary point of another method, intervals that are wider, flows that are nearer."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from sumwise import Domain, Table, Tables
from sumwise.collective import FlowModel, Movement, Places, TreeModel, count_intervals, map_counts
from sumwise.noise import NegativeBinomial, Poisson

DOMAIN = Domain(dict.fromkeys(("t0", "t1", "t2"), 4))
EDGES = [("t0", "t1"), ("t1", "t2")]
MOVES = np.log(0.7 * np.eye(4) + 0.075)
MODEL = TreeModel(DOMAIN, EDGES, dict.fromkeys(EDGES, MOVES))


def seen(noise, seed=0):
    rng = np.random.default_rng(seed)
    return Tables(
        [Table(a, noise.sample(rng.multinomial(200, [0.4, 0.3, 0.2, 0.1]), rng), noise=noise) for a in DOMAIN],
        DOMAIN,
        n=200,
    )


def gradient_gap(fit, tables):
    """How far the objective falls along the best direction to any other table of the model: 0 at a stationary point.

    At the optimum of a chain, flows have the form of the model with the slopes of the noise as further potentials.
    """
    slopes = [-t.noise.gradient(t.counts, fit.nodes[t.attributes[0]]) for t in tables]
    joint = np.exp(-slopes[0])[:, None, None] * np.exp(MOVES)[:, :, None] * np.exp(-slopes[1])[None, :, None]
    joint = joint * np.exp(MOVES)[None] * np.exp(-slopes[2])[None, None]
    joint *= 200 / joint.sum()
    return max(
        np.abs(joint.sum(axis=2) - fit.edges["t0", "t1"]).max(), np.abs(joint.sum(axis=0) - fit.edges["t1", "t2"]).max()
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_answer_is_stationary_and_no_gap_is_claimed(seed):
    tables = seen(NegativeBinomial(np.array([0.5, 1.0, 1.0, 2.0]), 0.3), seed)
    fit = map_counts(MODEL, tables, tol=1e-12)
    assert fit.converged
    assert np.isnan(fit.gap)
    assert gradient_gap(fit, tables) < 1e-2
    assert (np.diff(fit.history["objective"]) <= 1e-6).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is not log-concave, where it meets such a point
        other = map_counts(MODEL, tables, method="mirror", tol=1e-9)
    assert fit.objective == pytest.approx(other.objective, abs=1e-3)


def test_hardly_any_dispersion_is_poisson():
    tables = seen(Poisson())
    wide = Tables([Table(t.attributes, t.counts, noise=NegativeBinomial(1.0, 1e-9)) for t in tables], DOMAIN, n=200)
    np.testing.assert_allclose(map_counts(MODEL, wide).nodes["t1"], map_counts(MODEL, tables).nodes["t1"], atol=1e-2)


def test_intervals_are_wider_than_with_poisson_noise():
    poisson = seen(Poisson())
    wide = Tables([Table(t.attributes, t.counts, noise=NegativeBinomial(1.0, 0.3)) for t in poisson], DOMAIN, n=200)
    asked = {"at the first": {"t1": [1, 0, 0, 0]}}
    widths = [float((e.high - e.low)[0]) for e in (count_intervals(MODEL, t, asked) for t in (poisson, wide))]
    assert widths[1] > 1.3 * widths[0]


@pytest.mark.filterwarnings("ignore:Totals range from")  # as they do for Poisson noise
@pytest.mark.check
def test_flows_of_overdispersed_counts_are_nearer_to_the_truth_than_with_poisson_noise():
    rng, line = np.random.default_rng(0), Places(x=np.arange(5.0), y=np.zeros(5))
    movement = Movement(2.0, 1.0)
    moves, errors = np.exp(movement.log_moves(line)), []
    for _ in range(6):
        here, true = np.array([800, 400, 200, 300, 300]), []
        counts = [here]
        for _ in range(5):
            flow = np.stack([rng.multinomial(k, p) for k, p in zip(here, moves)])
            here = flow.sum(axis=0)
            true.append(flow)
            counts.append(here)
        noise = NegativeBinomial(1.0, 0.1)
        y = noise.sample(np.array(counts, dtype=float), rng)
        models = [FlowModel(line, movement, noise=n, size=2000).fit(y) for n in (Poisson(), noise)]
        errors.append([np.abs(np.asarray(m.steps_[0]) - true).sum() for m in models])
    poisson, wide = np.mean(errors, axis=0)
    assert wide < 0.9 * poisson
