"""The course of fits: what their histories recorded, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["course"]


def course(fits: Mapping[str, Any], what: str = "objective") -> dict[str, Any]:
    """Return an entry of several fits' histories.

    Parameters
    ----------
    fits : mapping of name to Fit
    what : str, default "objective"
        The entry of the histories.

    Examples
    --------
    >>> from sumwise.diagnostics import course
    >>> from sumwise.fit import Fit
    >>> course({"EM": Fit(history={"objective": [-3.0, -2.0]})})["values"]
    [array([-3., -2.])]
    """
    return {
        "names": list(fits),
        "values": [np.asarray(fit.history[what], dtype=float) for fit in fits.values()],
        "what": what,
    }
