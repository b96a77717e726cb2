"""The noise that a problem file says."""

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.noise import Exact, Gaussian, Laplace, Poisson
from sumwise.study.noises import noise_of


def test_kinds_have_their_parameters():
    assert noise_of({"rate": 0.5}) == Poisson(0.5)
    assert noise_of({"noise": "exact"}) == Exact()
    assert noise_of({"noise": "gaussian", "sd": 2.0}) == Gaussian(2.0)
    assert noise_of({"noise": "laplace", "sd": 2.0 * np.sqrt(2)}) == Laplace(2.0)
    assert noise_of({"noise": "relative"}) is None


@pytest.mark.parametrize(
    ("given", "words"),
    [({"noise": "poisson", "sd": 1.0}, "poisson noise has no sd"), ({"noise": "gaussian", "sd": -1}, "sd")],
)
def test_wrong_parameters_are_refused(given, words):
    with pytest.raises(DataError, match=words):
        noise_of(given)


def test_kinds_that_are_not_known_here_are_refused():
    with pytest.raises(DataError, match="noise"):
        noise_of({"noise": "relative"}, ("exact",))
