import copy
import pickle

import numpy as np
import pytest

from messages import raises
from sumwise import Table
from sumwise.errors import DataError
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Poisson

COUNTS = np.arange(6.0).reshape(2, 3)


def test_a_single_attribute_may_be_a_name():
    table = Table("a", [1, 2])
    assert table.attributes == ("a",)
    assert table.total == 3
    assert table.n_classes is None
    assert isinstance(table.noise, Exact)


def test_label_sums_of_one_label_or_of_classes():
    assert Table(("a", "b"), COUNTS, COUNTS / 2).n_classes == 2
    classes = np.stack([COUNTS / 2, COUNTS / 4, COUNTS / 4], axis=-1)
    assert Table(("a", "b"), COUNTS, classes).n_classes == 3


def test_nan_is_unobserved():
    table = Table("a", [1, np.nan])
    assert table.total == 1
    assert table.describe()["unobserved cells"] == 1


def test_withheld_cells_carry_bounds():
    table = Table("a", [7, np.nan], bounds=([0, 1], [9, 4]))
    assert table.bounds[0].tolist() == [7, 1]
    assert table.bounds[1].tolist() == [7, 4]
    for bounds in (([0, 5], [9, 4]), ([0, -1], [9, 4]), ([0, np.nan], [0, 4]), ([0], [1]), 3):
        with raises(DataError, "bounds-must-pair|bounds-shapes-counts|bounds-withheld-cells"):
            Table("a", [7, np.nan], bounds=bounds)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((("a", "b"), [1, 2]), ("dimensions-shape-needs", 1)),
        ((("a", "a"), COUNTS), ("holds-duplicates-first",)),
        (((), 1.0), ("attributes-name-sequence",)),
        ((3, [1]), ("attributes-name-sequence",)),
        (("a", []), ("counts-shape-no",)),
        (("a", [1, -1]), ("negative-counts-start",)),
        (("a", [1, np.inf]), ("use-nan-cell",)),
        (("a", ["x"]), ("dtype-must-hold",)),
        (("a", [2**60]), ("holds-whole-numbers",)),
        (("a", [1, 2], [1, 3]), ("cells-first-correct", 1, 2, 3)),
        (("a", [1, 2], [-1, 1]), ("negative-counts-start",)),
        (("a", [1, 2], [[1, 0], [1, 0]]), ("cells-first-correct",)),
        (("a", [1, 2], [1, 1, 1]), ("noise-shape-table|shape-counts-label", "(3,)")),
        (("a", [1, 2], [[1], [2]]), ("classes-must-least", 1)),
        (("a", [1, 2], None, Gaussian([1.0, 2.0, 3.0])), ("noise-shape-table|shape-counts-label", "(3,)")),
        (("a", [1, 2], None, "gaussian"), ("noise-no-observed", "log_density")),
        (("a", [1, -2], None, Poisson(0.5)), ("negative-counts-start",)),
    ],
)
def test_bad_input_is_refused(arguments, words):
    with raises(DataError, *words):
        Table(*arguments)


@pytest.mark.parametrize("noise", [Gaussian(2.0), Laplace(1.0), Geometric(1.0)])
def test_noisy_counts_may_be_negative_and_below_their_label_sums(noise):
    assert Table("a", [-1.0, 2.0], [3.0, -2.0], noise).total == 1


def test_a_user_s_own_noise_is_taken():
    class Mine:
        def log_density(self, observed, true):
            return -np.abs(observed - true)

        def gradient(self, observed, true):
            return np.sign(observed - true)

    assert Table("a", [1, 2], noise=Mine()).total == 3


def test_transpose_turns_everything():
    table = Table(("a", "b"), COUNTS, COUNTS / 2, Gaussian(COUNTS + 1))
    turned = table.transpose(("b", "a"))
    assert np.array_equal(turned.counts, COUNTS.T)
    assert np.array_equal(turned.label_sums, COUNTS.T / 2)
    assert np.array_equal(turned.noise.scale, COUNTS.T + 1)
    assert turned.transpose(("a", "b")) == table
    with raises(DataError, "table-over-cant"):
        table.transpose(("a", "c"))


def test_project_sums_out_with_the_noise_of_the_sum():
    assert Table(("a", "b"), COUNTS).project("b").counts.tolist() == [3, 5, 7]
    assert Table(("a", "b"), COUNTS).project(("b", "a")).counts.tolist() == COUNTS.T.tolist()
    assert Table(("a", "b"), COUNTS, noise=Gaussian(2.0)).project("a").noise == Gaussian(np.sqrt(12.0))
    per_cell = Table(("a", "b"), COUNTS, noise=Gaussian(COUNTS + 1)).project("a").noise
    assert per_cell.scale == pytest.approx(np.sqrt([14.0, 77.0]))
    assert Table(("a", "b"), COUNTS, noise=Poisson(0.5)).project("a").noise == Poisson(0.5)
    for noise in (Laplace(1.0), Geometric(1.0), Poisson(COUNTS + 1)):
        with raises(DataError, "sums-cells-no"):
            Table(("a", "b"), COUNTS, noise=noise).project("a")


def test_frozen_equal_copied():
    table = Table(("a", "b"), COUNTS, COUNTS / 2, Laplace(1.0), None)
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0, 0] = 1
    assert copy.deepcopy(table) == table == pickle.loads(pickle.dumps(table))
    assert table != Table(("a", "b"), COUNTS)
    assert table != 1
    assert Table("a", [np.nan]) == Table("a", [np.nan])
    assert "Laplace" in repr(table)
    assert "&lt;x&gt;" in Table("<x>", [1])._repr_html_()


def test_copies_are_as_frozen_as_the_original():
    table = Table("a", [np.nan, 2.5], [0.5, 1], Gaussian([1.0, 2.0]), ([1, 0], [4, 9]))
    for twin in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert twin == table
        for array in (twin.counts, twin.label_sums, twin.noise.scale, *twin.bounds):
            assert not array.flags.writeable


def test_a_class_is_no_noise():
    with raises(DataError, "noise-no-observed", "class"):
        Table("a", [-1.0], noise=Exact)


def test_counts_that_have_no_sum_are_refused():
    with raises(DataError, "too-large-summed"):
        Table("a", [1e308, 1e308])
