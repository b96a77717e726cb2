"""How strongly shares would have to depend on composition to overturn a finding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.ecological.segregation_indices import isolation
from sumwise.errors import DataError, UnknownName
from sumwise.margins import Margins
from sumwise.nonvoting import choices

ROBUST_SLOPE = 0.2  # tipping slope from which a finding is called robust: chosen on the three elections of `CHOSEN_ON`;
# how often such findings are right there and on the other three is in benchmarks/results/ecological.json


def sensitivity(est: Any, margins: Margins) -> pd.DataFrame:
    """Compute, for the first choice of every group, the dependence on composition that would overturn it.

    Suppose that the group's support for its first choice is higher by a slope d in units that consist of the group than
    in units without it, its support for the runner-up lower by d, and that other groups' support changes alike, so that
    outcomes stay linear in composition and no margin shows it. A fit attributes all of it to the group: its support is
    overstated by d times one less the group's isolation. ``tipping`` is the d at which the two are level.

    Parameters
    ----------
    est : fitted estimator on Margins
    margins : Margins
        The units that were fitted.

    Returns
    -------
    pandas.DataFrame
        group, first choice, runner-up, gap between them, isolation, tipping, and ``robust``: whether the bounds alone
        settle it or tipping is at least 0.2.

    See Also
    --------
    sensitivity_contours : The same over two slopes.
    aggregation_bias_test : Whether behaviour varies with composition.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import EcologicalEM, sensitivity
    >>> m = synthetic.precincts(60, random_state=0).margins
    >>> sensitivity(EcologicalEM().fit(m), m).columns.tolist()
    ['group', 'first choice', 'runner-up', 'gap', 'isolation', 'tipping', 'bounds settle', 'robust']
    """
    real, alone = choices(est.col_names_), isolation(margins.rows)
    if len(real) < 2:
        raise DataError("There are fewer than two candidates.", hint="non-voters are not candidates.")
    rows = []
    for r, group in enumerate(est.row_names_):
        order = sorted(real, key=lambda c: -est.shares_[r, c])
        first, second = order[0], order[1]
        gap = float(est.shares_[r, first] - est.shares_[r, second])
        tipping = gap / (2 * max(1 - alone[r], 1e-9))
        settled = bool(est.lower_bound_[r, first] > max(est.upper_bound_[r, c] for c in order[1:]))
        names = est.col_names_[first], est.col_names_[second]
        rows.append((group, *names, gap, float(alone[r]), tipping, settled, settled or tipping >= ROBUST_SLOPE))
    columns = ["group", "first choice", "runner-up", "gap", "isolation", "tipping", "bounds settle", "robust"]
    return pd.DataFrame(rows, columns=columns)


def sensitivity_contours(est: Any, margins: Margins, group: Any, steps: int = 21, reach: float = 1.0) -> dict[str, Any]:
    """Compute the gap between a group's first choice and runner-up for slopes of both; the numbers of a contour figure.

    Parameters
    ----------
    est, margins
        As in `sensitivity`.
    group : str
        The group's name.
    steps : int >= 2, default 21
        Grid points along each axis.
    reach : float > 0, default 1.0
        The largest slope.

    Returns
    -------
    dict
        ``first_slope`` (steps,), ``second_slope`` (steps,), ``gap`` (steps, steps) with the first choice's slope along
        rows, ``group``, ``first``, ``second``. The finding holds where the gap is above 0.

    See Also
    --------
    sensitivity : One number per finding.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import EcologicalEM, sensitivity_contours
    >>> m = synthetic.precincts(60, random_state=0).margins
    >>> sensitivity_contours(EcologicalEM().fit(m), m, "group 1", steps=5)["gap"].shape
    (5, 5)
    """
    if group not in est.row_names_:
        raise UnknownName(f"There is no group {group!r}.", hint=f"there are {', '.join(map(str, est.row_names_))}.")
    row = sensitivity(est, margins).iloc[list(est.row_names_).index(group)]
    slopes = np.linspace(0.0, checks.positive(reach, "reach"), int(checks.at_least(steps, "steps", 2)))
    gap = row["gap"] - (slopes[:, None] + slopes[None]) * (1 - row["isolation"])
    names = {"group": group, "first": row["first choice"], "second": row["runner-up"]}
    return {"first_slope": slopes, "second_slope": slopes, "gap": gap, **names}
