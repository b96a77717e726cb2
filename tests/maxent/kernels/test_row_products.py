"""Products of padded rows against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from sumwise.maxent.kernels.row_products import WIDTH, multiply_rows, padded


@njit
def product(table, starts, n_rows, n_cells, out):
    multiply_rows(table, starts, n_rows, n_cells, out)


@pytest.mark.parametrize(("n", "expected"), [(0, 0), (1, 4), (4, 4), (5, 8), (900, 900), (901, 904)])
def test_padded_rounds_up_to_blocks(n, expected):
    assert padded(n) == expected
    assert padded(n) % WIDTH == 0


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, 20), st.integers(1, 50), st.integers(0, 2**32 - 1))
def test_product_equals_numpy(n_rows, n_cells, seed):
    rng = np.random.default_rng(seed)
    table = rng.uniform(0.5, 1.5, 500)
    starts = rng.integers(0, 500 - padded(n_cells), n_rows).astype(np.uint64)
    out = np.full(padded(n_cells) + 3, 7.0)
    product(table, starts, n_rows, n_cells, out)
    rows = np.array([table[s : s + np.uint64(n_cells)] for s in starts]).reshape(n_rows, n_cells)
    np.testing.assert_allclose(out[:n_cells], rows.prod(axis=0), rtol=1e-13)
    assert np.all(out[padded(n_cells) :] == 7.0)


def test_zeros_pass_and_small_numbers_stay():
    table = np.array([0.0, 1e-150, 1.0, 2.0, 5.0, 1e-150, 1.0, 0.5])
    out = np.empty(4)
    product(table, np.array([0, 4], dtype=np.uint64), 2, 4, out)
    np.testing.assert_allclose(out, [0.0, 1e-300, 1.0, 1.0], rtol=1e-13)
