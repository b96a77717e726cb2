"""Single moves of a chain: the draw of a level, of a class, and logs in place of products."""

import numpy as np
import pytest

from sumwise.maxent.kernels import gibbs_moves as moves


def test_pick_follows_the_weights():
    w = np.array([1.0, 0.0, 3.0, 0.0])
    assert [moves.pick(w, 3, u) for u in (0.0, 0.24, 0.26, 0.99)] == [0, 0, 2, 2]


def test_pick_refuses_sums_out_of_range_and_logs_take_over():
    assert moves.pick(np.zeros(4), 3, 0.5) == -1
    assert moves.pick_logs(np.array([-900.0, -900.0 + np.log(3.0)]), 2, 0.5) == 1
    assert moves.pick_logs(np.array([-np.inf, -np.inf]), 2, 0.7) == 1  # nothing is known: all alike


@pytest.mark.parametrize("u", [0.1, 0.6])
def test_classes_are_drawn_by_their_shares(u):
    shares = np.zeros(3)
    moves.class_shares(np.log([1.0, 2.0, 1.0]), np.zeros(3), shares)
    assert np.allclose(shares, [0.25, 0.5, 0.25])
    assert moves.draw_class(shares, u) == (0 if u < 0.25 else 1)
    one = np.zeros(1)
    moves.class_shares(np.array([0.0]), np.zeros(2), one)
    assert one[0] == 0.5


def test_shares_are_rounded_so_that_sums_are_exact():
    assert moves.exact(1 / 3) * 2**30 == round(2**30 / 3)


def test_uniform_draws_are_in_the_unit_interval():
    drawn = [moves.uniform(np.uint64(k * 0x9E3779B97F4A7C15 % 2**64)) for k in range(200)]
    assert min(drawn) >= 0.0
    assert max(drawn) < 1.0
    assert abs(np.mean(drawn) - 0.5) < 0.1
