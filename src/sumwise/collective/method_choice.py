"""Which model to use on counts over time and place by default."""

from __future__ import annotations

from typing import Any

import numpy as np


def default_method(counts: Any) -> tuple[str, str]:
    """Return the name of the model that `sumwise.advise` and ``sumwise fit`` use on counts over time, and why.

    Parameters
    ----------
    counts : CountsOverTime or array of shape (n_times, n_places)

    Returns
    -------
    method, why : str

    Examples
    --------
    >>> from sumwise.collective import CountsOverTime, default_method
    >>> default_method(CountsOverTime([[9, 1], [4, 6]]))[0]
    'FlowModel'
    """
    n_times, n_places = np.shape(getattr(counts, "counts", counts))
    return ("FlowModel", f"{n_times} times and {n_places} places: the flows between successive times are unknown.")
