"""Linear functions of a population's tables, as users give them: weights on the cells of some tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from sumwise import checks
from sumwise.errors import DataError
from sumwise.table import title


def read_functions(given: Any, model: Any) -> dict[str, dict[tuple[str, ...], np.ndarray]]:
    """Check functions ``{name: {attributes: weights}}``; keys become tuples, weights arrays of the table's shape.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Domain
    >>> from sumwise.collective import TreeModel
    >>> from sumwise.collective.linear_functions import read_functions
    >>> model = TreeModel(Domain({"t0": 2, "t1": 2}), [("t0", "t1")])
    >>> read_functions({"leave": {("t0", "t1"): [[0, 1], [0, 0]]}}, model)["leave"]
    {('t0', 't1'): array([[0., 1.],
           [0., 0.]])}
    """
    if given is None:
        return {}
    out = {}
    for name, parts in checks.mapping(given, "functions").items():
        if not isinstance(parts, Mapping) or not parts:
            raise DataError(
                f"Function {name!r} is of type {type(parts).__name__}; it must be a dict with some weights.",
                hint="give {('t0', 't1'): weights}, with weights shaped like the table over t0 and t1.",
            )
        out[str(name)] = {_key(k): _weights(w, _key(k), str(name), model) for k, w in parts.items()}
    return out


def _key(key: Any) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else tuple(key)


def _weights(given: Any, attributes: tuple[str, ...], name: str, model: Any) -> np.ndarray:
    for a in attributes:
        checks.known(a, model.domain, "attribute")
    if not model.holds(attributes):
        raise DataError(
            f"Function {name!r} has weights over {title(attributes)}, which lies in no clique of the model.",
            hint="use single attributes, edges of the tree, or subsets of a clique.",
        )
    dense = given.toarray() if sparse.issparse(given) else np.asarray(given)
    if dense.dtype.kind == "b":
        dense = dense.astype(float)
    weights = checks.finite(dense, f"the weights of function {name!r}", ndim=len(attributes))
    wanted = tuple(model.domain[a] for a in attributes)
    if weights.shape != wanted:
        raise DataError(
            f"Function {name!r} has weights of shape {weights.shape} over {title(attributes)}; the domain has {wanted}."
        )
    return weights
