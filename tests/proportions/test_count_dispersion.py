"""Variation of counts beside a fit's, by the formulas written out bag by bag."""

import numpy as np
import pytest

from sumwise import Bags
from sumwise.errors import ModelWarning
from sumwise.proportions.count_dispersion import count_dispersion, warn_of_dispersion
from sumwise.proportions.shares import bag_shares


def _case(sizes, scale, seed):
    rng = np.random.default_rng(seed)
    offsets = np.r_[0, np.cumsum(sizes)]
    values = rng.normal(size=(offsets[-1], 1)) + np.repeat(rng.normal(size=len(sizes)), sizes)[:, None]
    chances = 1 / (1 + np.exp(-values[:, 0]))
    counts = np.add.reduceat((rng.random(offsets[-1]) < chances).astype(int), offsets[:-1])
    said = 1 / (1 + np.exp(-scale * values[:, 0]))
    return bag_shares(Bags(values, offsets), counts), said, counts, offsets


@pytest.mark.parametrize("scale", [0.5, 1.0, 4.0])
def test_times_and_slope_are_their_formulas(scale):
    data, said, counts, offsets = _case([5, 9, 20, 7], scale, 3)
    times, slope = count_dispersion(data, np.array([[scale, 0.0]]))
    squares = allowed = 0.0
    for j, count in enumerate(counts):
        rows = slice(offsets[j], offsets[j + 1])
        squares += (count - said[rows].sum()) ** 2
        allowed += (said[rows] * (1 - said[rows])).sum()
    assert times == pytest.approx(squares / allowed)
    sizes = np.diff(offsets)
    expected = np.add.reduceat(said, offsets[:-1]) / sizes
    assert slope == pytest.approx(np.polyfit(expected, counts / sizes, 1, w=np.sqrt(sizes))[0])


def test_the_right_model_has_about_one_of_both_and_certainty_does_not():
    data, *_ = _case([40] * 400, 1.0, 0)
    times, slope = count_dispersion(data, np.array([[1.0, 0.0]]))
    assert times == pytest.approx(1.0, abs=0.2)
    assert slope == pytest.approx(1.0, abs=0.05)
    times, slope = count_dispersion(data, np.array([[5.0, 0.0]]))
    assert times > 2.5
    assert slope < 1.0


def test_bags_that_a_fit_calls_alike_have_no_slope():
    data, *_ = _case([6, 6], 1.0, 1)
    assert count_dispersion(data, np.array([[0.0, 0.0]]))[1] == np.inf


def test_the_warning_names_times_cause_and_way_out():
    with pytest.warns(ModelWarning, match=r"vary 1\.23e\+03 times .* or bags differ\. Hint: another method\."):
        warn_of_dispersion(1234.5, "bags differ", "another method.")
