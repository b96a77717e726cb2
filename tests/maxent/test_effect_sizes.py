"""How large effects on an amount are, as far as tables of sums say."""

import numpy as np
import pytest

from sumwise import Domain
from sumwise.maxent import amount_tables
from sumwise.maxent.amounts import as_binary
from sumwise.maxent.effect_sizes import USUAL, Amounts, effect_sizes
from sumwise.maxent.sufficient_statistics import sufficient_statistics

LEVELS = (40, 30)


def found(sd, order=1, noise=0.0, seed=0, n=40_000):
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, k, n) for k in LEVELS]
    own, both = (rng.normal(0, s, shape) for s, shape in ((sd, LEVELS[0]), (sd, LEVELS)))
    y = rng.normal(own[codes[0]] if order == 1 else both[tuple(codes)], 1.0)
    frame = {"a": codes[0], "b": codes[1], "y": y}
    tables = amount_tables(frame, ["a", "b"], "y", -10, 10, domain=Domain({"a": LEVELS[0], "b": LEVELS[1]}))
    stats = sufficient_statistics(as_binary(tables))
    given = Amounts(-10.0, 20.0, float(y.mean()), float(y.var()), np.full(stats.layout.n_params, noise))
    return effect_sizes(stats, given, order, float(y.var())), y.var()


@pytest.mark.parametrize("order", [1, 2])
def test_posterior_is_at_the_variance_of_the_effects(order):
    sizes, variance = found(0.4, order)
    assert sizes.weights.sum() == pytest.approx(1.0)
    # half of order 1's tables have no effect at all
    assert sizes.mean * variance == pytest.approx(0.16 * (40 / 70 if order == 1 else 1.0), rel=0.35)


def test_without_effects_the_posterior_is_small():
    sizes, variance = found(0.0, 2)
    assert sizes.mean * variance < 0.002


def test_noise_that_hides_everything_leaves_the_prior():
    sizes, _ = found(0.4, noise=1e12)
    grid = np.sqrt(sizes.variances)
    prior = (1 + (grid / USUAL[0]) ** 2 / 4.0) ** -2.5 * grid
    np.testing.assert_allclose(sizes.weights, prior / prior.sum(), rtol=1e-2)
    draws = sizes.draw(4000, np.random.default_rng(0))
    assert draws.mean() == pytest.approx(sizes.mean, rel=0.15)
