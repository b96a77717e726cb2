"""How alike levels are: chance has no say, what varies has."""

import numpy as np
import pytest

from sumwise import Tables
from sumwise.maxent.similarity import level_profiles, margin_of, weighted_clusters


def tables(effect, n=20_000, levels=120):
    rng = np.random.default_rng(0)
    site = rng.integers(0, levels, n)
    y = rng.random(n) < 0.3 + effect * (site % 2)
    rows = {"site": site, "age": rng.integers(0, 4, n), "y": y.astype(int)}
    return Tables.from_frame(rows, ["site", "age"], label="y")


@pytest.mark.parametrize("by", ["label", "features", "both"])
def test_chance_alone_leaves_levels_at_one_place(by):
    flat = tables(0.0)
    counts, sums = margin_of(flat, "site")
    points = level_profiles(flat, "site", counts, sums, by)
    assert float(counts @ (points**2).sum(axis=1)) < 20  # of a chi-square of 119 or 357 by chance


def test_levels_that_differ_lie_apart():
    steep = tables(0.3)
    counts, sums = margin_of(steep, "site")
    points = level_profiles(steep, "site", counts, sums, "label")[:, 0]
    assert points[1::2].min() > points[::2].max()
    found = weighted_clusters(points[:, None], counts, 2, 0)
    assert len(set(found[::2])) == len(set(found[1::2])) == 1


def test_few_distinct_points_are_clusters_of_their_own():
    assert weighted_clusters(np.array([[0.0], [1.0], [0.0]]), np.ones(3), 5, None).tolist() == [0, 1, 0]
    assert len(set(weighted_clusters(np.arange(9.0)[:, None], np.ones(9), 3, np.random.default_rng(0)))) == 3
