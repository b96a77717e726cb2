"""The method of bounds as an estimator."""

import numpy as np
import pytest

import public_data
from sumwise import Margins
from sumwise.ecological import Bounds


def test_neutral_cells_lie_in_the_bounds_and_add_up():
    rng = np.random.default_rng(0)
    cells = rng.poisson(5, size=(20, 3, 4)).astype(float)
    m = Margins(cells.sum(axis=2), cells.sum(axis=1))
    est = Bounds().fit(m)
    counts = est.cells_ * m.rows[:, :, None]
    np.testing.assert_allclose(counts.sum(axis=1), m.cols)
    present = np.broadcast_to(m.rows[:, :, None] > 0, counts.shape)
    assert (est.cells_ >= est.lower_ - 1e-12)[present].all()
    assert (est.cells_ <= est.upper_ + 1e-12)[present].all()
    low, high = est.interval(0.5)
    truth = cells.sum(axis=0) / cells.sum(axis=(0, 2))[:, None]
    assert (low <= truth).all()
    assert (truth <= high).all()


def test_homogeneous_units_are_known_exactly():
    est = Bounds().fit(Margins([[10, 0], [0, 20]], [[4, 6], [5, 15]]))
    np.testing.assert_allclose(est.lower_bound_, [[0.4, 0.6], [0.25, 0.75]])
    np.testing.assert_allclose(est.upper_bound_, est.lower_bound_)


def test_empty_group_has_bounds_zero_and_one():
    est = Bounds().fit(Margins([[10, 0]], [[4, 6]]))
    np.testing.assert_array_equal(est.lower_bound_[1], 0)
    np.testing.assert_array_equal(est.upper_bound_[1], 1)


@pytest.mark.skipif(not public_data.present(), reason=public_data.REASON)
def test_matproii_has_the_published_aggregate_bounds():
    from sumwise import datasets

    est = Bounds().fit(datasets.matproii().margins)
    np.testing.assert_allclose(est.lower_bound_[:, 0], [0.2125903, 0.7025925], atol=1e-6)
    np.testing.assert_allclose(est.upper_bound_[:, 0], [0.9754242, 0.9200036], atol=1e-6)


def test_intervals_of_units_are_their_bounds_at_any_level():
    margins = Margins([[60, 40], [10, 0]], [[80, 20], [4, 6]])
    est = Bounds().fit(margins)
    for level in (0.5, 0.95):
        low, high = est.unit_interval(margins, level)
        assert np.allclose(low[0], est.lower_[0])
        assert np.allclose(high[0], est.upper_[0])
        assert np.isnan(low[1, 1]).all()
