"""Raking against plain iterative proportional fitting, and at the edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.ecological.kernels.raking import rake


def proportional_fitting(x, t, shares, steps=20_000):
    n = x[:, None] * shares
    for _ in range(steps):
        n = n * np.divide(t, n.sum(axis=0), out=np.zeros_like(t), where=n.sum(axis=0) > 0)
        n = n * np.divide(x, n.sum(axis=1), out=np.zeros_like(x), where=n.sum(axis=1) > 0)[:, None]
    return n


@pytest.mark.parametrize("seed", range(4))
def test_rake_is_proportional_fitting(seed):
    rng = np.random.default_rng(seed)
    cells = rng.poisson(8, size=(3, 4)).astype(float)
    shares = rng.dirichlet(np.ones(4), 3)
    x, t = cells.sum(axis=1), cells.sum(axis=0)
    ours = rake(x[None], t[None], np.log(shares))[0] * x[:, None]
    np.testing.assert_allclose(ours, proportional_fitting(x, t, shares), atol=1e-6)


def test_empty_columns_rows_and_units():
    shares = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
    rows, cols = (
        np.array([[10.0, 5.0], [7.0, 0.0], [0.0, 0.0]]),
        np.array([[9.0, 6.0, 0.0], [0.0, 0.0, 7.0], [0.0] * 3]),
    )
    cells = rake(rows, cols, np.log(shares))
    np.testing.assert_allclose((cells * rows[:, :, None]).sum(axis=1), cols, atol=1e-9)
    np.testing.assert_allclose(cells.sum(axis=2), 1)
    np.testing.assert_allclose(cells[1, 1], shares[1])
    np.testing.assert_allclose(cells[2], shares)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 10_000), min_size=6, max_size=6), st.integers(0, 10_000))
def test_both_margins_hold_whatever_the_shares(cells, seed):
    truth = np.array(cells, float).reshape(1, 2, 3)
    rows, cols = truth.sum(axis=2), truth.sum(axis=1)
    shares = np.random.default_rng(seed).dirichlet(np.full(3, 0.2), 2)
    counts = rake(rows, cols, np.log(np.maximum(shares, 1e-8))) * rows[:, :, None]
    scale = max(rows.sum(), 1)
    np.testing.assert_allclose(counts.sum(axis=1) / scale, cols / scale, atol=1e-9)
    np.testing.assert_allclose(counts.sum(axis=2) / scale, rows / scale, atol=1e-9)
    assert counts.min() >= 0


def test_shares_that_already_add_up_are_left():
    shares = np.array([[0.6, 0.4], [0.2, 0.8]])
    rows = np.array([[30.0, 70.0]])
    np.testing.assert_allclose(rake(rows, rows @ shares, np.log(shares))[0], shares, atol=1e-8)
