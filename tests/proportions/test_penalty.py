"""The penalty chosen from bags: high for noise, low for signal, the same for the same seed."""

import numpy as np

from sumwise import Bags
from sumwise.proportions.counts import observe
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import LinearProblem
from sumwise.proportions.penalty import search_penalty


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
        np.random.default_rng(1),
        verbose,
    )


def test_noise_wants_more_penalty_than_signal():
    noise, _ = search(0.0)
    signal, fit = search(1.0)
    assert noise.best > 10 * signal.best
    assert signal.scores.max() == signal.scores[signal.penalties == signal.best][0]
    assert fit.theta[3] > 1.0
    again, _ = search(1.0)
    np.testing.assert_array_equal(again.scores, signal.scores)


def test_progress_is_told(capsys):
    search(1.0, verbose=2)
    assert "penalty 10" in capsys.readouterr().err
