"""Training curves of fits: what their histories recorded, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def training_curve(fits: Mapping[str, Any], what: str = "objective") -> dict[str, Any]:
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
    >>> from sumwise.diagnostics import training_curve
    >>> from sumwise.fit import Fit
    >>> training_curve({"EM": Fit(history={"objective": [-3.0, -2.0]})})["values"]
    [array([-3., -2.])]
    """
    return {
        "names": list(fits),
        "values": [np.asarray(fit.history[what], dtype=float) for fit in fits.values()],
        "what": what,
    }


def convergence(fits: Mapping[str, Any], by: str = "seconds") -> dict[str, Any]:
    """Return how far each fit's objective was above the best one.

    Parameters
    ----------
    fits : mapping of name to Fit
        Fits of the same problem, whose history holds ``"objective"``.
    by : {"seconds", "steps"}, default "seconds"
        CPU seconds (where all histories have them) or steps.

    See Also
    --------
    sumwise.plots.plot_convergence : Draws these numbers.

    Examples
    --------
    >>> from sumwise.diagnostics import convergence
    >>> from sumwise.fit import Fit
    >>> convergence({"EM": Fit(history={"objective": [3.0, 1.0]})})["above"]
    [array([2.e+00, 1.e-12])]
    """
    best = min(np.nanmin(np.asarray(fit.history["objective"], dtype=float)) for fit in fits.values())
    timed = by == "seconds" and all("seconds" in fit.history for fit in fits.values())
    xs, above = [], []
    for fit in fits.values():
        values = np.asarray(fit.history["objective"], dtype=float) - best
        x = np.asarray(fit.history["seconds"], dtype=float) if timed else np.arange(len(values)) + 1.0
        xs.append(np.maximum(x, 1e-4))
        above.append(np.maximum(values, 1e-12 * max(abs(best), 1.0)))
    return {"names": list(fits), "x": xs, "above": above, "by": "CPU seconds" if timed else "step"}
