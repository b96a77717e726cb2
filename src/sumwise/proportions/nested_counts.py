"""Counts at several levels at once: precincts, counties, states; nested groups exactly, overlapping ones
approximately."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError


def nest(bags: Bags, counts: Any, levels: Sequence[tuple[Any, Any]]) -> tuple[Bags, np.ndarray]:
    """Combine counts of bags with counts of groups of their rows into one problem for `fit`.

    A group whose parts are all known adds nothing new (but must agree). If some parts are unknown, the rest of the
    group's count becomes a bag of its own, which is exact. A group that cuts through a known bag
    can't be taken apart; it is added whole, its rows then appear twice, and the likelihood is a composite one.

    Parameters
    ----------
    bags : Bags
        The finest level.
    counts : array of shape (n_bags,) or (n_bags, n_classes)
        NaN where a bag's count isn't known.
    levels : sequence of (groups, group_counts)
        From fine to coarse. ``groups`` gives each bag (n_bags,) or each row (n_rows,) the index of its group,
        negative for none; ``group_counts`` are as ``counts``, NaN for unknown.

    Returns
    -------
    bags : Bags
    counts : array

    See Also
    --------
    intervals : Counts known to a range.

    Examples
    --------
    Two precincts of a county are known, two only together:

    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import nest
    >>> precincts = Bags.from_arrays([np.zeros((3, 1))] * 4)
    >>> both, counts = nest(precincts, [1, 2, np.nan, np.nan], [([0, 0, 0, 0], [7])])
    >>> both.sizes, counts
    (array([3, 3, 6]), array([1., 2., 4.]))
    """
    given = checks.finite(counts, "counts", allow_nan=True)
    checks.same_length(bags=bags, counts=given)
    parts, values = [], []
    cover = np.full(bags.n_rows, -1)  # which part a row's label is already counted in
    for b in range(len(bags)):
        if not np.isnan(given[b]).any():
            rows = np.arange(bags.offsets[b], bags.offsets[b + 1])
            cover[rows] = len(parts)
            parts.append(rows)
            values.append(given[b])
    n_cut = 0
    for number, (groups, group_counts) in enumerate(levels):
        of_row, totals = _level(bags, given, groups, group_counts, number)
        for g in np.flatnonzero(~np.isnan(totals.reshape(len(totals), -1)).any(axis=1)):
            n_cut += _add(np.flatnonzero(of_row == g), totals[g], parts, values, cover, f"{g} of level {number}")
    if n_cut:
        warnings.warn(
            f"{n_cut} groups cut through bags with known counts; they were added whole, as a composite likelihood.",
            UserWarning,
            stacklevel=2,
        )
    if not parts:
        raise DataError("No bag and no group has a known count.")
    offsets = np.concatenate([[0], np.cumsum([len(p) for p in parts])])
    return bags.regrouped(np.concatenate(parts), offsets), np.array(values)


def _level(bags, counts, groups, group_counts, number):
    """Groups per row, and their counts, checked."""
    index = np.asarray(groups)
    if index.dtype.kind not in "iu" or index.shape not in ((len(bags),), (bags.n_rows,)):
        raise DataError(
            f"The groups of level {number} have dtype {index.dtype} and shape {index.shape}.",
            hint="one whole number per bag or per row, negative for none.",
        )
    totals = checks.finite(group_counts, f"counts of level {number}", allow_nan=True)
    if totals.shape[1:] != counts.shape[1:]:
        raise DataError(f"Level {number} has counts of shape {totals.shape}, the bags {counts.shape}.")
    if index.max(initial=-1) >= len(totals):
        raise DataError(f"Level {number} has {len(totals)} counts, and a bag in group {index.max()}.")
    return (index[bags.bag_index] if index.shape == (len(bags),) else index), totals


def _add(rows, total, parts, values, cover, name):
    """Turn one group into a part: what it leaves for rows that no part holds. Returns whether it had to be added
    whole."""
    if not len(rows):
        if np.any(total > 0):
            raise DataError(f"Group {name} has a count of {total} and no rows.")
        return 0
    inside = np.unique(cover[rows])
    inside = inside[inside >= 0]
    held = np.zeros(cover.size, bool)
    held[rows] = True
    if any(not held[parts[k]].all() for k in inside):
        parts.append(rows)
        values.append(total)
        return 1
    rest = total - sum(values[k] for k in inside)
    free = rows[cover[rows] < 0]
    if np.any(rest < 0) or (not len(free) and np.any(rest != 0)):
        raise DataError(
            f"Group {name} has a count of {total}; its parts have {total - rest} already.",
            hint="make the levels agree, or state one of them as noisy.",
        )
    if len(free):
        cover[free] = len(parts)
        parts.append(free)
        values.append(rest)
    return 0
