"""The penalty chosen from bags: high for noise, low for signal, the same for the same seed."""

import numpy as np
import pytest

from sumwise import Bags
from sumwise.proportions.counts import observe
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import LinearProblem
from sumwise.proportions.penalty import _nearest_good, reference_penalty, search_penalty


def search(strength, seed=0, capsys=None, verbose=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(1200, 4)) + np.repeat(rng.normal(size=(60, 4)), 20, axis=0)
    labels = rng.random(1200) < 1 / (1 + np.exp(-strength * values @ [1.0, -1.0, 0.5, 2.0]))
    bags = Bags(values, np.arange(0, 1201, 20))
    likelihood = BagLikelihood(bags.offsets, observe(bags, labels.reshape(60, 20).sum(axis=1)))
    return search_penalty(
        lambda part, penalty: LinearProblem(values, part, penalty),
        likelihood,
        np.zeros(5),
        reference_penalty(values),
        np.random.default_rng(1),
        verbose,
    )


def test_noise_wants_more_penalty_than_signal():
    noise, _ = search(0.0)
    signal, fit = search(1.0)
    assert noise.scores.argmax() > signal.scores.argmax()
    assert noise.best > signal.best
    assert signal.best in signal.penalties
    assert fit.theta[3] > 1.0
    again, _ = search(1.0)
    np.testing.assert_array_equal(again.scores, signal.scores)


def test_progress_is_told(capsys):
    search(1.0, verbose=2)
    assert "held_out" in capsys.readouterr().err


def test_reference_scales_with_the_features():
    values = np.random.default_rng(0).normal(size=(100, 3))
    assert reference_penalty(10 * values) == pytest.approx(100 * reference_penalty(values))


def test_nearest_good_stays_unless_the_gain_is_clear():
    rng = np.random.default_rng(1)
    base = rng.normal(size=50)
    clear = {8: base, 6: base + 1.0, 5: base + 0.5 + 0.1 * rng.normal(size=50)}
    assert _nearest_good(clear) == 6
    assert _nearest_good({8: base, 6: base + rng.normal(0.05, 1.0, size=50)}) == 8
