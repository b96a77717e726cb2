"""Widths of kernels on rows: the median distance, from a sample in which every bag counts the same."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.spatial.distance import pdist

from sumwise.bags import Bags
from sumwise.distribution.columns import Columns
from sumwise.errors import DataError, ModelWarning

N_SAMPLED = 1500  # rows, or bags, between which the median distance is taken: 1.1 million pairs


def sample_rows(bags: Bags, n: int, *, rng: np.random.Generator) -> np.ndarray:
    """Draw the positions of `n` rows: a bag at random, then one of its rows by weight.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.distribution.bandwidth import sample_rows
    >>> sample_rows(Bags.from_arrays([[1.0], [2.0]]), 3, rng=np.random.default_rng(0)).shape
    (3,)
    """
    return _sample(bags, n, rng)[0]


def _sample(bags: Bags, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Positions of rows, and which of the individuals that a row stands for was drawn."""
    drawn = rng.integers(len(bags), size=n)
    place = rng.random(n)
    if not bags.weighted:
        return bags.offsets[drawn] + np.floor(place * bags.sizes[drawn]).astype(np.int64), np.zeros(n)
    edges = np.concatenate([[0.0], np.cumsum(bags.weights)])
    low, high = edges[bags.offsets[drawn]], edges[bags.offsets[drawn + 1]]
    place = low + place * (high - low)
    rows = np.searchsorted(edges, place, side="right") - 1
    rows = np.clip(rows, bags.offsets[drawn], bags.offsets[drawn + 1] - 1)
    return rows, np.floor(place - edges[rows])


def median_distance(bags: Bags, columns: Columns, *, rng: np.random.Generator) -> float:
    """Median distance between rows in scaled columns of numbers (the median heuristic).

    Where more than half of the rows are the same it would be 0; then the median of the distances above 0 is taken,
    with a warning.
    """
    return _median(pdist(_sampled_numbers(bags, columns, rng)), "rows")


def median_distance_per_column(bags: Bags, columns: Columns, *, rng: np.random.Generator) -> np.ndarray:
    """Median distance between rows in each scaled column of numbers, (d,)."""
    rows = _sampled_numbers(bags, columns, rng)
    names = [columns.features[j] for j in columns.numeric]
    return np.array([_median(pdist(rows[:, [j]]), f"values of column {name!r}") for j, name in enumerate(names)])


def _sampled_numbers(bags: Bags, columns: Columns, rng: np.random.Generator) -> np.ndarray:
    pairs = np.column_stack(_sample(bags, N_SAMPLED, rng))
    drawn = np.unique(pairs, axis=0)[:, 0].astype(np.int64)  # an individual drawn twice is no pair of equal ones
    return columns.numbers(bags.values[drawn])


def _median(distances: np.ndarray, what: str) -> float:
    middle = float(np.median(distances))
    if middle > 0:
        return middle
    above = distances[distances > 0]
    if not len(above):
        raise DataError(f"Randomly drawn {what} are all the same: bags do not differ.")
    middle = float(np.median(above))
    warnings.warn(
        f"The median distance between {what} is 0 ({1 - len(above) / len(distances):.0%} of pairs are equal); the "
        f"median of the others, {middle:.3g}, is taken.",
        ModelWarning,
        stacklevel=6,
    )
    return middle
