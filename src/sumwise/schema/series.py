"""Counts over time and place: a row per time and place, or times or places in columns."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from sumwise.errors import DataError
from sumwise.schema.columns import WORDS, Column, Grid, has_word, row_keys
from sumwise.schema.declared import Schema
from sumwise.schema.questions import Interview
from sumwise.schema.rows import DASHES, TOTAL_ROW
from sumwise.time_order import time_scale

LEAST_TIMES = 3  # columns of times, from which on they are read as such
MOST_TIMES = 5000
FEWEST_STEPS = 20  # from one time to the next, over all places, that can't all be upwards by chance
FULL = 0.2  # of all times and places that have a row
NO_PART = "no time, place or count"
Parts = tuple[Column, list[Column], Column]  # time, what names the place together, count


def series_of(grid: Grid, iv: Interview, other: Grid | None = None) -> Schema | None:
    """The schema of counts over time and place, with coordinates there or in a second file."""
    return _times_in_columns(grid, iv, other) or _long(grid, iv, other) or _places_in_columns(grid, iv, other)


def _is_time(c: Column) -> bool:
    return 2 <= c.distinct <= MOST_TIMES and (c.called("time") or _dates(c))


def _dates(c: Column) -> bool:
    words = [w for w in c.words if w]
    if c.numbers is not None or len(words) < 2 or re.fullmatch(r"\D*\d+", words[0]):
        return False
    return any(s in words[0] for s in "-/:. ") and _on_a_scale(words)


def _on_a_scale(words: list[str]) -> bool:
    """Whether texts are times; dates of two readings are refused when they are read."""
    try:
        return time_scale(words) is not None
    except DataError:
        return True


def coordinates(grid: Grid) -> list[Column]:
    """The columns of coordinates, degrees before projected ones; none unless there are two."""
    for firsts, seconds in ((WORDS["x"][1:3], WORDS["y"][1:2]), (WORDS["x"], WORDS["y"])):
        pair = [
            next((c for c in grid.columns if c.numbers is not None and any(has_word(c.name, w) for w in words)), None)
            for words in (firsts, seconds)
        ]
        if None not in pair:
            return [c for c in pair if c is not None]
    return []


def _long(grid: Grid, iv: Interview, other: Grid | None) -> Schema | None:
    times, spot = [c for c in grid.columns if _is_time(c)], coordinates(grid)
    times.sort(key=lambda c: (c.called("series_count"), not _dates(c)))  # "observation count" last
    for time in times:
        rest = [c for c in grid.columns if c is not time and c.distinct >= 2 and c not in spot]
        places = [[c] for c in rest if c.called("place")] + ([spot] if spot else []) + [[c] for c in _others(rest)]
        for place in places:
            count = _count(grid, [time, *place, *spot])
            if count is None:
                continue
            n_pairs = len(np.unique(row_keys([time, *place])))
            full = n_pairs / (len(np.unique(row_keys([time]))) * len(np.unique(row_keys(place))))
            if n_pairs == len(grid) and full >= FULL and (place[0].called("place") or place == spot or full == 1):
                return finished(grid, iv, (time, place, count), other, {})
            if n_pairs < len(grid) and place[0].called("place"):
                made = _more_rows(grid, iv, (time, place, count), other, times)
                if made is not None:
                    return made
    return None


def _others(rest: list[Column]) -> list[Column]:
    """The one column of texts, or of whole numbers that aren't the counts."""
    texts = [c for c in rest if c.numbers is None]
    codes = [c for c in rest if c.numbers is not None and c.is_whole and not c.called("series_count", "time")]
    return texts if len(texts) == 1 else codes if not texts and len(codes) == 1 else []


def _count(grid: Grid, used: list[Column]) -> Column | None:
    free = [c for c in grid.columns if c not in used and c.numbers is not None]
    free = [c for c in free if not c.called("x", "y", "effort") and (c.called("series_count") or not c.called("time"))]
    called = sorted((c for c in free if c.called("series_count")), key=lambda c: c.called("time"))
    return called[0] if called else free[0] if len(free) == 1 else None


def _more_rows(grid: Grid, iv: Interview, found: Parts, other: Grid | None, times: list[Column]) -> Schema | None:
    """Several rows for a time and place: of seasons, of kinds, or of several counts that are added up."""
    time, place, count = found
    rank = {c.name: next((k for k, w in enumerate(WORDS["longest_first"]) if has_word(c.name, w)), 99) for c in times}
    for season in sorted((c for c in times if c is not time), key=lambda c: rank[c.name]):
        if rank[season.name] < rank[time.name] and len(np.unique(row_keys([season, time, *place]))) == len(grid):
            words = f"Is every {season.name} a season of its own, within which {time.name} counts?"
            options = {f"yes: flows go from one {time.name} to the next, in every {season.name}": True}
            iv.ask("season", words, options, stop=f"{time.name} and {season.name} are both times")
            return finished(grid, iv, found, other, {"season": season.name})
    kinds = [c for c in grid.columns if c.numbers is None and c not in (time, *place) and 2 <= c.distinct <= 100]
    for kind in kinds:
        if len(np.unique(row_keys([time, *place, kind]))) == len(grid):
            shown = ", ".join(map(repr, [w for w in kind.words if w][:3]))
            raise DataError(
                f"{grid.name} has a row for every {time.name}, {place[0].name} and {kind.name}: several "
                f"kinds of {count.name} ({shown}).",
                hint=f"keep one {kind.name} in the file, or add them up.",
            )
    keys = row_keys([time, *place])
    again = pd.Series(keys).duplicated().to_numpy()
    if not grid.rows[again].size or again.mean() > 0.98:
        return None
    i = int(np.argmax(again))
    words = (
        f"{grid.name}: {int(again.sum())} of {len(grid)} rows repeat a {time.name} and {place[0].name}, as row "
        f"{grid.rows[i]} ({time.texts[i]}, {place[0].texts[i]})"
    )
    options = {"several counts of one time and place: add them up": True}
    iv.ask("several_counts", f"{words}.", options, stop=words)
    return finished(grid, iv, found, other, {}, {"repeated": "add"})


def finished(
    grid: Grid,
    iv: Interview,
    found: Parts,
    other: Grid | None,
    columns: dict[str, Any],
    data: dict[str, Any] | None = None,
) -> Schema:
    time, place, count = found
    spot = coordinates(grid if other is None else other)
    data = dict(data or {})
    amounts = _amounts(grid, iv, count, data)
    named = place if place != spot else []
    leave = _totals(grid, named, time.codes, amounts, "place")
    leave += _totals(grid, [time], row_keys(place), amounts, "time")
    if leave:
        iv.remarks.append(f"{len(leave)} rows of {grid.name} are left out: the sums of all others.")
        part = grid.without(leave)
        parts = part[time.name], [part[c.name] for c in place], part[count.name]
        made = finished(part, iv, parts, other, columns, data)
        return replace(made, data={**made.data, "leave_out": sorted({*leave})})
    _check_times(grid, time)
    _check_degrees(spot)
    columns = {"time": time.name, **({"place": named[0].name} if named else {}), "count": count.name, **columns}
    if "repeated" not in data:
        _check_running_sums(grid, time, place, amounts)
    n_pairs = len(np.unique(row_keys([time, *place])))
    whole = len(np.unique(time.codes)) * len(np.unique(row_keys(place)))
    if n_pairs < whole:
        words = f"{whole - n_pairs} of {whole} times and places have no row. Was nobody counted there, or nobody there?"
        options = {"not observed": "unobserved", "nobody was there: 0": "zero"}
        data["absent"] = iv.ask("absent", words, options)
    if _has_gaps(time):
        words = f"Times are missing from the series of {time.name}. Estimate them, or is the next time one step away?"
        options = {"estimate the missing times": "regular", "take the times as they are": "listed"}
        data["times"] = iv.ask("times", words, options)
    _effort(grid, iv, columns, found)
    return _described(grid, other, columns, data, spot, amounts, iv)


def _has_gaps(time: Column) -> bool:
    """Whether a series of dates or numbers has steps of twice the shortest, or more of them."""
    texts = [t for t in dict.fromkeys(time.texts) if t]
    try:
        scale = time_scale(texts)
    except DataError:
        return False
    if scale is None or len(texts) < 3:
        return False
    steps = np.diff(np.sort(scale.position))
    ratio = steps / steps.min() if steps.min() > 0 else np.ones(1)
    return bool((ratio > 1.5).any() and (np.abs(ratio - np.round(ratio)) < 0.1).all())


def _effort(grid: Grid, iv: Interview, columns: dict[str, Any], found: Parts) -> None:
    """Ask whether a column of hours, minutes or visits is the effort behind each count."""
    time, place, count = found
    for c in grid.columns:
        if c in (time, count, *place) or c.numbers is None or not c.called("effort") or c.distinct < 2:
            continue
        words = f"Do counts grow with {c.name} (the effort behind each count)?"
        if iv.ask("effort", words, {"yes: it is the effort": True, "no: leave it out": False}):
            columns["effort"] = c.name
        return


def _amounts(grid: Grid, iv: Interview, count: Column, data: dict[str, Any]) -> np.ndarray:
    """The counts; words among them are refused unless they stand for what was not counted."""
    words = sorted({*count.odd.values()})
    marks = [w for w in words if w.lower() == "x"]
    for i, text in count.odd.items():
        if text in DASHES or text.lower() == "x":
            continue
        what = "is withheld" if re.fullmatch(r"[*<].*|\([A-Za-z]\)|[a-z]", text) else "is not a number"
        bad = np.isin(np.arange(len(grid)), list(count.odd))
        grid.refuse(count, bad, what, "leave such counts empty: they are then not observed.")
        del i
    if marks:
        text = f"{grid.name}: {count.name} is {marks[0]!r} in {len(count.odd)} rows: seen, and not counted?"
        iv.ask("not_counted", text, {"yes: not observed": True}, stop=text)
    if words:
        data["missing"] = words
    negative = np.nan_to_num(count.numbers) < 0
    if negative.any():
        text = f"{grid.name}: {count.name} is negative in {int(negative.sum())} rows. Was noise added for privacy?"
        stop = f"{grid.name}: column {count.name!r} is negative in {int(negative.sum())} rows"
        iv.ask("noise", text, {"yes, Laplace noise": "laplace"}, stop=stop)
    return count.numbers


def _check_times(grid: Grid, time: Column) -> None:
    """Refuse times that are texts without a known order, where the alphabet isn't the order of the rows; and words
    among times of a known order.
    """
    words = [w for w in dict.fromkeys(time.texts) if w]
    if time.numbers is not None or time_scale(words) is not None:
        return
    known = [w for w in words if _on_a_scale([w])]
    if len(words) < 2 * len(known) and _on_a_scale(known):
        rows = np.isin(np.array(time.texts, dtype=object), [w for w in words if w not in known])
        grid.refuse(time, rows, "is no time", "correct such rows, or leave them out.")
    if words != sorted(words):
        raise DataError(
            f"{grid.name}: the order of the times in {time.name!r} isn't known: {', '.join(words[:4])}"
            f"{', ...' if words[4:] else ''}.",
            hint="write them as dates, hours or numbers (1, 2, 3).",
        )


def _check_degrees(spot: list[Column]) -> None:
    if len(spot) == 2 and has_word(spot[1].name, "lat*") and np.nanmax(np.abs(spot[1].numbers)) > 90:
        worst = spot[1].numbers[int(np.nanargmax(np.abs(spot[1].numbers)))]
        raise DataError(f"A latitude is {worst:g}.", hint="are longitude and latitude swapped?")


def _totals(grid: Grid, named: list[Column], others: np.ndarray, amounts: np.ndarray, what: str) -> list[int]:
    """Rows of a place, or time, that is the sum of all others; one that is only called so is refused.

    `others` are the times of the rows where places are looked at, and the other way round.
    """
    words = [(c, w) for c in named if c.numbers is None for w in c.words if w and TOTAL_ROW.fullmatch(w)]
    for column, word in words:
        rows = column.codes == column.words.index(word)
        if not rows.any():
            continue
        totals = pd.Series(np.where(rows, 0.0, np.nan_to_num(amounts))).groupby(others).agg("sum")
        if np.allclose(totals.reindex(others[rows]).to_numpy(), amounts[rows]):
            return grid.rows[rows].tolist()
        raise DataError(
            f"{grid.name}: the {what} {word!r} is called a total, and is not the sum of the others.",
            hint="leave its rows out, or name it otherwise.",
        )
    return []


def _check_running_sums(grid: Grid, time: Column, place: list[Column], amounts: np.ndarray) -> None:
    """Refuse counts that never fall at any place from one time to the next."""
    words = list(dict.fromkeys(time.texts))
    scale = time_scale(words)
    position = dict(zip(words, scale.position if scale is not None else range(len(words))))
    frame = pd.DataFrame({"t": [position[t] for t in time.texts], "p": row_keys(place), "n": amounts})
    table = frame.pivot_table(index="p", columns="t", values="n", aggfunc="first").to_numpy()
    if not np.isnan(table).any():
        refuse_running(grid, table)


def refuse_running(grid: Grid, table: np.ndarray) -> None:
    """Refuse a table (place, time) whose counts never fall."""
    steps, totals = np.diff(table, axis=1), table.sum(axis=0)
    grows = steps.size >= FEWEST_STEPS and steps.shape[1] > 1 and bool((steps >= 0).all())
    if grows and (steps > 0).mean() > 0.5 and totals[-1] >= 2 * totals[0]:
        raise DataError(
            f"{grid.name}: counts never fall from one time to the next, at any of {len(table):,} places: they are "
            "running sums, and no counts of each time.",
            hint="subtract from each count the one before it.",
        )


def _described(
    grid: Grid,
    other: Grid | None,
    columns: dict[str, Any],
    data: dict[str, Any],
    spot: list[Column],
    amounts: np.ndarray,
    iv: Interview,
) -> Schema:
    """The schema, with coordinates and how counts come about."""
    if spot:
        x, y = (c.name for c in spot)
        degrees = any(has_word(x, w) for w in ("lon*", "lng")) and has_word(y, "lat*")
        columns |= {"lon": x, "lat": y} if degrees else {"x": x, "y": y}
        if other is not None:
            data["places_file"] = other.path
    else:
        iv.remarks.append("there are no coordinates: every move but staying is taken as likely as any other.")
    there = amounts[~np.isnan(amounts)]
    options: dict[str, Any] = {"noise": "poisson", "rate": 1.0}
    if (there < 0).any():
        options = {"noise": "laplace", "sd": _laplace_sd(there)}
    elif (there != np.round(there)).any():
        options = {"noise": "relative"}
    used = {v for v in columns.values() if isinstance(v, str)} | {
        c for v in columns.values() if isinstance(v, list) for c in v
    }
    unused = {c.name: NO_PART for c in grid.columns if c.name not in used and c.numbers is not None}
    return Schema("collective", data, columns, options=options, unused=unused)


def _laplace_sd(counts: np.ndarray) -> float:
    """A lower bound of the standard deviation of Laplace noise, from the negative counts."""
    return float(f"{np.sqrt(2) * np.abs(counts[counts < 0]).mean():.3g}")


def _times_in_columns(grid: Grid, iv: Interview, other: Grid | None) -> Schema | None:
    """A row per place with its times in columns: week1, week2, week3."""
    dated = [c for c in grid.columns if c.numbers is not None and _names_time(c.name)]
    if len(dated) < LEAST_TIMES or time_scale([c.name for c in dated]) is None:
        return None
    free = [c for c in grid.columns if c not in dated and c.distinct == len(grid) and not c.missing.any()]
    place = min(free, key=lambda c: (not c.called("place", "unit"), c.numbers is not None), default=None)
    if place is None:
        return None
    table = np.column_stack([c.numbers for c in dated])
    data: dict[str, Any] = {}
    leave = [int(r) for r, t in zip(grid.rows, place.texts) if TOTAL_ROW.fullmatch(t)]
    if leave:
        mine = np.isin(grid.rows, leave)
        if len(leave) > 1 or not np.allclose(table[~mine].sum(axis=0), table[mine][0]):
            raise DataError(
                f"{grid.name}: row {leave[0]} is called a total, and is not the sum of the others.",
                hint="leave it out.",
            )
        data["leave_out"] = leave
        iv.remarks.append(f"Row {leave[0]} of {grid.name} is left out: the sum of all others.")
    else:
        refuse_running(grid, table)
    columns = {"place": place.name, "times": [c.name for c in dated]}
    return _described(grid, other, columns, data, coordinates(grid if other is None else other), table.ravel(), iv)


def _names_time(name: str) -> bool:
    called = any(has_word(name, w) for w in WORDS["time"])
    year = re.fullmatch(r"(1[6-9]|20)\d\d", name) is not None
    return (
        year
        or (called and time_scale([name]) is not None)
        or (any(c in name for c in "-/.") and _on_a_scale([name, name]))
    )


def _places_in_columns(grid: Grid, iv: Interview, other: Grid | None) -> Schema | None:
    """A row per time, with columns that a second file calls places."""
    for time in (c for c in grid.columns if other is not None and _is_time(c) and c.distinct == len(grid)):
        counted = [c for c in grid.columns if c is not time and c.numbers is not None]
        for key in other.columns if other is not None else ():
            if len(counted) >= 2 and {c.name for c in counted} <= {*key.words}:
                _check_times(grid, time)
                table = np.column_stack([c.numbers for c in counted])
                refuse_running(grid, table.T)
                columns = {"time": time.name, "place": key.name, "places": [c.name for c in counted]}
                return _described(grid, other, columns, {}, coordinates(other), table.ravel(), iv)  # type: ignore[arg-type]
    return None
