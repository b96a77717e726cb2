"""Exchanges that change a table with fixed margins, against enumeration of all such tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sumwise.collective.kernels.exchange_cycles import fewest_movers, stuck_cells


def brute(source, target, counts, cell):
    """The fewest individuals that differ between `counts` and a table with the same margins and one more in `cell`."""
    tables = np.array(list(itertools.product(range(counts.sum() + 1), repeat=len(counts))))
    into = np.concatenate([source[:, None] == np.arange(3), target[:, None] == np.arange(3)], axis=1)
    moved = np.maximum(tables - counts, 0).sum(axis=1)
    same = (tables @ into == counts @ into).all(axis=1) & (tables[:, cell] > counts[cell])
    return int(moved[same].min(initial=100)) % 100


@pytest.mark.parametrize("seed", range(8))
def test_fewest_movers_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    allowed = rng.random((3, 3)) < 0.8
    allowed |= np.eye(3, dtype=bool)
    source, target = np.nonzero(allowed)
    counts = rng.integers(0, 2, size=len(source))
    counts[np.flatnonzero(counts)[3:]] = 0
    for cell in range(0, len(source), 3):
        assert fewest_movers(source, 3 + target, counts, cell, 10) == brute(source, target, counts, cell)


@pytest.mark.parametrize(("size", "stuck"), [(4, False), (5, True), (7, True)])
def test_a_ring_is_stuck_where_more_than_four_must_move(size, stuck):
    source = np.repeat(np.arange(size), 2)
    target = np.stack([np.arange(size), (np.arange(size) + 1) % size], axis=1).ravel()
    counts = np.tile([1, 0], size)
    assert (stuck_cells(source, size + target, counts, np.ones(2 * size, dtype=bool), 4) > 0) == stuck
