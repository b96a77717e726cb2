"""Conformal widths hold the share they promise; Wilson's interval by its formula and at its ends."""

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.metrics import conformal_half_width, wilson_interval


def test_width_holds_new_errors_as_often_as_promised():
    rng = np.random.default_rng(0)
    held = []
    for _ in range(400):
        errors = rng.normal(size=40)
        held.append(np.abs(errors[0]) <= conformal_half_width(errors[1:], 0.9))
    assert np.mean(held) == pytest.approx(0.9, abs=0.04)


def test_width_is_the_largest_error_where_there_are_too_few():
    assert conformal_half_width([3.0, -5.0], 0.99) == 5.0
    with pytest.raises(DataError, match="no errors"):
        conformal_half_width([])


@pytest.mark.parametrize("k", [0, 5, 10])
def test_wilson_solves_its_equation(k):
    low, high = wilson_interval(k, 10, 0.95)
    assert 0 <= low <= k / 10 <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            assert (k / 10 - end) ** 2 == pytest.approx(1.959964**2 * end * (1 - end) / 10, rel=1e-5)
