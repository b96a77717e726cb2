"""Samples in bags: clouds, molecules, images."""

import numpy as np
import pandas as pd

from messages import raises
from sumwise.datasets.samples import _labelled
from sumwise.errors import DataError


def test_modelnet10_has_clouds_of_1024_points(load):
    data = load("modelnet10")
    assert len(data.bags) == len(data.y) == 3991
    assert len(data.test_bags) == len(data.test_y) == 908
    assert (data.bags.sizes == 1024).all()
    assert data.bags.values.dtype == np.float32
    assert np.isfinite(data.bags.values).all()
    assert len(data.classes) == 10
    assert data.bags.ids[0].startswith(data.classes[data.y[0]])


def test_musk1_leaves_out_the_line_that_breaks_off(load):
    bags, labels = load("musk1")
    assert len(bags) == 92
    assert bags.values.shape == (470, 166)
    assert labels.sum() == 47


def test_elephant_has_200_bags(load):
    bags, labels = load("elephant")
    assert len(bags) == 200
    assert bags.values.shape == (1391, 230)
    assert labels.sum() == 100


def test_a_bag_with_two_labels_is_refused():
    with raises(DataError, "some-bag-two"):
        _labelled(pd.DataFrame([[1, 1, 0.5], [0, 1, 0.5]]))
