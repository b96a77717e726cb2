"""Units that a finding rests on."""

import numpy as np
import pytest

from messages import raises
from sumwise import Margins
from sumwise.ecological import EcologicalEM, Goodman, influence
from sumwise.errors import DataError


def odd_one_out():
    rng = np.random.default_rng(0)
    first = rng.integers(50, 450, 40)
    rows = np.stack([first, 500 - first], axis=1)
    yes = rng.binomial(rows[:, 0], 0.8) + rng.binomial(rows[:, 1], 0.3)
    rows[7], yes[7] = (4900, 100), 50  # a large unit in which the first group did otherwise
    return Margins(rows, np.stack([yes, rows.sum(axis=1) - yes], axis=1), units=[f"p{k}" for k in range(40)])


def test_the_odd_unit_drives_the_finding_and_is_first():
    m = odd_one_out()
    est = EcologicalEM().fit(m)
    found = influence(est, m, most=5)
    assert found["unit"][0] == "p7"
    assert found["drives"][0]
    assert not found["drives"][1:].all()
    assert found.attrs == {"tried": 5, "units": 40}
    exact = EcologicalEM().fit(m[np.arange(40) != 7])
    assert abs(est.without_units(m, [7])[1, 0] - exact.shares_[1, 0]) < 0.05


def test_influence_needs_a_method_that_refits():
    m = odd_one_out()
    with raises(DataError, "cant-refitted-quickly", "Goodman"):
        influence(Goodman().fit(m), m)
    with raises(DataError, "no-unit-left"):
        EcologicalEM().fit(m).without_units(m, np.arange(40))


@pytest.mark.parametrize("method", [EcologicalEM(), Goodman(constrained=True)])
def test_unit_intervals_hold_the_cells_and_stay_in_bounds(method):
    m = odd_one_out()
    est = method.fit(m)
    low, high = est.unit_interval(m, 0.9)
    assert low.shape == est.cells_.shape
    assert (low <= high).all()
    assert ((low >= 0) & (high <= 1)).all()
    narrow = est.unit_interval(m, 0.5)
    assert ((narrow[1] - narrow[0]) <= (high - low) + 1e-12).all()
    with raises(DataError, "fit-units-margins", 40):
        est.unit_interval(m[:3])
