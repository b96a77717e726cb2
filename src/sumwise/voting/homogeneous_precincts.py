"""Homogeneous-precinct analysis: the outcomes of units in which nearly everybody belongs to one group."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.margins import Margins


def homogeneous_units(margins: Margins, threshold: float = 0.9) -> pd.DataFrame:
    """Tabulate the outcomes of units in which one group has nearly all people (homogeneous-precinct analysis).

    Parameters
    ----------
    margins : Margins
    threshold : float in (0, 1), default 0.9
        The least share of the group in such a unit.

    Returns
    -------
    pandas.DataFrame
        One row per group and outcome: number of units, people in them, the outcome's share there (people weigh
        equally) and its least and largest share in one of the units. Groups without such units have NaN.

    See Also
    --------
    Bounds : What totals imply without a model.
    influence : Units that a finding rests on.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.voting import homogeneous_units
    >>> m = Margins([[95, 5], [50, 50], [98, 2]], [[70, 30], [40, 60], [80, 20]], row_names=["a", "b"])
    >>> homogeneous_units(m)[["group", "outcome", "units", "share"]].values.tolist()[0]
    ['a', 'col0', 2, 0.75]
    """
    threshold = checks.fraction(threshold, "threshold")
    shares, totals = margins.row_shares, margins.totals
    rows = []
    for r, group in enumerate(margins.row_names):
        kept = (shares[:, r] >= threshold) & (totals > 0)
        people = float(totals[kept].sum())
        for c, outcome in enumerate(margins.col_names):
            each = margins.cols[kept, c] / totals[kept]
            share = float(margins.cols[kept, c].sum() / people) if people else np.nan
            ends = (float(each.min()), float(each.max())) if people else (np.nan, np.nan)
            rows.append((group, outcome, int(kept.sum()), people, share, *ends))
    return pd.DataFrame(rows, columns=["group", "outcome", "units", "people", "share", "least", "largest"])
