"""Counts with gaps and changing totals, against the flights they came from."""

import numpy as np
import pytest

from messages import raises
from sumwise import synthetic
from sumwise.collective import map_counts, smooth_counts
from sumwise.collective.kernels import smooth_field
from sumwise.collective.tree_model import TreeModel
from sumwise.errors import DataError

SEASON = synthetic.birds(5, 16, 4000, weights=(2, 1, 1, 1), random_state=1)
TRUE = np.array([SEASON.nodes[f"t{t}"] for t in range(4, 16)])  # once they have left their one cell


def seen(seed=0):
    """Effort that varies by week, two weeks without observers, and single gaps."""
    rng = np.random.default_rng(seed)
    effort = rng.uniform(0.5, 1.5, (12, 1))
    y = rng.poisson(effort * TRUE).astype(float)
    y[4] = y[9] = np.nan
    y[rng.random(y.shape) < 0.1] = np.nan
    return y


@pytest.mark.check
def test_smoothing_beats_plain_rescaling_and_keeps_the_total():
    y = seen()
    smooth = smooth_counts(y, SEASON.positions, total=4000)
    np.testing.assert_allclose(smooth.counts.sum(axis=1), 4000)
    assert np.array_equal(smooth.missing, np.isnan(y))
    assert np.isnan(smooth.observed_totals[4])
    filled = np.where(np.isnan(y), np.nanmean(y, axis=0), y)
    plain = filled / filled.sum(axis=1, keepdims=True) * 4000
    error = [np.sqrt(np.mean((c - TRUE) ** 2)) for c in (smooth.counts, plain)]
    assert error[0] < 0.75 * error[1]
    assert smooth.sd[4].mean() > smooth.sd[6].mean()  # surer where there were observers


@pytest.mark.check
def test_two_standard_deviations_hold_the_truth_however_busy_a_cell_is():
    inside, busy = [], []
    for seed in (1, 2):
        smooth = smooth_counts(seen(seed), SEASON.positions, total=4000)
        inside.append(np.abs(smooth.counts - TRUE) < 2 * smooth.sd)
        busy.append(TRUE >= 50)
    inside, busy = np.array(inside), np.array(busy)
    assert 0.9 < inside.mean() <= 1
    assert 0.9 < inside[busy].mean() <= 1  # where the field is roughest


@pytest.mark.check
def test_noise_beyond_poisson_is_the_fields_or_the_observers():
    y = seen(1)
    settings = {"time_length": 4.0, "space_length": 1.0, "noise": 1.0, "total": 4000}
    own, observers = (smooth_counts(y, SEASON.positions, rough=r, **settings) for r in (True, False))
    scaled = y / np.nansum(y, axis=1, keepdims=True) * np.nansum(own.counts * np.isfinite(y), axis=1)[:, None]
    known = np.isfinite(y)
    gap = [np.abs(s.counts - scaled)[known].mean() for s in (own, observers)]
    assert gap[0] < 0.5 * gap[1]


@pytest.mark.check
def test_tables_of_smoothed_counts_go_into_the_model():
    weeks = [f"t{t}" for t in range(4, 16)]
    tables = smooth_counts(seen(1), SEASON.positions, total=4000).tables(weeks)
    edges = SEASON.edges[4:]
    fit = map_counts(TreeModel(tables.domain, edges, {e: SEASON.log_potentials[e] for e in edges}), tables)
    assert fit.converged
    assert np.abs(fit.nodes["t8"] - TRUE[4]).sum() < 0.2 * 4000  # a week without observers


@pytest.mark.check
def test_same_seed_same_counts_and_daily_data_are_quick():
    one, two = (smooth_counts(seen(), SEASON.positions, time_length=2.0, noise=0.25, random_state=3) for _ in range(2))
    assert np.array_equal(one.counts, two.counts)
    assert np.array_equal(one.sd, two.sd)
    assert "missing" in repr(one)
    rng = np.random.default_rng(5)
    centre = np.linspace(0, 10, 60)[:, None]
    place = np.column_stack([np.arange(100) % 10, np.arange(100) // 10]).astype(float)
    daily = rng.poisson(40 * np.exp(-((place[:, 0] - centre) ** 2) / 8)).astype(float)
    daily[rng.random(daily.shape) < 0.3] = np.nan
    smooth = smooth_counts(daily, place, time_length=20.0, space_length=2.0, noise=0.25, draws=3)
    assert smooth.counts.shape == (60, 100)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y: y[:1], ("counts-time-moves", 1)),
        (lambda y: np.where(np.arange(25) == 7, np.nan, y), ("cells-never-observed", 25, "cell 7")),
        (lambda y: np.where(np.isnan(y), -1.0, y), ("counts-negative-time",)),
        (lambda y: np.where(np.isnan(y), np.nan, 0.0), ("all-counts-zero",)),
        (lambda y: y[:, :4], ("counts-shape-times", 25)),
    ],
)
def test_bad_counts_are_refused(change, words):
    with raises(DataError, *words):
        smooth_counts(change(seen()), SEASON.positions)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"times": np.zeros(12)}, ("times-must-increase",)),
        ({"total": -1}, ("not-above-zero-2", "total")),
        ({"noise": 0}, ("not-above-zero-2", "noise")),
        ({"rough": 2}, ("is-takes", "rough")),
    ],
)
def test_bad_settings_are_refused(options, words):
    with raises(DataError, *words):
        smooth_counts(seen(), SEASON.positions, **options)


def test_a_field_that_is_not_found_is_told(monkeypatch):
    monkeypatch.setattr(smooth_field, "STEPS", 1)
    with raises(DataError, "smooth-field-not", 1, 2, 0.25):
        smooth_counts(seen(), SEASON.positions, time_length=2.0, space_length=1.0, noise=0.25)
    with raises(DataError, "smooth-field-not", 1):  # where lengths are chosen, too
        smooth_counts(seen(), SEASON.positions)
