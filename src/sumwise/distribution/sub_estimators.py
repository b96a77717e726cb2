"""Estimators that are parameters of another one: copied before they are fitted, and seeded."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from sumwise.distribution.embedding import Embedding
from sumwise.errors import DataError


def fresh(given: Any, default: type, random_state: Any, kind: type | None = None) -> Any:
    """Return an unfitted copy of a part (an embedding or a kernel), seeded by the estimator where it has no seed.

    Examples
    --------
    >>> from sumwise.distribution import FourierEmbedding
    >>> from sumwise.distribution.sub_estimators import fresh
    >>> fresh(None, FourierEmbedding, 7).random_state
    7
    """
    kind = Embedding if kind is None else kind
    if given is not None and not isinstance(given, kind):
        name = kind.__name__.lower().removeprefix("bag")
        raise DataError(f"{name} is of type {type(given).__name__}.", hint=f"give one such as {default.__name__}().")
    part: Any = default() if given is None else clone(given)
    if random_state is not None and getattr(part, "random_state", 0) is None:
        part.set_params(random_state=random_state)
    return part
