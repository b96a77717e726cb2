"""Numbers behind figures on bags."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sumwise.metrics import calibration
from sumwise.plots import (
    calibration_numbers,
    confusion_numbers,
    predicted_numbers,
    subgroup_numbers,
)


def frame():
    rows = [
        {"group": "sex", "level": s, "people": n, "class": c, "share": 0.5, "low": 0.4, "high": 0.6}
        for s, n in (("f", 5), ("m", 9))
        for c in ("no", "yes")
    ]
    return pd.DataFrame(rows)


def test_subgroups_keep_the_largest_and_of_two_classes_the_second():
    assert subgroup_numbers(frame(), two=True)["names"] == ["sex", "f", "m"]
    numbers = subgroup_numbers(frame(), most=2)
    assert numbers["names"] == ["sex", "m: no", "m: yes"]
    assert numbers["truth"] is None
    assert subgroup_numbers(frame().assign(truth=0.1))["truth"][1:].tolist() == [0.1] * 4


def test_predicted_and_confusion_count():
    numbers = predicted_numbers([1, 2], [2, 2], "x", [0, 1], [3, 3])
    assert numbers["error"] == 0.5
    assert numbers["high"].tolist() == [3, 3]
    assert confusion_numbers([0, 1, 1], [1, 1, 1], ["a", "b"])["counts"].tolist() == [[0, 1], [0, 2]]


def test_calibration_numbers_are_those_of_the_table():
    table = calibration([0, 1, 0, 1], [0.2, 0.4, 0.5, 0.9], bins=2)
    np.testing.assert_array_equal(calibration_numbers({"m": table})["m"]["observed"], table["observed"])
