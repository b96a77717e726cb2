"""Raking in NumPy against the compiled loops over units: the same steps, so the same numbers to rounding."""

import numpy as np
import pytest

from sumwise.ecological.kernels import batched_raking, entropic_em, raking


def units(seed, n, n_rows, n_cols):
    """Margins with empty rows, empty columns and an empty unit."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 80, (n, n_rows)) * (rng.random((n, n_rows)) < 0.8)
    shares = rng.dirichlet(np.ones(n_cols), n_rows)
    cols = np.stack([sum(rng.multinomial(k, p) for k, p in zip(x, shares)) for x in rows])
    rows[0], cols[0] = 0, 0
    return rows.astype(float), cols.astype(float), np.log(rng.dirichlet(np.ones(n_cols), n_rows)), rng


@pytest.fixture
def compiled(monkeypatch):
    """Call something as a large problem would: by the compiled kernels."""

    def call(function, *given):
        with monkeypatch.context() as patch:
            patch.setattr(batched_raking, "MOST_CELLS", -1)
            return function(*given)

    return call


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 6), (5, 4)])
@pytest.mark.parametrize("seed", range(3))
def test_raked_units_are_those_of_the_compiled_kernel(compiled, seed, shape):
    rows, cols, log_shares, _ = units(seed, 30, *shape)
    found, expected = raking.rake(rows, cols, log_shares), compiled(raking.rake, rows, cols, log_shares)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    counts = rows[:, :, None] * found
    np.testing.assert_allclose(counts.sum(axis=1), cols, atol=1e-6)


@pytest.mark.parametrize("gamma", [0.0, 1.0])
@pytest.mark.parametrize("shape", [(2, 2), (4, 3), (3, 6)])
def test_an_em_step_is_that_of_the_compiled_kernel(compiled, gamma, shape):
    rows, cols, log_shares, rng = units(7, 40, *shape)
    scale, weight = rng.random(40), rng.integers(0, 2, 40).astype(float)
    found, expected = [], []
    for call, kept in ((lambda f, *given: f(*given), found), (compiled, expected)):
        here, tilts, divergence = log_shares, np.zeros_like(cols), np.zeros(40)
        for _ in range(4):
            options = np.array([gamma, 2.0, 1e-6])
            given = batched_raking.Units(rows, cols, scale, weight, tilts, divergence)
            here, value = call(entropic_em.em_step, given, here, options, 0.1)
            kept += [here, np.array(value), tilts.copy(), divergence.copy()]
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def test_no_unit_with_people_adds_nothing():
    nobody = np.zeros((3, 2))
    given = batched_raking.Units(nobody, nobody, np.ones(3), np.ones(3), np.zeros((3, 2)), np.zeros(3))
    step = entropic_em.em_step(given, np.log(np.full((2, 2), 0.5)), np.array([1.0, 2.0, 1e-6]), 0.0)
    assert step[1] == 0.0
    assert np.array_equal(raking.rake(nobody, nobody, np.log(np.full((2, 2), 0.5))), np.full((3, 2, 2), 0.5))
