"""How solvers converge: objective above the best one and proven gap, step by step or second by second."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["plot_convergence"]


def plot_convergence(fits: Mapping[str, Any], ax: Any = None, by: str = "seconds") -> Any:
    """Draw how far each fit's objective was above the best one, on logarithmic axes.

    Parameters
    ----------
    fits : mapping of name to Fit
        Fits of the same problem, whose history holds ``"objective"``.
    ax : matplotlib axes, optional
    by : {"seconds", "steps"}, default "seconds"
        CPU seconds (where the history has them) or steps.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sumwise.fit import Fit
    >>> from sumwise.plots.convergence import plot_convergence
    >>> fit = Fit(objective=1.0, history={"objective": [5.0, 2.0, 1.0], "seconds": [0.0, 0.1, 0.2]})
    >>> plot_convergence({"dual": fit}).get_xlabel()
    'CPU seconds'
    """
    import matplotlib.pyplot as plt

    ax = plt.subplots(figsize=(6, 4))[1] if ax is None else ax
    best = min(np.nanmin(np.asarray(fit.history["objective"], dtype=float)) for fit in fits.values())
    timed = by == "seconds" and all("seconds" in fit.history for fit in fits.values())
    for name, fit in fits.items():
        above = np.asarray(fit.history["objective"], dtype=float) - best
        x = np.asarray(fit.history["seconds"]) if timed else np.arange(len(above)) + 1.0
        ax.plot(np.maximum(x, 1e-4), np.maximum(above, 1e-12 * max(abs(best), 1.0)), label=name)
    ax.set(xscale="log", yscale="log", ylabel="objective above the best", xlabel="CPU seconds" if timed else "step")
    ax.legend()
    return ax
