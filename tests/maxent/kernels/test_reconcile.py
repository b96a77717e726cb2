"""Tables that agree: against least squares over the joint table, and where tables are exact or alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.maxent.kernels.reconcile import effect, reconcile, subsets

SIZES = (3, 2, 4)
SETS = [(0, 1), (0, 2), (1, 2), (0, 1, 2), (1,)]


def by_least_squares(tables, sizes):
    """Sums of the joint table whose sums are nearest to the tables, in standard deviations."""
    n = int(np.prod(sizes))
    cells = np.arange(n).reshape(sizes)
    rows, values = [], []
    for axes, table, variance in tables:
        onto = design(cells, axes, sizes) / np.sqrt(variance)
        rows.append(onto)
        values.append(table.ravel() / np.sqrt(variance))
    joint = np.linalg.lstsq(np.vstack(rows), np.concatenate(values), rcond=None)[0]
    return lambda axes: (design(cells, axes, sizes) @ joint).reshape([sizes[a] for a in axes])


def design(cells, axes, sizes):
    index = np.indices(sizes).reshape(len(sizes), -1)
    at = np.ravel_multi_index(tuple(index[list(axes)]), [sizes[a] for a in axes]) if axes else np.zeros(cells.size, int)
    out = np.zeros((int(np.prod([sizes[a] for a in axes])), cells.size))
    out[at, np.arange(cells.size)] = 1.0
    return out


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.sampled_from(SETS), min_size=1, max_size=5))
def test_agrees_with_least_squares_over_the_joint_table(seed, axes):
    rng = np.random.default_rng(seed)
    tables = [(a, rng.normal(50, 20, [SIZES[i] for i in a]), float(rng.uniform(0.5, 9))) for a in axes]
    found, expected = reconcile(tables), by_least_squares(tables, SIZES)
    for s, value in found.values.items():
        np.testing.assert_allclose(value, expected(s), atol=1e-7)


@pytest.mark.check
def test_variances_are_those_of_the_estimates():
    rng = np.random.default_rng(0)
    truth = rng.integers(20, 60, SIZES).astype(float)
    axes = [(0, 1), (0, 2), (1, 2)]
    draws = []
    for _ in range(3000):
        sums = [truth.sum(axis=tuple({0, 1, 2} - set(a))) for a in axes]
        draws.append(reconcile([(a, s + 2.0 * rng.normal(size=s.shape), 4.0) for a, s in zip(axes, sums)]))
    seen = np.var([effect(d.values[(0,)]) for d in draws], axis=0).mean() * 3 / 2  # one effect is lost to the mean
    assert seen == pytest.approx(draws[0].variances[(0,)], rel=0.1)
    assert draws[0].variances[(0,)] == pytest.approx(1 / (1 / (4 * 2) + 1 / (4 * 4)))


def test_exact_tables_and_a_known_total_are_kept():
    exact, noisy = np.array([[3.0, 4.0], [5.0, 6.0]]), np.array([[9.0, 4.0], [5.0, 1.0]])
    found = reconcile([((0, 1), exact, 0.0), ((0, 1), noisy, 4.0)])
    np.testing.assert_allclose(found.values[0, 1], exact)
    assert found.variances[0, 1] == 0.0
    total = reconcile([((0, 1), noisy, 4.0)], total=23.0)
    assert total.values[()] == 23.0
    assert total.values[0, 1].sum() == pytest.approx(23.0)


def test_subsets_are_by_size():
    assert list(subsets((1, 4))) == [(), (1,), (4,), (1, 4)]
