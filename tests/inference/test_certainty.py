"""One statement of certainty per finding."""

import itertools

import numpy as np
import pytest

from sumwise import DataError
from sumwise.inference import certainty


@pytest.mark.parametrize(
    ("probability", "words"),
    [
        (1.0, "virtually certain (probability above 0.99)"),
        (0.5, "about as likely as not (probability 0.50)"),
        (0.0, "exceptionally unlikely (probability below 0.01)"),
        (0.92, "very likely (probability 0.92)"),
    ],
)
def test_words_follow_the_scale(probability, words):
    assert certainty(probability) == words


def test_words_never_contradict_the_probability():
    """A larger probability is never called less likely."""
    order = [certainty(p).split(" (")[0] for p in np.linspace(0, 1, 1001)]
    assert len(set(order)) == sum(a != b for a, b in itertools.pairwise(order)) + 1


@pytest.mark.parametrize("probability", [-0.1, 1.1, np.nan])
def test_what_is_no_probability_is_refused(probability):
    with pytest.raises(DataError):
        certainty(probability)
