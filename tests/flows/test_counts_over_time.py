"""Counts over time: what they hold is checked."""

import numpy as np
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.flows import CountsOverTime, FlowModel, Movement


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[1, 2]],), ("only-time-flows",)),
        (([[1, 2], [1, 1]], (), (), [[0, 0]]), ("positions-shape-places",)),
        (([[1, 2], [1, 1]], ["a"]), ("names-columns", "times")),
    ],
)
def test_bad_counts_are_refused(arguments, words):
    with raises(DataError, *words):
        CountsOverTime(*arguments)


def test_a_flow_model_takes_their_names_and_positions():
    data = CountsOverTime([[9, 1], [4, 6]], ["spring", "summer"], ["a", "b"], [[0.0, 0.0], [3.0, 4.0]])
    model = FlowModel(movement=Movement(1.0, 5.0)).fit(data)
    assert model.times_ == ["spring", "summer"]
    assert model.places_.distance("a", "b") == pytest.approx(5.0)
    np.testing.assert_allclose(model.transitions("spring", "summer").sum(axis=1), 1.0)
    plain = FlowModel(movement=Movement(1.0)).fit(CountsOverTime([[9, 1], [4, 6]]))
    assert plain.places_.distance("0", "1") == 1.0
