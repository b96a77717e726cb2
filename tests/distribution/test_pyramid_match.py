import numpy as np
import pytest

from messages import raises
from sumwise import Bags
from sumwise.distribution import PyramidMatchKernel
from sumwise.errors import DataError


def slow(x, y, low, high, levels, decay):
    total, before = 0.0, 0.0
    for level in range(levels):
        edges = np.linspace(low, high, 2 ** (levels - 1 - level) + 1)
        p, q = (np.histogram(v, edges)[0] / len(v) for v in (x, y))
        now = np.minimum(p, q).sum()
        total, before = total + decay**level * (now - before), now
    return total


def test_matches_are_those_of_nested_histograms():
    rng = np.random.default_rng(0)
    parts = [rng.uniform(0, 1, (n, 2)) for n in (10, 20, 15)]
    bags = Bags.from_arrays(parts)
    kernel = PyramidMatchKernel(5, 0.4).fit(bags)
    gram = kernel.gram(bags)
    ends = np.vstack(parts).min(axis=0), np.vstack(parts).max(axis=0)
    for i in range(3):
        for j in range(3):
            columns = [slow(parts[i][:, c], parts[j][:, c], ends[0][c], ends[1][c], 5, 0.4) for c in range(2)]
            assert gram[i, j] == pytest.approx(np.mean(columns))


def test_counts_of_large_bags_match_more():
    bags = Bags.from_arrays([[0.0, 1.0], [0.0, 0.0, 1.0, 1.0]])
    counted = PyramidMatchKernel(2, normalise=False).fit(bags).gram(bags)
    assert np.allclose(counted, [[2, 2], [2, 4]])


def test_cells_in_the_units_of_the_data_have_side_one():
    bags = Bags.from_arrays([[0.2, 2.6], [0.9, 5.1], [0.1, 0.3]])
    kernel = PyramidMatchKernel(scale="data", normalise=False).fit(bags)
    assert kernel.levels_ == 4  # cells of side 1, 2, 4, 8
    assert np.allclose(kernel.gram(bags)[0], [2, 1 + 1 / 8, 1 + 1 / 4])


def test_values_outside_the_training_range_go_to_the_end_cells():
    bags = Bags.from_arrays([[0.0, 1.0], [0.2, 0.7]])
    kernel = PyramidMatchKernel(3).fit(bags)
    assert kernel.gram(Bags.from_arrays([[5.0]]), Bags.from_arrays([[1.0]]))[0, 0] == 1.0


def test_bad_settings_are_refused():
    bags = Bags.from_arrays([[0.0, 1.0], [0.2, 0.7]])
    with raises(DataError, "must-least", "levels", 0):
        PyramidMatchKernel(0).fit(bags)
    with raises(DataError, "is-takes", "scale", "thesis"):
        PyramidMatchKernel(scale="thesis").fit(bags)
    with raises(DataError, "must-lie-between", "decay"):
        PyramidMatchKernel(decay=1.0).fit(bags)


def test_values_on_the_edge_of_a_cell_stay_there_in_other_units():
    rows = np.arange(17.0)[:, None]  # sixteenths of the range: edges of cells
    bags = Bags.from_arrays([rows[:9], rows[5:], rows[::4]])
    gram = PyramidMatchKernel().fit(bags).gram(bags)
    for factor, shift in ((1.8, 32.0), (1e-6, 0.1), (1e6, 5.0)):
        other = bags.with_values(bags.values * factor + shift)
        assert np.array_equal(PyramidMatchKernel().fit(other).gram(other), gram)


def test_cells_of_side_one_that_no_memory_holds_are_refused():
    bags = Bags.from_arrays([[0.0, 1e12], [1.0, 2.0]])
    with raises(DataError, "needs-memory-free-fewer-levels", "PyramidMatchKernel"):
        PyramidMatchKernel(scale="data").fit(bags).gram(bags)
