"""Sampling with tables that list their cells: the same distribution as with all cells given."""

import numpy as np
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.maxent.kernels import gibbs
from sumwise.maxent.kernels.loglinear import enumerate_cells, found_in, layout

SIZES = (5, 6, 3, 2)
TABLES = [(0, 1), (0, 2), (1, 2), (2, 3)]


def both_ways(n_listed, tables=TABLES, home=(0, 1), seed=0):
    """A layout that lists cells of one table, the full one, and the same random log-weights (2, n_cells) on both."""
    rng = np.random.default_rng(seed)
    n = int(np.prod([SIZES[a] for a in home]))
    kept = np.sort(rng.permutation(n)[:n_listed])
    sparse, full = layout(SIZES, tables, {home: kept}), layout(SIZES, tables)
    on_sparse = rng.normal(size=(2, sparse.n_cells))
    on_full = np.empty((2, full.n_cells))
    for c, clique in enumerate(full.cliques):
        here = sparse.cliques.index(clique)
        cells = np.arange(full.starts[c + 1] - full.starts[c])
        places = sparse.parameters(here, cells)
        on_full[:, full.starts[c] : full.starts[c + 1]] = on_sparse[:, places]
    return sparse, full, on_sparse, on_full


def swept(lay, weights, blocks=(), jumps=(), n=4000, sweeps=30, pair_jumps=()):
    rng = np.random.default_rng(1)
    chains = gibbs.draw_chains(n, [np.full(s, 1 / s) for s in lay.sizes], 2, rng)
    theta = weights[1:] - weights[:1]
    plan = gibbs.plan(lay, blocks, jumps, pair_jumps)
    total = np.zeros(lay.n_cells)
    for k in range(sweeps):
        counts, _ = gibbs.sweep(chains, plan, weights, theta, np.zeros(2))
        total += counts if k >= 5 else 0
    return total / (n * (sweeps - 5))


def matches(sparse, full, found, on_full, tol=0.012):
    exact = enumerate_cells(full, on_full, np.zeros(2)).cells.sum(axis=0)
    for c, clique in enumerate(full.cliques):
        here = sparse.cliques.index(clique)
        part = exact[full.starts[c] : full.starts[c + 1]]
        places = sparse.parameters(here, np.arange(len(part)))
        wanted = np.bincount(places, weights=part, minlength=sparse.n_cells)
        mine = slice(sparse.starts[here], sparse.starts[here + 1])
        assert np.abs(found[mine] - wanted[mine]).max() < tol


@pytest.mark.parametrize("blocks", [(), ((0, 1),), ((0, 2),), ((1, 2),)])
def test_listed_cells_give_the_distribution_of_all_cells(blocks):
    sparse, full, on_sparse, on_full = both_ways(7)
    matches(sparse, full, swept(sparse, on_sparse, blocks), on_full)


@pytest.mark.parametrize("blocks", [(), ((0, 1),), ((0, 2),)])
def test_products_that_leave_the_range_of_doubles_are_added_as_logs(blocks):
    tables = [*TABLES, (0, 3), (1, 3)]
    sparse, full, on_sparse, on_full = both_ways(7, tables)
    steep = {(0, 2): 170.0, (0, 3): -170.0, (1, 2): 136.0, (1, 3): -136.0}  # two tables that cancel
    for lay, weights in ((sparse, on_sparse), (full, on_full)):
        for c, clique in enumerate(lay.cliques):
            if clique in steep:
                level = np.repeat(np.arange(SIZES[clique[0]]), SIZES[clique[1]])
                weights[:, lay.starts[c] : lay.starts[c + 1]] += steep[clique] * level
    matches(sparse, full, swept(sparse, on_sparse, blocks), on_full)


def test_three_attributes_may_list_their_cells():
    tables = [(0, 1, 2), (2, 3)]
    sparse, full, on_sparse, on_full = both_ways(11, tables, (0, 1, 2))
    matches(sparse, full, swept(sparse, on_sparse), on_full)
    matches(sparse, full, swept(sparse, on_sparse, ((0, 3),)), on_full)
    with raises(DataError, "attributes-cant-redrawn"):
        gibbs.plan(sparse, ((0, 1),))


def test_jumps_look_up_listed_cells():
    sparse, full, on_sparse, on_full = both_ways(7)
    shares = (np.full((1, 5), 0.2), np.full((5, 6), 1 / 6))
    matches(sparse, full, swept(sparse, on_sparse, jumps=(gibbs.Jump((0, 1), (-1, 0), shares),)), on_full)


@pytest.mark.parametrize("pair", [(0, 1), (0, 2)])
def test_pairs_proposed_together_keep_the_distribution(pair):
    """Whatever cells are proposed, by whatever shares; the pair's own table may list its cells or not."""
    sparse, full, on_sparse, on_full = both_ways(7)
    rng, (m, n) = np.random.default_rng(3), (SIZES[a] for a in pair)
    cells = np.sort(rng.permutation(m * n)[:6])
    jump = gibbs.PairJump(pair, cells, rng.uniform(0.1, 1.0, 6), rng.uniform(0.1, 1.0, m), rng.uniform(0.1, 1.0, n))
    matches(sparse, full, swept(sparse, on_sparse, pair_jumps=(jump,)), on_full)


def test_a_table_without_any_listed_cell_is_flat():
    sparse, full, on_sparse, on_full = both_ways(0)
    matches(sparse, full, swept(sparse, on_sparse, ((0, 1),)), on_full)


def test_smaller_tables_live_beside_a_listed_one():
    lay = layout((4, 4), [(0, 1), (0,), (1,)], {(0, 1): np.array([0, 5])})
    assert lay.cliques == ((0, 1), (0,), (1,))
    assert lay.starts.tolist() == [0, 3, 7, 11]
    assert lay.parameters(0, np.array([5, 6])).tolist() == [1, 2]
    assert layout((4, 4), [(0, 1)], {(0, 1): np.zeros(0, np.int64)}).n_cells == 2
    assert found_in(np.zeros(0, np.int64), np.array([3])).tolist() == [0]
