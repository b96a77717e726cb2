"""How a classifier from tables was trained: moments and held-out scores, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["plot_training"]


def plot_training(fits: Mapping[str, Any], what: str = "held_out", ax: Any = None) -> Any:
    """Draw an entry of several fits' histories against the step.

    Parameters
    ----------
    fits : mapping of name to Fit
        Such as the ``fit_`` of `MaxEntClassifier`.
    what : str, default "held_out"
        The entry: "held_out", "misfit" or "moment_error".
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sumwise.fit import Fit
    >>> from sumwise.plots.training import plot_training
    >>> fit = Fit(history={"misfit": [9.0, 1.0], "held_out": [0.1, 0.4]})
    >>> plot_training({"usual": fit}, what="misfit").get_yscale()
    'log'
    """
    import matplotlib.pyplot as plt

    ax = plt.subplots(figsize=(6, 4))[1] if ax is None else ax
    for name, fit in fits.items():
        course = np.asarray(fit.history[what], dtype=float)
        ax.plot(np.arange(len(course)) + 1, course, label=name)
    titles = {"held_out": "NLLH on held-out rows", "misfit": "misfit, standard errors", "moment_error": "moment error"}
    ax.set(xlabel="step", ylabel=titles.get(what, what), yscale="linear" if what == "held_out" else "log")
    ax.legend()
    return ax
