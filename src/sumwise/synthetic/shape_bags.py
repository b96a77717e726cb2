"""Point clouds on surfaces of several kinds: bags with a class that no single moment identifies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.synthetic.draws import float_dtype
from sumwise.synthetic.record import Record


@dataclass(frozen=True, eq=False, repr=False)
class Shapes(Record):
    """Point clouds and the surface that each was drawn from; made by `shapes`.

    Attributes
    ----------
    bags : Bags
        Columns ``x``, ``y``, ``z``; each cloud has mean zero and mean squared radius one.
    labels : (n_bags,) int array
        Number of the class of each bag in `classes`.
    classes : tuple of str
    stretches : (n_bags, 3) array
        By how much each axis of the unit surface was stretched.
    angles : (n_bags,) array
        Rotation about the vertical axis, in radians.
    noise : float >= 0
        Standard deviation of what was added to each coordinate, in units of the unit surface.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> data = synthetic.shapes(20, 100, random_state=0)
    >>> data.bags.features, data.classes[data.labels[0]] in data.classes
    (('x', 'y', 'z'), True)
    """

    bags: Bags
    labels: np.ndarray
    classes: tuple[str, ...]
    stretches: np.ndarray
    angles: np.ndarray
    noise: float


def shapes(
    n_bags: int = 1000,
    bag_size: int = 1000,
    *,
    classes: Sequence[str] | None = None,
    noise: float = 0.03,
    stretch: float = 0.3,
    dtype: Any = np.float32,
    random_state: Any = None,
) -> Shapes:
    """Draw point clouds on the surfaces of spheres, boxes, cylinders and others, to be classified.

    Parameters
    ----------
    n_bags : int >= 1, default 1000
        Classes are equally common, as nearly as that number allows, and in random order.
    bag_size : int >= 2, default 1000
        Points per cloud.
    classes : sequence of str, optional
        Some of `SHAPES`; by default all eight.
    noise : float >= 0, default 0.03
        Standard deviation of normal noise on each coordinate, before the cloud is scaled.
    stretch : float in [0, 1), default 0.3
        Each axis is stretched by a factor from Uniform(1 - stretch, 1 + stretch).
    dtype : float32 or float64, default float32
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    Shapes

    Notes
    -----
    Points are uniform on the unit surface, which is then stretched, turned about its vertical axis by an angle
    from Uniform(0, 2 pi), disturbed, centred and scaled. Without noise the classes don't overlap: the best possible
    error falls to zero as clouds grow. Boxes and cylinders, cones and pyramids differ in few points.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> data = synthetic.shapes(6, 50, classes=["sphere", "torus"], random_state=0)
    >>> sorted(data.labels.tolist())
    [0, 0, 0, 1, 1, 1]
    """
    rng = checks.generator(random_state)
    checks.at_least(n_bags, "n_bags", 1)
    checks.at_least(bag_size, "bag_size", 2)
    noise = float(checks.at_least(noise, "noise", 0, whole_number=False))
    if not 0 <= checks.at_least(stretch, "stretch", 0, whole_number=False) < 1:
        raise DataError(f"stretch is {stretch!r}.", hint="give a share below 1.")
    names = tuple(SHAPES) if classes is None else checks.unique(checks.listing(classes, "classes"), "classes")
    for name in names:
        checks.known(name, SHAPES, "shape")
    if not names:
        raise DataError("There are no classes.", hint=f"give some of {', '.join(SHAPES)}.")
    labels = rng.permutation(np.arange(n_bags) % len(names))
    stretches = rng.uniform(1 - stretch, 1 + stretch, (n_bags, 3))
    angles = rng.uniform(0, 2 * np.pi, n_bags)
    values = np.empty((n_bags, bag_size, 3), dtype=float_dtype(dtype))
    for i in range(n_bags):
        cloud = SHAPES[names[labels[i]]](bag_size, rng) * stretches[i]
        cos, sin = np.cos(angles[i]), np.sin(angles[i])
        cloud = cloud @ np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]])
        cloud += noise * rng.standard_normal(cloud.shape)
        cloud -= cloud.mean(axis=0)
        values[i] = cloud / np.sqrt((cloud**2).sum(axis=1).mean())
    offsets = np.arange(n_bags + 1) * bag_size
    return Shapes(
        Bags(values.reshape(-1, 3), offsets, features=("x", "y", "z")), labels, names, stretches, angles, noise
    )


def _sphere(n: int, rng: np.random.Generator) -> np.ndarray:
    x = rng.standard_normal((n, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _box(n: int, rng: np.random.Generator) -> np.ndarray:
    x = rng.uniform(-1, 1, (n, 3))
    x[np.arange(n), rng.integers(0, 3, n)] = rng.choice([-1.0, 1.0], n)
    return x


def _circle(n: int, rng: np.random.Generator) -> np.ndarray:
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _disc(n: int, rng: np.random.Generator, height: Any) -> np.ndarray:
    return np.column_stack([_circle(n, rng) * np.sqrt(rng.random((n, 1))), np.broadcast_to(height, n)])


def _cylinder(n: int, rng: np.random.Generator) -> np.ndarray:
    side = np.column_stack([_circle(n, rng), rng.uniform(-1, 1, n)])
    ends = _disc(n, rng, rng.choice([-1.0, 1.0], n))
    return np.where(rng.random((n, 1)) < 2 / 3, side, ends)  # areas 4 pi and 2 pi


def _cone(n: int, rng: np.random.Generator) -> np.ndarray:
    down = np.sqrt(rng.random((n, 1)))  # distance from the tip, as a share
    side = np.hstack([_circle(n, rng) * down, 1 - 2 * down])
    lateral = np.sqrt(5.0)  # slant height of radius 1 and height 2, over the base's area of 1 (times pi)
    return np.where(rng.random((n, 1)) < lateral / (lateral + 1), side, _disc(n, rng, -1.0))


def _torus(n: int, rng: np.random.Generator) -> np.ndarray:
    tube = 0.4
    around = np.empty(0)
    while len(around) < n:  # the outer side has more area
        angle = rng.uniform(0, 2 * np.pi, 2 * n)
        accepted = rng.random(2 * n) < (1 + tube * np.cos(angle)) / (1 + tube)
        around = np.concatenate([around, angle[accepted]])
    around = around[:n, None]
    return np.hstack([_circle(n, rng) * (1 + tube * np.cos(around)), tube * np.sin(around)])


def _triangles(corners: np.ndarray, faces: Sequence[Sequence[int]]) -> Callable[[int, np.random.Generator], np.ndarray]:
    """Return a sampler of points uniform on a surface of triangles."""
    a, b, c = (corners[[face[k] for face in faces]] for k in range(3))
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)

    def draw(n: int, rng: np.random.Generator) -> np.ndarray:
        which = rng.choice(len(areas), n, p=areas / areas.sum())
        u, v = rng.random((2, n, 1))
        over = u + v > 1  # the other half of the parallelogram folds back
        u, v = np.where(over, 1 - u, u), np.where(over, 1 - v, v)
        return a[which] + u * (b - a)[which] + v * (c - a)[which]

    return draw


def _capsule(n: int, rng: np.random.Generator) -> np.ndarray:
    x = _sphere(n, rng)
    x[:, 2] += np.sign(x[:, 2])
    side = np.column_stack([_circle(n, rng), rng.uniform(-1, 1, n)])
    return np.where(rng.random((n, 1)) < 0.5, x, side)  # areas 4 pi and 4 pi


_SQUARE = [[1.0, 1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, -1.0], [1.0, -1.0, -1.0], [0.0, 0.0, 1.0]]
_TETRA = [[1.0, 0.0, -0.5], [-0.5, 3**0.5 / 2, -0.5], [-0.5, -(3**0.5) / 2, -0.5], [0.0, 0.0, 1.0]]

SHAPES: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "sphere": _sphere,
    "box": _box,
    "cylinder": _cylinder,
    "cone": _cone,
    "torus": _torus,
    "pyramid": _triangles(np.array(_SQUARE), [(0, 1, 2), (0, 2, 3), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)]),
    "tetrahedron": _triangles(np.array(_TETRA), [(0, 1, 2), (0, 1, 3), (1, 2, 3), (2, 0, 3)]),
    "capsule": _capsule,
}
"""The surfaces by name: each a function of a number of points and a generator."""
