"""Counts by time and place out of what users have: frames, arrays, Tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.collective.places import Places
from sumwise.errors import DataError
from sumwise.frames import is_frame, to_pandas
from sumwise.noise import Gaussian, Noise, Poisson
from sumwise.tables import Tables

ABSENT = ("unobserved", "zero")
RELATIVE_SIZE = 1e5  # individuals that stand for relative abundance
RELATIVE_NOISE = 0.01  # standard deviation of relative abundance, as a share of the mean of a place


def read_counts(data: Any, places: Places | None, columns: tuple[str, str, str], times: Any, absent: str):
    """Times, places and counts (T, L) of a frame, of `Tables` with a table per time, or of an array.

    Returns
    -------
    times : list
    places : Places
    counts : (T, L) array, NaN where not observed
    noise : Noise or None, as tables state it
    """
    checks.choice(absent, "absent", ABSENT)
    if isinstance(data, Tables):
        return _from_tables(data, places)
    if is_frame(data) or isinstance(data, dict):
        return *_from_frame(data, places, columns, times, absent), None
    counts = checks.finite(data, "counts", ndim=2, allow_nan=True)
    made = _default_places(places, list(range(counts.shape[1])))
    listed = list(range(len(counts))) if times is None else checks.listing(times, "times")
    if len(listed) != len(counts) or len(made) != counts.shape[1]:
        raise DataError(
            f"counts have shape {counts.shape}; there are {len(listed)} times and {len(made)} places.",
            hint="give one row per time and one column per place.",
        )
    return listed, made, counts, None


def _from_frame(frame: Any, places: Places | None, columns: tuple[str, str, str], times: Any, absent: str):
    time, place, count = columns
    data = to_pandas(frame, [time, place, count], "the frame of counts")
    twice = data.duplicated([time, place])
    if twice.any():
        first = data[twice].iloc[0]
        raise DataError(
            f"{int(twice.sum())} pairs of time and place have two rows. First: {first[time]!r} at {first[place]!r}.",
            hint="add them up, or name the right columns.",
        )
    listed = sorted(data[time].unique().tolist()) if times is None else checks.listing(times, "times")
    made = _default_places(places, list(dict.fromkeys(data[place].tolist())))
    rows = pd.Index(listed).get_indexer(data[time])
    if (rows < 0).any():
        raise DataError(f"Time {data[time][rows < 0].iloc[0]!r} is not among the given times.")
    counts = np.full((len(listed), len(made)), 0.0 if absent == "zero" else np.nan)
    counts[rows, made.index(data[place])] = checks.finite(data[count].to_numpy(), count, ndim=1, allow_nan=True)
    return listed, made, counts


def _from_tables(tables: Tables, places: Places | None):
    listed = list(tables.domain)
    held = {t.attributes[0]: t for t in tables if len(t.attributes) == 1}
    wide = [t.attributes for t in tables if len(t.attributes) > 1]
    if wide:
        raise DataError(f"There is a table over {' x '.join(wide[0])}.", hint="give moves= to fit for counts of moves.")
    sizes = set(tables.domain.shape)
    if len(sizes) > 1:
        raise DataError("Times have different numbers of places.", hint="give every time the same levels.")
    made = _default_places(places, list(range(sizes.pop())))
    counts = np.stack([held[a].counts if a in held else np.full(len(made), np.nan) for a in listed])
    kinds = {repr(t.noise) for t in held.values()}
    if len(kinds) > 1:
        raise DataError(f"Tables have different noise: {', '.join(sorted(kinds)[:3])}.", hint="give noise= instead.")
    return listed, made, counts, next(iter(held.values())).noise


def _default_places(places: Places | None, names: list) -> Places:
    if places is not None:
        return places
    return Places(distances=1.0 - np.eye(len(names)), names=names)


def population_of(counts: np.ndarray, noise: Noise | None, size: float | None) -> tuple[np.ndarray, Noise, float]:
    """Counts in individuals, their noise, and how many individuals there are.

    Whole numbers are counts, with Poisson noise unless another is given. Anything else without a noise is relative
    abundance: it is scaled to `size` individuals at the time of the largest total.
    """
    seen = counts[~np.isnan(counts)]
    totals = np.nansum(counts, axis=1)
    if not len(seen) or totals.max() <= 0:
        raise DataError("Nothing was counted.", hint="is count the right column?")
    if noise is not None:
        rate = float(np.mean(noise.rate)) if isinstance(noise, Poisson) else 1.0
        complete = ~np.isnan(counts).any(axis=1)
        typical = totals[complete].max() if complete.any() else totals.max()
        return counts, noise, float(typical / rate if size is None else size)
    if (seen < 0).any():
        raise DataError(
            f"{int((seen < 0).sum())} counts are negative.",
            hint="state their noise: noise=Gaussian(...), Laplace(...).",
        )
    if (seen == np.floor(seen)).all():
        return counts, Poisson(), float(totals.max() if size is None else size)
    n = float(RELATIVE_SIZE if size is None else size)
    scaled = counts * (n / totals.max())
    return scaled, Gaussian(RELATIVE_NOISE * n / counts.shape[1]), n
