"""Which units a finding rests on: estimates without each unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.errors import DataError
from sumwise.margins import Margins
from sumwise.nonvoting import choices

NOTICEABLE_MOVE = 0.5  # standard errors by which a unit moves a share before it is said to drive it


def influence(est: Any, margins: Margins, most: int = 200) -> pd.DataFrame:
    """Estimate again without each unit, and flag units that drive a finding.

    Parameters
    ----------
    est : EcologicalEM
        Fitted to `margins`.
    margins : Margins
    most : int >= 1, default 200
        Units that are tried: those with the largest residuals, people counted. ``frame.attrs["tried"]`` says how many.

    Returns
    -------
    pandas.DataFrame
        One row per unit that was tried, the most influential first: the group and outcome whose share moves most, the
        share with and without the unit, the move in standard errors, and ``drives``: whether it exceeds half a
        standard error or changes the group's first choice.

    See Also
    --------
    homogeneous_units : Units in which nearly everybody belongs to one group.
    sensitivity : What shares would be if differences between groups were between places.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import EcologicalEM, influence
    >>> m = synthetic.precincts(30, random_state=0).margins
    >>> influence(EcologicalEM().fit(m), m).columns.tolist()[:3]
    ['unit', 'group', 'outcome']
    """
    if not hasattr(est, "without_units"):
        raise DataError(f"{type(est).__name__} can't be refitted quickly.", hint="use EcologicalEM().")
    most = int(checks.at_least(most, "most", 1))
    error = np.maximum(est.standard_errors_, 1e-6)
    base = est.without_units(margins, [])  # the same few steps as the refits, so that differences are of the unit
    residual = np.abs(margins.cols - margins.rows @ est.shares_).sum(axis=1)
    real = choices(est.col_names_) or [0]
    rows = []
    for i in np.argsort(-residual, kind="stable")[:most]:
        without = est.without_units(margins, [i])
        moved = np.abs(without - base) / error
        r, c = np.unravel_index(int(np.argmax(moved.round(9))), moved.shape)  # of two outcomes alike, the first
        firsts = (shares[:, real].argmax(axis=1) for shares in (base, without))
        changed = [g for g, a, b in zip(est.row_names_, *firsts) if a != b]
        rows.append(
            {
                "unit": margins.units[i],
                "group": est.row_names_[r],
                "outcome": est.col_names_[c],
                "share": float(est.shares_[r, c]),
                "without": float(est.shares_[r, c] + without[r, c] - base[r, c]),
                "standard errors": float(moved[r, c]),
                "changes first choice of": ", ".join(map(str, changed)),
                "drives": bool(moved[r, c] > NOTICEABLE_MOVE or changed),
            }
        )
    frame = pd.DataFrame(rows).sort_values("standard errors", ascending=False, ignore_index=True)
    frame.attrs = {"tried": len(rows), "units": len(margins)}
    return frame
