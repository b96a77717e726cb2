"""How solvers converge: objective above the best one and proven gap, step by step or second by second."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.plots.labels import axes_or_new


def plot_convergence(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `diagnostics.convergence` returns, on logarithmic axes.

    Parameters
    ----------
    numbers : mapping
        ``names``, ``x`` and ``above`` (one sequence per fit), ``by``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.diagnostics.convergence : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.diagnostics import convergence
    >>> from sumwise.fit import Fit
    >>> from sumwise.plots import plot_convergence
    >>> fit = Fit(objective=1.0, history={"objective": [5.0, 2.0, 1.0], "seconds": [0.0, 0.1, 0.2]})
    >>> plot_convergence(convergence({"dual": fit})).get_xlabel()
    'CPU seconds'
    """

    ax = axes_or_new(ax, 6, 4)
    for name, x, above in zip(numbers["names"], numbers["x"], numbers["above"]):
        ax.plot(np.asarray(x, dtype=float), np.asarray(above, dtype=float), label=name)
    ax.set(xscale="log", yscale="log", ylabel="objective above the best", xlabel=numbers["by"])
    ax.legend()
    return ax
