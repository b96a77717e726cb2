"""count_intervals: how sure the most likely counts are, by a Laplace approximation around them."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from scipy.stats import gamma, norm

from sumwise import checks
from sumwise.collective.kernels.count_laplace import at_kink, function_variances
from sumwise.collective.kernels.dual_counts import maximise_dual
from sumwise.collective.linear import read_functions
from sumwise.collective.observations import observe
from sumwise.errors import DataError
from sumwise.estimate import Estimate
from sumwise.table import Table
from sumwise.tables import Tables

__all__ = ["count_intervals"]


def count_intervals(
    model: Any, tables: Any, functions: Any, *, n: float | None = None, level: float = 0.95, tol: float = 1e-8
) -> Estimate:
    """Estimate linear functions of a population's tables, with intervals, by a Laplace approximation.

    Around the most likely counts the posterior is taken as normal, with the inverse of the objective's curvature as
    covariance. A function without negative weights has the interval of a gamma distribution of that mean and variance,
    which also holds for flows of a few individuals; any other one that of the normal distribution.

    Parameters
    ----------
    model : TreeModel or GraphModel
    tables : Tables or None
    functions : mapping
        ``{name: {attributes: weights}}``, as for `sample_counts`.
    n : float, optional
        Size of the population; default ``tables.n``.
    level : float, default 0.95
    tol : float, default 1e-8
        Of the search for the most likely counts.

    Returns
    -------
    Estimate
        One value per function, at the most likely counts.

    Notes
    -----
    Laplace and geometric noise have a kink at the observed count. Where the most likely count lies on one, the
    curvature says nothing about the posterior, so the approximation is refused: use `sample_counts`.

    Examples
    --------
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.collective import TreeModel, count_intervals
    >>> from sumwise.noise import Poisson
    >>> domain = Domain({"t0": 2, "t1": 2})
    >>> model = TreeModel(domain, [("t0", "t1")], {("t0", "t1"): [[0.0, -1.0], [-1.0, 0.0]]})
    >>> seen = Tables([Table("t0", [80, 20], noise=Poisson())], domain, n=100)
    >>> count_intervals(model, seen, {"leave": {("t0", "t1"): [[0, 1], [0, 0]]}}).to_frame().round()
      function  count   low  high
    0    leave   18.0  11.0  26.0
    """
    level = checks.fraction(level, "level")
    asked = read_functions(functions, model)
    if not asked:
        raise DataError("There are no functions.", hint="give {'flow': {('t0', 't1'): weights}}.")
    seen = observe(model, _with_places(model, tables, asked), _size(tables, n))
    if seen.extras:
        raise DataError("count_intervals takes the noise models of sumwise only; there is a noise of your own.")
    result = maximise_dual(seen.problem, tol, 1000)
    stuck = at_kink(seen.problem, result.g)
    if stuck.any():
        first = seen.names[seen.problem.observations.source[int(np.argmax(stuck))]]
        raise DataError(
            f"{int(stuck.sum())} counts lie at the kink of their noise, where the approximation fails. "
            f"First: in the table over {first}.",
            hint="use sample_counts(model, tables, functions=...).interval().",
        )
    weights = np.stack([_flat(seen, parts) for parts in asked.values()])
    variance = function_variances(seen.problem, result.beliefs, result.cells, weights)
    values = weights @ result.cells
    low, high = _ends(values, np.sqrt(variance), (weights >= 0).all(axis=1), level)
    return Estimate(values, low, high, level, labels=[list(asked)], axes=["function"], name="count")


def _size(tables, n):
    return tables.n if n is None and isinstance(tables, Tables) else n


def _with_places(model, tables, asked):
    """The tables, and an unobserved table for every one that a function sums, so that it has its cells."""
    keys = dict.fromkeys(chain.from_iterable(asked.values()))
    empty = [Table(k, np.full([model.domain[a] for a in k], np.nan)) for k in keys if len(k) > 1]
    given = [] if tables is None else list(tables)
    domain = tables.domain if isinstance(tables, Tables) else model.domain
    return Tables([*given, *empty], domain) if empty else tables


def _flat(seen, parts):
    out = np.zeros(seen.problem.n_cells)
    for attributes, weights in parts.items():
        node = seen.layout.node_of(attributes)
        np.add.at(out, seen.layout.cell_index(node, attributes, seen.problem.offsets), weights)
    return out


def _ends(values, sd, positive, level):
    tails = (1 - level) / 2, (1 + level) / 2
    low, high = (values + norm.ppf(t) * sd for t in tails)
    whole = positive & (values > 0) & (sd > 0)
    shape = np.divide(values, sd, out=np.ones_like(values), where=whole) ** 2
    scale = np.divide(values, shape)
    low, high = (np.where(whole, gamma.ppf(t, shape, scale=scale), end) for t, end in zip(tails, (low, high)))
    return np.where(sd > 0, low, values), np.where(sd > 0, high, values)
