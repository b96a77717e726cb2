"""Counting kernels against a loop over rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_aggregate import count_by_loop
from sumwise.aggregate.kernels.counting import (
    BLOCK,
    JOINT_CELLS,
    add_counts,
    add_weighted,
    covering,
    dealt_out,
    layout,
    unpacked,
)

SUBSETS = [(0,), (0, 1), (2, 0), (0, 1, 2), (2,)]


def drawn(sizes, n, seed):
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, s, n) for s in sizes], dtype=np.uint16).reshape(len(sizes), n)
    return codes, rng.integers(0, 2, n).astype(np.uint8), rng.random(n)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 6), min_size=3, max_size=3), st.integers(0, 40), st.integers(0, 99))
def test_counts_equal_a_loop_over_rows(sizes, n, seed):
    codes, label, weights = drawn(sizes, n, seed)
    members, starts, offsets = layout(SUBSETS, sizes)
    order = dealt_out(offsets, 2)
    out, weighted = np.zeros(offsets[-1], np.int64), np.zeros((offsets[-1], 2))
    for part in (slice(0, n // 2), slice(n // 2, n)):  # chunks add up
        chunk = np.ascontiguousarray(codes[:, part])
        shape = np.array(sizes), members, starts, offsets, order
        add_counts(chunk, label[part], *shape, out)
        add_weighted(chunk, label[part], weights[part], *shape, weighted)
    counts, sums = unpacked(out)
    expected = count_by_loop(codes, sizes, SUBSETS, label)
    expected_weighted = count_by_loop(codes, sizes, SUBSETS, label, weights)
    for t, ((c, s), (wc, ws)) in enumerate(zip(expected, expected_weighted)):
        cells = slice(offsets[t], offsets[t + 1])
        assert np.array_equal(counts[cells].reshape(c.shape), c)
        assert np.array_equal(sums[cells].reshape(c.shape), s)
        assert np.allclose(weighted[cells, 0].reshape(c.shape), wc, atol=1e-12)
        assert np.allclose(weighted[cells, 1].reshape(c.shape), ws, atol=1e-12)


def test_rows_beyond_one_block_are_all_counted():
    n = 3 * BLOCK + 17
    codes, label, _ = drawn([5, 7, 3], n, 0)
    members, starts, offsets = layout([(0, 1)], [5, 7, 3])
    out = np.zeros(35, np.int64)
    add_counts(codes, label, np.array([5, 7, 3]), members, starts, offsets, dealt_out(offsets, 1), out)
    expected = np.bincount(codes[0].astype(int) * 7 + codes[1], minlength=35)
    assert np.array_equal(unpacked(out)[0], expected)
    assert unpacked(out)[1].sum() == label.sum()


def test_counter_keeps_label_and_count_apart_near_its_end():
    full = np.int64(2**31 - 1)
    counts, sums = unpacked(np.array([full + (full << 32)]))
    assert counts[0] == sums[0] == full


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_dealt_out_is_a_permutation_with_even_shares(n_threads):
    offsets = np.concatenate([[0], np.cumsum(np.arange(1, 41) ** 2)])
    order = dealt_out(offsets, n_threads)
    assert sorted(order.tolist()) == list(range(40))
    shares = [np.diff(offsets)[part].sum() for part in np.array_split(order, n_threads)]
    assert max(shares) < 2.2 * min(shares)


def test_wide_codes_are_counted_too():
    codes = np.array([[70_000, 0, 70_000]], dtype=np.uint32)
    members, starts, offsets = layout([(0,)], [70_001])
    out = np.zeros(70_001, np.int64)
    label = np.ones(3, np.uint8)
    add_counts(codes, label, np.array([70_001]), members, starts, offsets, dealt_out(offsets, 1), out)
    assert unpacked(out)[0][70_000] == 2


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(1, 30), min_size=3, max_size=7),
    st.sets(st.frozensets(st.integers(0, 6), min_size=1, max_size=3), min_size=1, max_size=20),
    st.sampled_from([1, 50, 1000]),
)
def test_covering_has_a_home_for_every_subset(sizes, drawn_subsets, most):
    subsets = [tuple(a for a in s if a < len(sizes)) or (0,) for s in drawn_subsets]
    joints, home = covering(subsets, sizes, most)
    assert len(joints) <= len(subsets)
    for s, h in zip(subsets, home):
        assert set(s) <= set(joints[h])
    for joint in joints:
        cells = np.prod([sizes[a] for a in joint])
        assert cells <= most or any(set(joint) == set(s) for s in subsets)


def test_covering_of_all_pairs_needs_far_fewer_increments():
    sizes = [3, 5, 8, 10, 12, 16, 20, 30, 40, 50, 70, 90, 150, 250, 400, 500, 700, 850, 1000]
    pairs = [(i, j) for i in range(19) for j in range(i + 1, 19)]
    joints, _ = covering(pairs, sizes)
    assert len(joints) <= 125


def test_many_subsets_are_covered_too():
    """All triples of 40 attributes: far fewer joint tables than triples, each triple within its own."""
    from itertools import combinations

    subsets, sizes = list(combinations(range(40), 3)), [3] * 40
    joints, home = covering(subsets, sizes)
    assert len(joints) < len(subsets) / 8
    assert all(set(s) <= set(joints[h]) for s, h in zip(subsets, home))
    assert all(np.prod([sizes[a] for a in j]) <= JOINT_CELLS for j in joints)
