"""Counts over time: one row per time and place, with its count."""

from __future__ import annotations

from typing import Any

from sumwise.study.profile_file import Column, FileProfile
from sumwise.study.recognise.guess import Guess

__all__ = ["guess"]

TIMES = ("time*", "week*", "day*", "date*", "hour*", "month*", "year*", "step*", "t", "period*")
PLACES = ("place*", "site*", "cell*", "station*", "location*", "region*", "zone*", "area*", "node*")
COUNTS = ("count*", "n", "birds", "people", "number*", "devices", "visitors")
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
        for place in (c for c in profile.columns if c is not time and profile.is_called(c, PLACES) and c.distinct >= 2):
            pairs = set(zip(time.codes.tolist(), place.codes.tolist()))
            whole = time.distinct * place.distinct
            count = _count(profile, (time, place))
            if len(pairs) == profile.n_rows and count is not None and profile.n_rows >= 0.2 * whole:
                return _finished(profile, other, (time, place, count), len(pairs) < whole)
    return None


def _count(profile: FileProfile, used: tuple[Column, ...]) -> Column | None:
    free = [c for c in profile.columns if c not in used and c.numbers is not None and not (c.numbers < 0).any()]
    free = [c for c in free if not profile.is_called(c, (*FIRST, *SECOND))]
    return next((c for c in free if profile.is_called(c, COUNTS)), free[0] if len(free) == 1 else None)


def _finished(
    profile: FileProfile, other: FileProfile | None, found: tuple[Column, Column, Column], gaps: bool
) -> Guess:
    time, place, count = found
    data, told = profile.opening()
    columns: dict[str, Any] = {"time": time.name, "place": place.name, "count": count.name}
    ask = ["how counts come about: noise, rate and population in [options]."]
    if gaps:
        data["absent"] = "unobserved"
        told["data", "absent"] = "some times and places have no row; zero would mean that nobody was there"
    source = profile if other is None else other
    x, y = (next((c.name for c in source.columns if source.is_called(c, words)), None) for words in (FIRST, SECOND))
    if x is not None and y is not None:
        columns |= {"x": x, "y": y}
        if other is not None:
            data["places_file"] = str(other.path)
    else:
        ask.append("there are no coordinates: every move but staying is taken as likely as any other.")
    options = {"noise": "poisson", "rate": 1.0}
    told["options", "noise"] = "how counts differ from the truth: poisson, gaussian (with sd) or exact"
    told["options", "rate"] = "the share of individuals that is counted"
    seen = f"{place.distinct:,} places counted at {time.distinct:,} times"
    return Guess("collective", 0.95, seen, data, columns, options, told, ask, methods=("MovesByDistance",))
