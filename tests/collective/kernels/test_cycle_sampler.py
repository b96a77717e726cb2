"""Cycle moves: the draw along a line is exact, and margins are kept."""

import numpy as np
import pytest
from scipy.stats import chisquare

from collective_cases import random_evidence, random_tree
from sumwise import Domain, Table, Tables
from sumwise.collective import TreeModel
from sumwise.collective.kernels.cycle_sampler import Direction, Line, _value, draw_along, sweep_cycles
from sumwise.collective.kernels.trellis import seen_counts
from sumwise.collective.observations import observe
from sumwise.collective.trellis import walk_of
from sumwise.noise import Exact, Gaussian, Laplace, Poisson


def line(counts, noise=None, seen=None):
    """Two states of one node: how many are in the second is a line."""
    domain = Domain({"a": 2})
    model = TreeModel(domain, [], {"a": [0.0, 0.7]})
    tables = None if noise is None else Tables([Table("a", seen, noise=noise)], domain)
    observed = observe(model, tables, float(np.sum(counts)))
    t = walk_of(observed, model, np.zeros(observed.problem.observations.size)).trellis
    move = Direction(np.array([0, 1]), np.array([-1, 1]), np.array([-1.0, -1.0]))
    return Line(seen_counts.py_func(t), np.array(counts), move, 2, 0.7)


@pytest.mark.parametrize(
    ("counts", "noise", "seen"),
    [
        ([3, 2], None, None),
        ([40, 0], None, None),
        ([0, 500], None, None),
        ([500, 3], Poisson(), [30, 10]),
        ([300, 300], Laplace(2.0), [200.5, 390.0]),
        ([400, 4000], Gaussian(5.0), [900.0, 3500.0]),
        ([60, 40], Poisson(0.2), [1, 19]),
        ([90, 10], Laplace(0.2), [np.nan, 30.0]),
    ],
)
def test_the_draw_has_the_distribution_of_the_enumeration(counts, noise, seen):
    along = line(counts, noise, seen)
    n = 2000
    rng = np.random.default_rng(1)
    drawn = np.array([draw_along(along, rng) for _ in range(n)])
    low, high = -counts[1], counts[0]
    values = np.array([_value(along, d) for d in range(low, high + 1)])
    p = np.exp(values - values.max())
    p /= p.sum()
    observed = np.bincount(drawn - low, minlength=len(p))
    assert observed[p < 1e-12].sum() == 0
    order = np.argsort(p)[::-1]
    groups = np.minimum((np.cumsum(p[order]) - 1e-12) * 12, 11).astype(int)  # about equal chances
    seen_in = np.bincount(groups, observed[order], 12)
    wanted = np.bincount(groups, p[order], 12)
    some = wanted > 1e-3
    if some.sum() > 1:
        assert chisquare(seen_in[some], wanted[some] / wanted[some].sum() * seen_in[some].sum()).pvalue > 1e-4


def test_exact_counts_leave_no_choice():
    along = line([70, 30], Exact(), [70, 30])
    assert {draw_along(along, np.random.default_rng(i)) for i in range(20)} == {0}


@pytest.mark.parametrize("seed", range(6))
def test_moves_keep_every_margin(seed):
    model = random_tree(seed, levels=3)
    seen = observe(model, random_evidence(model, seed, n=200), None)
    walk = walk_of(seen, model, np.zeros(seen.problem.observations.size))
    t = walk.trellis._replace(log=np.log(np.arange(300) + 0.01))
    start = model.sample_tables(200, random_state=seed)
    cells, tables = walk.layout.flatten(start)
    counts = np.zeros(len(t.base) + len(t.col), dtype=np.int64)
    counts[: len(t.base)] = cells
    for e, at in enumerate(walk.entries):
        counts[at] = tables[e][walk.moves[e]]
    done, tried = sweep_cycles(t, counts, 3000, np.random.default_rng(seed))
    model.check_counts(walk.counts(counts, 200))
    assert (counts >= 0).all()
    assert tried.sum() == 3000
    assert (done <= tried).all()
