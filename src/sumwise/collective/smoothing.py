"""smooth_counts: weekly counts with gaps and changing totals become a population of constant size."""

# Names are bound in loops that run at least once.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.collective.kernels.smooth_field import (
    FINE,
    Unsolved,
    factor,
    fit_field,
    posterior_draws,
    widening,
    with_roughness,
)
from sumwise.display import facts_text, finding_html
from sumwise.domain import Domain
from sumwise.errors import DataError
from sumwise.noise import Gaussian
from sumwise.table import Table
from sumwise.tables import Tables

LENGTHS = np.array([0.5, 1.0, 2.0, 4.0, 8.0])  # of the kernels, in typical distances between neighbours
NOISES = np.array([0.25, 0.5, 1.0])  # variances on the root scale: Poisson noise has 1/4, overdispersed counts more
FOLDS, MANY, ROUNDS = 5, 20_000, 3  # of many counts one fold is held out
SHIFT, POISSON = 3 / 8, 1 / 4  # Anscombe's, and the variance of noise that it leaves


@dataclass(frozen=True, eq=False, repr=False)
class SmoothedCounts:
    """Counts of a population of constant size at every time and place, and how sure they are; from `smooth_counts`.

    Attributes
    ----------
    counts, sd : (T, L) arrays
        Every row of `counts` sums to `total`. `sd` is widened, by the size of the count, until two of them hold 95% of
        held-out counts.
    total : float > 0
    observed_totals : (T,) array
        What was counted at each time; NaN where nothing was.
    missing : (T, L) array of bool
        Where nothing had been observed; such counts are interpolated. An observed zero is not missing.
    time_length, space_length, noise : float
        What was chosen, by `held_out_error`: kernel lengths in the units of times and positions, and the variance of
        noise on the square-root scale.
    held_out_error : float
        Root mean squared error of held-out counts on the square-root scale (pure Poisson noise has 0.5).

    Examples
    --------
    >>> from sumwise.collective import smooth_counts
    >>> smooth_counts([[4, 9, 1], [5, 8, 2], [6, 7, float("nan")]], [[0.0], [1.0], [2.0]])
    SmoothedCounts(times=3, cells=3, total=14.5, missing=1)
    """

    counts: np.ndarray
    sd: np.ndarray
    total: float
    observed_totals: np.ndarray
    missing: np.ndarray
    time_length: float
    space_length: float
    noise: float
    held_out_error: float

    def tables(self, names: Any = None) -> Tables:
        """Return node tables ``t0``, ``t1``, ... (or `names`) with Gaussian noise of the standard deviations.

        Examples
        --------
        >>> from sumwise import synthetic
        >>> from sumwise.collective import smooth_counts
        >>> season = synthetic.birds(3, 5, 400, random_state=0)
        >>> counts = [season.tables["t" + str(t)].counts for t in range(5)]
        >>> smooth_counts(counts, season.positions, total=400).tables().n
        400.0
        """
        steps, cells = self.counts.shape
        given = checks.names(names, steps, "names", "t")
        domain = Domain(dict.fromkeys(given, cells))
        floor = max(1e-3 * self.total / cells, 1e-9)
        scales = np.maximum(self.sd, floor)
        made = [Table(a, c, noise=Gaussian(s)) for a, c, s in zip(given, self.counts, scales)]
        return Tables(made, domain, n=self.total)

    def _repr_html_(self) -> str:
        steps, cells = self.counts.shape
        words = f"Counts of {cells:,} cells at {steps:,} times, {self.total:,.0f} in each; {int(self.missing.sum()):,} "
        return finding_html(
            f"{words}of them were missing and are predicted. A typical standard error is {np.median(self.sd):.3g}."
        )

    def __repr__(self) -> str:
        steps, cells = self.counts.shape
        facts = {"times": steps, "cells": cells, "total": self.total, "missing": int(self.missing.sum())}
        return facts_text("SmoothedCounts", facts)


def smooth_counts(
    counts: Any,
    positions: Any,
    times: Any = None,
    *,
    total: float | None = None,
    time_length: float | None = None,
    space_length: float | None = None,
    noise: float | None = None,
    rough: bool = True,
    draws: int = 40,
    random_state: Any = 0,
) -> SmoothedCounts:
    """Smooth counts over time and space, fill gaps, and bring every time to the same total.

    Collective models assume a population of constant size, observed at every time. Real counts are sparse, have weeks
    without observers, and totals that vary. Square roots of the counts are treated as a Gaussian process with a product
    kernel over time and space (Sun 2019, section 1.1, proposes one as a first step), in few features, so that daily
    data work. How much of the population was seen at each time is estimated along with it, and each time is scaled to
    `total`.

    Parameters
    ----------
    counts : (T, L) array
        NaN where nothing was observed; an observed zero is a zero.
    positions : (L, d) array
        Where the cells are.
    times : (T,) array, optional
        When, in any unit, increasing; default 0, 1, 2, ...
    total : float > 0, optional
        Default: the median of the totals of times without gaps; if all have some, gaps are filled by their cell's mean
        for this.
    time_length, space_length, noise : float, optional
        Lengths of the kernels and variance of noise on the square-root scale; those that are not given are chosen by
        the error on counts that are held out.
    rough : bool, default True
        Noise beyond that of a Poisson count (1/4) is treated as roughness of the field itself, which is then followed
        where it was seen and left open where not; with False, for errors of the observers (flocks seen or missed).
    draws : int >= 2, default 40
        Draws from the posterior behind the standard deviations.
    random_state : int, Generator or None, default 0

    Returns
    -------
    SmoothedCounts

    See Also
    --------
    process_counts : Smoothing with a model of movement.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import synthetic
    >>> from sumwise.collective import smooth_counts
    >>> season = synthetic.birds(4, 8, 1000, random_state=0)
    >>> seen = np.array([season.tables["t" + str(t)].counts for t in range(8)])
    >>> seen[3] = np.nan  # nobody was out in the fourth week
    >>> smooth = smooth_counts(seen, season.positions, total=1000)
    >>> smooth.counts.sum(axis=1).round(6).tolist() == [1000.0] * 8
    True
    >>> int(smooth.missing.sum())
    16
    """
    y, place, when = _read(counts, positions, times)
    rng = checks.generator(random_state)
    checks.at_least(draws, "draws", 2)
    checks.choice(rough, "rough", (True, False))
    for name, value in (("time_length", time_length), ("space_length", space_length), ("noise", noise)):
        if value is not None:
            checks.positive(value, name, ndim=0)
    hint = "give fewer places or times, or fewer draws."
    checks.allocation("smooth_counts", (draws, len(when), len(place)), hint=hint)
    seen = np.isfinite(y)
    size = _total(y, seen) if total is None else float(checks.positive(total, "total", ndim=0))
    effort = np.where(seen.any(axis=1), np.nansum(y, axis=1) / size / np.maximum(seen.mean(axis=1), 1e-9), 1.0)
    for _ in range(ROUNDS):  # how much was seen of the population at each time, and what it then looks like
        root = np.where(seen, np.sqrt(np.where(seen, y, 0.0) / np.maximum(effort, 1e-9)[:, None] + SHIFT), np.nan)
        settings, error = _choose(root, when, place, (time_length, space_length, noise), rng)
        parts = _parts(settings[2], rough)
        with _one_warning(settings):
            field = _fit(root, when, place, settings, rng)
        middle = with_roughness(field.values(), root, *parts)
        smooth = _back(middle)
        expected = np.where(seen, _scaled(smooth, size), 0.0).sum(axis=1)
        effort = np.where(expected > 0, np.nansum(y, axis=1) / np.maximum(expected, 1e-9), 1.0)
        effort = np.where(effort > 0, effort, 1.0)  # nothing seen, nothing known of the effort
    with _one_warning(settings):
        wider = np.interp(field.values(), *_widening(root, when, place, settings, parts, draws, rng))
        fields = posterior_draws(field, seen, np.nan_to_num(root), draws, rng=rng)
        drawn = (with_roughness(f, root, *parts, rng=rng) for f in fields)
        made = np.array([_scaled(_back(middle + wider * (f - middle)), size) for f in drawn])
    totals = np.where(seen.any(axis=1), np.nansum(y, axis=1), np.nan)
    lengths = (float(settings[0]), float(settings[1]), float(settings[2]))
    return SmoothedCounts(_scaled(smooth, size), made.std(axis=0, ddof=1), size, totals, ~seen, *lengths, error)


def _read(counts: Any, positions: Any, times: Any):
    y = checks.finite(counts, "counts", ndim=2, allow_nan=True)
    if (y < 0).any():
        where = np.argwhere(y < 0)[0]
        raise DataError(f"counts are negative: {y[tuple(where)]:g} at time {where[0]}, cell {where[1]}.")
    if len(y) < 2:
        raise DataError(f"There are counts of {len(y)} time.", hint="moves need at least two times.")
    hint = "drop such cells, or merge them with their neighbours."
    checks.nowhere(np.isnan(y).all(axis=0), "{} cells were never observed", lambda k: f"cell {k}", hint)
    place = checks.finite(positions, "positions", ndim=2)
    when = checks.finite(np.arange(len(y)) if times is None else times, "times", ndim=1)
    if len(place) != y.shape[1] or len(when) != len(y):
        raise DataError(
            f"counts are of shape {y.shape}, but there are {len(when)} times and {len(place)} positions.",
            hint="give counts[time, cell].",
        )
    if np.any(np.diff(when) <= 0):
        raise DataError("times must increase.", hint="sort the weeks, and merge those that are counted twice.")
    if not np.nansum(y) > 0:
        raise DataError("All counts are zero.")
    return y, place, when


def neighbour_distance(points: np.ndarray) -> float:
    """Typical distance to the nearest other point."""
    from scipy.spatial import KDTree

    points = points.reshape(len(points), -1)
    if len(points) == 1:
        return 1.0
    near = KDTree(points).query(points, k=2)[0][:, 1]
    typical = float(np.median(near))
    return typical if typical > 0 else max(float(near.max()), 1.0)


@contextmanager
def _one_warning(settings) -> Iterator[None]:
    """Say which settings can't be solved for."""
    try:
        yield
    except Unsolved as error:
        raise DataError(
            f"The smooth field was not found: after {error.steps} steps its equations are off by {error.residual:.1e} "
            f"of their size ({FINE:.0e} is wanted), with time_length {settings[0]:g}, space_length {settings[1]:g} and "
            f"noise {settings[2]:g}.",
            hint="give a larger noise, or shorter lengths.",
        ) from error


def _fit(root, when, place, settings, rng):
    time_length, space_length, noise = settings
    seen = np.isfinite(root)
    n = np.maximum(seen.sum(axis=0), 1)  # a cell may be held out whole
    centre = np.where(seen, root, 0.0).sum(axis=0) / n
    about = np.mean((root - centre)[seen] ** 2)
    spread = float(max(about - noise, 0.1 * about, 1e-6)) ** 0.5
    return fit_field(root, factor(when, time_length, rng=rng), factor(place, space_length, rng=rng), spread, noise)


def _choose(root, when, place, given, rng):
    """Settings with the least error on held-out counts, one after the other, twice; and that error."""
    folds = _folds(root, rng)
    options = [LENGTHS * neighbour_distance(when), LENGTHS * neighbour_distance(place), NOISES]
    options = [np.array([float(g)]) if g is not None else o for g, o in zip(given, options)]
    now = [options[0][len(options[0]) // 2], options[1][len(options[1]) // 2], options[2][0]]
    errors: dict[tuple, float] = {}

    def error(settings: tuple) -> float:
        if settings not in errors:
            try:
                squares = np.concatenate([_held_out(root, out, when, place, settings) for out in folds])
            except Unsolved:  # no candidate then; if none is one, the last fit says so
                squares = np.full(1, np.inf)
            errors[settings] = float(np.sqrt(squares.mean()))
        return errors[settings]

    for _ in range(2):
        for k in range(3):
            now[k] = min(options[k], key=lambda v, k=k: error((*now[:k], v, *now[k + 1 :])))
    return tuple(now), error(tuple(now))


def _held_out(root, out, when, place, settings) -> np.ndarray:
    """Squared errors at the positions `out` of a fit to all others."""
    field = _fit(_without(root, out), when, place, settings, np.random.default_rng(0))
    return (field.values().ravel()[out] - root.ravel()[out]) ** 2


def _parts(noise: float, rough: bool) -> tuple[float, float]:
    """Variance of the field's roughness, and of the noise."""
    beyond = max(noise - POISSON, 0.0) if rough else 0.0
    return beyond, noise - beyond


def _widening(root, when, place, settings, parts, draws, rng):
    """How much wider errors of held-out counts are than the process expects, by the size of the count."""
    sizes, errors, variances = [], [], []
    for out in _folds(root, rng):
        shown = _without(root, out)
        field = _fit(shown, when, place, settings, rng)
        fields = posterior_draws(field, np.isfinite(shown), np.nan_to_num(shown), draws, rng=rng)
        variances.append(np.var([f.ravel()[out] for f in fields], axis=0, ddof=1) + parts[0])
        sizes.append(field.values().ravel()[out])
        errors.append(sizes[-1] - root.ravel()[out])
    return widening(np.concatenate(sizes), np.concatenate(errors), np.concatenate(variances), parts[1])


def _without(root, out) -> np.ndarray:
    """The values without those at the positions `out`."""
    shown = root.copy()
    shown.ravel()[out] = np.nan
    return shown


def _folds(root, rng) -> list[np.ndarray]:
    """Positions to hold out; of many counts, one fold in place of five."""
    seen = rng.permutation(np.flatnonzero(np.isfinite(root)))
    folds = [seen[k::FOLDS] for k in range(min(FOLDS, len(seen)))]
    return folds if len(seen) < MANY else folds[:1]


def _back(f: np.ndarray) -> np.ndarray:
    return np.maximum(np.maximum(f, 0.0) ** 2 - SHIFT, 0.0)


def _scaled(counts: np.ndarray, total: float) -> np.ndarray:
    sums = counts.sum(axis=1, keepdims=True)
    return np.where(sums > 0, counts / np.where(sums > 0, sums, 1.0), 1.0 / counts.shape[1]) * total


def _total(y, seen) -> float:
    """Median total of times without gaps; if all have some, with the mean of what was seen in each gap."""
    whole = seen.all(axis=1)
    filled = np.where(seen, y, np.nanmean(y, axis=0))
    return max(float(np.median(filled[whole].sum(axis=1) if whole.any() else filled.sum(axis=1))), 1.0)
