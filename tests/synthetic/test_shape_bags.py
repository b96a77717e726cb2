import numpy as np
import pytest

from messages import raises
from sumwise import synthetic
from sumwise.errors import DataError
from sumwise.synthetic.shape_bags import SHAPES

N = 200_000
# What every point of the unit surface satisfies: (distance from the surface is 0).
ON = {
    "sphere": lambda p: np.linalg.norm(p, axis=1) - 1,
    "box": lambda p: np.abs(p).max(axis=1) - 1,
    "cylinder": lambda p: np.maximum(np.hypot(p[:, 0], p[:, 1]), np.abs(p[:, 2])) - 1,
    "cone": lambda p: np.minimum(np.abs(np.hypot(p[:, 0], p[:, 1]) - (1 - p[:, 2]) / 2), np.abs(p[:, 2] + 1)),
    "torus": lambda p: np.hypot(np.hypot(p[:, 0], p[:, 1]) - 1, p[:, 2]) - 0.4,
    "pyramid": lambda p: np.minimum(np.abs(np.abs(p[:, :2]).max(axis=1) - (1 - p[:, 2]) / 2), np.abs(p[:, 2] + 1)),
    "capsule": lambda p: np.hypot(np.hypot(p[:, 0], p[:, 1]), np.maximum(np.abs(p[:, 2]) - 1, 0)) - 1,
}
# E[z^2] of a point uniform on the surface, from integrals over its parts.
TAPER = (1 - 4 * 2 / 3 + 4 / 2) * 1.0  # of (1 - 2 s)^2 with density 2 s
SECOND = {
    "sphere": 1 / 3,
    "box": 5 / 9,
    "cylinder": 2 / 3 / 3 + 1 / 3,
    "cone": (5**0.5 * TAPER + 1) / (5**0.5 + 1),
    "torus": 0.4**2 / 2,
    "pyramid": (5**0.5 * TAPER + 1) / (5**0.5 + 1),
    "capsule": (1 / 3 + (1 / 3 + 1 + 1)) / 2,
}


@pytest.mark.parametrize("name", ON)
def test_points_lie_on_the_surface_and_are_uniform_on_it(name):
    points = SHAPES[name](N, np.random.default_rng(0))
    assert np.abs(ON[name](points)).max() < 1e-12
    second = points[:, 2] ** 2
    assert abs(second.mean() - SECOND[name]) < 5 * second.std() / N**0.5
    assert np.abs(points[:, :2].mean(axis=0)).max() < 0.01


def test_tetrahedron_has_four_flat_faces_of_equal_use():
    points = SHAPES["tetrahedron"](N, np.random.default_rng(0))
    base = np.isclose(points[:, 2], -0.5)
    side = np.linalg.norm(np.cross([-1.5, 3**0.5 / 2, 0], [-1.0, 0, 1.5])) / 2  # three of them
    area = 3 * 3**0.5 / 4
    assert abs(base.mean() - area / (area + 3 * side)) < 0.01


def test_clouds_are_centred_scaled_and_turned():
    data = synthetic.shapes(16, 500, random_state=0)
    for cloud in data.bags:
        np.testing.assert_allclose(cloud.mean(axis=0), 0, atol=1e-5)
        np.testing.assert_allclose((cloud**2).sum(axis=1).mean(), 1, rtol=1e-5)
    assert data.bags.values.dtype == np.float32
    assert np.bincount(data.labels).tolist() == [2] * 8
    assert np.ptp(data.angles) > 1
    assert data.stretches.min() >= 0.7
    assert data.stretches.max() <= 1.3


def test_boxes_and_spheres_are_told_apart_by_flatness():
    data = synthetic.shapes(
        40, 400, classes=["sphere", "box"], noise=0.0, stretch=0.0, dtype=np.float64, random_state=1
    )
    spread = np.array([np.linalg.norm(cloud, axis=1).std() for cloud in data.bags])
    assert ((spread > 0.08) == (data.labels == 1)).all()


def test_same_seed_same_clouds():
    a, b, c = (synthetic.shapes(5, 10, random_state=s) for s in (1, 1, 2))
    assert np.array_equal(a.bags.values, b.bags.values)
    assert not np.array_equal(a.bags.values, c.bags.values)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_bags": 0}, ("must-least", "n_bags")),
        ({"bag_size": 1}, ("must-least", "bag_size")),
        ({"noise": -1}, ("must-least", "noise")),
        ({"stretch": 1.0}, ("stretch-share-below", "1.0")),
        ({"classes": ["teapot"]}, ("there-is-no", "teapot")),
        ({"classes": []}, ("no-classes-some",)),
        ({"classes": ["box", "box"]}, ("holds-duplicates-first", "classes")),
        ({"dtype": int}, ("dtype-float-float",)),
    ],
)
def test_bad_parameters_are_refused(bad, message):
    with raises((DataError, KeyError), *message):
        synthetic.shapes(**{"n_bags": 4, "bag_size": 10, **bad})
