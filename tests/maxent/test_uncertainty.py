"""Intervals: how often they cover the truth, what widens them, what is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from sumwise import DataError, Domain, Table, Tables
from sumwise.maxent import MaxEntClassifier
from sumwise.noise import Gaussian

SHARES = np.array([0.1, 0.2, 0.1, 0.25, 0.15, 0.2])
TRUTH = np.array([0.2, 0.5, 0.35, 0.15, 0.6, 0.3])
GRID = pd.DataFrame({"a": [0, 0, 1, 1, 2, 2], "b": [0, 1, 0, 1, 0, 1]})
DOMAIN = Domain({"a": 3, "b": 2})


def tables(rng, n=3000, noise=None):
    """One saturated table, so that the model is right and only sampling and noise are left."""
    counts = rng.multinomial(n, SHARES).astype(float)
    sums = rng.binomial(counts.astype(int), TRUTH).astype(float)
    if noise is None:
        return Tables([Table(("a", "b"), counts.reshape(3, 2), sums.reshape(3, 2))], DOMAIN)
    counts, sums = (noise.sample(v.reshape(3, 2), rng) for v in (counts, sums))
    return Tables([Table(("a", "b"), counts, sums, noise)], DOMAIN, n=n)


@pytest.mark.parametrize("noise", [None, Gaussian(15.0)], ids=["exact", "noisy"])
def test_intervals_cover_the_truth(noise):
    rng = np.random.default_rng(0)
    covered = []
    for seed in range(10):
        data = tables(rng, noise=noise)
        model = MaxEntClassifier(1e-3, 1e-3).fit(data).bootstrap(data, n=10, random_state=seed)
        low, high = model.predict_interval(GRID, level=0.9)
        covered.append((low[:, 1] <= TRUTH) & (high[:, 1] >= TRUTH))
        np.testing.assert_allclose(low[:, 0], 1 - high[:, 1])
    assert 0.8 < np.mean(covered) < 0.98


def test_noise_widens_intervals_and_coefficients_have_them():
    rng = np.random.default_rng(1)
    widths = []
    for noise in (None, Gaussian(30.0)):
        data = tables(rng, noise=noise)
        model = MaxEntClassifier(1e-3, 1e-3).fit(data).bootstrap(data, n=10, random_state=0)
        low, high = model.predict_interval(GRID)
        widths.append(np.mean(high - low))
    assert widths[1] > 1.3 * widths[0]
    frame = model.coefficient_intervals()
    assert (frame["low"] < frame["coefficient"]).all()
    assert (frame["coefficient"] < frame["high"]).all()


def test_before_and_on_other_tables_it_is_refused():
    data = tables(np.random.default_rng(0))
    model = MaxEntClassifier().fit(data)
    with pytest.raises(NotFittedError):
        model.predict_interval(GRID)
    with pytest.raises(DataError, match="aren't those"):
        model.bootstrap(Tables([Table("a", [5.0, 5.0], [1.0, 2.0])], Domain({"a": 2})))
