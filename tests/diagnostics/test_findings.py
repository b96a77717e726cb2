"""Estimates beside their truth."""

import numpy as np

from sumwise.diagnostics import finding_numbers


def test_percent_of_the_truth_and_no_truth_no_line():
    records = [
        {"what": "a", "estimated": -3.0, "truth": -2.0, "low": -4.0, "high": -1.0},
        {"what": "b", "estimated": 1.0, "truth": None},
        {"what": "c", "estimated": 1.0, "truth": 2.0, "low": None, "high": None},
    ]
    numbers = finding_numbers(records)
    assert numbers["names"] == ["a", "c"]
    np.testing.assert_allclose(numbers["off"], [-50, -50])
    np.testing.assert_allclose(numbers["high"][0], 50)
    assert np.isnan(numbers["low"][1])
