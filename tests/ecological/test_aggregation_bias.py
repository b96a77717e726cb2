"""What a test of aggregation bias can see."""

import numpy as np

from sumwise import Margins
from sumwise.ecological import aggregation_bias_test


def units(own, n, seed):
    """Two groups; the first group's support rises by `own` with its share."""
    x = np.random.default_rng(seed).uniform(0.05, 0.95, n)
    rows = np.round(np.stack([1000 * x, 1000 * (1 - x)], axis=1))
    yes = np.einsum("ir,ir->i", rows, np.stack([0.4 + own * x, np.full(n, 0.2)], axis=1))
    return Margins(rows, np.stack([yes, rows.sum(axis=1) - yes], axis=1), col_names=["yes", "no"])


def test_curvature_is_found_with_the_stated_power():
    rng = np.random.default_rng(2)
    hits, powers = [], []
    for seed in range(60):
        m = units(own=0.05, n=80, seed=seed)
        yes = np.clip(m.cols[:, 0] + rng.normal(0, 15, 80), 0, 1000)
        noisy = Margins(m.rows, np.stack([yes, m.totals - yes], axis=1))
        row = aggregation_bias_test(noisy, effect=0.05).iloc[0]
        hits.append(row["p value"] < 0.05)
        powers.append(row["power"])
    assert abs(np.mean(hits) - np.mean(powers)) < 0.15
    assert 0.2 < np.mean(powers) < 0.98


def test_adjusted_p_values_are_not_smaller_and_few_units_have_no_power():
    rng = np.random.default_rng(3)
    rows = rng.integers(50, 500, (40, 3))
    cols = np.array([rng.multinomial(n, [0.5, 0.3, 0.2]) for n in rows.sum(axis=1)])
    table = aggregation_bias_test(Margins(rows, cols))
    assert len(table) == 9
    assert (table["adjusted p"] >= table["p value"]).all()
    few = aggregation_bias_test(Margins([[5, 5], [6, 4]], [[5, 5], [5, 5]]))
    assert few["power"][0] == 0.0


def test_aggregation_bias_test_finds_curvature_and_no_more():
    x = np.linspace(0.05, 0.95, 60)
    for curve, found in ((0.0, False), (0.4, True)):
        t = 0.7 - 0.3 * x + curve * x * (1 - x) + np.random.default_rng(0).normal(0, 0.01, 60)
        sides = [np.stack([s, 1 - s], axis=1) * 500 for s in (x, t)]
        row = aggregation_bias_test(Margins(*sides, row_names=["a", "b"], col_names=["yes", "no"])).iloc[0]
        assert (row["p value"] < 0.01) == found
        assert (row["group"], row["outcome"]) == ("a", "yes")
