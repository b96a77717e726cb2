"""Training on exact moments: steps and L-BFGS end in the same place, and a state survives a checkpoint."""

import numpy as np
import pytest

from sumwise import Tables, synthetic
from sumwise.maxent.engines import ExactMoments
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.sufficient_statistics import sufficient_statistics
from sumwise.maxent.training import StepOptions, TrainingState, by_lbfgs, by_steps, start

PACE = 1 / 6, 1 / 3  # of theta and mu, with six tables, three of each attribute


@pytest.fixture(scope="module")
def found():
    world = synthetic.rows(3000, sizes=[3, 2, 4], rate=0.4, random_state=2)
    frame, names = world.frame(), list(world.domain.attributes)
    return sufficient_statistics(
        Tables.from_frame(frame, names, label=next(c for c in frame.columns if c not in names))
    )


@pytest.fixture(scope="module")
def penalties(found):
    return Moments(np.full(found.layout.n_params, 1e-6), np.full(found.data.sums.shape, 4.0))


@pytest.mark.check
def test_steps_reach_the_optimum_of_the_penalised_likelihood(found, penalties):
    engine, state = ExactMoments("exact", found), start(found)
    best, *_ = by_lbfgs(found, engine, penalties, start(found).parameters, 2000)
    by_steps(found, engine, StepOptions(penalties, *PACE), state, 4000, lambda now: None)
    expected, reached = (engine.moments(p)[0] for p in (best, state.parameters))
    np.testing.assert_allclose(reached.counts, expected.counts, atol=0.5)
    np.testing.assert_allclose(reached.sums, expected.sums, atol=0.5)


def test_lbfgs_ends_where_the_gradient_is_zero(found, penalties):
    _, loss, history, gradient = by_lbfgs(found, ExactMoments("exact", found), penalties, start(found).parameters, 2000)
    assert np.abs(gradient).max() < 0.01
    assert loss <= history["objective"][0]
    assert history["misfit"][-1] < 1e-3


def test_a_course_is_rebuilt_from_its_state(found, penalties):
    engine, state = ExactMoments("exact", found), start(found)
    by_steps(found, engine, StepOptions(penalties, *PACE), state, 7, lambda now: None)
    twin = TrainingState.from_dict(state.to_dict())
    for c in (state, twin):
        by_steps(found, engine, StepOptions(penalties, *PACE), c, 12, lambda now: None)
    assert np.array_equal(state.mean.theta, twin.mean.theta)
    assert state.history == twin.history or np.isnan(state.history["held_out"]).all()
    assert twin.n_iter == 12
