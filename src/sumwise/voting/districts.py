"""How candidates would have done in other districts: votes of units put together by a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sumwise.errors import DataError
from sumwise.margins import Margins
from sumwise.nonvoting import choices


def district_performance(margins: Margins, plan: Mapping | Sequence) -> pd.DataFrame:
    """Add up the votes of each district of a plan (reconstituted elections): counts, no estimates.

    Parameters
    ----------
    margins : Margins
        The units of one contest.
    plan : mapping of unit to district, or sequence of the districts of all units in order
        A pandas series whose index holds units is read by it. A unit that the plan leaves out is an error.

    Returns
    -------
    pandas.DataFrame
        One row per district: votes cast, the share of every group among its people, the share of every candidate among
        its votes, winner and margin in percentage points. Non-voters are no votes.

    See Also
    --------
    polarised_voting : Polarised voting over contests.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.voting import district_performance
    >>> m = Margins([[60, 40], [10, 90], [20, 80]], [[70, 30], [30, 70], [45, 55]], units=["u", "v", "w"],
    ...             row_names=["a", "b"], col_names=["X", "Y"])
    >>> district_performance(m, {"u": 1, "v": 2, "w": 2})[["district", "winner", "margin"]].values.tolist()
    [[1, 'X', 40.0], [2, 'Y', 25.0]]
    """
    if isinstance(plan, pd.Series):
        by_unit = plan.to_dict()
        plan = plan.tolist() if by_unit.keys().isdisjoint(margins.units.tolist()) else by_unit
    if isinstance(plan, Mapping):
        missing = [unit for unit in margins.units.tolist() if unit not in plan]
        if missing:
            raise DataError(
                f"The plan leaves out {len(missing)} of {len(margins)} units; first {missing[0]!r}.",
                hint="give every unit a district.",
            )
        districts = [plan[unit] for unit in margins.units.tolist()]
    else:
        districts = list(plan)
        if len(districts) != len(margins):
            raise DataError(f"The plan has {len(districts)} entries for {len(margins)} units.", hint="one per unit.")
    real = choices(margins.col_names)
    if len(real) < 2:
        raise DataError("There are fewer than two candidates.", hint="non-voters are not candidates.")
    names = [margins.col_names[c] for c in real]
    order = list(dict.fromkeys(districts))
    place = np.array([order.index(d) for d in districts])
    lines = []
    for k, district in enumerate(order):
        groups, votes = margins.rows[place == k].sum(axis=0), margins.cols[place == k][:, real].sum(axis=0)
        row: dict[str, Any] = {"district": district, "units": int((place == k).sum()), "votes": float(votes.sum())}
        row |= {f"share of {n}": v for n, v in zip(margins.row_names, groups / max(groups.sum(), 1e-300))}
        row |= {f"votes for {n}": v for n, v in zip(names, votes / max(votes.sum(), 1e-300))}
        best = np.argsort(-votes)
        row["winner"] = names[best[0]] if votes.sum() > 0 else None
        row["margin"] = 100 * float(votes[best[0]] - votes[best[1]]) / max(float(votes.sum()), 1e-300)
        lines.append(row)
    return pd.DataFrame(lines)
