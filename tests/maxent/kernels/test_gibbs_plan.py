"""The plan of a sweep: every clique is read once per attribute that it holds."""

import numpy as np

from sumwise.maxent.kernels.gibbs_plan import plan
from sumwise.maxent.kernels.loglinear import layout


def test_every_factor_reads_its_clique_with_the_drawn_attribute_last():
    lay = layout((2, 3, 4), [(0, 1), (0, 1, 2)])
    made = plan(lay)
    assert made.visits.tolist() == [[0, -1], [1, -1], [2, -1]]
    assert len(made.gather) == (12 + 8 + 6) * 4  # rows of 2, 3 and 4 levels, each in a block of four
    begin = int(made.factors.base[0])
    first = made.gather[begin : begin + 48].reshape(3, 4, 4)
    np.testing.assert_array_equal(first[..., :2], np.arange(24).reshape(2, 3, 4).transpose(1, 2, 0))
    assert np.all(first[..., 2:] == lay.n_cells)  # padding has a cell of its own, of weight 0


def test_a_block_takes_the_place_of_its_two_attributes():
    lay = layout((2, 3, 4), [(0, 1), (1, 2), (0, 2)])
    made = plan(lay, ((0, 2),))
    assert made.visits.tolist() == [[0, 2], [1, -1]]
    sizes = [end - begin for begin, end in made.parts[0].tolist()]
    assert sizes == [1, 1, 1]  # a factor on each alone, and one on both
