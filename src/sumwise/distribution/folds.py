"""Folds of bags that lie apart on a map: neighbouring regions are not independent."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError

__all__ = ["spatial_folds"]


def spatial_folds(places: Any, n_folds: int = 5, buffer: float = 0.0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Cut a map into blocks of about equally many bags; each block is predicted from the others.

    Parameters
    ----------
    places : array of shape (n_bags, n_coordinates)
        Where each bag lies.
    n_folds : int, default 5
    buffer : float, default 0.0
        Bags nearer than this to a block are left out when it is predicted.

    Returns
    -------
    list of (train, test) index arrays
        As scikit-learn's ``cv=`` takes them.

    Notes
    -----
    The map is halved across its longer side, then each half, until there are `n_folds` blocks. Random folds put a
    region's neighbours into training, and flatter every method that knows where it is.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution import spatial_folds
    >>> for train, test in spatial_folds(np.array([[0.0], [1.0], [9.0], [8.0]]), n_folds=2):
    ...     print(train, test)
    [2 3] [0 1]
    [0 1] [2 3]
    """
    where = checks.finite(places, "places", ndim=2)
    checks.at_least(n_folds, "n_folds", 2)
    checks.at_least(buffer, "buffer", 0, whole_number=False)
    if n_folds > len(where):
        raise DataError(f"There are {len(where)} bags for {n_folds} folds.", hint="give fewer folds.")
    blocks = _halved(where, np.arange(len(where)), n_folds)
    folds = []
    for test in blocks:
        train = np.setdiff1d(np.arange(len(where)), test)
        if buffer:
            train = train[_distance(where[train], where[test]) >= buffer]
        if not len(train):
            raise DataError(f"No bag is farther than {buffer:g} from a block.", hint="give a smaller buffer.")
        folds.append((train, np.sort(test)))
    return folds


def _halved(where: np.ndarray, chosen: np.ndarray, n: int) -> list[np.ndarray]:
    if n == 1:
        return [chosen]
    axis = int(np.argmax(np.ptp(where[chosen], axis=0)))
    order = chosen[np.argsort(where[chosen, axis], kind="stable")]
    left = n // 2
    cut = round(len(order) * left / n)
    return _halved(where, order[:cut], left) + _halved(where, order[cut:], n - left)


def _distance(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    from scipy.spatial import KDTree

    return np.asarray(KDTree(others).query(some)[0])
