"""count_intervals: how sure the most likely counts are, by a Laplace approximation around them."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from scipy.stats import binom, nbinom, norm, poisson

from sumwise import checks
from sumwise.collective.kernels.count_laplace import at_kink, function_variances, node_covariance
from sumwise.collective.kernels.dual_counts import maximise_dual
from sumwise.collective.linear_functions import read_functions
from sumwise.collective.observations import observe
from sumwise.errors import DataError
from sumwise.estimate import Estimate
from sumwise.progress import track
from sumwise.table import Table
from sumwise.tables import Tables

FEW_FUNCTIONS = 20  # below it, one system each is cheaper than all covariances of a node
MOST_STATES = 1000  # of a node whose covariances are all computed


def count_intervals(
    model: Any, tables: Any, functions: Any, *, n: float | None = None, level: float = 0.95, tol: float = 1e-8
) -> Estimate:
    """Estimate linear functions of a population's tables, with intervals, by a Laplace approximation.

    Around the most likely counts the posterior is taken as normal, with the inverse of the objective's curvature as
    covariance. A function without negative weights counts individuals: its interval has the quantiles of whole numbers
    of that mean and variance (binomial, Poisson or negative binomial), so that a flow of zero is covered where few are
    expected. Any other function has the interval of the normal distribution.

    Parameters
    ----------
    model : TreeModel or GraphModel
    tables : Tables or None
    functions : mapping
        ``{name: {attributes: weights}}``, as for `sample_counts`.
    n : float, optional
        Size of the population; default ``tables.n``.
    level : float in (0, 1), default 0.95
    tol : float > 0, default 1e-8
        Tolerance of the search for the most likely counts.

    Returns
    -------
    Estimate
        One value per function, at the most likely counts.

    See Also
    --------
    map_counts : The most likely flows.
    sample_counts : Draws, where the normal approximation is rough.

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
    0    leave   18.0  11.0  25.0
    """
    level = checks.fraction(level, "level")
    asked = read_functions(functions, model)
    if not asked:
        raise DataError("There are no functions.", hint="give {'flow': {('t0', 't1'): weights}}.")
    seen = observe(model, tables, n)
    if seen.extras:
        raise DataError("count_intervals takes the noise models of sumwise only; there is a noise of your own.")
    result = maximise_dual(seen.problem, tol, 1000)
    if not result.converged:
        raise DataError(
            f"The most likely counts were not found: {result.n_iter} steps left a gap of {result.gap:.3g}.",
            hint="the noise is too tight for counts that contradict each other; see map_counts, and state more noise.",
        )
    stuck = at_kink(seen.problem, result.multipliers)
    if stuck.any():
        first = seen.names[seen.problem.observations.source[int(np.argmax(stuck))]]
        raise DataError(
            f"{int(stuck.sum())} counts lie at the kink of their noise, where the approximation fails. "
            f"First: in the table over {first}.",
            hint="use sample_counts(model, tables, functions=...).interval().",
        )
    wide, beliefs, cells = seen, result.beliefs, result.cells
    if any(len(k) > 1 for parts in asked.values() for k in parts):  # cells of moves, for what sums them
        wide = observe(model, _with_places(model, tables, asked), seen.problem.total)
        beliefs, cells, _ = wide.problem.infer(
            -wide.problem.observations.spread(result.multipliers, wide.problem.n_cells)
        )
    weights = np.stack([_flat(wide, parts) for parts in asked.values()])
    variance = _of_one_node(seen, result, asked, weights)
    if variance is None:
        each = track(weights, "Intervals")
        tables_of = (wide.problem, beliefs, cells)
        variance = function_variances(seen.problem, result.beliefs, result.cells, each, tables_of)
    values = weights @ cells
    square = (weights**2) @ cells
    jump = np.where(
        (weights >= 0).all(axis=1), np.divide(square, values, where=values > 0, out=np.ones_like(values)), np.nan
    )
    low, high = count_ends(values, np.sqrt(variance), jump, level)
    return Estimate(values, low, high, level, labels=[list(asked)], axes=["function"], name="count")


def _of_one_node(seen, result, asked, weights):
    """Variances of many functions of one attribute of a chain, from all its covariances at once; None elsewhere."""
    keys = {k for parts in asked.values() for k in parts}
    if len(keys) > 1 or len(asked) < FEW_FUNCTIONS or any(len(k) > 1 for k in keys):
        return None
    node = seen.layout.node_of(next(iter(keys)))
    if seen.problem.forest.sizes[node] > MOST_STATES:
        return None
    found = node_covariance(seen.problem, result.beliefs, result.cells, node)
    if found is None:
        return None
    own = weights[:, seen.problem.offsets[node] : seen.problem.offsets[node + 1]]
    return np.maximum(((own @ found) * own).sum(axis=1), 0.0)


def _with_places(model, tables, asked):
    """The tables, and an unobserved table for every one that a function sums, so that it has its cells."""
    keys = dict.fromkeys(chain.from_iterable(asked.values()))
    empty = [Table(k, np.full([model.domain[a] for a in k], np.nan)) for k in keys if len(k) > 1]
    given = [] if tables is None else list(tables)
    domain = tables.domain if isinstance(tables, Tables) else model.domain
    return Tables([*given, *empty], domain)


def _flat(seen, parts):
    out = np.zeros(seen.problem.n_cells)
    for attributes, weights in parts.items():
        node = seen.layout.node_of(attributes)
        np.add.at(out, seen.layout.cell_index(node, attributes, seen.problem.offsets), weights)
    return out


def count_ends(values, sd, jump, level):
    """Ends of the intervals: of whole numbers of individuals where no weight is negative, else of a normal variable.

    `jump` is how much of the function one individual is on average, weighted by its own share; NaN with negative ones.
    """
    tails = (1 - level) / 2, (1 + level) / 2
    low, high = (values + norm.ppf(t) * sd for t in tails)
    whole = np.isfinite(jump) & (values > 0)
    size = np.where(whole, jump, 1.0)
    mean, spread = values / size, sd / size
    low = np.where(whole, size * _count_quantile(tails[0], mean, spread, np.minimum), low)
    high = np.where(whole, size * _count_quantile(tails[1], mean, spread, np.maximum), high)
    fixed = sd <= 1e-9 * np.maximum(values, 1e-300)
    return np.where(fixed, values, low), np.where(fixed, values, high)


def _count_quantile(share, mean, sd, pick):
    """A quantile of whole numbers; where noise adds to their variance, `pick` of it and of a truncated normal variable.

    Where noise exceeds the count itself, a negative binomial variable would be 0 nearly always. There the count is
    normal around the most likely one, and not negative.
    """
    found = _whole_quantile(share, mean, sd**2)
    below = norm.cdf(-mean / np.maximum(sd, 1e-300))
    above = np.maximum(mean + sd * norm.ppf(below + share * (1.0 - below)), 0.0)
    above = np.floor(above) if pick is np.minimum else np.ceil(above)
    return np.where(sd**2 > 1.001 * mean, pick(found, above), found)


def _whole_quantile(share, mean, variance):
    """A quantile of whole numbers with this mean and variance: binomial, Poisson or negative binomial."""
    mean = np.maximum(mean, 1e-300)
    ratio = variance / mean
    out = poisson.ppf(share, mean)
    wide, narrow = ratio > 1.001, ratio < 0.999
    r = mean / np.where(wide, ratio - 1.0, 1.0)
    out = np.where(wide, nbinom.ppf(share, r, 1.0 / np.where(wide, ratio, 2.0)), out)
    trials = np.maximum(np.ceil(mean / np.where(narrow, 1.0 - ratio, 1.0)), 1.0)
    return np.where(narrow, binom.ppf(share, trials, np.minimum(mean / trials, 1.0)), out)
