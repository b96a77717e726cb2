"""Counts by season, time and place out of what users have: frames, arrays, Tables, xarray."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.errors import DataError
from sumwise.flows.counts_over_time import CountsOverTime
from sumwise.flows.places import Places
from sumwise.flows.rasters import is_raster, read_raster
from sumwise.frames import is_frame, to_pandas
from sumwise.noise import Exact, Gaussian, NegativeBinomial, Noise, Poisson
from sumwise.tables import Tables
from sumwise.time_order import TimeScale, time_scale

ABSENT = ("unobserved", "zero", "raise")
RELATIVE_SIZE = 1e5  # individuals that stand for relative abundance
RELATIVE_NOISE = 0.01  # standard deviation of relative abundance, as a share of the mean of a place
REGULAR = "regular"
PLACE = "place of these coordinates"  # a column that no file has
MOST_VARIED = 3.0  # times the variance of noise: totals that vary less are of one population
RECURRING = 1440  # numbers up to it may be hours, weeks, days or minutes that come again; years don't
GAP = 1.5  # a step this much longer than the shortest one leaves out a time


@dataclass
class FlowData:
    """Counts (S, T, L) of S seasons, NaN where not observed, with what is known about them."""

    times: list
    places: Places
    counts: np.ndarray
    noise: Noise | None = None  # as tables state it
    seasons: list | None = None  # their names; None: there is one, without a name
    effort: np.ndarray | None = None  # (S, T, L), relative to the largest; None: all alike
    mask: np.ndarray | None = None  # (S, T, L), where individuals can be; None: everywhere
    fingerprint: str = ""  # of the counts, before given efforts and masks hide some of them


@dataclass(frozen=True)
class Columns:
    """The columns of a frame."""

    time: str = "time"
    place: Any = "place"  # a column, or two of coordinates
    count: str = "count"
    season: str | None = None
    effort: Any = None  # a column, or an array
    mask: Any = None  # a column, or an array


def read_counts(data: Any, places: Places | None, columns: Columns, times: Any, absent: str) -> FlowData:
    """Times, places and counts of a frame, of `Tables` with a table per time, of an array or of `CountsOverTime`."""
    checks.choice(absent, "absent", ABSENT)
    if is_raster(data):
        listed, found, data = read_raster(data)
        times, places = listed if times is None else times, found if places is None else places
    if hasattr(data, "dims") and hasattr(data, "coords"):
        data, places, columns = _from_xarray(data, places, columns)
    if hasattr(data, "distr") and hasattr(data, "geom"):
        read = _without_impossible(_from_birdflow(data, places))
        read.fingerprint = _fingerprint(read.counts)
        return read
    if not isinstance(columns.place, str) and not (is_frame(data) or isinstance(data, dict)):
        raise DataError("Only a frame has columns of coordinates.", hint="give places= with the coordinates.")
    if is_frame(data) or isinstance(data, dict):
        read = _from_frame(data, places, columns, times, absent)
    else:
        if columns.season is not None:
            raise DataError("Only a frame has a column of seasons.", hint="give a row per season, time and place.")
        read = _from_tables(data, places) if isinstance(data, Tables) else _from_array(data, places, times)
    read.fingerprint = _fingerprint(read.counts)
    for name in ("effort", "mask"):
        given = getattr(columns, name)
        if given is not None and getattr(read, name) is None:
            setattr(read, name, _spread(given, read.counts.shape, name))
    return _without_impossible(read)


def _fingerprint(counts: np.ndarray) -> str:
    return sha256(np.ascontiguousarray(counts).tobytes()).hexdigest()


def _spread(given: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    array = checks.finite(given, name, allow_bool=True)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise DataError(
            f"{name} has shape {array.shape}; there are {shape[1]} times and {shape[2]} places.",
            hint="give (L,) for places, (T, 1) for times, (T, L) for both, or the name of a column.",
        ) from None


def _without_impossible(read: FlowData) -> FlowData:
    """Check efforts and masks; what can't be seen is not observed, and nobody may be counted where nobody can be."""
    if read.effort is not None:
        _check_effort(read)
        read.counts = np.where(read.effort > 0, read.counts, np.nan)
        observed = ~np.isnan(read.counts)
        largest = read.effort[observed].max() if observed.any() else 1.0
        read.effort = np.where(observed, read.effort / largest, 1.0)
    if read.mask is not None:
        read.mask = np.asarray(read.mask) > 0
        wrong = ~read.mask & (np.nan_to_num(read.counts) > 0)
        checks.nowhere(
            wrong,
            "{} counts are above zero where the mask says that nobody can be",
            lambda s, t, k: f"{read.counts[s, t, k]:g} at {read.places.names[k]!r}, time {read.times[t]!r}",
            "open the mask there, or correct the counts.",
        )
        if not read.mask.any(axis=2).all():
            t = np.argwhere(~read.mask.any(axis=2))[0, 1]
            raise DataError(f"The mask leaves no place at time {read.times[t]!r}.")
        read.counts = np.where(read.mask, read.counts, np.nan)
    return read


def _check_effort(read: FlowData) -> None:
    """Effort is an exposure in any unit: not negative, and positive where somebody was counted."""
    effort = np.asarray(read.effort)

    def called(_season: int, t: int, k: int) -> str:
        return f"{read.places.names[k]!r}, time {read.times[t]!r}"

    checks.nowhere(effort < 0, "{} efforts are negative", called, "give hours, traps or shares, 0 or more.")
    checks.nowhere(
        (effort == 0) & (np.nan_to_num(read.counts) > 0),
        "{} counts are above zero although their effort is 0",
        called,
        "give the effort of such counts, or leave them out.",
    )


def _from_array(data: Any, places: Places | None, times: Any) -> FlowData:
    if isinstance(data, CountsOverTime):
        places = places if places is not None else _places_of(data)
        times = data.times if times is None else times
    counts = checks.finite(getattr(data, "counts", data), "counts", ndim=2, allow_nan=True)
    made = _default_places(places, list(range(counts.shape[1])))
    listed = list(range(len(counts))) if times is None else [checks.plain(t) for t in checks.listing(times, "times")]
    if len(listed) != len(counts) or len(made) != counts.shape[1]:
        raise DataError(
            f"counts have shape {counts.shape}; there are {len(listed)} times and {len(made)} places.",
            hint="give one row per time and one column per place.",
        )
    return FlowData(listed, made, counts[None])


def _places_of(data: CountsOverTime) -> Places:
    if data.positions is None:
        return _default_places(None, list(data.places))
    return Places(x=data.positions[:, 0], y=data.positions[:, 1], names=data.places)


def places_of_columns(frame: Any, pair: Any) -> tuple[list[str], Places]:
    """The place of every row, called by its two coordinates, and all places."""
    names = checks.listing(pair, "place")
    if len(names) != 2:
        raise DataError(f"place names {len(names)} columns.", hint='give one, or two of coordinates: ("lon", "lat").')
    data = to_pandas(frame, names, "the frame of counts")
    values = np.column_stack([checks.finite(data[c].to_numpy(), str(c), ndim=1) for c in names])
    called = [f"{a:.10g}, {b:.10g}" for a, b in values.tolist()]
    first = ~pd.Series(called).duplicated().to_numpy()
    swapped = str(names[0]).lower().startswith("lat")
    degrees = swapped or str(names[0]).lower().startswith(("lon", "lng"))
    a, b = values[first].T[::-1] if swapped else values[first].T
    kept = [name for name, new in zip(called, first) if new]
    return called, Places(names=kept, **({"lon": a, "lat": b} if degrees else {"x": a, "y": b}))


def _from_frame(frame: Any, places: Places | None, columns: Columns, times: Any, absent: str) -> FlowData:
    if not isinstance(columns.place, str):
        called, found = places_of_columns(frame, columns.place)
        frame = to_pandas(frame, None, "the frame of counts").assign(**{PLACE: called})
        places, columns = found if places is None else places, replace(columns, place=PLACE)
    wanted = [columns.time, columns.place, columns.count, columns.season]
    more = [c for c in (columns.effort, columns.mask) if isinstance(c, str)]
    named = [c for c in wanted if c is not None]
    data = to_pandas(frame, [*named, *more], "the frame of counts")
    keys = [c for c in (columns.season, columns.time, columns.place) if c is not None]
    twice = data.duplicated(keys).to_numpy()
    checks.nowhere(
        twice,
        "{} rows repeat a pair of time and place",
        lambda i: f"{data[columns.time].iloc[i]!r} at {data[columns.place].iloc[i]!r}",
        "add them up, name the right columns, or name the column of seasons (or days) with season=.",
    )
    listed = times_in_order(data[columns.time], times)
    made = _default_places(places, list(dict.fromkeys(data[columns.place].tolist())))
    seasons = None if columns.season is None else sorted(data[columns.season].unique().tolist())
    rows = pd.Index(listed).get_indexer(data[columns.time])
    if (rows < 0).any():
        raise DataError(f"Time {data[columns.time][rows < 0].iloc[0]!r} is not among the given times.")
    season = 0 if seasons is None else pd.Index(seasons).get_indexer(data[str(columns.season)])
    at = season, rows, made.index(data[columns.place])
    shape = (1 if seasons is None else len(seasons), len(listed), len(made))

    def spread(column: str, start: float) -> np.ndarray:
        out = np.full(shape, start)
        values = data[column].to_numpy()
        out[at] = checks.finite(values, column, ndim=1, allow_nan=column == columns.count, allow_bool=True)
        return out

    counts = spread(columns.count, np.nan)
    if absent == "raise":
        present = pd.DataFrame({"season": season, "time": data[columns.time].to_numpy(), "place": at[2]})
        refuse_absent(present, made.names)
    if absent == "zero":  # a time without any row wasn't looked at
        filled = np.zeros(shape[:2], dtype=bool)
        filled[at[:2]] = True
        rowless = np.ones(shape, dtype=bool)
        rowless[at] = False
        counts[filled[:, :, None] & rowless] = 0.0
    found = FlowData(listed, made, counts, seasons=seasons)
    found.effort = spread(columns.effort, 0.0) if isinstance(columns.effort, str) else None
    found.mask = spread(columns.mask, 1.0) if isinstance(columns.mask, str) else None
    return found


def refuse_absent(
    rows: pd.DataFrame,
    places: Sequence,
    file: str = "",
    hint: str = 'pass absent="zero" if nobody was there, absent="unobserved" if nobody looked.',
) -> None:
    """Raise where a time that has rows, of any season, lacks a row of one of the places.

    Columns of `rows` are season (or none), ``time`` and ``place``, a number of `places`, without duplicates.
    """
    keys = [*(c for c in rows if c != "place"), "place"]
    full = pd.MultiIndex.from_product([*(rows[c].unique() for c in keys[:-1]), range(len(places))], names=keys)
    lone = full[~full.isin(pd.MultiIndex.from_arrays([rows[c] for c in keys]))]
    if len(lone):
        first = dict(zip(keys, lone[0]))
        raise DataError(
            f"{file}{': ' if file else ''}{len(lone)} of {len(full)} pairs of time and place have no row. First: "
            f"{str(first['time'])!r} at {places[first['place']]!r}.",
            hint=hint,
        )


def times_in_order(column: Any, given: Any = None) -> list:
    """The times in order: given, all of a regular series, or those of the column.

    Texts are dates, hours, months or numbered words; other texts are taken in alphabetical order, with a warning where
    that isn't the order of the rows.
    """
    if given is not None and not (isinstance(given, str) and given == REGULAR):
        return checks.listing(given, "times")
    listed = column.unique().tolist()
    texts = all(isinstance(t, str) for t in listed)
    scale = time_scale([t.strip() for t in listed]) if texts else _scale_of_compact_dates(listed)
    if scale is not None:
        order = sorted(range(len(listed)), key=scale.position.__getitem__)
        _warn_of_turn(listed, order, scale.recurs and column.iloc[-1] != listed[order[-1]])
        at = [scale.position[k] for k in order]
        filled = _regular(at, given is not None, [listed[k] for k in order])
        known = dict(zip(at, (listed[k] for k in order)))
        return [known[v] if v in known else type(listed[0])(scale.called(v)) for v in filled]
    order = sorted(range(len(listed)), key=listed.__getitem__)
    seen = [listed[k] for k in order]
    if len(seen) > 2 and pd.api.types.is_numeric_dtype(column):  # two may as well be back to front
        _warn_of_turn(listed, order, seen[0] >= 0 and column.iloc[-1] != seen[-1] <= RECURRING)
    if texts and given is not None:
        raise DataError(
            f"Times such as {seen[0]!r} are neither dates nor numbers: which ones are missing is not known.",
            hint="give times= with all times in order.",
        )
    if texts and seen != listed:
        warnings.warn(
            f"Times are texts and are taken in alphabetical order: {', '.join(seen[:4])}"
            f"{', ...' if len(seen) > 4 else ''}. Hint: fit(..., times=[...]) gives another order.",
            UserWarning,
            stacklevel=5,
        )
    return _regular(seen, given is not None, seen)


def _scale_of_compact_dates(listed: list) -> TimeScale | None:
    """The scale of whole numbers that are dates, such as 20211231; of all other numbers, the numbers are one."""
    whole = all(isinstance(t, int) and not isinstance(t, bool) for t in listed)
    scale = time_scale([str(t) for t in listed]) if whole else None
    return None if scale is None or scale.recurs else scale


def _warn_of_turn(listed: list, order: list[int], recurs: bool) -> None:
    """Warn where the rows go past the end of a year or day and on from its start.

    Where the last row has the last time (`recurs` is False), the first place just lacks the first times.
    """
    if recurs and order[0] and order == [*range(order[0], len(order)), *range(order[0])]:
        warnings.warn(
            f"The rows run from {listed[0]} to {listed[-1]}; times are taken from {listed[order[0]]} to "
            f"{listed[order[-1]]}. Hint: write the year (or day) before them, or give fit(..., times=[...]).",
            UserWarning,
            stacklevel=6,
        )


def _regular(seen: list, fill: bool, names: list) -> list:
    """Times with the missing ones of a regular series filled in, or warned about."""
    series = pd.Series(seen)
    dated = pd.api.types.is_datetime64_any_dtype(series)
    if len(seen) < 3 or not (dated or pd.api.types.is_numeric_dtype(series)):
        return seen
    steps = series.diff().iloc[1:]
    least = steps.min()
    long = np.flatnonzero((steps > GAP * least).to_numpy())
    if not len(long):
        return seen
    if fill:
        filled = [seen[0]]
        for value, gap in zip(seen[1:], steps):
            n = max(round(gap / least), 1)
            filled += [filled[-1] + k * (gap / n) for k in range(1, n)] if n > 1 else []
            filled.append(value)
        whole = all(isinstance(v, int) for v in seen)
        return [int(v) if whole and float(v).is_integer() else v for v in filled]
    warnings.warn(
        f"{len(long)} steps between times are longer than the shortest; the first is from {names[long[0]]} to "
        f"{names[long[0] + 1]}. Each counts as one step. Hint: fit(..., times='regular') estimates the missing times.",
        UserWarning,
        stacklevel=5,
    )
    return seen


def _from_birdflow(model: Any, places: Places | None) -> FlowData:
    """Weekly shares of a `BirdFlow` model; cells that aren't in use in a week are masked."""
    if places is None:
        x, y = model.positions.T
        crs = str(model.geom["crs"] or "").strip()
        places = Places.from_projected(x, y, crs) if crs else Places(x=x, y=y)
    counts = np.asarray(model.distr, dtype=float).T
    if len(places) != counts.shape[1]:
        raise DataError(f"There are {len(places)} places; the model has {counts.shape[1]} cells.")
    read = FlowData(list(range(1, len(counts) + 1)), places, counts[None])
    read.mask = None if model.dynamic_mask is None else np.asarray(model.dynamic_mask).T[None]
    return read


def _from_tables(tables: Tables, places: Places | None) -> FlowData:
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
    return FlowData(listed, made, counts[None], next(iter(held.values())).noise)


def _from_xarray(data: Any, places: Places | None, columns: Columns) -> tuple[Any, Places, Columns]:
    """A frame and the places of an `xarray.DataArray` of time and place, or of time and a grid (lat, lon or y, x)."""
    from sumwise.flows.flow_exchange import places_of_array

    if not hasattr(data, "to_series") and len(data.data_vars) == 1:
        data = next(iter(data.data_vars.values()))
    if not hasattr(data, "to_series"):
        raise DataError("The xarray object contains several variables.", hint="give one of them: data['abundance'].")
    if columns.time not in data.dims:
        grid = ("lon", "longitude", "lat", "latitude", "x", "y", "place")
        likely = next((d for d in data.dims if str(d).lower() not in grid), data.dims[0])
        raise DataError(f"The array has dimensions {tuple(data.dims)}.", hint=f"fit(..., time={likely!r})?")
    stacked, found = places_of_array(data, columns.time)
    frame = stacked.rename("count").to_series().rename_axis(["time", "place"]).reset_index()
    made = Columns(effort=columns.effort, mask=columns.mask)
    return frame, found if places is None else places, made


def _default_places(places: Places | None, names: list) -> Places:
    if places is not None:
        return places
    return Places(distances=1.0 - np.eye(len(names)), names=names)


def population_of(read: FlowData, noise: Noise | None, size: Any) -> tuple[np.ndarray, Noise, np.ndarray]:
    """Counts in individuals, their noise, and how many individuals there are in every season.

    Whole numbers are counts, with Poisson noise unless another is given. Anything else without a noise is relative
    abundance: it is scaled to `size` individuals at the time of the largest total. Noise that doesn't depend on the
    count has its scale divided by the effort, as the count has; of Poisson noise the effort is a rate.
    """
    counts, effort = read.counts, read.effort
    seen = counts[~np.isnan(counts)]
    if not len(seen) or np.nansum(counts, axis=2).max(axis=1).min() <= 0:
        raise DataError("Nothing was counted.", hint="is count the right column?")
    if np.abs(seen).max() > checks.LARGEST_EXACT:
        raise DataError(f"A count is {np.abs(seen).max():.3g}, beyond 2**53.", hint="is count the right column?")
    stated = noise is not None
    if noise is None and (seen < 0).any():
        raise DataError(
            f"{int((seen < 0).sum())} counts are negative.",
            hint="state their noise: noise=Gaussian(...), Laplace(...).",
        )
    if noise is None and (seen == np.floor(seen)).all():
        noise = Poisson()
    if isinstance(noise, (Poisson, NegativeBinomial)):
        counted: Any = noise if effort is None else with_rate(noise, effort)
        return counts, counted, _sizes(counts / counted.rate, size, stated)
    counts = counts if effort is None else counts / effort
    if noise is not None:
        scale = getattr(noise, "scale", None)
        if effort is not None and not isinstance(noise, Exact) and scale is not None:
            noise = type(noise)(scale / effort)  # type: ignore[call-arg]
        sd = None if isinstance(noise, Exact) else np.sqrt(noise.variance(np.zeros(counts.shape)))
        return counts, noise, _sizes(counts, size, stated, sd)
    n = np.full(len(counts), float(RELATIVE_SIZE if size is None else size))
    scaled = counts * (n / np.nansum(counts, axis=2).max(axis=1))[:, None, None]
    sd = RELATIVE_NOISE * n[0] / counts.shape[2]
    return scaled, Gaussian(sd if effort is None else sd / effort), n


def with_rate(noise: Any, factor: Any) -> Any:
    """Poisson or negative binomial noise with its rate multiplied by a factor."""
    rate = noise.rate * factor
    return Poisson(rate) if isinstance(noise, Poisson) else NegativeBinomial(rate, noise.dispersion)


def _sizes(counts: np.ndarray, size: Any, stated: bool, sd: Any = None) -> np.ndarray:
    """Individuals of every season: the largest total, of times without gaps where the noise is stated.

    The largest of totals with added noise is too large by that noise. Where totals of times without gaps vary no more
    than the noise explains, they are all totals of one population, and their mean is its size.
    """
    if size is not None:
        return np.broadcast_to(np.asarray(size, dtype=float), (len(counts),))
    totals = np.nansum(counts, axis=2)
    complete: Any = np.isfinite(counts).all(axis=2)
    whole = np.where(complete, totals, -np.inf).max(axis=1)
    found = np.where(np.isfinite(whole) & stated, whole, totals.max(axis=1))
    if sd is None:
        return found
    noise = np.sum(np.broadcast_to(np.asarray(sd, dtype=float) ** 2, counts.shape), axis=2)
    for s in range(len(counts)):
        own, of_noise = totals[s, complete[s]], noise[s, complete[s]]
        if len(own) > 1 and np.var(own, ddof=1) <= MOST_VARIED * of_noise.mean() and own.mean() > 0:
            found[s] = own.mean()
    return found
