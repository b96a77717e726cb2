"""map_counts: the most likely tables of a population, by any of the methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks
from sumwise.collective.counts import CountsFit
from sumwise.collective.observations import Observed, observe
from sumwise.errors import DataError
from sumwise.fit import warn_not_converged
from sumwise.kernels.dual_counts import maximise_dual

__all__ = ["METHODS", "map_counts"]


def map_counts(
    model: Any,
    tables: Any,
    n: float | None = None,
    method: str = "dual",
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    start: CountsFit | None = None,
) -> CountsFit:
    """Find the most likely tables of a population, given noisy counts.

    Parameters
    ----------
    model : TreeModel or GraphModel
    tables : Tables
        What was observed, each table with its noise; NaN cells were not observed.
    n : float, optional
        Size of the population; default ``tables.n``.
    method : str, default "dual"
    tol : float, default 1e-6
        Stop when the proven gap is below `tol` times the objective (or times its drop since the start, if less).
    max_iter : int, optional
    start : CountsFit, optional
        An earlier fit with the same tables' shapes, for a warm start.

    Returns
    -------
    CountsFit

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.collective import TreeModel, map_counts
    >>> from sumwise.noise import Poisson
    >>> domain = Domain({"t0": 3, "t1": 3})
    >>> move = np.log([[0.8, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]])
    >>> model = TreeModel(domain, [("t0", "t1")], {("t0", "t1"): move})
    >>> seen = Tables([Table("t0", [50, 30, 20], noise=Poisson()), Table("t1", [40, 45, 15], noise=Poisson())], domain)
    >>> fit = map_counts(model, seen, n=100)
    >>> fit.edges["t0", "t1"].round(1)
    array([[32.2,  8.4,  3. ],
           [ 3.2, 26.8,  2.4],
           [ 2.9,  6.1, 15. ]])
    >>> fit.gap < 1e-3
    True
    """
    checks.choice(method, "method", tuple(METHODS))
    seen = observe(model, tables, n)
    return METHODS[method](seen, tol, max_iter, start)


def _dual(seen: Observed, tol, max_iter, start) -> CountsFit:
    if seen.extras:
        raise DataError(
            "The dual needs the convex conjugate of every noise; a table has a noise of the user's own.",
            hint="use method='nlbp', 'mirror' or 'accelerated-rda'.",
        )
    first = None if start is None else start.multipliers
    if first is not None and len(first) != seen.problem.evidence.size:
        raise DataError(f"start has {len(first)} multipliers; the evidence has {seen.problem.evidence.size}.")
    result = maximise_dual(seen.problem, tol, 200 if max_iter is None else max_iter, first)
    if not result.converged:
        worst = max(result.gap, result.violation)
        warn_not_converged(result.n_iter, worst, tol * abs(result.objective), stacklevel=4)
    counts = seen.layout.counts_of(result.beliefs, seen.problem.total)
    return CountsFit(
        answer=counts.nodes,
        objective=result.objective,
        gap=result.gap,
        n_iter=result.n_iter,
        converged=result.converged,
        history={k: np.asarray(v) for k, v in result.history.items()},
        nodes=counts.nodes,
        edges=counts.edges,
        cliques=counts.cliques,
        n=seen.problem.total,
        dual=result.dual,
        violation=result.violation,
        multipliers=result.g,
        method="dual",
    )


METHODS = {"dual": _dual}
