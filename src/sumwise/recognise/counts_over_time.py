"""Counts over time: one row per time and place, with its count; or times, or places, in columns."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from sumwise.errors import DataError
from sumwise.recognise.guess import Guess, no_total, refused
from sumwise.recognise.margins.sums import adds_up, clean_rows, sums_of_others
from sumwise.recognise.margins.words import is_total_row
from sumwise.recognise.profile_file import Column, FileProfile, is_called, is_row_number
from sumwise.time_order import time_scale

TIMES = ("time*", "week*", "day*", "date*", "hour*", "month*", "year*", "step*", "t", "period*", "wk*")
TIMES += ("woche*", "tag", "datum", "stunde*", "monat*", "jahr*", "zeit*")
TIMES += (
    "semaine*", "jour*", "heure*", "mois", "année*", "annee*", "temps", "semana*", "día*", "dia*", "fecha*", "hora*",
)  # fmt: skip
TIMES += ("mes", "mês", "año*", "ano", "data", "tiempo", "tempo")
PLACES = ("place*", "site*", "cell*", "station*", "location*", "region*", "zone*", "area*", "node*")
PLACES += (
    "tower*", "antenna*", "sensor*", "stop*", "airport*", "grid*", "hex*", "plot*", "transect*", "colony*", "trap*",
    "county*", "counties", "city*", "cities", "district*", "state*", "country*", "municipal*", "tract*", "zip*",
    "port*", "lake*", "island*", "park*", "geo*", "fips*",
)  # fmt: skip
PLACES += (
    "ort", "orte", "standort*", "zelle*", "gebiet*", "gemeinde*", "kreis*", "lieu*", "cellule*", "commune*", "ville*",
)  # fmt: skip
PLACES += ("lugar*", "celda*", "municipio*", "município*", "ciudad*", "zona*", "local", "célula*", "celula*", "cidade*")
LONGEST_FIRST = ("year*", "month*", "week*", "wk*", "date*", "day*", "hour*", "time*", "period*", "step*", "t")
COUNTS = (
    "count", "counts", "counted", "n", "birds", "people", "number*", "devices", "visitors", "abund*", "density",
    "noisy*", "value*", "anzahl", "zahl", "nombre", "effectif*", "número*", "numero*", "conteo*", "cantidad*",
    "contagem", "quantidade*",
)  # fmt: skip
MOST_LACKING, FEW = 0.1, 0.1  # rows that lack; a count as a share of the median, from which on a row may lack for zero
FEWEST_STEPS = 20  # from one time to the next, over all places, that can't all be upwards by chance
NO_PART = "no time, place or count"
LEAST_TIMES = 3  # columns of times, from which on they are read as such
YEARS = (12, 24, 36, 48, 52, 365)  # times of a year
FIRST, SECOND = ("x", "lon*", "lng", "east*"), ("y", "lat*", "north*")


def guess(profiles: list[FileProfile]) -> Guess | None:
    """Counts in one file, with coordinates there or in a second one."""
    if len(profiles) not in (1, 2):
        return None
    for profile, other in ((profiles[0], profiles[-1]), (profiles[-1], profiles[0])):
        second = other if len(profiles) == 2 else None
        found = _times_in_columns(profile, second) or _counts(profile, second) or _by_position(profile, second)
        found = found or _places_in_columns(profile, second)
        if found is not None:
            return found
    return None


def _times(profile: FileProfile) -> list[Column]:
    """Columns that may hold times: by their names, or because they hold dates or hours."""
    return [c for c in profile.columns if 2 <= c.distinct <= 1000 and (is_called(c, TIMES) or _dates(c))]


def _dates(column: Column) -> bool:
    texts = column.words
    return not any(re.fullmatch(r"\D*\d+", t) for t in texts[:1]) and _on_a_scale(texts)  # "cell 7" is no time


def _on_a_scale(texts: list[str]) -> bool:
    """Whether texts are times; dates of two readings are refused when they are read."""
    try:
        return len(texts) > 1 and any(c in "-/:. " for c in texts[0]) and time_scale(texts) is not None
    except DataError:
        return True


def _counts(profile: FileProfile, other: FileProfile | None) -> Guess | None:
    times = _times(profile)
    for time in times:
        others = [c for c in profile.columns if c is not time and c.distinct >= 2]
        for place in (c for c in others if is_called(c, PLACES)):
            count = _count(profile, (time, place))
            if count is None:
                continue
            found, pairs, whole = (time, place, count), _pairs(time, place), time.distinct * place.distinct
            if pairs >= 0.9 * profile.n_rows and profile.n_rows >= 0.2 * whole:
                return _finished(profile, other, found, pairs < whole)  # the reader names rows that repeat a pair
            if pairs < 0.9 * profile.n_rows:
                again = _with_season(profile, other, found, times) or _several_kinds(profile, found)
                if again is not None:
                    return again
        for place in _other_places(others):  # called otherwise, but with one row at every time
            count = _count(profile, (time, place))
            full = _pairs(time, place) == profile.n_rows == time.distinct * place.distinct
            if full and count is not None and is_called(count, COUNTS):
                return _finished(profile, other, (time, place, count), gaps=False)
    return None


def _pairs(*columns: Column) -> int:
    return len(set(zip(*(c.codes.tolist() for c in columns))))


def _other_places(others: list[Column]) -> list[Column]:
    """The one column of texts, or of whole numbers that aren't the counts."""
    texts = [c for c in others if c.texts is not None and c.amounts is None]
    codes = [c for c in others if c.numbers is not None and c.whole and not is_called(c, (*COUNTS, *TIMES))]
    return texts if len(texts) == 1 else codes if not texts and len(codes) == 1 else []


def _with_season(
    profile: FileProfile, other: FileProfile | None, found: tuple[Column, Column, Column], times: list[Column]
) -> Guess | None:
    """Two columns of time, such as day and hour: the longer is the season, whose times share their movement."""
    places = {c.name: [k for k, word in enumerate(LONGEST_FIRST) if is_called(c, (word,))] for c in times}
    rank = {name: min(some, default=len(LONGEST_FIRST)) for name, some in places.items()}
    time = max(times, key=lambda c: rank[c.name])
    for long in times:
        if rank[long.name] < rank[time.name] and _pairs(long, time, found[1]) == profile.n_rows:
            gaps = time.distinct * found[1].distinct * long.distinct > profile.n_rows
            guess = _finished(profile, other, (time, *found[1:]), gaps)
            guess.columns["season"] = long.name
            guess.comments["columns", "season"] = f"every {long.name} has its own counts; all share their movement"
            guess.unused.pop(long.name, None)
            guess.ask.append(
                f"{long.name} is read as the season and {time.name} as the time within it: flows go from one "
                f"{time.name} to the next, and not from one {long.name} to the next."
            )
            return guess
    return None


def _several_kinds(profile: FileProfile, found: tuple[Column, Column, Column]) -> Guess | None:
    """A refusal of counts of several kinds (species, age) in one file: they would be mixed."""
    time, place, count = found
    for kind in profile.columns:
        if kind in found or kind.texts is None or not 2 <= kind.distinct <= 100:
            continue
        if _pairs(time, place, kind) == profile.n_rows:
            names = kind.words
            return refused(
                "collective",
                0.8,
                f"{profile.path.name} has a row for every {time.name}, {place.name} and {kind.name}: {count.name} of "
                f"{len(names)} kinds ({', '.join(map(repr, names[:3]))}{', ...' if names[3:] else ''}).",
                hint=f"keep one {kind.name} in the file, or add them up.",
            )
    return None


def _position(profile: FileProfile) -> list[Column]:
    """The columns of coordinates, degrees before projected ones; none unless there are two."""
    for first, second in ((FIRST[1:3], SECOND[1:2]), (FIRST, SECOND)):
        found = [next((c for c in profile.columns if is_called(c, words)), None) for words in (first, second)]
        if None not in found:
            return [c for c in found if c is not None]
    return []


def _by_position(profile: FileProfile, other: FileProfile | None) -> Guess | None:
    """Counts at coordinates, where places have no names."""
    pair = _position(profile)
    if other is not None or not pair:
        return None
    spots = pd.factorize(pd.MultiIndex.from_arrays([c.codes for c in pair]))[0]
    for time in _times(profile):
        count, once = _count(profile, (time, *pair)), set(zip(time.codes.tolist(), spots.tolist()))
        whole = time.distinct * (int(spots.max()) + 1)
        if count is not None and len(once) >= 0.9 * profile.n_rows and profile.n_rows >= 0.2 * whole:
            used = {c.name for c in (time, count, *pair)}
            place = next((c for c in profile.columns if c.name not in used and _same(c.codes, spots)), None)
            return _finished(profile, None, (time, place, count), len(once) < whole)
    return None


def _same(codes: np.ndarray, others: np.ndarray) -> bool:
    """Whether two columns group the rows alike."""
    pairs = set(zip(codes.tolist(), others.tolist()))
    return len(pairs) == len(set(codes.tolist())) == len(set(others.tolist()))


def _times_in_columns(profile: FileProfile, other: FileProfile | None) -> Guess | None:
    """A row per place with its times in columns: week1, week2, week3."""
    numeric = profile.numeric
    dated = [c for c in numeric if (is_called(c, TIMES) and time_scale([c.name])) or _dated(c.name)]
    place = _place_of_rows(profile, dated)
    if len(dated) >= LEAST_TIMES and place is not None and time_scale([c.name for c in dated]) is not None:
        return _spread(profile, other, {"place": place.name, "times": [c.name for c in dated]})
    return None


def _places_in_columns(profile: FileProfile, other: FileProfile | None) -> Guess | None:
    """A row per time, with columns that a second file calls places."""
    numeric = profile.numeric
    listed = {} if other is None else {c.name: set(c.entries) for c in other.columns if c.distinct == other.n_rows}
    for time in _times(profile) if profile.n_rows >= 2 else []:
        names = [c.name for c in numeric if c is not time]
        key = next((k for k, held in listed.items() if len(names) >= 2 and set(names) <= held), None)
        if key is not None and time.distinct == profile.n_rows:
            return _spread(profile, other, {"time": time.name, "place": key, "places": names})
    return None


def _place_of_rows(profile: FileProfile, dated: list[Column]) -> Column | None:
    """The column that names the place of each row: by its name, then texts; numbers of the rows come last."""
    free = [c for c in profile.columns if c not in dated and c.distinct == profile.n_rows and c.missing == 0]
    rank = {c.name: (not is_called(c, PLACES), c.texts is None, is_row_number(c)) for c in free}
    return min(free, key=lambda c: rank[c.name], default=None)


def _dated(name: str) -> bool:
    """Whether a column has a date as its name."""
    return any(c in name for c in "-/.") and _on_a_scale([name, name])


def _spread(profile: FileProfile, other: FileProfile | None, columns: dict[str, Any]) -> Guess:
    """The problem of a file with times or places in columns."""
    counted = columns.get("times") or columns["places"]
    values = np.concatenate([np.asarray(profile[name].amounts, dtype=float) for name in counted])
    count = Column("each of these columns", values, None, 2, int(np.isnan(values).sum()))
    data, comments = profile.opening()
    ask = ["how counts come about: noise, rate and population in [options]."]
    _add_position(profile, other, data, columns, ask)
    sites, times = (profile.n_rows, len(counted)) if "times" in columns else (len(counted), profile.n_rows)
    if "times" in columns:
        _leave_out_total_rows(profile, profile[columns["place"]], counted, data, comments, ask)
    else:
        _refuse_unordered(profile, profile[columns["time"]])
    sites -= "without" in data  # the sum of the others
    seen = f"{sites:,} places counted at {times:,} times, {'times' if 'times' in columns else 'places'} in columns"
    table = np.column_stack([profile[name].amounts for name in counted])
    _refuse_running_sums(profile, table if "times" in columns else table.T)
    options = _options(count, comments, ask)
    _ask_about_the_year(times, ask)
    used = {*counted, *(name for name in columns.values() if isinstance(name, str))}
    rest = [c for c in profile.numeric if c.name not in used]
    unused = {c.name: NO_PART for c in rest}
    return Guess("collective", 0.95, seen, data, columns, options, comments, ask, unused=unused)


def _leave_out_total_rows(
    profile: FileProfile, place: Column, counted: list[str], data: dict, comments: dict, ask: list[str]
) -> None:
    """Leave out the row, if any, that is the sum of all others; refuse one that only its name calls a total."""
    counts = [profile[name] for name in counted]
    found = sums_of_others(counts, clean_rows(counts))
    for i in [] if place.texts is None else np.flatnonzero(list(map(is_total_row, place.entries))).tolist():
        if i not in found:
            raise no_total(profile, place, place.value(i))
    if found:
        data["without"] = {place.name: place.value(found[0])}
        comments["data", "without"] = "the sum of all other places"
        ask.append(f"left out: the place {place.value(found[0])!r}, which is the sum of all others.")


def _refuse_unordered(profile: FileProfile, time: Column) -> None:
    """Refuse times that are texts without a known order, where the alphabet isn't the order of the rows."""
    listed = time.words
    if listed == sorted(listed) or time_scale(listed) is not None:
        return
    raise DataError(
        f"{profile.path.name}: the order of the times in {time.name!r} isn't known: {', '.join(listed[:4])}"
        f"{', ...' if listed[4:] else ''}.",
        hint="write them as dates, hours or numbers (1, 2, 3).",
    )


def _refuse_running_sums(profile: FileProfile, table: np.ndarray) -> None:
    """Refuse counts that never fall at any place (a row each) from one time to the next: sums of all before."""
    steps, totals = np.diff(table, axis=1), table.sum(axis=0)
    grows = steps.size >= FEWEST_STEPS and steps.shape[1] > 1 and bool((steps >= 0).all())
    if grows and (steps > 0).mean() > 0.5 and totals[-1] >= 2 * totals[0]:
        raise DataError(
            f"{profile.path.name}: counts never fall from one time to the next, at any of {len(table):,} places: they "
            "are running sums, and no counts of each time.",
            hint="subtract from each count the one before it.",
        )


def _count(profile: FileProfile, used: tuple[Column, ...]) -> Column | None:
    free = [c for c in profile.columns if c not in used and c.amounts is not None]
    free = [c for c in free if not is_called(c, (*FIRST, *SECOND, *TIMES))]
    profile.refuse_withheld(COUNTS, "leave such counts empty: they are then not observed.", used)
    return next((c for c in free if is_called(c, COUNTS)), free[0] if len(free) == 1 else None)


def _finished(
    profile: FileProfile, other: FileProfile | None, found: tuple[Column, Column | None, Column], gaps: bool
) -> Guess:
    time, place, count = found
    data, comments = profile.opening()
    columns: dict[str, Any] = {"time": time.name, "place": place and place.name, "count": count.name}
    ask = ["how counts come about: noise, rate and population in [options]."]
    if gaps:
        _fill_gaps(found, data, comments, ask)
    if _has_missing_times(time):
        data["times"] = "regular"
        comments["data", "times"] = "some times have no rows: they are estimated; listed takes the times as they are"
        ask.append("times are missing from the series; they are estimated.")
    if place is None:
        columns.pop("place")
        ask.append("places have no names: they are named by their coordinates.")
    _add_position(profile, other, data, columns, ask)
    if place is not None:
        _leave_out_totals((time, place, count), data, comments, ask)
    _refuse_unordered(profile, time)
    if place is not None and not gaps and time.missing == place.missing == 0 and "without" not in data:
        _refuse_running_sums(profile, _table(time, place, count))
    totals = np.zeros(0) if place is None else _totals(time, place, count)
    _refuse_mistake(profile, count, totals, 1 if place is None else place.distinct)
    options = _options(count, comments, ask, (totals, 1 if place is None else place.distinct))
    if count.blanks:
        data["missing"] = list(count.blanks)
        comments["data", "missing"] = "these stand for counts that were not observed"
    _ask_about_the_year(time.distinct, ask)
    sites = f"{place.distinct - ('without' in data):,} places" if place is not None else "places"
    seen = f"{sites} counted at {time.distinct:,} times; {profile.n_rows:,} rows"
    unused = _unused(profile, (time, count), columns)
    return Guess("collective", 0.95, seen, data, columns, options, comments, ask, unused=unused)


def _table(time: Column, place: Column, count: Column) -> np.ndarray:
    """Counts of every place (a row) at every time, in its order; empty where times have none."""
    listed = [time.value(i) for i in np.unique(time.codes, return_index=True)[1]]
    scale = time_scale(listed)
    if time.texts is not None and scale is None:
        return np.zeros((0, 0))
    at = np.asarray(scale.position if scale is not None and time.texts is not None else list(map(float, listed)))
    rank = np.argsort(np.argsort(at))
    table = np.full((place.distinct, time.distinct), np.nan)
    table[place.codes, rank[time.codes]] = count.amounts
    return table


def _fill_gaps(found: tuple[Column, Column | None, Column], data: dict, comments: dict, ask: list[str]) -> None:
    """What times and places without a row mean: nobody was there, where counts go down to few and none is 0."""
    time, place, count = found
    least, middle = float(np.nanmin(count.amounts)), float(np.nanmedian(count.amounts))
    lacking = 1.0 if place is None else 1 - len(count.amounts) / (time.distinct * place.distinct)
    if count.missing == 0 and least > 0 and (lacking > MOST_LACKING or least <= FEW * middle):
        data["absent"], other = "zero", 'nobody was there; absent = "unobserved" if nobody looked'
    else:
        data["absent"], other = "unobserved", 'nobody looked; absent = "zero" if nobody was there'
    comments["data", "absent"] = "what a time and place without a row means: zero, unobserved, or raise"
    ask.append(f"some times and places have no row: they are taken to mean that {other}.")


def _unused(profile: FileProfile, found: tuple[Column, Column], columns: dict[str, Any]) -> dict[str, str]:
    """Columns of numbers that are not part of the counts, and why."""
    rest = [c for c in profile.numeric if c not in found and c.name not in columns.values()]
    why = {True: f"another count; {found[1].name} is used", False: NO_PART}
    return {c.name: why[is_called(c, COUNTS)] for c in rest}


def _has_missing_times(time: Column) -> bool:
    """Whether a series of dates or numbers has steps of twice the shortest, or more of them."""
    texts = [time.value(i) for i in np.unique(time.codes, return_index=True)[1]] if time.missing == 0 else []
    try:
        scale = time_scale(texts)
    except DataError:
        return False
    steps = np.diff(np.sort(scale.position)) if scale is not None and len(texts) > 2 else np.zeros(1)
    ratio = steps / steps.min() if steps.min() > 0 else np.ones(1)
    return bool((ratio > 1.5).any() and (np.abs(ratio - np.round(ratio)) < 0.1).all())


def _add_position(profile: FileProfile, other: FileProfile | None, data: dict, columns: dict, ask: list[str]) -> None:
    """Coordinates of the places, in the same file or in a second one."""
    pair = _position(profile if other is None else other)
    if not pair:
        ask.append("there are no coordinates: every move but staying is taken as likely as any other.")
        return
    x, y = (c.name for c in pair)
    degrees = x.lower().startswith(("lon", "lng")) and y.lower().startswith("lat")
    columns |= {"lon": x, "lat": y} if degrees else {"x": x, "y": y}
    if other is not None:
        data["places_file"] = str(other.path)


def _leave_out_totals(found: tuple[Column, Column, Column], data: dict, comments: dict, ask: list[str]) -> None:
    """Leave out places that are sums of all others, by their names; they would be counted twice."""
    time, place, count = found
    for name in filter(is_total_row, place.words):
        here = (place.texts == name).fillna(False).to_numpy(dtype=bool)
        if adds_up(count.amounts, time.codes, here, ~here):
            data["without"] = {place.name: name}
            comments["data", "without"] = "the sum of all other places"
            ask.append(f"left out: the place {name!r}, which is the sum of all others.")


def _options(
    count: Column, comments: dict, ask: list[str], totals: tuple[np.ndarray, int] = (np.zeros(0), 1)
) -> dict[str, Any]:
    """How counts come about, as far as they show it; totals of complete times, and of how many places each is."""
    amounts = np.asarray(count.amounts)
    below = amounts[amounts < 0]
    if len(below):
        from sumwise.collective.kernels.noise_scale import laplace_sd

        sd = laplace_sd(amounts, *totals)
        ask.append(
            f"{len(below):,} counts are negative, as noise for privacy makes them: noise = laplace with sd = {sd:.3g}, "
            "from the negative ones and from how totals vary; give the sd that was used (Laplace: its scale times "
            "1.414)."
        )
        comments["options", "noise"] = "how counts differ from the truth: gaussian, laplace or geometric, with sd"
        comments["options", "sd"] = "the standard deviation of a count; guessed"
        return {"noise": "laplace", "sd": float(f"{sd:.3g}")}
    if not count.whole:
        ask.append(f"{count.name} holds numbers that aren't whole: relative abundance, not individuals.")
        comments["options", "noise"] = "relative abundance; or gaussian, laplace, geometric with sd, in its unit"
        return {"noise": "relative"}
    comments["options", "noise"] = (
        "how counts differ from the truth: poisson, negative-binomial (with dispersion), exact, or gaussian, laplace, "
        "geometric with sd"
    )
    comments["options", "rate"] = "the share of individuals that is counted"
    return {"noise": "poisson", "rate": 1.0}


def _totals(time: Column, place: Column, count: Column) -> np.ndarray:
    """Totals of all places at the times that have all of them, in the order of the file."""
    if time.missing:
        return np.zeros(0)
    sums = np.bincount(time.codes, weights=count.amounts)
    return sums[(np.bincount(time.codes) == place.distinct) & np.isfinite(sums)]


def _refuse_mistake(profile: FileProfile, count: Column, totals: np.ndarray, n_places: int) -> None:
    """Refuse a few negative counts where totals show that there is next to no noise."""
    bad = count.amounts < 0
    if not 0 < bad.sum() <= 3 or not count.whole or len(totals) < 5:
        return
    from sumwise.collective.kernels.noise_scale import robust_sd

    if -count.amounts[bad].min() > 10 * max(robust_sd(totals, n_places), 0.5):
        what = "is negative, while totals vary too little for noise of that size,"
        profile.refuse(count, bad, what, "correct such rows.")


def _ask_about_the_year(n_times: int, ask: list[str]) -> None:
    if n_times in YEARS:
        ask.append("these may be the times of one year: cyclic = true in [options] lets the last lead to the first.")
