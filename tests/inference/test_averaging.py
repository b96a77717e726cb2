"""Averaging by held-out likelihood: a function of the set of units."""

import numpy as np
import pytest

from sumwise import DataError, Draws
from sumwise.inference import average_draws, average_weights


def test_weights_follow_the_formula():
    held_out, prior = np.array([[-1.0, -2.0], [-0.5, -3.0], [-4.0, -0.1]]), np.log([0.5, 0.25, 0.25])
    expected = np.exp(held_out.sum(axis=1) / 2 + prior)
    np.testing.assert_allclose(average_weights(held_out, prior, 2.0), expected / expected.sum())


def test_the_order_of_units_changes_no_bit():
    rng = np.random.default_rng(0)
    held_out = rng.normal(size=(3, 200)) * 10.0 ** rng.integers(-8, 3, size=200)
    base = average_weights(held_out)
    for _ in range(5):
        assert (average_weights(held_out[:, rng.permutation(200)]) == base).all()


def test_a_candidate_that_makes_a_unit_impossible_has_no_weight():
    assert average_weights([[-1.0, -np.inf], [-50.0, -60.0]]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("held_out", "options", "words"),
    [
        ([[-np.inf], [-np.inf]], {}, "impossible"),
        ([[np.nan]], {}, "finite"),
        ([-1.0, -2.0], {}, "shape (2,)"),
        ([[-1.0], [-2.0]], {"log_prior": [0.0]}, "2 candidates"),
        ([[-1.0], [-2.0]], {"dispersion": 0.5}, "dispersion"),
    ],
)
def test_evidence_that_can_not_be_weighed_is_refused(held_out, options, words):
    with pytest.raises(DataError) as error:
        average_weights(held_out, **options)
    assert words in str(error.value)


def test_averaged_draws_are_those_of_the_mixture():
    parts = [Draws.gaussian([m], [[1.0]]) for m in (0.0, 10.0)]
    averaged = average_draws(parts, [0.9, 0.1])
    assert averaged.probability(lambda d: d > 5)[0] == pytest.approx(0.1, abs=0.002)
