"""What margins can't say: refusals and warnings that every method shares."""

from __future__ import annotations

import warnings

import numpy as np

from sumwise.errors import DataError, ModelWarning
from sumwise.margins import Margins

HINT = "Bounds() holds whatever the model."


def doubts(margins: Margins) -> list[str]:
    """Return, in words, why the data alone don't determine the cells; empty where nothing stands out.

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
    full = margins[margins.totals > 0]
    n, n_rows, n_cells = len(full), margins.n_rows, margins.n_rows * margins.n_cols
    if n == 1:
        return ["There is a single unit: group differences are not identifiable."]
    if n_rows == 1:
        return []
    spread = float(np.abs(full.row_shares - full.row_shares.mean(axis=0)).max())
    if spread < 1e-9:
        return [f"All {n} units have the same row shares: group differences are not identifiable."]
    rank = int(np.linalg.matrix_rank(full.row_shares, tol=1e-8 * np.sqrt(n)))
    if rank < n_rows:
        return [f"The row shares of {n} units span {rank} of {n_rows} groups: some differences are not identifiable."]
    if n < n_cells:
        return [f"There are {n} units for {n_cells} cells: the answer leans on the model."]
    return []


def check_identified(margins: Margins, stacklevel: int = 3) -> None:
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
        warnings.warn(f"{doubt} Hint: {HINT}", ModelWarning, stacklevel=stacklevel + 1)
