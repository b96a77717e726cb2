"""The posterior of movement and flows: exact gradients, moments against sampling, and answers that agree."""

from __future__ import annotations

import numpy as np
import pytest

from flow_cases import LINE, population
from sumwise.errors import DataError
from sumwise.flows import FlowModel, Movement, Places
from sumwise.flows.flow_problem import FlowProblem
from sumwise.flows.movement_models import KINDS, MovementModel
from sumwise.flows.posterior import Candidate, FlowPosterior, filter_of, work_of
from sumwise.noise import Exact, Gaussian, Laplace, Poisson


def problem(counts, noise, places=LINE, **more):
    return FlowProblem(places, places.moves(), counts, noise, float(np.nanmax(counts.sum(axis=1))), **more)


def holes(counts):
    out = counts.copy()
    out[1, 2] = out[2] = np.nan
    return out


MASK = np.ones((5, 5), dtype=bool)
MASK[3, 4] = False
CASES = {
    "plain": {},
    "year": {"cyclic": True},
    "outside": {"turnover": 0.02},
    "mask": {"mask": MASK},
    "mask and outside": {"mask": MASK, "turnover": 0.02},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_that_of_the_log_posterior(kind, case):
    counts, _ = population(times=5)
    counts[3, 4] = 0.0
    one = problem(holes(counts), Gaussian(60.0), **CASES[case])
    made, _ = filter_of(one, np.maximum(counts, 1.0), False, np.inf)
    candidate = Candidate(MovementModel(one, kind), [made, made], True)
    z = 0.3 * np.random.default_rng(0).standard_normal(candidate.size)
    z[0] += 1.0
    value, slope = candidate.with_slope(z)
    assert value == pytest.approx(candidate.log_posterior(z))
    h = 1e-5
    by_differences = [
        (candidate.log_posterior(z + h * e) - candidate.log_posterior(z - h * e)) / (2 * h) for e in np.eye(len(z))
    ]
    np.testing.assert_allclose(slope, by_differences, rtol=1e-4, atol=1e-3)


def test_estimates_lie_in_their_intervals_and_near_the_truth():
    counts, flows = population(n=20000, times=6)
    model = FlowModel(LINE, noise=Gaussian(20.0)).fit(counts)
    stay = {f"stay {k}": {(k, k + 1): np.eye(5)} for k in range(5)}
    found = model.interval(stay, 0.9)
    assert ((found.low <= found.values) & (found.values <= found.high)).all()
    assert found.values == pytest.approx(20000 * model.staying(), rel=0.01)
    assert model.staying() == pytest.approx(flows.trace(axis1=1, axis2=2) / 20000, abs=0.03)
    assert np.abs(np.asarray(model.steps_[0]) - flows).sum() < 0.1 * flows.sum()
    assert model.scores_["probability"].sum() == pytest.approx(1.0)


def test_noisy_hours_of_towers_do_not_say_that_everybody_stays():
    rng = np.random.default_rng(3)
    places = Places(x=rng.uniform(0, 5, 12), y=rng.uniform(0, 5, 12))
    moves = np.exp(Movement(stay=1.0, scale=1.5).log_moves(places))
    here, counts, stayed = rng.multinomial(6000, np.full(12, 1 / 12)), [], []
    for _ in range(10):
        counts.append(here.astype(float))
        table = np.stack([rng.multinomial(k, p) for k, p in zip(here, moves)])
        stayed.append(np.trace(table) / 6000)
        here = table.sum(axis=0)
    noise = Laplace(30.0)
    model = FlowModel(places, noise=noise).fit(noise.sample(np.array(counts), rng))
    assert model.staying().mean() == pytest.approx(np.mean(stayed[:-1]), abs=0.15)


def test_moves_that_vary_more_than_individuals_do_are_overdispersed():
    few, _ = population(n=80, times=12)
    counts = 50.0 * few  # they move in flocks of fifty
    posterior = FlowPosterior.of([problem(counts, Gaussian(2.0))], None, False)
    phi = posterior.weights @ [posterior.candidates[k].split(z)[0] for k, z in posterior.points]
    assert 20 < phi < 120


def test_the_likelihood_weighs_given_movements():
    counts, _ = population(n=20000)
    true = Movement(1.0, 0.8)
    given = [Movement(6.0, 0.5), true, Movement(0.0, 3.0)]
    model = FlowModel(LINE, given, noise=Gaussian(20.0)).fit(counts)
    assert model.movements_ == [true]
    assert model.scores_["probability"].max() > 0.9


def test_masks_years_entries_and_exact_counts_have_intervals():
    counts, flows = population()
    weights = {"stay": {(1, 2): np.eye(5)}, "at a": {0: [1.0, 0, 0, 0, 0]}}
    mask = np.ones((6, 5), dtype=bool)
    mask[0, 4] = False
    blocked = counts.copy()
    blocked[0, 3] += blocked[0, 4]
    blocked[0, 4] = 0
    tries = [
        (FlowModel(LINE, noise=Gaussian(5.0)), blocked, {"mask": mask}),
        (FlowModel(LINE, noise=Gaussian(5.0), population="varying"), counts, {}),
        (FlowModel(LINE, noise=Exact()), counts, {}),
    ]
    for model, given, more in tries:
        found = model.fit(given, **more).interval(weights, level=0.99)
        assert found.low[0] < flows[1].trace() < found.high[0]
        assert found.low[1] - 1 <= counts[0, 0] <= found.high[1] + 1


def test_more_places_than_a_filter_takes_have_most_likely_flows_and_no_intervals(monkeypatch):
    counts, _ = population()
    one = problem(counts, Poisson())
    for module in ("learned", "posterior"):
        monkeypatch.setattr(f"sumwise.flows.{module}.MOST_WORK", work_of([one]) / 2)
    with pytest.warns(UserWarning, match="5 places are too many"):
        model = FlowModel(LINE, Movement(1.0, 0.8)).fit(counts)
    assert model.answer_ == "most likely"
    with pytest.raises(DataError, match="covariances of all places"):
        model.interval({"stay": {(1, 2): np.eye(5)}})
