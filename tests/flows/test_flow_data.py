"""Counts by time and place: how frames, arrays and relative abundance are read."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from messages import raises, warns
from sumwise.errors import DataError
from sumwise.flows import Places
from sumwise.flows.flow_data import Columns, FlowData, population_of, read_counts, times_in_order
from sumwise.noise import Gaussian, NegativeBinomial, Poisson

FRAME = {"t": [2, 1, 1], "p": ["a", "a", "b"], "n": [5, 3, 4]}
NAMED = Columns("t", "p", "n")


def data(counts, **more):
    counts = np.array(counts, dtype=float)[None]
    return FlowData(
        list(range(counts.shape[1])), Places(x=range(counts.shape[2]), y=[0] * counts.shape[2]), counts, **more
    )


def test_absent_pairs_are_unobserved_or_zero():
    read = read_counts(FRAME, None, NAMED, None, "unobserved")
    assert (read.times, read.places.names, read.noise, read.seasons) == ([1, 2], ("a", "b"), None, None)
    np.testing.assert_array_equal(read.counts[0], [[3, 4], [5, np.nan]])
    assert read_counts(FRAME, None, NAMED, None, "zero").counts[0, 1, 1] == 0
    with raises(DataError, "time-not-among"):
        read_counts(FRAME, None, NAMED, [1], "zero")


def test_absent_pairs_raise_where_asked_to():
    with raises(DataError, "pairs-time-place-no", 1, 4, 2, "b"):
        read_counts(FRAME, None, NAMED, None, "raise")
    whole = pd.DataFrame({"t": [2, 1, 1, 2], "p": ["a", "a", "b", "b"], "n": [5, 3, 4, np.nan]})
    read = read_counts(whole, None, NAMED, [1, 2, 3], "raise")  # a time without any row is estimated
    np.testing.assert_array_equal(read.counts[0], [[3, 4], [5, np.nan], [np.nan, np.nan]])
    with raises(DataError, "pairs-time-place-no", 2, 6, "c"):
        read_counts(whole, Places(x=[0, 1, 2], y=[0, 0, 0], names=["a", "b", "c"]), NAMED, None, "raise")
    years = pd.concat([whole.assign(place=2020), whole[:3].assign(place=2021)])
    with raises(DataError, "pairs-time-place-no", 1, 8, 2, "b"):
        read_counts(years, None, Columns("t", "p", "n", "place"), None, "raise")


def test_seasons_efforts_and_masks_are_columns():
    frame = pd.DataFrame(FRAME).assign(y=2020, e=[0.5, 1.0, 0.0], m=[1, 1, 0])
    frame = pd.concat([frame, frame.assign(y=2019, n=9, m=1)])
    frame.loc[((frame["y"] == 2020) & (frame["p"] == "b")) | (frame["e"] == 0), "n"] = 0
    read = read_counts(frame, None, Columns("t", "p", "n", "y", "e", "m"), None, "unobserved")
    assert read.seasons == [2019, 2020]
    np.testing.assert_array_equal(read.counts[0], [[9, np.nan], [9, np.nan]])  # no effort, no observation
    np.testing.assert_array_equal(read.effort[1], [[1, 1], [0.5, 1]])
    np.testing.assert_array_equal(read.mask[1], [[True, False], [True, True]])


def test_missing_times_of_a_series_are_warned_about_or_filled():
    frame = {"t": [1, 2, 4, 5], "p": ["a"] * 4, "n": [1, 2, 3, 4]}
    with warns(UserWarning, "steps-between-times", 1, 2, 4):
        read_counts(frame, None, NAMED, None, "unobserved")
    assert read_counts(frame, None, NAMED, "regular", "unobserved").times == [1, 2, 3, 4, 5]
    dated = {**frame, "t": pd.to_datetime(["2024-01-01", "2024-01-08", "2024-01-22", "2024-01-29"])}
    filled = read_counts(dated, None, NAMED, "regular", "unobserved")
    assert filled.times[2] == pd.Timestamp("2024-01-15")
    assert np.isnan(filled.counts[0, 2]).all()
    months = {**frame, "t": pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"])}
    assert len(read_counts(months, None, NAMED, None, "unobserved").times) == 4


def test_whole_numbers_are_poisson_and_the_rest_is_relative_abundance():
    counts, noise, n = population_of(data([[3.0, 4.0], [5.0, 1.0]]), None, None)
    assert (noise, n.tolist()) == (Poisson(), [7.0])
    scaled, noise, n = population_of(data([[0.3, 0.7], [0.25, 0.25]]), None, None)
    assert n.tolist() == [1e5]
    np.testing.assert_allclose(scaled[0], [[3e4, 7e4], [2.5e4, 2.5e4]])
    assert noise == Gaussian(500.0)
    assert population_of(data(counts[0]), Poisson(0.5), None)[2].tolist() == [14.0]


def test_effort_is_a_rate_or_divides_counts_and_their_noise():
    effort = np.array([[[0.5, 1.0], [0.5, 1.0]]])
    given = data([[3.0, 4.0], [5.0, 1.0]], effort=effort)
    counts, noise, n = population_of(given, NegativeBinomial(1.0, 0.2), None)
    np.testing.assert_array_equal(noise.rate, effort)
    assert (counts[0, 0, 0], n[0]) == (3.0, 11.0)
    counts, noise, _ = population_of(given, Gaussian(2.0), None)
    np.testing.assert_array_equal(counts[0], [[6.0, 4.0], [10.0, 1.0]])
    np.testing.assert_array_equal(noise.scale, 2.0 / effort)


@pytest.mark.parametrize("unit", [1.0, 60.0, 1e-3])
def test_effort_has_any_unit_and_is_an_observation_only_where_positive(unit):
    effort = unit * np.array([[1.0, 0.5], [0.0, 0.25]])
    read = read_counts(np.array([[30.0, 20.0], [0.0, 5.0]]), None, Columns(effort=effort), None, "unobserved")
    counts, noise, n = population_of(read, None, None)
    np.testing.assert_array_equal(counts[0], [[30, 20], [np.nan, 5]])
    np.testing.assert_allclose(noise.rate[0], [[1.0, 0.5], [1.0, 0.25]])
    assert n[0] == 70.0


def test_pairs_without_a_row_have_no_effort():
    frame = pd.DataFrame({"t": [1, 1, 2], "p": ["a", "b", "a"], "n": [4, 2, 3], "e": [2.0, 1.0, 1.0]})
    read = read_counts(frame, None, Columns("t", "p", "n", effort="e"), None, "zero")
    np.testing.assert_array_equal(read.counts[0], [[4, 2], [3, np.nan]])
    np.testing.assert_array_equal(read.effort[0], [[1.0, 0.5], [0.5, 1.0]])


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (Columns(effort=[1.0, -1.0]), ("efforts-negative-first", 4)),
        (Columns(effort=[60.0, 0.0]), ("counts-above-zero", 4, 1, 0)),
        (Columns(effort=np.ones((3, 1))), ("shape-times-places", "effort", "(3, 1)")),
        (Columns(mask=[1, 0]), ("counts-above-zero-mask", 4)),
        (Columns(season="year"), ("only-frame-column",)),
    ],
)
def test_bad_efforts_and_masks_are_refused(columns, words):
    with raises(DataError, *words):
        read_counts(np.array([[3.0, 4.0], [5.0, 1.0]]), None, columns, None, "unobserved")


def test_a_mask_must_leave_a_place():
    with raises(DataError, "mask-leaves-no", 1):
        read_counts(np.array([[3.0, 4.0], [0.0, 0.0]]), None, Columns(mask=[[1, 1], [0, 0]]), None, "unobserved")


def test_coordinates_may_stand_for_places():
    frame = {"t": [1, 1, 2], "latitude": [1.0, 2.0, 1.0], "lon": [5.0, 5.0, 5.0], "n": [1, 2, 3]}
    read = read_counts(frame, None, Columns("t", ("lon", "latitude"), "n"), None, "unobserved")
    assert read.places.names == ("5, 1", "5, 2")
    assert (read.places.lon.tolist(), read.places.lat.tolist()) == ([5, 5], [1, 2])
    swapped = read_counts(frame, None, Columns("t", ("latitude", "lon"), "n"), None, "unobserved").places
    assert swapped.lat.tolist() == [1, 2]
    again = read_counts(frame, read.places, Columns("t", ["lon", "latitude"], "n"), None, "unobserved")
    np.testing.assert_array_equal(again.counts, read.counts)
    with raises(DataError, "place-names-columns", 3):
        read_counts(frame, None, Columns("t", ("lon", "lon", "lon"), "n"), None, "unobserved")
    with raises(DataError, "only-frame-columns"):
        read_counts(np.ones((2, 2)), None, Columns("t", ("lon", "lat"), "n"), None, "unobserved")


def test_dates_as_texts_are_ordered_and_missing_ones_are_estimated():
    days = ["2021-02-01", "2021-01-04", "2021-01-11"]
    frame = {"t": days, "p": ["a"] * 3, "n": [1, 2, 3]}
    with warns(UserWarning, "steps-between-times", "2021-01-11", "2021-02-01"):
        assert read_counts(frame, None, NAMED, None, "zero").times == sorted(days)
    read = read_counts(frame, None, NAMED, "regular", "zero")
    assert read.times == ["2021-01-04", "2021-01-11", "2021-01-18", "2021-01-25", "2021-02-01"]
    np.testing.assert_array_equal(read.counts[0, :, 0], [2, 3, np.nan, np.nan, 1])  # nobody looked in those weeks
    words = {**frame, "t": ["late", "early", "mid"]}
    with warns(UserWarning, "times-texts-taken", "early, late, mid"):
        assert read_counts(words, None, NAMED, None, "zero").times == ["early", "late", "mid"]
    with raises(DataError, "times-such-neither"):
        read_counts(words, None, NAMED, "regular", "zero")


def test_totals_of_one_population_give_their_mean_and_others_the_largest():
    counts = 100 + np.random.default_rng(0).normal(0, 10, (40, 25))
    n = population_of(data(counts), Gaussian(10.0), None)[2][0]
    assert n == pytest.approx(counts.sum(axis=1).mean())
    assert counts.sum(axis=1).max() > 1.03 * n
    counts[20:] *= 1.5  # more than the noise explains: the population is at least as large as it was seen
    assert population_of(data(counts), Gaussian(10.0), None)[2][0] == counts.sum(axis=1).max()


def test_times_that_wrap_around_in_the_rows_are_warned_of():
    months = pd.Series(["Oct", "Nov", "Dec", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep"])
    with warns(UserWarning, "rows-run-times", "Oct", "Sep", "Jan", "Dec"):
        assert times_in_order(months)[0] == "Jan"


@pytest.mark.parametrize("listed", [[*range(27, 53), *range(1, 27)], [22, 23, 0, 1], [22.5, 23.5, 0.5]])
def test_numbers_that_wrap_around_are_warned_of_too(listed):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert times_in_order(pd.Series(listed)) == sorted(listed)
    text = f"The rows run from {listed[0]} to {listed[-1]}; times are taken from {min(listed)} to {max(listed)}"
    assert str(said[0].message).startswith(text)  # hours with a gap between them are warned of for that, too
    assert times_in_order(pd.Series(listed), listed) == listed


def test_years_and_times_back_to_front_are_put_in_order_without_a_word():
    assert times_in_order(pd.Series([2021, 2022, 2020])) == [2020, 2021, 2022]
    assert times_in_order(pd.Series([3, 2, 1])) == [1, 2, 3]
    assert times_in_order(pd.Series([2, 3, 1, 2, 3])) == [1, 2, 3]  # the first place was not visited at first


@pytest.mark.parametrize("months", [["2020-12", "2021-01", "2021-03"], [202012, 202101, 202103]])
def test_a_missing_month_of_a_regular_series_is_the_one_between(months):
    frame = pd.DataFrame({"t": months, "p": "a", "n": [1.0, 2.0, 3.0]})
    february = months[1] + 1 if isinstance(months[1], int) else "2021-02"
    assert read_counts(frame, None, NAMED, "regular", "unobserved").times == [*months[:2], february, months[2]]
