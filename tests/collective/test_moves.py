"""Flows by distance: they agree with the counts, stay inside their bounds, and the scale is chosen by prediction."""

import numpy as np
import pytest

from sumwise import synthetic
from sumwise.collective import CountsOverTime, DistanceMoves, interpolation_error
from sumwise.errors import DataError


def season(n_times=5, side=3):
    found = synthetic.birds(side, n_times, 400, rate=1.0, random_state=1)
    counts = np.stack([found.tables[name].counts for name in found.domain.attributes])
    return CountsOverTime(counts, positions=found.positions)


@pytest.fixture(scope="module")
def fitted():
    counts = season()
    return counts, DistanceMoves().fit(counts)


def test_flows_add_up_and_agree_with_the_counts(fitted):
    counts, model = fitted
    np.testing.assert_allclose(model.edges_.sum(axis=2), model.nodes_[:-1], atol=1e-3)
    np.testing.assert_allclose(model.edges_.sum(axis=1), model.nodes_[1:], atol=1e-3)
    assert np.abs(model.expected_counts() - counts.counts).mean() < 0.2 * counts.counts.mean()


def test_flows_lie_inside_bounds_and_range(fitted):
    _, model = fitted
    lower, upper = model.bounds()
    assert (lower <= model.edges_ + 1e-6).all()
    assert (model.edges_ <= upper + 1e-6).all()
    assert (model.least_ <= model.edges_).all()
    assert (model.edges_ <= model.most_).all()


def test_scale_predicts_the_left_out_time_best(fitted):
    _, model = fitted
    assert model.scores_ is not None
    assert model.scores_[model.scale_] == min(model.scores_.values())
    assert DistanceMoves(scale=0.7).fit(season(3)).scores_ is None


def test_without_positions_all_moves_but_staying_are_alike():
    moves = np.exp(DistanceMoves().log_moves(CountsOverTime(np.ones((2, 3))), 1.0))
    np.testing.assert_allclose(moves.sum(axis=1), 1)
    assert moves[0, 1] == moves[0, 2] < moves[0, 0]


def test_reach_forbids_longer_moves():
    counts = CountsOverTime([[8, 1, 1], [6, 3, 1]], positions=[[0, 0], [1, 0], [5, 0]])
    model = DistanceMoves(scale=1.0, reach=1.5).fit(counts)
    assert model.edges_[0, 0, 2] < 1e-9
    assert model.edges_[0, 0, 1] > 0.5


def test_prediction_keeps_the_total_and_has_an_interval(fitted):
    counts, model = fitted
    now = counts.counts[-1]
    low, high = model.predict_interval(now)
    assert model.predict(now).sum() == pytest.approx(now.sum())
    assert (low <= model.predict(now)).all()
    assert (model.predict(now) <= high).all()
    with pytest.raises(DataError, match="2 counts for 9 places"):
        model.predict([1, 2])


def test_interpolation_needs_three_complete_times():
    assert interpolation_error(CountsOverTime([[9, 1], [4, 6]])) is None
    assert interpolation_error(CountsOverTime([[9, 1], [np.nan, 6], [1, 9]])) is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[1, 2]],), "There is one time"),
        (([[1, 2], [1, 1]], (), (), [[0, 0]]), "positions has shape"),
        (([[1, 2], [1, 1]], ["a"]), "times"),
    ],
)
def test_bad_counts_are_refused(arguments, words):
    with pytest.raises(DataError, match=words):
        CountsOverTime(*arguments)


def test_bad_noise_is_refused():
    with pytest.raises(DataError, match="noise is 'laplac'"):
        DistanceMoves(noise="laplac").fit(season(3))


@pytest.mark.parametrize("noise", ["laplace", "geometric", "gaussian"])
def test_negative_counts_need_noise_that_allows_them(noise):
    counts = CountsOverTime([[9, -1], [4, 6]], positions=[[0, 0], [1, 0]])
    with pytest.raises(DataError, match="1 of 4 counts are negative, which noise='poisson' rules out"):
        DistanceMoves(scale=1.0).fit(counts)
    found = DistanceMoves(noise, sd=2.0, scale=1.0).fit(counts)
    assert (found.nodes_ >= -1e-6).all()


def test_counts_of_nobody_are_refused():
    with pytest.raises(DataError, match="sum to nobody"):
        DistanceMoves("laplace", scale=1.0).fit(CountsOverTime([[-9, 1], [-4, 1]]))
