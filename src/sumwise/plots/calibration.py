"""Predicted against observed shares of the label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["plot_calibration"]


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

    Examples
    --------
    >>> from sumwise.metrics import calibration
    >>> from sumwise.plots.calibration import plot_calibration
    >>> plot_calibration({"model": calibration([0, 1, 0, 1], [0.2, 0.4, 0.5, 0.9], bins=2)}).get_ylabel()
    'observed share'
    """
    import matplotlib.pyplot as plt

    ax = plt.subplots(figsize=(5, 5))[1] if ax is None else ax
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for name, table in tables.items():
        ax.errorbar(table["predicted"], table["observed"], yerr=2 * table["error"], marker="o", label=name, capsize=2)
    ax.set(xlabel="predicted share", ylabel="observed share", xlim=(0, 1), ylim=(0, 1))
    ax.legend()
    return ax
