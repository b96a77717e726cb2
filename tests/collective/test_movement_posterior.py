import numpy as np
import pytest

from sumwise.collective import FlowModel, Movement, Places
from sumwise.collective.flow_problem import FlowProblem
from sumwise.collective.movement_posterior import MOST_WORK, CountsFilter
from sumwise.errors import DataError
from sumwise.noise import Exact, Gaussian, Poisson

LINE = Places(x=np.arange(5.0), y=np.zeros(5))
TRUE = Movement(2.0, 0.8)


def population(n=4000, times=6, movement=TRUE, seed=0):
    rng = np.random.default_rng(seed)
    here, flows = rng.multinomial(n, [0.6, 0.2, 0.1, 0.05, 0.05]), []
    for _ in range(times - 1):
        flows.append(np.stack([rng.multinomial(m, p) for m, p in zip(here, np.exp(movement.log_moves(LINE)))]))
        here = flows[-1].sum(axis=0)
    return np.concatenate([flows[0].sum(axis=1)[None], [f.sum(axis=0) for f in flows]]).astype(float), np.stack(flows)


def problem(counts, noise, **more):
    return FlowProblem(LINE, LINE.moves(), counts, noise, float(np.nanmax(counts.sum(axis=1))), **more)


@pytest.mark.check
def test_the_posterior_is_around_the_true_movement_and_widens_with_noise():
    counts, _ = population()
    spreads = []
    for sd in (3.0, 800.0):
        made = CountsFilter.of(problem(counts, Gaussian(sd)), counts, False)
        found = made.posterior(Movement(4.0, 2.0), None, None)
        assert found.weights.sum() == pytest.approx(1.0)
        stays = np.array([np.exp(m.log_moves(LINE)).diagonal().mean() for m, *_ in found.movements])
        mean = found.weights @ stays
        spreads.append(np.sqrt(found.weights @ (stays - mean) ** 2))
        true = np.exp(TRUE.log_moves(LINE)).diagonal().mean()
        assert abs(mean - true) < 3 * spreads[-1]
    assert spreads[0] < 0.02 < 0.08 < spreads[1]


def test_moves_that_vary_more_than_individuals_do_are_found_overdispersed():
    few, _ = population(n=80, times=12)
    counts = 50.0 * few  # they move in flocks of fifty
    made = CountsFilter.of(problem(counts, Gaussian(2.0)), counts, False)
    found = made.posterior(TRUE, [TRUE], None)
    phi = found.weights @ [p for _, p, _ in found.movements]
    assert 25 < phi < 100
    assert {p for _, p, _ in made.posterior(TRUE, [TRUE], 3.0).movements} == {3.0}


def test_the_likelihood_chooses_among_given_movements():
    counts, _ = population()
    made = CountsFilter.of(problem(counts, Poisson()), counts, False)
    found = made.posterior(TRUE, [Movement(6.0, 0.5), TRUE, Movement(0.0, 3.0)], None)
    assert {m for m, *_ in found.movements} == {TRUE}


def test_masks_years_entries_and_exact_counts_have_intervals():
    counts, flows = population()
    weights = {"stay": {(1, 2): np.eye(5)}, "at a": {0: [1.0, 0, 0, 0, 0]}}
    mask = np.ones((6, 5), dtype=bool)
    mask[3, 4] = False
    blocked = counts.copy()
    blocked[3, 4] = 0
    tries = [
        (FlowModel(LINE, TRUE, noise=Gaussian(5.0)), blocked, {"mask": mask}),
        (FlowModel(LINE, TRUE, noise=Gaussian(5.0), cyclic=True), counts, {}),
        (FlowModel(LINE, TRUE, noise=Gaussian(5.0), population="varying"), counts, {}),
        (FlowModel(LINE, TRUE, noise=Exact()), counts, {}),
    ]
    for model, given, more in tries:
        found = model.fit(given, **more).interval(weights, level=0.99)
        assert found.low[0] < flows[1].trace() < found.high[0]
        contradicted = model.cyclic or more  # a year that ends elsewhere, a place that was emptied at once
        assert (300 if contradicted else 0) < found.high[0] - found.low[0] < (1000 if contradicted else 150)
        assert found.low[1] - 1 <= counts[0, 0] <= found.high[1] + 1


def test_more_places_than_a_filter_takes_are_refused():
    n = int(np.ceil((MOST_WORK / 2) ** (1 / 3))) + 1
    many = Places(x=np.arange(float(n)), y=np.zeros(n), reach=1.0)
    large = FlowProblem(many, many.moves(), np.ones((2, n)), Poisson(), float(n))
    with pytest.raises(DataError, match="covariances of all places"):
        CountsFilter.of(large, large.counts, False)
