"""Predicted against observed shares of the label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sumwise.plots.style import FAINT


def calibration_numbers(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return calibration tables as plain numbers.

    Parameters
    ----------
    tables : mapping of name to frame
        From `sumwise.metrics.calibration`.

    See Also
    --------
    sumwise.plots.plot_calibration : Draws these numbers.

    Examples
    --------
    >>> from sumwise.plots import calibration_numbers
    >>> from sumwise.metrics import calibration
    >>> calibration_numbers({"model": calibration([0, 1], [0.2, 0.7], bins=1)})["model"]["observed"]
    array([0.5])
    """
    return {
        name: {key: table[key].to_numpy(dtype=float) for key in ("predicted", "observed", "error")}
        for name, table in tables.items()
    }


def plot_calibration(tables: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw calibration tables: observed shares with two standard errors, against the diagonal.

    Parameters
    ----------
    tables : mapping of name to frame
        From `sumwise.metrics.calibration`.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.plots.calibration_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.metrics import calibration
    >>> from sumwise.plots import plot_calibration
    >>> plot_calibration({"model": calibration([0, 1, 0, 1], [0.2, 0.4, 0.5, 0.9], bins=2)}).get_ylabel()
    'observed share'
    """
    import numpy as np

    from sumwise.plots.labels import axes_or_new, fitted, legend_above, percent_axes

    ax = axes_or_new(ax, 5, 5)
    for name, table in tables.items():
        ax.errorbar(table["predicted"], table["observed"], yerr=2 * table["error"], marker="o", label=name, capsize=2)
    ax.set(xlabel="predicted share", ylabel="observed share")
    tops = [np.asarray(t["observed"]) + k * 2 * np.asarray(t["error"]) for t in tables.values() for k in (-1, 1)]
    ends = fitted(*tops, *(t["predicted"] for t in tables.values()), pad=0.04)
    ax.plot([0, 1], [0, 1], color=FAINT, linewidth=1)
    ax.set(xlim=ends, ylim=ends)
    percent_axes(ax.xaxis, ax.yaxis)
    legend_above(ax)
    return ax
