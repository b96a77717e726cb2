"""The bags' likelihood: tempering, weights, parts."""

import numpy as np
import pytest

from messages import raises
from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions.counts import observe
from sumwise.proportions.likelihood import BagLikelihood

RNG = np.random.default_rng(0)
OFFSETS = np.array([0, 4, 10])
BAGS = Bags(RNG.normal(size=(10, 2)), OFFSETS)


@pytest.mark.parametrize("counts", [[1, 3], [[1, 2, 1], [3, 2, 1]]])
@pytest.mark.parametrize("temper", [None, np.array([0.5, 2.0])])
def test_residual_is_the_gradient_of_the_total(counts, temper):
    likelihood = BagLikelihood(OFFSETS, observe(BAGS, counts), temper=temper)
    logits = RNG.normal(size=10 if np.ndim(counts) == 1 else (10, 3))
    _, residual = likelihood.total_and_residual(likelihood.evaluate(logits))
    for i in (0, 7):
        step = np.zeros(logits.shape)
        step[i] += 1e-5 if logits.ndim == 1 else np.array([1e-5, 0, 0])
        up, down = (likelihood.total_and_residual(likelihood.evaluate(logits + s))[0] for s in (step, -step))
        assert (up - down) / 2e-5 == pytest.approx(np.atleast_1d(residual[i])[0], abs=1e-7)


def test_weights_multiply_the_residual():
    bags = Bags(BAGS.values, OFFSETS, np.r_[np.full(4, 3.0), np.full(6, 2.0)])
    weighted = BagLikelihood(OFFSETS, observe(bags, [3.0, 6.0]))
    plain = BagLikelihood(OFFSETS, observe(BAGS, [1, 3]), inference="saddlepoint")
    logits = RNG.normal(size=10)
    a, b = weighted.evaluate(logits), plain.evaluate(logits)
    np.testing.assert_allclose(a.log_prob, b.log_prob)
    np.testing.assert_allclose(weighted.total_and_residual(a)[1], plain.total_and_residual(b)[1])


def test_take_gives_the_part():
    likelihood = BagLikelihood(OFFSETS, observe(BAGS, [1, 3]), temper=np.array([1.0, 0.5]))
    logits = RNG.normal(size=10)
    whole = likelihood.evaluate(logits)
    part = likelihood.take(np.array([1]), slice(4, 10))
    assert part.evaluate(logits[4:]).log_prob[0] == pytest.approx(whole.log_prob[1], rel=1e-12)
    assert part.temper.tolist() == [0.5]


def test_random_intercept_of_class_counts_is_refused():
    likelihood = BagLikelihood(OFFSETS, observe(BAGS, [[1, 2, 1], [3, 2, 1]]))
    with raises(DataError, "random-intercept-needs-two"):
        likelihood.evaluate(np.zeros((10, 3)), 0.5)
