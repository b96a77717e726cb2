"""Parts of a model that don't fit together are refused before compiled code reads beyond them."""

import numpy as np
import pytest

from messages import raises
from sumwise.distribution.kernels.fastfood import Fastfood, draw_fastfood, mean_fastfood_features
from sumwise.distribution.kernels.fourier_features import mean_fourier_features
from sumwise.distribution.kernels.mixture import mean_gradients
from sumwise.distribution.kernels.quantiles import line_distances
from sumwise.errors import DataError
from sumwise.inference.kernels.shapes import check_positions, check_shapes

BAGS = np.arange(8.0).reshape(4, 2), np.array([0, 2, 4]), None
TWO = {"columns": np.arange(2), "centre": np.zeros(2)}
MIXTURE = np.full(3, 1 / 3), np.zeros((3, 2)), np.ones((3, 2))


def refuses(call, *arguments, **options):
    with raises(DataError, "models-parts-dont-fit|models-parts-dont-fit-together"):
        call(*arguments, **options)


@pytest.mark.parametrize("positions", [[0, 3], [-1], [0.0], ["a"]])
def test_what_is_no_position_is_refused(positions):
    refuses(check_positions, "columns", np.array(positions), 3)
    check_positions("columns", np.array([0, 2]), 3)
    check_positions("columns", np.zeros(0, dtype=int), 0)


def test_shapes_are_compared_whole():
    check_shapes({"a": (np.zeros((2, 3)), (2, 3))})
    refuses(check_shapes, {"a": (np.zeros((2, 3)), (3, 2))})
    refuses(check_shapes, {"a": (np.zeros(2), (2, 1))})


@pytest.mark.parametrize("part", range(3))
def test_a_mixture_has_one_size(part):
    forged = [a.T if i == part and a.ndim == 2 else a[:2] if i == part else a for i, a in enumerate(MIXTURE)]
    assert mean_gradients(*BAGS, MIXTURE, scale=np.ones(2), **TWO).shape == (2, 3, 5)
    refuses(mean_gradients, *BAGS, tuple(forged), scale=np.ones(2), **TWO)
    refuses(mean_gradients, *BAGS, MIXTURE, scale=np.ones(1), **TWO)
    refuses(mean_gradients, *BAGS, MIXTURE, scale=np.ones(2), columns=np.array([0, 9]), centre=np.zeros(2))


def test_frequencies_have_a_row_for_every_column():
    for shape in ((1, 5), (3, 5), (5,)):
        refuses(mean_fourier_features, *BAGS, np.ones(shape), **TWO)
    refuses(mean_fourier_features, *BAGS, np.ones((2, 5)), columns=np.array([0, 2]), centre=np.zeros(2))
    refuses(mean_fourier_features, *BAGS, np.ones((2, 5)), columns=np.arange(2), centre=np.zeros(1))


@pytest.mark.parametrize("name", ["signs", "shuffle", "gauss", "lengths"])
def test_blocks_are_those_of_their_columns(name):
    drawn = draw_fastfood(2, 6, rng=np.random.default_rng(0))
    whole = {part: getattr(drawn, part) for part in ("signs", "shuffle", "gauss", "lengths")}
    options = {"factor": np.ones(2), **TWO}
    assert mean_fastfood_features(*BAGS, drawn, 6, **options).shape == (2, 1, 2, 6)
    refuses(mean_fastfood_features, *BAGS, Fastfood(**{**whole, name: whole[name][:1]}), 6, **options)
    refuses(mean_fastfood_features, *BAGS, drawn, 8, **options)
    refuses(mean_fastfood_features, *BAGS, Fastfood(**{**whole, "shuffle": whole["shuffle"] + 1}), 6, **options)


def test_quantiles_of_both_sides_have_one_grid():
    refuses(line_distances, np.zeros((2, 1, 4)), np.zeros((3, 1, 2)), 1)
    refuses(line_distances, np.zeros((2, 2, 4)), np.zeros((3, 1, 4)), 1)
