"""Survey weights: draw rows by their weight, and the effective size of a weighted bag."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError


def effective_sizes(bags: Bags) -> np.ndarray:
    """How many equally weighted rows each bag is worth: (sum w)^2 / sum w^2 (Kish 1965).

    Parameters
    ----------
    bags : Bags
        With or without weights.

    See Also
    --------
    draw : Rows drawn by weight.

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.proportions import effective_sizes
    >>> effective_sizes(Bags.from_arrays([[[0.0], [1.0]], [[2.0], [3.0]]], weights=[[1, 1], [1, 3]]))
    array([2. , 1.6])
    """
    return bags.effective_sizes


def draw(bags: Bags, size: int, random_state: Any = None) -> Bags:
    """Draw rows of every bag with replacement, with probability proportional to their weights.

    The drawn rows are unweighted; give the counts of the whole region with ``totals="scale"``.

    Parameters
    ----------
    bags : Bags
    size : int >= 1
        Rows per bag afterwards.
    random_state : int, Generator or None

    See Also
    --------
    apportion : Totals scaled to the rows drawn.
    effective_sizes : How many rows weights are worth.

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.proportions import draw
    >>> region = Bags.from_arrays([[[0.0], [1.0]]], weights=[[1, 99]], ids=["r"])
    >>> draw(region, 1000, random_state=0)
    Bags(bags=1, rows=1,000, features=[x0], sizes=1000 to 1000)
    """
    checks.at_least(size, "size", 1)
    rng = checks.generator(random_state)
    if (bags.sizes == 0).any():
        raise DataError(f"{int((bags.sizes == 0).sum())} of {len(bags)} bags are empty.", hint="bags.drop_empty().")
    rows = []
    for begin, end in zip(bags.offsets[:-1], bags.offsets[1:]):
        w = bags.weights[begin:end]
        rows.append(begin + rng.choice(end - begin, size=size, p=w / w.sum()))
    values = bags.values[np.concatenate(rows)]
    return Bags(values, np.arange(len(bags) + 1) * size, None, bags.ids, bags.features, bags.levels)
