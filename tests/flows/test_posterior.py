"""The posterior of movement and flows: exact gradients, moments against sampling, and answers that agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flow_cases import LINE, population
from messages import raises, warns
from sumwise.errors import DataError, ModelWarning
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


@pytest.mark.check
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


@pytest.mark.check
def test_masks_years_entries_and_exact_counts_have_intervals():
    counts, flows = population()
    weights = {"stay": {(1, 2): np.eye(5)}, "at a": {0: [1.0, 0, 0, 0, 0]}}
    mask = np.ones((6, 5), dtype=bool)
    mask[0, 4] = False
    tries = [
        (FlowModel(LINE, noise=Gaussian(5.0)), population(first=(0.6, 0.2, 0.1, 0.1, 0.0)), {"mask": mask}),
        (FlowModel(LINE, noise=Gaussian(5.0), population="varying"), (counts, flows), {}),
        (FlowModel(LINE, noise=Exact()), (counts, flows), {}),
    ]
    for model, (given, moved), more in tries:
        found = model.fit(given, **more).interval(weights, level=0.99)
        assert found.low[0] < moved[1].trace() < found.high[0]
        assert found.low[1] - 1 <= given[0, 0] <= found.high[1] + 1


def test_more_places_than_a_filter_takes_have_most_likely_flows_and_no_intervals(monkeypatch):
    counts, _ = population()
    one = problem(counts, Poisson())
    for module in ("learned", "posterior"):
        monkeypatch.setattr(f"sumwise.flows.{module}.MOST_WORK", work_of([one]) / 2)
    with warns(UserWarning, "flows-most-likely", 5):
        model = FlowModel(LINE, Movement(1.0, 0.8)).fit(counts)
    assert model.answer_ == "most likely"
    with raises(DataError, "intervals-take-covariances"):
        model.interval({"stay": {(1, 2): np.eye(5)}})


def two_types(seed=0, n=6000, times=10):
    """Counts, flows by type, and the share of the fast: on a grid of 16 places, residents and others that drift."""
    rng, places = np.random.default_rng(seed), Places.grid(4, 4)
    east = np.sign(places.positions[None, :, 0] - places.positions[:, None, 0])
    first, flows = rng.dirichlet(np.full(16, 1.5)), []
    for share, stay, drift in ((0.7, 5.0, 0.0), (0.3, 0.5, 0.5)):
        scores = Movement(stay, 1.0).log_moves(places) + drift * east
        moves = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
        here, own = rng.multinomial(round(share * n), first), []
        for _ in range(times - 1):
            own.append(np.stack([rng.multinomial(k, p) for k, p in zip(here, moves)]))
            here = own[-1].sum(axis=0)
        flows.append(own)
    both = np.sum(flows, axis=0)
    return places, np.vstack([both.sum(axis=2), both[-1].sum(axis=0)[None]]), both, 0.3


@pytest.mark.check
def test_two_types_of_individuals_are_found_and_go_into_every_answer():
    places, counts, flows, share = two_types(seed=1)
    model = FlowModel(places).fit(np.random.default_rng(1).poisson(counts).astype(float))
    assert model.scores_.set_index("movement")["probability"]["two types"] > 0.7
    fast = model.weights_[-2:].min() / model.weights_[-2:].sum()
    assert fast == pytest.approx(share, abs=0.15)
    stayed = flows.trace(axis1=1, axis2=2) / 6000
    assert model.staying() == pytest.approx(stayed, abs=0.08)
    found = model.interval({"stay": {(4, 5): np.eye(16)}}, 0.95)
    assert found.low[0] < 6000 * stayed[4] < found.high[0]
    assert found.values[0] == pytest.approx(6000 * model.staying()[4], rel=0.01)
    # who stays nine times is a resident, as no chain of the mean movement would have it
    far = model.transitions(0, 9)
    kept = np.prod(stayed)
    assert np.average(np.diag(far), weights=counts[0]) > 3 * kept


def test_times_can_be_left_out_where_that_opens_the_spread_of_first_counts():
    counts = np.full((4, 5), 100.0)
    counts[1] = [20.0, 40.0, 100.0, 140.0, 200.0]
    model = FlowModel(LINE, Movement(1.0, 0.8), noise=Gaussian(5.0)).fit(counts)
    assert not model.posterior_[0]["open spread"]
    found = model._without(model._problem(), [1])
    assert np.isfinite(found).all()
    assert found.sum(axis=1) == pytest.approx(500.0, rel=0.1)


@pytest.fixture
def simulated(monkeypatch):
    """Counts with noise, effort and true flows of a world of the benchmark."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import flow_coverage

    def world(name, seed):
        rng = np.random.default_rng(seed)
        counts, flows, _ = flow_coverage.population(name, rng)
        effort = rng.uniform(0.3, 1.0, (len(counts), 1)) if name == "effort" else np.ones((len(counts), 1))
        return flow_coverage.PLACES, rng.poisson(effort * counts).astype(float), effort, flows

    return world


@pytest.mark.check
def test_a_season_is_not_lost_in_the_basin_of_a_simpler_model(simulated):
    places, seen, _, flows = simulated("season", 1005)
    model = FlowModel(places).fit(seen)
    assert model.caution_ is None
    assert model.scores_.set_index("movement")["probability"]["season"] > 0.9
    stay = model.interval({str(k): {(k, k + 1): np.eye(len(places))} for k in range(len(flows))}, 0.9).values
    assert np.mean(abs(stay - np.trace(flows, axis1=1, axis2=2))) < 200  # of 3,000; 1,357 from the constant movement


def test_a_search_takes_back_steps_that_leave_no_covariance(simulated):
    places, seen, effort, _ = simulated("effort", 2034)
    assert FlowModel(places, size=3000.0).fit(seen, effort=effort).fit_.converged


@pytest.mark.check
def test_few_long_moves_and_many_short_ones_are_two_modes_of_one_movement_model(simulated):
    places, seen, _, flows = simulated("cyclic", 2006)
    with pytest.warns(ModelWarning, match="a year that repeats"):
        model = FlowModel(places, cyclic=True).fit(seen)
    assert "too narrow" in model.caution_
    assert model.posterior_[0]["models"].count("season") > 1
    assert model.scores_["movement"].is_unique
    steps = {str(k): {(k, (k + 1) % len(flows)): np.eye(len(places))} for k in range(len(flows))}
    found = model.interval(steps, 0.9)
    stayed = np.trace(flows, axis1=1, axis2=2)
    covered = (found.low <= stayed) & (stayed <= found.high)
    assert covered.mean() > 0.5  # none of twelve by the mode of long moves alone
