"""The order of times that are texts: dates, hours, months, or a word with a number; and the distances between them."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sumwise.errors import DataError

FORMATS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%Y-%m",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %Y",
    "%B %Y",
    "%d-%b-%Y",
    "%b %d, %Y",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%MZ",
    "%Y-%m-%dT%H:%M:%SZ",
    "%H:%M",
    "%H:%M:%S",
    "%I %p",
    "%I%p",
    "%I:%M %p",
    "%I:%M%p",
)
COMPACT = {8: "%Y%m%d", 6: "%Y%m"}  # dates of digits alone, by their length
NAMES = tuple(
    [name.lower() for name in listed]
    for listed in (
        calendar.month_name[1:],
        calendar.month_abbr[1:],
        calendar.day_name,
        calendar.day_abbr,
        ("january", "february", "march", "april", "may", "june", "july", "aug", "sept", "oct", "nov", "dec"),
    )
)
NAMES += tuple(
    [str(name) for name in listed.split()]
    for listed in (
        "januar februar märz april mai juni juli august september oktober november dezember",
        "jan feb mär apr mai jun jul aug sep okt nov dez",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "lunes martes miércoles jueves viernes sábado domingo",
    )
)
START = datetime(1900, 1, 1)


class TimeScale(NamedTuple):
    """Where texts lie on a scale, and what a time at another place of it is called."""

    position: list[float]
    called: Callable[[float], str]
    recurs: bool = True  # weeks, months and hours come again; dates with a year don't


def time_scale(texts: Sequence[str]) -> TimeScale | None:
    """Positions of times that are texts, or None if they are not dates, weeks, hours, months, days or numbered words.

    Dates that may be day and month, or month and day, are refused where the two differ in order.

    Examples
    --------
    >>> from sumwise.time_order import time_scale
    >>> time_scale(["9:00", "10:00"]).position
    [540.0, 600.0]
    >>> time_scale(["week9", "week10"]).called(11)
    'week11'
    """
    return _compact(texts) or _numbered(texts) or _named(texts) or _weeks(texts) or _quarters(texts) or _dated(texts)


def _compact(texts: Sequence[str]) -> TimeScale | None:
    """Dates such as 20211231, and months such as 202112."""
    form = COMPACT.get(len(texts[0])) if texts else None
    if form is None or not all(len(t) == len(texts[0]) and re.fullmatch(r"(19|20)\d+", t) for t in texts):
        return None
    days = [_parsed(f"{t[:4]}-{t[4:6]}-{t[6:] or '01'}", "%Y-%m-%d") for t in texts]
    if None in days:
        return None
    return _calendar([day for day in days if day is not None], form)


def _calendar(times: Sequence[datetime], form: str) -> TimeScale:
    """Minutes; of months of a year, months, since those of the calendar aren't equally long."""
    if "%Y" in form and "%d" not in form:
        months = [12.0 * when.year + when.month - 1 for when in times]
        return TimeScale(months, lambda k: datetime(round(k) // 12, round(k) % 12 + 1, 1).strftime(form), recurs=False)
    at = [(when - START) / timedelta(minutes=1) for when in times]
    return TimeScale(at, lambda m: (START + timedelta(minutes=round(m))).strftime(form), "%Y" not in form)


def _numbered(texts: Sequence[str]) -> TimeScale | None:
    parts = [re.fullmatch(r"([^\d]*?)(\d+)", text) for text in texts]
    if not texts or any(m is None for m in parts) or len({m[1] for m in parts if m}) > 1:
        return None
    word, widths = next(m[1] for m in parts if m), {len(m[2]) for m in parts if m}
    width = widths.pop() if len(widths) == 1 else 0
    return TimeScale([float(m[2]) for m in parts if m], lambda at: f"{word}{round(at):0{width}d}")


def _named(texts: Sequence[str]) -> TimeScale | None:
    low = [text.lower().rstrip(".") for text in texts]
    for names in NAMES:
        if texts and all(text in names for text in low):
            return TimeScale([float(names.index(t)) for t in low], lambda at, n=names: n[round(at) % len(n)].title())
    return None


def _weeks(texts: Sequence[str]) -> TimeScale | None:
    """ISO weeks, such as 2021-W07."""
    weeks = [re.fullmatch(r"\d{4}-?W\d{2}", text) for text in texts]
    monday = [_parsed(f"{t[:4]}-{t[-2:]}-1", "%G-%V-%u") if m else None for t, m in zip(texts, weeks)]
    if not texts or None in monday:
        return None
    form = "%G-W%V" if "-" in texts[0] else "%GW%V"
    at = [(day - START) / timedelta(weeks=1) for day in monday if day is not None]
    return TimeScale(at, lambda week: (START + timedelta(weeks=week)).strftime(form), recurs=False)


def _quarters(texts: Sequence[str]) -> TimeScale | None:
    """Quarters of a year, such as 2021-Q3 or 2021 Q3."""
    quarters = [re.fullmatch(r"(\d{4})([- ]?Q)([1-4])", text) for text in texts]
    if not texts or None in quarters or len({m[2] for m in quarters if m}) > 1:
        return None
    sign = next(m[2] for m in quarters if m)
    at = [4.0 * int(m[1]) + int(m[3]) - 1 for m in quarters if m]
    return TimeScale(at, lambda k: f"{round(k) // 4}{sign}{round(k) % 4 + 1}", recurs=False)


def _dated(texts: Sequence[str]) -> TimeScale | None:
    scales = {}
    for form in FORMATS:
        read = [_parsed(text, form) for text in texts]
        if texts and None not in read:
            scales[form] = _calendar([when for when in read if when is not None], form)
    if not scales:
        return None
    orders = {tuple(sorted(range(len(texts)), key=scale.position.__getitem__)) for scale in scales.values()}
    if len(orders) > 1:
        raise DataError(
            f"Times such as {texts[0]!r} may be day and month, or month and day.", hint="write them as 2021-12-31."
        )
    return next(iter(scales.values()))


def _parsed(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)
    except ValueError:
        return None
