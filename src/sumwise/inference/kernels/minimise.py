"""Minimisation by SciPy on one BLAS thread.

L-BFGS works on matrices of some twenty rows. BLAS with several threads spends a hundred times longer on waking them
than on the sums, the more so where other programs run, and what it returns depends on their number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy import optimize
from threadpoolctl import ThreadpoolController

__all__ = ["minimise"]


def minimise(loss: Callable[..., Any], start: np.ndarray, **options: Any) -> optimize.OptimizeResult:
    """Do as ``scipy.optimize.minimize``, on one thread of BLAS; the loss is evaluated on one, too.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.inference.kernels.minimise import minimise
    >>> minimise(lambda x: (x @ x - x.sum(), 2 * x - 1), np.zeros(2), jac=True, method="L-BFGS-B").x
    array([0.5, 0.5])
    """
    with _blas().limit(limits=1, user_api="blas"):
        return optimize.minimize(loss, start, **options)


@cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries that NumPy and SciPy have loaded; to look for them takes milliseconds, so once."""
    return ThreadpoolController()
