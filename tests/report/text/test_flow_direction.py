"""Where most individuals go, in a word of the compass."""

import numpy as np
import pytest

from sumwise.report.text.flows import _direction


def frame(*moves, at=(0.0, 45.0), lonlat=True):
    starts = np.tile(at, (len(moves), 1))
    return {"counts": np.full(len(moves), 10.0), "moves": np.array(moves), "starts": starts, "lonlat": lonlat}


@pytest.mark.parametrize(
    ("moves", "words"),
    [
        ([(0, 1), (0.1, 2)], "north"),
        ([(-1, 0)], "west"),
        ([(1.0, np.cos(np.radians(45)))], "north-east"),  # as long in both directions, at 45 degrees of latitude
        ([(0, 1), (0, -1)], ""),
    ],
)
def test_the_mean_move_has_a_direction_if_most_share_it(moves, words):
    assert _direction([frame(*moves)]) == words


def test_coordinates_without_degrees_have_no_north():
    assert _direction([frame((0, 1), lonlat=False)]) == ""
    assert _direction([]) == ""
