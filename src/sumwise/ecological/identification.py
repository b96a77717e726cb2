"""What margins can't say: refusals and warnings that every method shares."""

from __future__ import annotations

import warnings

import numpy as np

from sumwise.ecological.kernels import ROUNDING
from sumwise.errors import DataError, ModelWarning
from sumwise.margins import Margins

HINT = "Bounds() is valid for any model."
EXPECTED = 20.0  # votes by units of similar composition, where none is no chance
COPIED = 50  # people of a unit whose counts all equal those of another by more than chance
UNKNOWN = 0.5  # standard error of a share that units can't identify: intervals are about as wide as the bounds
LIKE, SOME, COMPARED = 0.1, 0.05, 60  # L1 distance of compositions; part of units to speak of; units that are compared


def doubts(margins: Margins) -> list[str]:
    """Return, in words, why the data alone don't determine the cells; empty if nothing stands out.

    Parameters
    ----------
    margins : Margins

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological import doubts
    >>> doubts(Margins([[60, 40], [30, 20]], [[50, 50], [30, 20]]))
    ['All 2 units have the same row shares: group differences are not identifiable.']
    """
    full = counted_units(margins)
    n, n_rows, n_cells = len(full), margins.n_rows, margins.n_rows * margins.n_cols
    if n == 1:
        return ["There is a single unit: group differences are not identifiable."]
    if n_rows == 1:
        return []
    spread = float(np.abs(full.row_shares - full.row_shares.mean(axis=0)).max())
    if spread < 1e-9:
        return [f"All {n} units have the same row shares: group differences are not identifiable."]
    rank = int(np.linalg.matrix_rank(full.row_shares, tol=ROUNDING * np.sqrt(n)))
    if rank < n_rows:
        unknown = [name for name, none in zip(margins.row_names, unidentified_groups(full.rows)) if none]
        which = " and ".join(map(repr, unknown)) if len(unknown) < 4 else f"{len(unknown)} groups"
        return [
            f"The row shares of {n} units span {rank} of {n_rows} groups: some differences are not identifiable; the "
            f"intervals of {which} are little narrower than the bounds."
        ]
    if n < n_cells:
        return [f"There are {n} units for {n_cells} cells: the answer leans on the model."]
    return []


def counted_units(margins: Margins) -> Margins:
    """The units that a fit learns from: those with people and a weight above zero.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological.identification import counted_units
    >>> m = Margins([[6, 4], [0, 0], [9, 1]], [[5, 5], [0, 0], [2, 8]], units=["a", "b", "c"], weights=[1, 1, 0])
    >>> counted_units(m).units.tolist()
    ['a']
    """
    return margins[(margins.totals > 0) & (margins.weights > 0)]


def typical_size(margins: Margins) -> float:
    """How many people a typical unit has, the median of those that are not empty; shares have one or less."""
    return float(np.median(margins.totals[margins.totals > 0]))


def relative_weights(margins: Margins) -> np.ndarray:
    """The weights of units as shares of the mean weight of those that a fit learns from: their unit is arbitrary.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological.identification import relative_weights
    >>> m = Margins([[6, 4], [0, 0], [9, 1]], [[5, 5], [0, 0], [2, 8]], weights=[10, 10, 30])
    >>> relative_weights(m).tolist()
    [0.5, 0.5, 1.5]
    """
    return margins.weights / counted_units(margins).weights.mean()


def unidentified_groups(rows: np.ndarray) -> np.ndarray:
    """Which groups' shares no regression over units (n, R) can find, (R,): their composition is that of others.

    A group's shares follow from the units where its unit vector lies in the space that their compositions span.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.identification import unidentified_groups
    >>> unidentified_groups(np.array([[5, 5, 10], [8, 8, 4], [1, 1, 18], [3, 3, 9]]))
    array([ True,  True, False])
    """
    totals = rows.sum(axis=1, keepdims=True)
    shares = rows[totals[:, 0] > 0] / totals[totals[:, 0] > 0]
    _, values, axes = np.linalg.svd(shares / np.sqrt(max(len(shares), 1)), full_matrices=False)
    spanned = axes[values > ROUNDING]
    return 1 - (spanned**2).sum(axis=0) > ROUNDING


def copied_units(margins: Margins) -> np.ndarray:
    """The number of each unit, the same for large ones with the same counts, taken as copies; warn of such.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological.identification import copied_units
    >>> copied_units(Margins([[60, 40], [30, 20], [90, 10]], [[50, 50], [30, 20], [20, 80]]))
    array([0, 1, 2])
    """
    both, number = np.hstack([margins.rows, margins.cols]), np.arange(len(margins))
    large = np.flatnonzero(margins.totals >= COPIED)
    _, first, which = np.unique(both[large], axis=0, return_index=True, return_inverse=True)
    number[large] = large[first[which.ravel()]]
    copies = len(margins) - len(np.unique(number))
    if copies:
        warnings.warn(
            f"{copies} of {len(margins)} units have all counts of another: they are taken as copies, which add "
            "nothing to what is known. Hint: drop repeated units.",
            ModelWarning,
            stacklevel=4,
        )
    return number


def absent_outcomes(margins: Margins) -> list[str]:
    """Return, in words, which outcomes nobody chose in units like others where many did: no choice there, perhaps.

    Parameters
    ----------
    margins : Margins

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological.identification import absent_outcomes
    >>> rows = [[60, 40], [50, 50], [61, 39], [52, 48]]
    >>> absent_outcomes(Margins(rows, [[55, 45], [50, 50], [100, 0], [100, 0]], col_names=["a", "b"]))[0][:57]
    "'b' has no votes in 2 of 4 units where units of similar c"
    """
    full = margins[margins.totals > 0]
    found = []
    for c, name in enumerate(full.col_names):
        none = np.flatnonzero(full.cols[:, c] == 0)
        some = np.flatnonzero(full.cols[:, c] > 0)
        if not len(some) or len(none) < max(2, SOME * len(full)):
            continue
        tried = none[:: -(-len(none) // COMPARED)]
        shares, missed = full.col_shares[some, c], 0
        for i in tried:
            apart = np.abs(full.row_shares[some] - full.row_shares[i]).sum(axis=1)
            nearest = np.argpartition(apart, min(5, len(some)) - 1)[:5]
            near = nearest[apart[nearest] < LIKE]
            missed += bool(len(near)) and float(np.median(shares[near])) * float(full.totals[i]) >= EXPECTED
        absent = round(len(none) * int(missed) / len(tried))
        if absent >= max(2, SOME * len(full)):
            found.append(
                f"{name!r} has no votes in {absent} of {len(full)} units where units of similar composition gave it "
                f"{EXPECTED:.0f} or more: if it was no choice there, shares are a mixture of places with other choices."
            )
    return found


def check_identified(margins: Margins) -> None:
    """Refuse margins without people or with an empty group; warn of what `doubts` finds.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological.identification import check_identified
    >>> check_identified(Margins([[5, 0], [3, 0]], [[2, 3], [1, 2]], row_names=["a", "b"]))
    Traceback (most recent call last):
    sumwise.errors.DataError: Group 'b' has nobody in any of 2 units. Hint: drop it; Bounds() takes it as it is.
    """
    sizes = margins.rows.sum(axis=0)
    if not sizes.sum() > 0:
        raise DataError(f"All {len(margins)} units are empty.", hint="check the columns that were read.")
    empty = [repr(name) for name, size in zip(margins.row_names, sizes) if size == 0]
    if empty:
        subject = f"Group {empty[0]} has" if len(empty) == 1 else f"Groups {', '.join(empty)} have"
        raise DataError(
            f"{subject} nobody in any of {len(margins)} units.", hint="drop it; Bounds() takes it as it is."
        )
    for doubt in doubts(margins):
        warnings.warn(f"{doubt} Hint: {HINT}", ModelWarning, stacklevel=4)
