"""process_counts: most likely counts whose places are as popular as a smooth field says, learned with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import minimize

from sumwise import checks
from sumwise.collective.counts import CountsFit
from sumwise.collective.kernels.smooth_field import factor
from sumwise.collective.map_counts import map_counts
from sumwise.collective.smoothing import neighbour_distance
from sumwise.collective.tree_model import TreeModel
from sumwise.display import facts_text, finding_html
from sumwise.errors import DataError
from sumwise.fit import warn_not_converged
from sumwise.table import Table
from sumwise.tables import Tables

LENGTHS = np.array([1.0, 2.0, 4.0])  # that are tried, in typical distances between neighbours
HELD_OUT_EVERY = 5  # one in so many counts is held out to choose lengths
COUNTS_GAP = 1e-8  # relative gap of the counts at every step: rounding of the objective misleads the search otherwise


@dataclass(frozen=True, eq=False, repr=False)
class ProcessCounts:
    """Counts and the field behind them, found together; from `process_counts`.

    Attributes
    ----------
    counts : CountsFit
        The most likely counts given the field, with their proven gap.
    model : TreeModel
        The model with the field as log-potentials of its attributes.
    field : (T, L) array
        Log-potential of every place at every time.
    objective : float
        The negative log-posterior of counts and field together, up to constants.
    field_gap : float
        The objective is at most this above its least value over all fields, at these counts.
    time_length, space_length : float
    scores : dict
        Log-density of held-out counts by the lengths ``(time, space)`` that were tried; empty where both were given.
    n_iter : int
    converged : bool

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.collective import TreeModel, process_counts
    >>> season = synthetic.birds(2, 3, 100, random_state=0)
    >>> still = TreeModel(season.domain, season.edges)  # nothing known of the moves
    >>> process_counts(still, season.tables, season.positions, time_length=1, space_length=1)
    ProcessCounts(times=3, cells=4, n=100, time_length=1, space_length=1, converged=True)
    """

    counts: CountsFit
    model: TreeModel
    field: np.ndarray
    objective: float
    field_gap: float
    time_length: float
    space_length: float
    scores: dict[tuple[float, float], float]
    n_iter: int
    converged: bool

    def _repr_html_(self) -> str:
        times, cells = self.field.shape
        words = f"Counts of {cells:,} places at {times:,} times and a smooth field of their popularity, found together."
        least, most = np.exp(self.field.min()), np.exp(self.field.max())
        return finding_html(f"{words} The field multiplies the model's odds by {least:.3g} to {most:.3g}.")

    def __repr__(self) -> str:
        times, cells = self.field.shape
        facts = {"times": times, "cells": cells, "n": self.counts.n, "time_length": self.time_length}
        return facts_text("ProcessCounts", {**facts, "space_length": self.space_length, "converged": self.converged})


def process_counts(
    model: TreeModel,
    tables: Tables,
    positions: Any,
    times: Any = None,
    *,
    time_length: float | None = None,
    space_length: float | None = None,
    scale: float = 1.0,
    tol: float = 1e-4,
    max_iter: int = 500,
) -> ProcessCounts:
    """Estimate counts together with a smooth field of the popularity of places, in one likelihood.

    Sun (2019, section 1.1) smooths counts by a Gaussian process first and fits a collective model to the smooth counts
    then, and leaves it to future work to train both end to end. Here an individual's log-potential of place l at time t
    is ``f[t, l]``, in addition to the model's own, and f is a Gaussian process over time and space. Counts given f are
    the collective model's, observations given counts have the noise of the tables, and the posterior of all is
    maximised at once. Times and places without observations are filled in by the moves and by the field.

    Parameters
    ----------
    model : TreeModel
        Its attributes are times, in order, with the same places as levels. What it says of moves is kept.
    tables : Tables
        What was observed, with noise (see `map_counts`); cells that are NaN were not observed.
    positions : (L, d) array
    times : (T,) array, optional
        The times of the attributes; default 0, 1, 2, ...
    time_length, space_length : float, optional
        Lengths of the field's kernels. Those that are not given are chosen among one, two and four typical distances
        between neighbours, by the density of a fifth of the observed cells that is held out.
    scale : float > 0, default 1.0
        Standard deviation of the field; 1 means that popularity varies by a factor of e.
    tol : float > 0, default 1e-4
        Stop when the proven gap of the field, given the counts, is below `tol` times the observed cells.
    max_iter : int >= 1, default 500

    Returns
    -------
    ProcessCounts

    Notes
    -----
    With weights w of the field's features, standard normal, the objective is eq. (2.7) at the counts z under the
    field, plus ``n log Z(f) + |w|^2 / 2``. It is convex in z for each f (the gap of `counts`) and strongly convex in w
    for each z (so ``field_gap`` is half the squared gradient), but not in both: the answer is a stationary point.

    See Also
    --------
    smooth_counts : The same field in a step of its own.
    map_counts : Counts under a model that is taken as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Table, Tables, synthetic
    >>> from sumwise.collective import TreeModel, map_counts, process_counts
    >>> from sumwise.noise import Poisson
    >>> season = synthetic.birds(4, 4, 500, random_state=0)
    >>> seen = {t: season.tables[t].counts.copy() for t in season.domain}
    >>> seen["t2"][:] = np.nan  # nobody was out in the third week
    >>> tables = Tables([Table(t, y, noise=Poisson()) for t, y in seen.items()], season.domain, n=500)
    >>> distance = np.linalg.norm(season.positions[:, None] - season.positions, axis=2)
    >>> model = TreeModel(season.domain, season.edges, {edge: -distance for edge in season.edges})
    >>> together = process_counts(model, tables, season.positions, time_length=1, space_length=1)
    >>> alone = map_counts(model, tables)
    >>> [round(float(abs(f.nodes["t2"] - season.nodes["t2"]).sum())) for f in (together.counts, alone)]
    [403, 566]
    """
    place, when = _read(model, tables, positions, times)
    checks.positive(scale, "scale", ndim=0)
    checks.positive(tol, "tol", ndim=0)
    checks.at_least(max_iter, "max_iter", 1)
    given = {"time_length": time_length, "space_length": space_length}
    options = []
    for (name, value), points in zip(given.items(), (when, place)):
        if value is not None:
            checks.positive(value, name, ndim=0)
        options.append(LENGTHS * neighbour_distance(points) if value is None else [float(value)])
    pairs = [(float(a), float(b)) for a, b in product(*options)]
    scores = {}
    if len(pairs) > 1:
        shown, hidden = _held_out(tables)
        for pair in pairs:
            found = _Joint(model, shown, when, place, pair, scale).solve(tol, max_iter)
            scores[pair] = 0.0
            for table, out in zip(tables, hidden):
                expected = np.maximum(found.counts.table(*table.attributes), 1e-3)
                scores[pair] += float(np.where(out, table.noise.log_density(table.counts, expected), 0.0).sum())
    best = max(scores, key=scores.__getitem__) if scores else pairs[0]
    found = _Joint(model, tables, when, place, best, scale).solve(tol, max_iter)
    if not found.converged:
        warn_not_converged(found.n_iter, found.field_gap, tol, what="gap of the field")
    return replace(found, scores=scores)


class _Joint:
    """The objective over the field's weights, least over counts."""

    def __init__(self, model, tables, when, place, lengths, scale):
        rng = np.random.default_rng(0)  # chooses inducing places, where there are very many
        self.lengths = lengths
        self.base, self.tables, self.names = model, tables, list(model.domain)
        self.times = scale * factor(when, lengths[0], rng=rng)
        self.places = factor(place, lengths[1], rng=rng)
        self.own = {a: model.log_potentials.get(a, 0.0) for a in self.names}
        self.seen = sum(int(np.isfinite(t.counts).sum()) for t in tables)
        self.last: Any = None

    def field(self, w):
        return self.times @ w.reshape(self.times.shape[1], -1) @ self.places.T

    def __call__(self, w):
        """Value and gradient: counts are at their best, so that only the field's own terms have slopes."""
        f = self.field(w)
        nodes = {a: self.own[a] + f[k] for k, a in enumerate(self.names)}
        model = TreeModel(self.base.domain, self.base.edges, {**self.base.log_potentials, **nodes})
        start = None if self.last is None or self.last.multipliers is None else self.last
        fit = self.last = map_counts(model, self.tables, tol=COUNTS_GAP, start=start)
        expected = model.marginals(fit.n).nodes
        rest = np.array([expected[a] - fit.nodes[a] for a in self.names])
        slope = (self.times.T @ rest @ self.places).ravel() + w
        self.model, self.slope = model, slope
        return fit.objective + fit.n * float(model.log_partition()) + 0.5 * float(w @ w), slope

    def solve(self, tol, max_iter):
        w = np.zeros(self.times.shape[1] * self.places.shape[1])
        limit = tol * self.seen
        wanted = np.sqrt(2 * limit / len(w)) / 2  # of the largest slope
        steps = {"maxiter": max_iter, "maxfun": 5 * max_iter, "gtol": wanted, "ftol": 0.0}
        result = minimize(self, w, jac=True, method="L-BFGS-B", options=steps)
        objective, slope = self(result.x)
        gap = 0.5 * float(slope @ slope)
        field = self.field(result.x)
        return ProcessCounts(
            counts=self.last,
            model=self.model,
            field=field,
            objective=objective,
            field_gap=gap,
            time_length=self.lengths[0],
            space_length=self.lengths[1],
            scores={},
            n_iter=int(result.nit),
            converged=gap <= limit,
        )


def _read(model, tables, positions, times):
    """Positions and times that fit the model's attributes."""
    if not isinstance(model, TreeModel):
        raise DataError(
            f"The model is of type {type(model).__name__}.", hint="give a TreeModel whose attributes are times."
        )
    if not isinstance(tables, Tables):
        raise DataError(f"The tables are a {type(tables).__name__}.", hint="give Tables([Table(...), ...], domain).")
    place = checks.finite(positions, "positions", ndim=2)
    sizes = {a: model.domain[a] for a in model.domain}
    wrong = [a for a, size in sizes.items() if size != len(place)]
    if wrong:
        raise DataError(
            f"Attribute {wrong[0]!r} has {sizes[wrong[0]]} levels; there are {len(place)} positions.",
            hint="give the position of every level; all attributes have the same places.",
        )
    when = checks.finite(np.arange(len(sizes)) if times is None else times, "times", ndim=1)
    if len(when) != len(sizes) or np.any(np.diff(when) <= 0):
        raise DataError(
            f"There are {len(when)} times for {len(sizes)} attributes, or they don't increase.",
            hint="give one time per attribute of the model, in its order.",
        )
    return place, when


def _held_out(tables):
    """Tables without a fifth of their observed cells, and where those are: the same ones in every call."""
    rng = np.random.default_rng(0)
    shown, hidden = [], []
    for table in tables:
        seen = np.isfinite(table.counts)
        out = seen & (rng.permutation(table.counts.size).reshape(table.shape) % HELD_OUT_EVERY == 0)
        left = np.where(out, np.nan, table.counts)
        shown.append(Table(table.attributes, left, noise=table.noise, bounds=table.bounds))
        hidden.append(out)
    if not any(out.any() for out in hidden):
        raise DataError("Too few counts to choose lengths by.", hint="give time_length and space_length.")
    return Tables(shown, tables.domain, n=tables.n), hidden
