"""The earth mover's distance between signatures of different mass, with partial matching."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import eye, kron, vstack
from scipy.spatial.distance import cdist

from sumwise import checks
from sumwise.errors import DataError


def earth_movers_distance(x: Any, mass: Any, y: Any, other: Any) -> float:
    """Return the mean cost of moving the smaller of two signatures into the larger (Rubner et al. 2000).

    Masses are not normalised: all of the smaller total is moved, the rest of the larger stays (partial matching). Of
    signatures with the same total it is the 1-Wasserstein distance; else it can be 0 for different distributions, which
    is why `WassersteinKernel` normalises.

    Parameters
    ----------
    x, y : arrays of shape (m,), (n,) or (m, d), (n, d)
        Where the masses lie.
    mass, other : arrays of shape (m,), (n,)

    Examples
    --------
    >>> from sumwise.distribution import earth_movers_distance
    >>> earth_movers_distance([1, 2, 3], [1, 2, 1], [1, 2, 3], [1, 1, 1])
    0.0
    >>> round(earth_movers_distance([1, 2, 3], [1 / 4, 1 / 2, 1 / 4], [1, 2, 3], [1 / 3, 1 / 3, 1 / 3]), 6)
    0.166667
    """
    (a, p), (b, q) = _signature(x, mass, "x"), _signature(y, other, "y")
    if a.shape[1] != b.shape[1]:
        raise DataError(f"x has {a.shape[1]} columns, y has {b.shape[1]}.")
    total = min(p.sum(), q.sum())
    limits = vstack([kron(eye(len(p)), np.ones((1, len(q)))), kron(np.ones((1, len(p))), eye(len(q)))])
    found = linprog(
        cdist(a, b).ravel(),
        A_ub=limits,
        b_ub=np.concatenate([p, q]),
        A_eq=np.ones((1, len(p) * len(q))),
        b_eq=[total],
        method="highs",
    )
    if found.status != 0:
        raise DataError(f"The transport problem was not solved: {found.message}")
    return max(0.0, float(found.fun)) / float(total)


def _signature(x: Any, mass: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    places = checks.finite(x, name)
    places = places[:, None] if places.ndim == 1 else places
    masses = checks.counts(mass, f"The mass of {name}", ndim=1)
    checks.same_length(**{name: places, "mass": masses})
    if not masses.sum() > 0:
        raise DataError(f"The mass of {name} is zero everywhere.")
    return places, masses
