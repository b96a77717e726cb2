"""Counts over time: one row per time and place, with its count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise.study.profile_file import Column, FileProfile
from sumwise.study.recognise.guess import Guess
from sumwise.study.recognise.margins.words import is_total_row

TIMES = ("time*", "week*", "day*", "date*", "hour*", "month*", "year*", "step*", "t", "period*")
PLACES = ("place*", "site*", "cell*", "station*", "location*", "region*", "zone*", "area*", "node*")
PLACES += (
    "tower*",
    "antenna*",
    "sensor*",
    "stop*",
    "airport*",
    "grid*",
    "hex*",
    "plot*",
    "transect*",
    "colony*",
    "trap*",
)
COUNTS = (
    "count*",
    "n",
    "birds",
    "people",
    "number*",
    "devices",
    "visitors",
    "abundance*",
    "density",
    "noisy*",
    "value*",
)
FIRST, SECOND = ("x", "lon*", "lng", "east*"), ("y", "lat*", "north*")


def guess(profiles: list[FileProfile]) -> Guess | None:
    """Counts in one file, with coordinates there or in a second one."""
    if len(profiles) not in (1, 2):
        return None
    for profile, other in ((profiles[0], profiles[-1]), (profiles[-1], profiles[0])):
        found = _counts(profile, other if len(profiles) == 2 else None)
        if found is not None:
            return found
    return None


def _counts(profile: FileProfile, other: FileProfile | None) -> Guess | None:
    for time in (c for c in profile.columns if profile.is_called(c, TIMES) and 2 <= c.distinct <= 1000):
        others = [c for c in profile.columns if c is not time and c.distinct >= 2]
        for place in (c for c in others if profile.is_called(c, PLACES)):
            pairs = set(zip(time.codes.tolist(), place.codes.tolist()))
            whole = time.distinct * place.distinct
            count = _count(profile, (time, place))
            nearly = len(pairs) >= 0.9 * profile.n_rows  # the reader names rows that repeat a time and place
            if nearly and count is not None and profile.n_rows >= 0.2 * whole:
                return _finished(profile, other, (time, place, count), len(pairs) < whole)
        texts = [c for c in others if c.texts is not None and c.amounts is None]
        for place in texts if len(texts) == 1 else ():  # called otherwise, but every name has one row at every time
            pairs, count = set(zip(time.codes.tolist(), place.codes.tolist())), _count(profile, (time, place))
            full = len(pairs) == profile.n_rows == time.distinct * place.distinct
            if full and count is not None and profile.is_called(count, COUNTS):
                return _finished(profile, other, (time, place, count), gaps=False)
    return None


def _count(profile: FileProfile, used: tuple[Column, ...]) -> Column | None:
    free = [c for c in profile.columns if c not in used and c.amounts is not None]
    free = [c for c in free if not profile.is_called(c, (*FIRST, *SECOND))]
    return next((c for c in free if profile.is_called(c, COUNTS)), free[0] if len(free) == 1 else None)


def _finished(
    profile: FileProfile, other: FileProfile | None, found: tuple[Column, Column, Column], gaps: bool
) -> Guess:
    time, place, count = found
    data, comments = profile.opening()
    columns: dict[str, Any] = {"time": time.name, "place": place.name, "count": count.name}
    ask = ["how counts come about: noise, rate and population in [options]."]
    if gaps:
        data["absent"] = "unobserved"
        comments["data", "absent"] = "some times and places have no row; zero would mean that nobody was there"
    source = profile if other is None else other
    x, y = (next((c.name for c in source.columns if source.is_called(c, words)), None) for words in (FIRST, SECOND))
    if x is not None and y is not None:
        degrees = x.lower().startswith(("lon", "lng")) and y.lower().startswith("lat")
        columns |= {"lon": x, "lat": y} if degrees else {"x": x, "y": y}
        if other is not None:
            data["places_file"] = str(other.path)
    else:
        ask.append("there are no coordinates: every move but staying is taken as likely as any other.")
    _leave_out_totals(found, data, comments, ask)
    if count.numbers is not None and ((count.numbers < 0).any() or not count.whole):
        return _noisy(count, profile, found, (data, columns, comments, ask))
    options = {"noise": "poisson", "rate": 1.0}
    comments["options", "noise"] = (
        "how counts differ from the truth: poisson, negative-binomial (with dispersion), exact, or gaussian, laplace, "
        "geometric with sd"
    )
    comments["options", "rate"] = "the share of individuals that is counted"
    seen = f"{place.distinct:,} places counted at {time.distinct:,} times"
    return Guess("collective", 0.95, seen, data, columns, options, comments, ask, methods=("FlowModel",))


def _leave_out_totals(found: tuple[Column, Column, Column], data: dict, comments: dict, ask: list[str]) -> None:
    """Leave out places that are sums of all others, by their names; they would be counted twice."""
    time, place, count = found
    if place.texts is None:
        return
    names = [name for name in place.texts.dropna().unique().tolist() if is_total_row(name)]
    for name in names:
        here = (place.texts == name).fillna(False).to_numpy(dtype=bool)
        sums: Any = pd.Series(count.amounts[~here]).groupby(time.codes[~here]).sum()
        own: Any = pd.Series(count.amounts[here]).groupby(time.codes[here]).sum()
        if np.allclose(sums.reindex(own.index, fill_value=0), own, rtol=1e-6):
            data["without"] = {place.name: name}
            comments["data", "without"] = "the sum of all other places"
            ask.append(f"left out: the place {name!r}, which is the sum of all others.")


def _noisy(count: Column, profile: FileProfile, found: tuple[Column, Column, Column], parts: tuple) -> Guess:
    """Counts that are negative or no whole numbers: noise with a standard deviation, which has to be guessed here."""
    data, columns, comments, ask = parts
    below = count.numbers[count.numbers < 0]
    if len(below):
        noise, sd = "laplace", float(np.sqrt(np.mean(below**2)))  # of cells with nobody, half fall below 0
        ask.append(
            f"{len(below):,} counts are negative, as noise for privacy makes them: noise = laplace with sd = {sd:.3g}, "
            "from the negative ones; give the sd that was used (Laplace: its scale times 1.414)."
        )
    else:
        ask.append(f"{count.name} holds no whole numbers: it is taken as relative abundance, not as individuals.")
        comments["options", "noise"] = "relative abundance; or gaussian, laplace, geometric with sd, in its unit"
        return _guessed(found, profile, (data, columns, {"noise": "relative"}, comments, ask))
    options = {"noise": noise, "sd": float(f"{sd:.3g}")}
    comments["options", "noise"] = "how counts differ from the truth: gaussian, laplace or geometric, with sd"
    comments["options", "sd"] = "the standard deviation of a count; guessed"
    return _guessed(found, profile, (data, columns, options, comments, ask))


def _guessed(found: tuple[Column, Column, Column], profile: FileProfile, parts: tuple) -> Guess:
    time, place, _ = found
    seen = f"{place.distinct:,} places counted at {time.distinct:,} times; {profile.n_rows:,} rows"
    return Guess("collective", 0.95, seen, *parts, methods=("FlowModel",))
