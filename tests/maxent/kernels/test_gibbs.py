"""The sampler: threads, halves, blocks, and potentials that leave the range of doubles."""

import numpy as np
import pytest

from sumwise.maxent.kernels import gibbs
from sumwise.maxent.kernels.loglinear import enumerate_cells, layout


def setting(sizes, tables, scale=1.0, n_classes=2, n=4000, seed=0):
    rng = np.random.default_rng(seed)
    lay = layout(sizes, tables)
    weights = rng.normal(0, scale, (n_classes, lay.n_cells))
    theta = weights[1:] - weights[:1] if n_classes == 2 else weights
    chains = gibbs.draw_chains(n, [np.full(s, 1 / s) for s in sizes], n_classes, rng)
    return lay, weights, theta, np.zeros(n_classes), chains


def averaged(lay, weights, theta, offsets, chains, blocks=(), burn=30, sweeps=100):
    plan = gibbs.plan(lay, blocks)
    counts, sums = 0.0, 0.0
    for t in range(burn + sweeps):
        c, s = gibbs.sweep(chains, plan, weights, theta, offsets)
        if t >= burn:
            counts, sums = counts + c, sums + s
    return gibbs.expectation(counts, sums, sweeps * len(chains.codes)).cells


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_and_two_threads_give_the_same_bits(n_classes):
    lay, weights, theta, offsets, chains = setting((3, 4, 2), [(0, 1), (1, 2), (0, 2)], n_classes=n_classes)
    twin, plan = chains.copy(), gibbs.plan(lay, ((0, 1),))
    for _ in range(3):
        one = gibbs.sweep(chains, plan, weights, theta, offsets, n_threads=1)
        two = gibbs.sweep(twin, plan, weights, theta, offsets, n_threads=2)
        for a, b in zip(one, two):
            assert np.array_equal(a, b)
    assert all(np.array_equal(a, b) for a, b in zip(chains, twin))


def test_halves_add_up_and_count_their_chains():
    lay, weights, theta, offsets, chains = setting((3, 2), [(0, 1)], n=1001)
    halves = gibbs.sweep_halves(chains, gibbs.plan(lay), weights, theta, offsets)
    assert sum(m for _, _, m in halves) == 1001
    for counts, sums, m in halves:
        assert counts.sum() == m
        assert 0 < sums.sum() < m


def test_drawn_labels_in_place_of_probabilities():
    lay, weights, theta, offsets, chains = setting((3, 2), [(0, 1)])
    halves = gibbs.sweep_halves(chains, gibbs.plan(lay), weights, theta, offsets, marginal=False)
    drawn = sum(sums.sum() for _, sums, _ in halves)
    assert drawn == chains.labels.sum()


@pytest.mark.parametrize("tables", [[(0, 1), (1, 2), (0, 2)], [(0, 1, 2)]], ids=["pairs", "triple"])
def test_blocks_leave_the_distribution_alone(tables):
    lay, weights, theta, offsets, chains = setting((3, 4, 2), tables)
    exact = enumerate_cells(lay, weights, offsets).cells
    found = averaged(lay, weights, theta, offsets, chains, blocks=((0, 1),))
    assert np.abs(found - exact).max() < 5 * np.sqrt(0.25 / 400_000)


def test_blocks_mix_where_single_sites_are_stuck():
    """Two attributes that are equal but for one in a million: alone, neither can move."""
    lay = layout((2, 2), [(0, 1)])
    weights = np.tile(np.where(np.eye(2, dtype=bool), 0.0, -14.0).ravel(), (2, 1))
    rng = np.random.default_rng(0)
    start = gibbs.draw_chains(2000, [np.array([1.0, 0.0])] * 2, 2, rng)
    stuck, free = start.copy(), start.copy()
    theta, offsets = np.zeros((1, 4)), np.zeros(2)
    for _ in range(20):
        gibbs.sweep(stuck, gibbs.plan(lay), weights, theta, offsets)
        gibbs.sweep(free, gibbs.plan(lay, ((0, 1),)), weights, theta, offsets)
    assert (stuck.codes == 0).mean() > 0.99
    assert abs((free.codes == 0).mean() - 0.5) < 0.05


@pytest.mark.parametrize("blocks", [(), ((0, 1),)], ids=["sites", "block"])
def test_products_out_of_range_are_taken_in_logs(blocks):
    """Forty factors of exp(-20) at every level: the product is far below the smallest double."""
    d = 41
    lay = layout([2] * d, [(0, j) for j in range(1, d)] + ([(1, j) for j in range(2, d)] if blocks else []))
    weights = np.full((2, lay.n_cells), -20.0)
    weights[:, lay.starts[:-1]] = 0.0  # the cell (0, 0) of every table
    rng = np.random.default_rng(0)
    chains = gibbs.draw_chains(200, [np.array([0.0, 1.0])] * d, 2, rng)
    gibbs.sweep(chains, gibbs.plan(lay, blocks), weights, np.zeros((1, lay.n_cells)), np.zeros(2))
    share = (chains.codes[:, 0] == 0).mean()
    if blocks:  # the pair's own table prefers (0, 0) by exp(20); all other factors are alike
        assert share == 1.0
    else:  # with every other attribute at 1, both levels weigh the same
        assert 0.3 < share < 0.7


def test_a_chain_draws_its_own_stream():
    lay, weights, theta, offsets, chains = setting((3, 4, 2), [(0, 1), (1, 2)], n=640)
    few = gibbs.Chains(*(a[:320].copy() for a in chains))
    plan = gibbs.plan(lay)
    gibbs.sweep(chains, plan, weights, theta, offsets)
    gibbs.sweep(few, plan, weights, theta, offsets)
    assert np.array_equal(chains.codes[:320], few.codes)


def test_jumps_leave_the_distribution_alone():
    lay, weights, theta, offsets, chains = setting((3, 4, 2), [(0, 1), (1, 2), (0, 2)])
    rng = np.random.default_rng(1)
    shares = [rng.dirichlet(np.ones(s), n) for n, s in ((1, 4), (4, 3), (3, 2))]
    plan = gibbs.plan(lay, (), (gibbs.Jump((1, 0, 2), (-1, 1, 0), tuple(shares)),))
    exact = enumerate_cells(lay, weights, offsets).cells
    counts, sums = 0.0, 0.0
    for t in range(130):
        c, s = gibbs.sweep(chains, plan, weights, theta, offsets)
        if t >= 30:
            counts, sums = counts + c, sums + s
    found = gibbs.expectation(counts, sums, 100 * len(chains.codes)).cells
    assert np.abs(found - exact).max() < 5 * np.sqrt(0.25 / 400_000)


def test_jumps_mix_where_blocks_of_two_are_stuck():
    """Three attributes that are equal: moving two of them alone is as unlikely as moving one."""
    lay = layout((2, 2, 2), [(0, 1), (1, 2), (0, 2)])
    weights = np.tile(np.where(np.eye(2, dtype=bool), 0.0, -14.0).ravel(), (2, 3))
    rng = np.random.default_rng(0)
    start = gibbs.draw_chains(2000, [np.array([1.0, 0.0])] * 3, 2, rng)
    equal = np.array([[0.999, 0.001], [0.001, 0.999]])
    jump = gibbs.Jump((0, 1, 2), (-1, 0, 1), (np.array([[0.5, 0.5]]), equal, equal))
    stuck, free = start.copy(), start.copy()
    for _ in range(20):
        gibbs.sweep(stuck, gibbs.plan(lay, ((0, 1),)), weights, np.zeros((1, 12)), np.zeros(2))
        gibbs.sweep(free, gibbs.plan(lay, (), (jump,)), weights, np.zeros((1, 12)), np.zeros(2))
    assert (stuck.codes == 0).mean() > 0.99
    assert abs((free.codes == 0).mean() - 0.5) < 0.05
