"""Which method to use on bags with class counts by default."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.bags import Bags


def default_method(bags: Bags, counts: Any) -> tuple[str, str]:
    """Return the name of the classifier that `sumwise.advise` and ``sumwise fit`` use on these bags, and why.

    Parameters
    ----------
    bags : Bags
    counts : array of shape (n_bags,) or (n_bags, n_classes)

    Returns
    -------
    method, why : str

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.proportions import default_method
    >>> data = synthetic.election(20, 15, random_state=0)
    >>> default_method(data.bags, data.counts)[0]
    'CardinalityClassifier'
    """
    shape = np.shape(counts)
    n_classes = shape[1] if len(shape) == 2 else 2
    return (
        "CardinalityClassifier",
        f"{len(bags)} bags with counts of {n_classes} classes: the likelihood of counts weighs bags by their size.",
    )
