"""Times that are texts: their order and distances."""

import numpy as np
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.time_order import time_scale


@pytest.mark.parametrize(
    "texts",
    [
        ["week9", "week10", "week11"],
        ["9:00", "10:00", "11:00"],
        ["Feb", "Mar", "Apr"],
        ["Monday", "Tuesday", "Wednesday"],
        ["31.1.2021", "28.2.2021", "1.4.2021"],
        ["1/31/2021", "2/28/2021", "4/1/2021"],
        ["2021-12-31", "2022-01-07"],
        ["2021-12-31 23:00", "2022-01-01 00:00"],
    ],
)
def test_texts_are_put_in_the_order_of_time(texts):
    position = time_scale(texts).position
    assert position == sorted(position)
    assert len(set(position)) == len(texts)


def test_a_time_between_is_called_as_the_others_are():
    scale = time_scale(["2021-01-04", "2021-01-18"])
    assert scale.called(sum(scale.position) / 2) == "2021-01-11"
    assert time_scale(["w08", "w10"]).called(9) == "w09"
    assert time_scale(["jan", "mar"]).called(1) == "Feb"


def test_dates_of_two_readings_are_refused_where_they_differ():
    with raises(DataError, "times-such-may"):
        time_scale(["1/4/2021", "2/3/2021"])
    assert time_scale(["3/3/2021", "3/4/2021"]) is not None  # in either reading in this order


def test_other_texts_have_no_scale():
    assert time_scale(["early", "late"]) is None
    assert time_scale(["a1", "b2"]) is None
    assert time_scale([]) is None


@pytest.mark.parametrize(
    "texts",
    [
        ["2020-W53", "2021-W01", "2021-W02"],
        ["2020 Q4", "2021 Q1"],
        ["9 AM", "10 AM", "12 PM", "1 PM"],
        ["Januar", "Februar", "März", "Dezember"],
        ["enero", "febrero", "agosto"],
        ["lundi", "mardi", "dimanche"],
    ],
)
def test_weeks_quarters_hours_and_months_of_other_languages_have_their_order(texts):
    position = time_scale(texts).position
    assert position == sorted(position)
    assert len(set(position)) == len(texts)


def test_weeks_and_quarters_between_are_called_as_the_others_are():
    weeks = time_scale(["2020-W52", "2021-W01"])
    assert weeks.called(weeks.position[0] + 1) == "2020-W53"
    assert time_scale(["2020-Q3", "2021-Q1"]).called(2020 * 4 + 3) == "2020-Q4"


@pytest.mark.parametrize(
    "texts",
    [
        ["2020-12-31T23:00:00Z", "2021-01-01T00:00:00Z"],
        ["20201228", "20210104", "20210111"],
        ["202011", "202012", "202101"],
    ],
)
def test_compact_dates_and_stamps_of_universal_time_are_steps_of_a_calendar(texts):
    steps = np.diff(time_scale(texts).position)
    assert (steps == steps.max()).all()
    assert steps.max() > 0


@pytest.mark.parametrize(
    "months",
    [
        ["2020-12", "2021-01", "2021-02", "2021-03"],
        ["Dec 2020", "Jan 2021", "Feb 2021", "Mar 2021"],
        ["202012", "202101", "202102", "202103"],
    ],
)
def test_each_month_between_two_has_its_own_name(months):
    scale = time_scale([months[0], months[-1]])
    assert [scale.called(scale.position[0] + k) for k in range(4)] == months
