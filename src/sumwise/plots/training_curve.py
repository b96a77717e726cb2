"""Training curves of fits: an entry of their histories against the step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.plots.labels import axes_or_new


def training_numbers(fits: Mapping[str, Any], what: str = "objective") -> dict[str, Any]:
    """Return an entry of several fits' histories.

    Parameters
    ----------
    fits : mapping of name to Fit
    what : str, default "objective"
        The entry of the histories.

    See Also
    --------
    sumwise.plots.plot_training_curve : Draws these numbers.

    Examples
    --------
    >>> from sumwise.plots import training_numbers
    >>> from sumwise.fit import Fit
    >>> training_numbers({"EM": Fit(history={"objective": [-3.0, -2.0]})})["values"]
    [array([-3., -2.])]
    """
    return {
        "names": list(fits),
        "values": [np.asarray(fit.history[what], dtype=float) for fit in fits.values()],
        "what": what,
    }


def plot_training_curve(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `training_numbers` returns.

    Parameters
    ----------
    numbers : mapping
        ``names``, ``values`` (one sequence per fit), ``what``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.plots.training_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.plots import plot_training_curve
    >>> plot_training_curve({"names": ["EM"], "values": [[-3.0, -2.0]], "what": "objective"}).get_ylabel()
    'objective'
    """

    ax = axes_or_new(ax, 6, 3)
    for name, values in zip(numbers["names"], numbers["values"]):
        y = np.asarray(values, dtype=float)
        ax.plot(np.arange(len(y)) + 1, y, label=name, marker="." if len(y) < 30 else None)
    ax.set(xlabel="iteration", ylabel=numbers["what"])
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.ticklabel_format(axis="y", useOffset=False)
    if len(numbers["names"]) > 1:
        ax.legend()
    return ax
