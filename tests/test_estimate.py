import copy
import pickle

import numpy as np
import pytest

from messages import raises
from sumwise import Estimate
from sumwise.errors import DataError


@pytest.fixture
def estimate():
    return Estimate(
        [[0.7, 0.3], [0.2, 0.8]],
        low=[[0.6, 0.2], [0.1, 0.7]],
        high=[[0.8, 0.4], [0.3, 0.9]],
        level=0.95,
        labels=[["a", "<b>"], ["yes", "no"]],
        axes=["group", "vote"],
        lower_bound=np.zeros((2, 2)),
        upper_bound=np.ones((2, 2)),
        name="share",
    )


def test_frame_has_a_row_per_number(estimate):
    frame = estimate.to_frame()
    assert frame.columns.tolist() == ["group", "vote", "share", "low", "high", "lower_bound", "upper_bound"]
    assert frame.loc[3].tolist() == ["<b>", "no", 0.8, 0.7, 0.9, 0.0, 1.0]


def test_interval_and_coverage(estimate):
    assert estimate.interval[0][0, 0] == 0.6
    assert estimate.covers([[0.7, 0.3], [0.2, 0.95]]).tolist() == [[True, True], [True, False]]
    with raises(DataError, "truth-shape-estimate"):
        estimate.covers([0.7])
    with raises(DataError, "estimate-no-interval"):
        _ = Estimate([1.0]).interval


def test_single_numbers_and_defaults():
    assert Estimate(0.5).shape == ()
    assert Estimate([1.0, 2.0]).to_frame()["axis0"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"low": [0.1], "high": [0.2]}, ("interval-needs-level",)),
        ({"level": 0.9}, ("interval-needs-level",)),
        ({"low": [0.1], "level": 0.9}, ("go-together-them",)),
        ({"low": [0.3], "high": [0.2], "level": 0.9}, ("above-places", "low", "high", 1)),
        ({"low": [0.1, 0.2], "high": [0.2, 0.3], "level": 0.9}, ("shape-values",)),
        ({"low": [0.1], "high": [0.2], "level": 95}, ("must-lie-between",)),
        ({"labels": [["a", "b"]]}, ("names-columns", 2, 1)),
        ({"labels": [["a"], ["b"]]}, ("labels-axes-values", 2)),
        ({"axes": ["a", "b"]}, ("names-columns", 2, 1)),
        ({"lower_bound": [1.0], "upper_bound": [0.0]}, ("above-places",)),
    ],
)
def test_bad_input_is_refused(options, words):
    with raises(DataError, *words):
        Estimate([0.5], **options)


def test_frozen_equal_shown(estimate):
    assert copy.deepcopy(estimate) == estimate
    assert estimate != Estimate([0.5])
    assert estimate != 0.5
    with pytest.raises(ValueError, match="read-only"):
        estimate.values[0, 0] = 1
    assert repr(estimate).startswith("Estimate of share, 95% interval")
    assert "&lt;b&gt;" in estimate._repr_html_()
    assert "30 in all" in repr(Estimate(np.zeros(30)))
    assert estimate.describe()["mean width"] == pytest.approx(0.2)


def test_copies_are_as_frozen_as_the_original():
    estimate = Estimate([1.0, 2.0], [0, 1], [3, 3], 0.9)
    for twin in (copy.deepcopy(estimate), pickle.loads(pickle.dumps(estimate))):
        assert twin == estimate
        for array in (twin.values, twin.low, twin.high):
            assert not array.flags.writeable


def test_a_single_number_has_a_frame():
    assert Estimate(3.0).to_frame().values.tolist() == [[3.0]]


@pytest.mark.parametrize("options", [{"axes": ["estimate"]}, {"axes": ["low"]}, {"name": "high"}])
def test_columns_of_the_frame_are_distinct(options):
    with raises(DataError, "holds-duplicates-first", "estimate", 1):
        Estimate([1.0, 2.0], **options)
