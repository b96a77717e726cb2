"""Energy: a term of the user's own in the objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise.display import record_html
from sumwise.errors import DataError
from sumwise.table import attribute_names


@dataclass(frozen=True)
class Energy:
    """A function of one table's counts that is added to the objective.

    Parameters
    ----------
    attributes : str or sequence of str
        The table: a node, an edge, or a subset of a clique.
    function : callable
        ``function(counts) -> (value, gradient)``, with `counts` and `gradient` shaped by the attributes.
    convex : bool, default False
        Whether you know the function to be convex in the counts. Only then do fits report a gap; otherwise they find a
        stationary point, and the gap is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.collective import Energy
    >>> even = Energy("t0", lambda z: (0.5 * ((z - z.mean()) ** 2).sum(), z - z.mean()))
    >>> even.function(np.array([1.0, 3.0]))
    (np.float64(1.0), array([-1.,  1.]))
    """

    attributes: tuple[str, ...]
    function: Callable[[np.ndarray], tuple[float, np.ndarray]]
    convex: bool = False

    _repr_html_ = record_html

    def __init__(
        self, attributes: Any, function: Callable[[np.ndarray], tuple[float, np.ndarray]], convex: bool = False
    ):
        if not callable(function):
            raise DataError(f"The function of an energy is {function!r}.", hint="give counts -> (value, gradient).")
        object.__setattr__(self, "attributes", attribute_names(attributes))
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "convex", bool(convex))
