"""Numbers behind figures on bags."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sumwise.diagnostics import calibration_numbers, confusion, predicted_numbers, similarity_numbers, subgroup_numbers
from sumwise.distribution import GaussianKernel, MarginalKernel, PyramidMatchKernel, WassersteinKernel
from sumwise.errors import DataError
from sumwise.metrics import calibration

KERNELS = {
    "W1": WassersteinKernel(1),
    "W2": WassersteinKernel(2),
    "marginal": MarginalKernel(),
    "pyramid": PyramidMatchKernel(6),
    "mean map": GaussianKernel(method="exact", random_state=0),
}


def frame():
    rows = [
        {"group": "sex", "level": s, "people": n, "class": c, "share": 0.5, "low": 0.4, "high": 0.6}
        for s, n in (("f", 5), ("m", 9))
        for c in ("no", "yes")
    ]
    return pd.DataFrame(rows)


def test_subgroups_keep_the_largest_and_of_two_classes_the_second():
    assert subgroup_numbers(frame(), two=True)["names"] == ["sex f", "sex m"]
    numbers = subgroup_numbers(frame(), most=2)
    assert numbers["names"] == ["sex m: no", "sex m: yes"]
    assert numbers["truth"] is None
    assert subgroup_numbers(frame().assign(truth=0.1))["truth"].tolist() == [0.1] * 4


def test_predicted_and_confusion_count():
    numbers = predicted_numbers([1, 2], [2, 2], "x", [0, 1], [3, 3])
    assert numbers["error"] == 0.5
    assert numbers["high"].tolist() == [3, 3]
    assert confusion([0, 1, 1], [1, 1, 1], ["a", "b"])["counts"].tolist() == [[0, 1], [0, 2]]


def test_calibration_numbers_are_those_of_the_table():
    table = calibration([0, 1, 0, 1], [0.2, 0.4, 0.5, 0.9], bins=2)
    np.testing.assert_array_equal(calibration_numbers({"m": table})["m"]["observed"], table["observed"])


def test_similarity_falls_with_the_distance_of_means():
    numbers = similarity_numbers(KERNELS, means=[0, 0.5, 1, 2], deviations=[1], n_rows=50)
    for _, line in numbers[numbers["varied"] == "mean"].groupby("kernel"):
        assert line["similarity"].iloc[0] == pytest.approx(1)
        assert (np.diff(line["similarity"]) < 0).all()


def test_wasserstein_similarities_have_their_closed_form():
    numbers = similarity_numbers({"W2": WassersteinKernel(gamma=1.0)}, means=[0, 1], deviations=[3], n_rows=400)
    kernel = numbers["similarity"].to_numpy()
    assert np.log(kernel[2]) / np.log(kernel[1]) == pytest.approx((3 - 1) ** 2, rel=0.02)  # (s - s')^2 to (m - m')^2


def test_bad_settings_are_refused():
    with pytest.raises(DataError, match="n_rows is 1"):
        similarity_numbers(KERNELS, n_rows=1)
    with pytest.raises(DataError, match="deviations is not above zero"):
        similarity_numbers(KERNELS, deviations=[0])
