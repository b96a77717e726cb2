"""FlowModel: from counts to flows, with truth where it is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from flow_cases import LINE, population
from flow_cases import NEAR as TRUE
from messages import raises, warns
from sumwise.errors import DataError, ModelWarning
from sumwise.flows import FlowModel, Movement, Places, Tracks
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Poisson
from sumwise.table import Table
from sumwise.tables import Tables

NAMED = {"time": "week", "place": "cell", "count": "abundance"}


def long_frame(counts):
    t, k = np.indices(counts.shape).reshape(2, -1)
    return pd.DataFrame({"week": t + 1, "cell": np.array(list("abcde"))[k], "abundance": counts.ravel()})


def test_a_frame_an_array_and_tables_give_the_same_flows():
    counts, _ = population()
    model = FlowModel(LINE, TRUE, noise=Gaussian(10.0))
    frame = model.fit(long_frame(counts), time="week", place="cell", count="abundance").transitions(1, 4)
    np.testing.assert_allclose(frame.sum(axis=1), 1.0)
    array = model.fit(counts, times=list(range(1, 7))).transitions(1, 4)
    names = [f"t{k}" for k in range(6)]
    from sumwise import Domain

    tables = Tables([Table(a, y, noise=Gaussian(10.0)) for a, y in zip(names, counts)], Domain(dict.fromkeys(names, 5)))
    as_tables = FlowModel(LINE, TRUE).fit(tables).transitions("t0", "t3")
    np.testing.assert_allclose(array, frame)
    np.testing.assert_allclose(as_tables, frame)


@pytest.mark.filterwarnings("ignore:Totals range from")  # counts were changed
@pytest.mark.parametrize("noise", [Exact(), Poisson(0.5), Gaussian(5.0), Laplace(5.0), Geometric(5.0)])
def test_all_noises_and_negative_counts_are_taken(noise):
    counts, flows = population()
    seen = noise.sample(counts, np.random.default_rng(1))
    if not isinstance(noise, (Exact, Poisson)):
        seen[0, 4] = -3.0
    model = FlowModel(LINE, TRUE, noise=noise, size=3000).fit(seen)
    assert model.fit_.converged
    assert model.nodes_.sum(axis=1) == pytest.approx(3000, rel=1e-3)
    off = np.abs(np.asarray(model.steps_[0]) - flows).sum() / flows.sum()
    assert off < 0.6


def test_missing_weeks_and_cells_are_estimated():
    counts, _ = population()
    holes = counts.copy()
    holes[2] = np.nan
    holes[3, 1] = np.nan
    model = FlowModel(LINE, TRUE, noise=Gaussian(5.0), size=3000).fit(holes)
    assert np.abs(model.nodes_[2] - counts[2]).sum() / 3000 < 0.25
    frame = long_frame(counts)
    frame = frame[frame["week"] != 3]
    model.fit(frame, time="week", place="cell", count="abundance", times=[1, 2, 3, 4, 5, 6])
    assert model.nodes_.shape == (6, 5)


def test_few_times_learn_movement_by_likelihood_and_a_sample_of_moves_sharpens_it():
    counts, flows = population(n=20000, times=2)
    plain = FlowModel(LINE, noise=Exact()).fit(counts)
    sample = np.random.default_rng(0).binomial(flows[0].astype(int), 0.05).astype(float)
    sharp = FlowModel(LINE, noise=Exact()).fit(counts, moves={(0, 1): (sample, Poisson(0.05))})
    off = [np.abs(m.steps_[0][0] - flows[0]).sum() for m in (plain, sharp)]
    assert off[1] < off[0]
    assert off[1] < 0.08 * flows[0].sum()


@pytest.mark.check
def test_local_births_cost_half_of_the_error_of_rescaling():
    rng = np.random.default_rng(5)
    fixed, varying = [], []
    for _ in range(5):
        moves = np.exp(Movement(stay=3.0, scale=0.8).log_moves(LINE))
        here, counts, flows = np.array([3000, 500, 500, 500, 500]), [], []
        for _ in range(6):
            counts.append(here.astype(float))
            table = np.stack([rng.multinomial(k, p) for k, p in zip(here, moves)])
            flows.append(table.astype(float))
            here = table.sum(axis=0) + np.array([0, 0, 0, 0, 800])  # young leave the nest at the far end
        true, seen = np.array(flows[:-1]), np.array(counts)
        given = seen * (seen.sum(axis=1).max() / seen.sum(axis=1))[:, None]
        movement = Movement(stay=3.0, scale=0.8)
        plain = FlowModel(LINE, movement, noise=Gaussian(5.0)).fit(given)
        scale = (seen.sum(axis=1) / given.sum(axis=1))[:-1]
        fixed.append(np.abs(np.asarray(plain.steps_[0]) * scale[:, None, None] - true).sum() / true.sum())
        other = FlowModel(LINE, movement, noise=Gaussian(5.0), population="varying").fit(seen)
        varying.append(np.abs(np.asarray(other.steps_[0]) - true).sum() / true.sum())
    assert np.mean(varying) <= 0.7 * np.mean(fixed)


def test_tracks_decide_how_much_individuals_swap_places():
    even = np.full((6, 5), 200.0)  # counts that say nothing: nobody moves, or everybody does
    rng = np.random.default_rng(0)
    scores = []
    for staying in (0.95, 0.3):
        starts = rng.integers(0, 5, 200)
        ends = np.where(rng.random(200) < staying, starts, rng.integers(0, 5, 200))
        names = np.array(list("abcde"))
        tracks = Tracks(names[starts].tolist(), [0] * 200, names[ends].tolist(), [1] * 200)
        types = [Movement(stay, 1.0) for stay in (0.0, 2.0, 4.0)]
        model = FlowModel(LINE, types, noise=Gaussian(2.0)).fit(even, tracks=tracks)
        scores.append(float(np.diag(model.transitions(0, 1)).mean()))
        assert model.weights_.sum() == pytest.approx(1.0)
        assert model.log_likelihood_ == pytest.approx(np.log(model.predict_tracks(tracks)).mean())
    assert scores[0] > 0.85
    assert scores[1] < 0.6


def test_years_wrap_around():
    counts, _ = population()
    model = FlowModel(LINE, TRUE, noise=Gaussian(10.0), cyclic=True).fit(counts)
    assert len(model.steps_[0]) == 6
    around = model.transitions(4, 1)
    steps = model.transitions(4, 5) @ model.transitions(5, 0) @ model.transitions(0, 1)
    np.testing.assert_allclose(around, steps, rtol=1e-4)  # a mean of products over draws, and a product of means
    with raises(DataError, "before-set-cyclic"):
        FlowModel(LINE, TRUE).fit(counts).transitions(4, 1)


@pytest.mark.check
def test_sparse_places_give_sparse_flows():
    grid = Places.grid(12, 12, reach=1.5)
    rng = np.random.default_rng(0)
    counts = rng.poisson(20.0, (3, 144)).astype(float)
    model = FlowModel(grid, Movement(2.0, 1.0), population="varying").fit(counts)
    assert all(sparse.issparse(f) for f in model.steps_[0])
    assert sparse.issparse(model.transitions(0, 2))
    np.testing.assert_allclose(model.transitions(0, 2).sum(axis=1), 1.0)
    dense = FlowModel(Places.grid(12, 12), Movement(2.0, 1.0), population="varying").fit(counts)
    assert model.nodes_.sum() == pytest.approx(dense.nodes_.sum(), rel=0.02)


@pytest.mark.parametrize(
    ("settings", "data", "words"),
    [
        ({"places": 3}, np.ones((2, 5)), ("places-type-places", "int")),
        ({"movement": "far"}, np.ones((2, 5)), ("movement-auto-movement", "far")),
        ({"movement": []}, np.ones((2, 5)), ("movement-auto-movement",)),
        ({"population": "open"}, np.ones((2, 5)), ("is-takes", "population")),
        ({}, np.ones((1, 5)), ("only-time-flows-need",)),
        ({}, np.ones((2, 4)), ("counts-shape-times-places", 2, 5)),
        ({}, np.zeros((2, 5)), ("nothing-counted-count",)),
        ({}, np.full((2, 5), 1e300), ("count-beyond-count", "1e+300")),
        ({}, np.full((2, 5), -0.5) + 9 * np.eye(2, 5), ("counts-negative-state",)),
        ({}, {"time": [1, 1], "place": ["a", "a"], "count": [1, 2]}, ("rows-repeat-pair", 2, 1, "a")),
    ],
)
def test_bad_input_is_refused(settings, data, words):
    with raises(DataError, *words):
        FlowModel(**{"places": LINE, "movement": TRUE} | settings).fit(data)


def test_moves_and_tracks_that_don_t_fit_are_refused():
    counts, _ = population()
    model = FlowModel(LINE, noise=Gaussian(10.0))
    with raises(DataError, "moves-dont-follow"):
        model.fit(counts, moves={(0, 2): (np.ones((5, 5)), Poisson())})
    with raises(DataError, "moves-shape-places"):
        model.fit(counts, moves={(0, 1): (np.ones((4, 5)), Poisson())})
    with raises(DataError, "moves-not-pair"):
        model.fit(counts, moves={0: np.ones((5, 5))})
    with raises(DataError, "tracks-end-before"):
        model.fit(counts, tracks=Tracks(["a"], [3], ["b"], [1]))
    with raises(DataError, "tracks-type-tracks", "list"):
        model.fit(counts, tracks=[1])


@pytest.mark.check
def test_seasons_share_movement_and_have_their_own_flows():
    years = {year: population(n=4000, times=5, seed=year) for year in (1, 2, 3)}
    frame = pd.concat([long_frame(counts).assign(year=year) for year, (counts, _) in years.items()])
    frame = frame[~((frame["year"] == 2) & (frame["week"] == 3))]  # a week without counts, in one year
    model = FlowModel(LINE, noise=Gaussian(10.0)).fit(
        frame, time="week", place="cell", count="abundance", season="year"
    )
    assert list(model.seasons_) == [1, 2, 3]
    assert len({str(one.movements_) for one in model.seasons_.values()}) == 1
    flows = np.mean([one.steps_[0] for one in model.seasons_.values()], axis=0)
    np.testing.assert_allclose(np.asarray(model.steps_[0]), flows)
    one = model.seasons_[1]
    assert np.abs(one.nodes_ - years[1][0]).mean() < 10
    assert one.interval({"at a": {2: [1, 0, 0, 0, 0]}}).values[0] == pytest.approx(one.nodes_[1, 0], rel=1e-2)
    assert np.abs(model.seasons_[2].nodes_[2] - years[2][0][2]).sum() / 4000 < 0.3  # estimated
    with raises(DataError, "intervals-checks-those"):
        model.check()
    with raises(DataError, "moves-season-fit"):
        FlowModel(LINE, TRUE).fit(
            frame,
            time="week",
            place="cell",
            count="abundance",
            season="year",
            moves={(1, 2): (np.ones((5, 5)), Poisson())},
        )


@pytest.mark.filterwarnings("ignore:Totals range from")  # counts were changed
@pytest.mark.parametrize("reach", [None, 1.5])
@pytest.mark.parametrize("kind", ["fixed", "varying"])
def test_masks_by_week_keep_individuals_out(reach, kind):
    places = Places(x=np.arange(5.0), y=np.zeros(5), reach=reach)
    counts, _ = population(times=4)
    mask = np.ones((4, 5), dtype=bool)
    mask[0, 4] = mask[2, 0] = False
    counts[~mask] = 0.0
    model = FlowModel(places, TRUE, noise=Gaussian(20.0), population=kind).fit(counts, mask=mask)
    assert (model.nodes_[~mask] <= 1e-9).all()
    steps = [f.toarray() if sparse.issparse(f) else f for f in model.steps_[0]]
    assert steps[1][:, 0].sum() <= 1e-9
    assert steps[2][0].sum() <= 1e-9
    free = FlowModel(places, TRUE, noise=Gaussian(20.0), population=kind).fit(counts)
    assert free.nodes_[2, 0] > 0.1


def test_masked_steps_are_the_free_ones_given_that_nobody_is_there():
    """Brute force over all paths of one individual: a chain with a mask is the chain conditioned step by step."""
    from sumwise.flows.flow_problem import FlowProblem

    mask = np.ones((3, 5), dtype=bool)
    mask[1, 2] = False
    problem = FlowProblem(LINE, LINE.moves(), np.ones((3, 5)), Gaussian(1.0), 5.0, mask=mask)
    free = np.exp(TRUE.log_moves(LINE))
    step = free * mask[1]
    np.testing.assert_allclose(np.exp(problem.steps(TRUE)[0]) * mask[1], step / step.sum(axis=1, keepdims=True))
    assert problem.model(TRUE).log_potentials["t1"][2] == -np.inf
    np.testing.assert_allclose(np.exp(problem.steps(TRUE)[1]), free)


def test_known_effort_gives_the_flows_of_full_effort():
    counts, _ = population(n=20000)
    effort = np.array([1.0, 0.5, 1.0, 0.25, 1.0])
    rng = np.random.default_rng(0)
    y = rng.poisson(counts * effort).astype(float)
    model = FlowModel(LINE, TRUE, size=20000).fit(y, effort=effort)
    assert model.total_range_ is None
    with warns(ModelWarning, "totals-range-time"):
        blind = FlowModel(LINE, TRUE, size=20000).fit(y)
    off = [np.abs(m.nodes_ - counts).sum() for m in (model, blind)]
    assert off[0] < 0.2 * off[1]
    frame = long_frame(y).assign(share=np.tile(effort, len(y)))
    same = FlowModel(LINE, TRUE, size=20000).fit(frame, effort="share", **NAMED)
    np.testing.assert_allclose(same.nodes_, model.nodes_)
    exact = FlowModel(LINE, TRUE, noise=Gaussian(1.0)).fit(counts * effort, effort=effort)
    np.testing.assert_allclose(exact.counts_, counts)


def test_effort_in_any_unit_gives_the_same_individuals():
    counts, _ = population(n=525)
    once = FlowModel(LINE, TRUE, noise=Poisson()).fit(counts, effort=np.ones(5))
    for effort, size in ((np.full(5, 60.0), None), (np.full(5, 0.2), None), (np.full(5, 60.0), 525.0)):
        again = FlowModel(LINE, TRUE, noise=Poisson(), size=size).fit(counts, effort=effort)
        assert again.n_ == pytest.approx(525.0)
        np.testing.assert_allclose(again.nodes_, once.nodes_, rtol=1e-6 if size is None else 0.02)
    level = FlowModel(LINE, TRUE, noise=Poisson(), size=2100.0).fit(counts, effort=np.full(5, 60.0))
    assert level.nodes_.sum(axis=1) == pytest.approx(2100.0)


def test_report_refuses_data_of_another_fit():
    counts, _ = population()
    frame = long_frame(counts)
    model = FlowModel(LINE, TRUE, noise=Gaussian(10.0)).fit(frame, **NAMED)
    model.check_data(frame.sample(frac=1, random_state=0))  # the order of rows doesn't matter
    with raises(DataError, "not-counts-model"):
        model.report(frame.assign(abundance=frame["abundance"] + 1))
    with raises(DataError, "not-data-model"):
        model.report(frame.assign(cell=frame["cell"].str.upper()))
    with raises(DataError, "not-data-model"):
        model.report(frame.rename(columns={"abundance": "n"}))
    array = FlowModel(LINE, TRUE, noise=Gaussian(10.0)).fit(counts)
    array.check_data(counts)
    with raises(DataError, "not-data-model"):
        array.report(counts[:3])


@pytest.mark.parametrize("noise", ["relative", 10.0])
def test_noise_that_is_none_is_named(noise):
    with raises(DataError, "noise-sumwise-noise"):
        FlowModel(LINE, TRUE, noise=noise).fit(population()[0])


@pytest.mark.parametrize("cyclic", [False, True])
def test_the_estimate_is_the_mean_of_the_draws_of_those_who_stay(cyclic):
    counts = np.random.default_rng(0).poisson(60, (3, 5)).astype(float)
    flow = FlowModel(LINE, TRUE, cyclic=cyclic).fit(counts, times=["May", "June", "July"])
    found = flow.estimate(0.9)
    assert found.labels[0][0] == "stay from May to June"
    assert len(found.values) == len(flow.staying()) == 2 + cyclic
    assert ((found.low <= found.values) & (found.values <= found.high)).all()
    first = flow.draws({"stay": {("May", "June"): np.eye(5)}})
    np.testing.assert_allclose(found.values[0], first.mean[0], rtol=1e-3)  # of other draws
