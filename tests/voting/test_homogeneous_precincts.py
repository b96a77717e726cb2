"""Homogeneous-precinct analysis."""

import numpy as np
import pytest

from sumwise import Margins
from sumwise.voting import homogeneous_units


def test_homogeneous_units_are_those_of_one_group():
    rows = [[4900, 100], [50, 450], [300, 200]]
    table = homogeneous_units(Margins(rows, [[50, 4950], [200, 300], [250, 250]]), 0.95)
    assert table["units"].tolist() == [1, 1, 0, 0]
    assert table["share"][0] == pytest.approx(0.01)
    assert np.isnan(table["share"][2])
