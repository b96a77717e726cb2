"""The penalty of a ridge path: as given, or the one with the least leave-one-out error."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks
from sumwise.distribution.kernels.ridge import Path

TIED_ERRORS = 0.005  # of penalties whose errors differ by less the largest is taken: it extrapolates less wildly


def choose_penalty(path: Path, penalty: Any) -> np.ndarray:
    """Return the penalty of each output, (n_outputs,): `penalty` times the largest eigenvalue, or by leave-one-out.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.penalty import choose_penalty
    >>> from sumwise.distribution.kernels.ridge import ridge_path
    >>> x = np.arange(5.0)[:, None]
    >>> choose_penalty(ridge_path(x, 2 * x), 0.1)
    array([1.])
    """
    if isinstance(penalty, str):
        checks.choice(penalty, "penalty", ("loo",))
        near = path.errors <= (1 + TIED_ERRORS) * path.errors.min(axis=0)
        return np.array([path.penalties[near[:, k]].max() for k in range(near.shape[1])])
    given = float(checks.positive(penalty, "penalty", ndim=0))
    return np.full(path.targets.shape[1], given * path.top)
