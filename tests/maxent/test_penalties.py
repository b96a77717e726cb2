"""Penalties by order of the table and by noise."""

import numpy as np
import pytest

from sumwise import DataError, Table, Tables
from sumwise.maxent.noise_penalty import distrust
from sumwise.maxent.penalties import penalties_of
from sumwise.maxent.sufficient_statistics import sufficient
from sumwise.noise import Gaussian

FRAME = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "y": [1, 0, 1, 1]}


@pytest.fixture(scope="module")
def found():
    return sufficient(Tables.from_frame(FRAME, ["a", "b"], label="y"))


def test_the_last_penalty_holds_for_larger_tables(found):
    np.testing.assert_array_equal(penalties_of(found, 3.0, 1.0).sums, np.full((1, 8), 3.0))
    assert penalties_of(found, (1.0, 5.0), 0.5).sums[0].tolist() == [5.0] * 4 + [1.0] * 4
    assert penalties_of(found, (1.0, 5.0), 0.5).counts.tolist() == [0.5] * 8


def test_noise_multiplies_penalties_unless_it_is_ignored():
    exact = Tables.from_frame(FRAME, ["a", "b"], label="y")
    tables = Tables([Table(t.attributes, t.counts, t.label_sums, Gaussian(2.0)) for t in exact], exact.domain)
    found = sufficient(tables)
    less = distrust(found)
    np.testing.assert_allclose(penalties_of(found, 3.0, 1.0).sums, 3.0 * (1 + less.sums))
    np.testing.assert_array_equal(penalties_of(found, 3.0, 1.0, aware=False).sums, np.full((1, 8), 3.0))


def test_a_negative_penalty_is_refused(found):
    with pytest.raises(DataError, match="penalty_theta"):
        penalties_of(found, (-1.0,), 1.0)
