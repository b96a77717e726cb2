import numpy as np
import pytest

from sumwise.diagnostics import similarity_numbers
from sumwise.distribution import GaussianKernel, MarginalKernel, PyramidMatchKernel, WassersteinKernel
from sumwise.errors import DataError

KERNELS = {
    "W1": WassersteinKernel(1),
    "W2": WassersteinKernel(2),
    "marginal": MarginalKernel(),
    "pyramid": PyramidMatchKernel(6),
    "mean map": GaussianKernel(method="exact", random_state=0),
}


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
