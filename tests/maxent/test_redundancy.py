"""Parameters that mean the same model: with the least penalty, and the same distribution to the last digit."""

import numpy as np
import pytest

from brute_loglinear import joint
from sumwise import Tables, synthetic
from sumwise.maxent import MaxEntClassifier
from sumwise.maxent.engines import Parameters
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.redundancy import Redundancy
from sumwise.maxent.sufficient_statistics import sufficient_statistics
from sumwise.maxent.training import common_mu


def statistics(n_classes, order):
    rng = np.random.default_rng(3)
    rows = {a: rng.integers(0, k, 400) for a, k in (("a", 3), ("b", 2), ("c", 4))}
    rows["y"] = rng.integers(0, n_classes, 400)
    return sufficient_statistics(Tables.from_frame(rows, ["a", "b", "c"], label="y", order=order))


def distribution(stats, now):
    """p(x, y), one cell at a time."""
    lay = stats.layout
    theta = np.vstack([np.zeros(lay.n_params), now.theta]) if len(now.theta) == 1 else now.theta
    weights = [[(now.mu + row)[stats.part(t)].reshape(lay.shape(q)) for t, q in enumerate(lay.terms)] for row in theta]
    return np.array(list(joint(lay.sizes, lay.terms, weights, now.offsets).values()))


@pytest.mark.parametrize(("n_classes", "order"), [(2, 2), (3, 2), (2, 3)])
def test_the_least_penalty_leaves_the_distribution_as_it_is(n_classes, order):
    stats, rng = statistics(n_classes, order), np.random.default_rng(0)
    p, scores = stats.layout.n_params, len(stats.data.sums)
    penalties = Moments(rng.uniform(0.5, 2, p), rng.uniform(1, 40, (scores, p)))
    now = Parameters(rng.normal(size=p), rng.normal(size=(scores, p)), np.zeros(n_classes))
    redundancy = Redundancy(stats, penalties)

    def penalty(at):
        return np.sum(penalties.counts * common_mu(stats, at) ** 2) + np.sum(penalties.sums * at.theta**2)

    values, first = [penalty(now)], distribution(stats, now)
    for _ in range(30):
        now = redundancy.cheapest(now)
        values.append(penalty(now))
    np.testing.assert_allclose(distribution(stats, now), first, rtol=1e-9)
    assert np.all(np.diff(values) <= 1e-9 * values[0])
    assert values[1] < 0.7 * values[0]
    assert values[-2] - values[-1] < 1e-6 * values[-1]


@pytest.mark.check
def test_a_label_quadratic_in_ten_attributes_is_followed():
    """Its main effects stood in the pairs, whose penalties held them back for 500 steps (log-loss .41)."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(12_000, 10))
    y = (np.sum(x**2, axis=1) > 9.34).astype(int)
    codes = {f"x{j}": np.searchsorted(np.quantile(c, np.arange(0.1, 1, 0.1)), c) for j, c in enumerate(x.T)}
    train, test = ({k: v[at] for k, v in codes.items()} for at in (slice(9000), slice(9000, None)))
    model = MaxEntClassifier(random_state=0).fit(Tables.from_frame(train | {"y": y[:9000]}, list(codes), label="y"))
    p = model.predict_proba(test)[np.arange(3000), y[9000:]]
    assert model.fit_.converged
    assert -np.log(p).mean() < 0.39


def test_noisy_and_partly_observed_tables_keep_their_parameters():
    tables = synthetic.rows(2000, sizes=[3, 4], rate=0.4, random_state=1).tables()
    stats = sufficient_statistics(tables)
    stats.seen.counts[stats.part(0)][0] = 0.0  # a cell of the pair table
    p = stats.layout.n_params
    now = Parameters(np.arange(p, dtype=float), np.ones((1, p)), np.zeros(2))
    moved = Redundancy(stats, Moments(np.ones(p), np.ones((1, p)))).cheapest(now)
    pair = stats.part(0)
    np.testing.assert_allclose((moved.mu + stats.shares[1] * moved.theta[0])[pair], (now.mu + stats.shares[1])[pair])
