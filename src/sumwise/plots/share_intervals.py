"""Shares of subgroups with their intervals, one line each, and what was polled or true beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise import checks, frames
from sumwise.plots.methods import COLOURS

__all__ = ["plot_share_intervals"]


def plot_share_intervals(table: Any, by: str | Sequence, reference: Any = None, ax: Any = None) -> Any:
    """Draw shares with intervals, as ``subgroups(...).two_party(...)`` gives them.

    Parameters
    ----------
    table : data frame
        The columns of ``by``, ``share``, ``low``, ``high``.
    by : str or list of columns
        What names a group.
    reference : array of shape (n_groups,), optional
        Polled or true shares, in the order of the table.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sumwise.plots.share_intervals import plot_share_intervals
    >>> shares = {"sex": ["m", "f"], "share": [0.4, 0.5], "low": [0.3, 0.4], "high": [0.5, 0.6]}
    >>> [t.get_text() for t in plot_share_intervals(shares, "sex", [0.44, 0.56]).get_yticklabels()]
    ['m', 'f']
    """
    import matplotlib.pyplot as plt

    names = [by] if isinstance(by, str) else checks.listing(by, "by", "give a column or a list of them.")
    rows = frames.to_pandas(table, [*names, "share", "low", "high"])
    ax = plt.subplots(figsize=(6, 0.8 + 0.3 * len(rows)))[1] if ax is None else ax
    y = np.arange(len(rows))[::-1]
    ax.hlines(y, rows["low"], rows["high"], color=COLOURS[1], linewidth=2, label="interval")
    ax.plot(rows["share"], y, "o", color=COLOURS[0], markersize=5, label="estimate")
    if reference is not None:
        told = checks.finite(reference, "reference", ndim=1)
        checks.same_length(table=rows, reference=told)
        ax.plot(told, y, "|", color="black", markersize=12, markeredgewidth=2, label="reference")
    labels = [", ".join(str(x) for x in row) for row in rows[names].itertuples(index=False)]
    ax.set(xlim=(0, 1), yticks=y, yticklabels=labels, xlabel="share")
    ax.legend(loc="best", fontsize="small")
    return ax
