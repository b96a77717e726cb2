"""Draws of tables are moved to both totals and inside their bounds, exactly."""

import numpy as np

from sumwise.ecological.kernels.bounds import aggregate_bounds
from sumwise.ecological.kernels.polytope import moved_inside, scaled_inside


def case(n_units, seed):
    """Sizes, columns' totals and bounds of random units, and draws far from all of them."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 60, (n_units, 4, 5)) * (rng.random((n_units, 4, 1)) < 0.6)
    rows, cols = cells.sum(axis=2).astype(float), cells.sum(axis=1).astype(float)
    margins = rows.sum(axis=0), cols.sum(axis=0), *aggregate_bounds(rows, cols)
    return margins, rng.normal(0.2, 0.3, (300, 4, 5))


def test_moved_draws_have_both_totals_and_bounds():
    for n_units, seed in [(2, 0), (3, 1), (12, 2), (200, 3)]:
        (sizes, target, lower, upper), drawn = case(n_units, seed)
        moved = moved_inside(drawn, sizes, target, lower, upper)
        np.testing.assert_allclose(moved.sum(axis=2), 1.0, atol=1e-12)
        np.testing.assert_allclose(sizes @ moved, np.tile(target, (300, 1)), atol=1e-6 * target.sum())
        assert (moved >= lower - 1e-12).all()
        assert (moved <= upper + 1e-12).all()


def test_a_draw_that_is_inside_stays():
    (sizes, target, lower, upper), drawn = case(12, 2)
    moved = moved_inside(drawn, sizes, target, lower, upper)
    np.testing.assert_allclose(moved_inside(moved, sizes, target, lower, upper), moved, atol=1e-7)


def test_raking_first_leaves_small_cells_small():
    margins = np.array([10.0, 10.0]), np.array([12.0, 7.8, 0.2]), np.zeros((2, 3)), np.ones((2, 3))
    drawn = np.array([[[0.5, 0.29, 0.01], [0.4, 0.39, 0.01]]])  # rows that lack a fifth
    assert scaled_inside(drawn, *margins, 5)[0, :, 2].max() < 0.02
