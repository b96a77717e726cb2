"""What shares would be if differences between groups were differences between places, to any degree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.errors import DataError
from sumwise.margins import Margins
from sumwise.nonvoting import choices


def place_shares(est: Any, margins: Margins, part: float = 1.0) -> np.ndarray:
    """Compute the shares (R, C) if a `part` of the difference between groups were a difference between places.

    Under place-only voting everybody in a unit behaves alike, and a group's share is that of the people whom its
    members live among: ``B(part) = ((1 - part) I + part P) B`` with P[q, s] the mean share of group s in the units of
    members of q (their exposure). Totals of outcomes stay as they are, and totals of units show no difference.

    Parameters
    ----------
    est : fitted estimator on Margins
    margins : Margins
        The units that were fitted.
    part : float in [0, 1], default 1.0
        0 is the estimate, 1 place-only voting.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological import Goodman, place_shares
    >>> whites = [80, 20, 50, 60, 40]
    >>> m = Margins([[w, 100 - w] for w in whites], [[10 + 0.8 * w, 90 - 0.8 * w] for w in whites])
    >>> est = Goodman().fit(m)
    >>> [place_shares(est, m, part)[0].round(2).tolist() for part in (0.0, 0.2, 1.0)]
    [[0.9, 0.1], [0.83, 0.17], [0.56, 0.44]]
    """
    if not 0 <= float(checks.finite(part, "part", ndim=0)) <= 1:
        raise DataError(f"part is {part}.", hint="0 is the estimate, 1 place-only voting.")
    return (1 - part) * est.shares_ + part * exposure(margins.rows) @ est.shares_


def exposure(rows: np.ndarray) -> np.ndarray:
    """The mean share of group s in the units of members of group q, (R, R), from counts (n, R); rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.composition_sensitivity import exposure
    >>> exposure(np.array([[90.0, 10.0], [10.0, 90.0]])).round(2)
    array([[0.82, 0.18],
           [0.18, 0.82]])
    """
    rows = rows[rows.sum(axis=1) > 0]
    met = rows.T @ (rows / rows.sum(axis=1, keepdims=True))
    sizes = rows.sum(axis=0)[:, None]
    return np.divide(met, sizes, out=np.eye(len(met)), where=sizes > 0)


def sensitivity(est: Any, margins: Margins) -> pd.DataFrame:
    """Compute how far each group's first choice depends on who lives where, which totals can't show.

    Parameters
    ----------
    est : fitted estimator on Margins
    margins : Margins
        The units that were fitted.

    Returns
    -------
    pandas.DataFrame
        group, first choice, its ``share``, its share ``if a fifth`` of the difference between groups were between
        places, and under ``place-only`` voting; the runner-up; ``tipping``, the part of the difference between groups
        that would have to be between places for the two to be level (NaN if they never are); and ``bounds settle``,
        whether the bounds alone put the first choice first.

    See Also
    --------
    place_shares : All shares at one degree.
    aggregation_bias_test : Whether behaviour varies with composition, as far as totals show it.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import EcologicalEM, sensitivity
    >>> m = synthetic.precincts(60, random_state=0).margins
    >>> sensitivity(EcologicalEM().fit(m), m).columns.tolist()
    ['group', 'first choice', 'share', 'if a fifth', 'place-only', 'runner-up', 'tipping', 'bounds settle']
    """
    real = choices(est.col_names_)
    if len(real) < 2:
        raise DataError("There are fewer than two candidates.", hint="non-voters are not candidates.")
    fifth, place = place_shares(est, margins, 0.2), place_shares(est, margins)
    rows = []
    for r, group in enumerate(est.row_names_):
        order = sorted(real, key=lambda c: -est.shares_[r, c])
        first, second = order[0], order[1]
        settled = bool(est.lower_bound_[r, first] > max(est.upper_bound_[r, c] for c in order[1:]))
        shares = est.shares_[r, first], fifth[r, first], place[r, first]
        tipping = _tipping(est.shares_[r], place[r], first, order[1:])
        rows.append((group, est.col_names_[first], *shares, est.col_names_[second], tipping, settled))
    columns = ["group", "first choice", "share", "if a fifth", "place-only", "runner-up", "tipping", "bounds settle"]
    return pd.DataFrame(rows, columns=columns)


def _tipping(shares: np.ndarray, place: np.ndarray, first: int, others: list[int]) -> float:
    """The least part at which another choice draws level with the first; NaN if none does."""
    parts = []
    for c in others:
        gap, at_place = shares[first] - shares[c], place[first] - place[c]
        if at_place <= 0 and gap > at_place:
            parts.append(gap / (gap - at_place))
    return float(min(parts, default=np.nan))


def sensitivity_band(est: Any, margins: Margins, steps: int = 21) -> dict[str, Any]:
    """Compute every group's share for its first choice from the estimate to place-only voting; numbers of a figure.

    Parameters
    ----------
    est, margins
        As in `sensitivity`.
    steps : int >= 2, default 21
        Degrees between the two.

    Returns
    -------
    dict
        ``parts`` (steps,), ``shares`` (R, steps), ``groups`` and ``choices``.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import EcologicalEM, sensitivity_band
    >>> m = synthetic.precincts(60, random_state=0).margins
    >>> sensitivity_band(EcologicalEM().fit(m), m, steps=5)["shares"].shape
    (2, 5)
    """
    frame = sensitivity(est, margins)
    parts = np.linspace(0.0, 1.0, int(checks.at_least(steps, "steps", 2)))[None]
    start, end = (frame[name].to_numpy()[:, None] for name in ("share", "place-only"))
    names = {"groups": frame["group"].tolist(), "choices": frame["first choice"].tolist()}
    return {"parts": parts[0], "shares": (1 - parts) * start + parts * end, **names}
