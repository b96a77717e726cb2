"""Bags are shared out whole, once each, and errors come back."""

import numpy as np
import pytest

from sumwise.inference.kernels.threads import SMALL, over_bags, over_parts, split, writable


@pytest.mark.parametrize("size", [3, SMALL])
def test_every_bag_is_visited_once(size):
    offsets = np.concatenate([[0], np.cumsum([size, 0, 2 * size, 1, 5 * size])])
    seen = np.zeros(5, int)

    def work(begin, end):
        seen[begin:end] += 1

    over_bags(work, offsets)
    np.testing.assert_array_equal(seen, 1)


def test_writable_copies_only_what_needs_it():
    array = np.zeros(3)
    assert writable(array) is array
    array.flags.writeable = False
    assert writable(array).flags.writeable


def test_split_balances_rows():
    edges = split(np.arange(0, 1001, 10), 4)
    np.testing.assert_array_equal(edges, [0, 25, 50, 75, 100])


def test_error_in_a_thread_is_raised():
    def work(begin, end):
        raise ValueError(f"part {begin}")

    with pytest.raises(ValueError, match="part 0"):
        over_parts(work, np.array([0, 1, 2]))
