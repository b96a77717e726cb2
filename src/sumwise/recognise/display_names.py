"""Names to show in place of those of columns, as far as a column's own name gives one safely."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sumwise.nonvoting import HEADING, no_candidates

MEASURES = {  # what a column holds; the groups of one side are called without it where all of them have it
    "pct", "perc", "percent", "percentage", "prop", "share", "shares", "votes", "vote", "count", "counts", "num", "pop",
    "vap", "cvap", "ballots", "reg", "registered",
}  # fmt: skip
UNITS = {"usd": "USD", "eur": "EUR", "gbp": "GBP", "km": "km", "kg": "kg", "cm": "cm", "mm": "mm"}
UNITS |= {"pct": "%", "percent": "%", "mgkg": "mg/kg", "mgl": "mg/l", "degc": "°C", "t/ha": "t/ha"}
UNITS |= {f"{one}/{two}": f"{one}/{two}" for one in ("g", "kg", "mg", "km", "m") for two in ("ha", "kg", "l", "h", "s")}
UNITS |= {word: word for word in ("years", "months", "weeks", "days", "hours", "minutes", "seconds")}


ORIGINS = {"white": "White", "black": "Black", "hisp": "Hispanic", "hispanic": "Hispanic", "latino": "Latino"}
ORIGINS |= {"asian": "Asian", "asn": "Asian", "wht": "White", "blk": "Black", "natam": "Native American"}
ORIGINS |= {"nativeam": "Native American", "aian": "American Indian", "oth": "other", "other": "other"}
ORIGINS |= {"wvap": "White", "bvap": "Black", "hvap": "Hispanic", "asianvap": "Asian", "aminvap": "American Indian"}
DEGREES = {"c": "°C", "f": "°F", "k": "K"}  # after one of these words, not after "template"
TEMPERATURES = {"temp", "temps", "temperature", "temperatures", "temperatur", "temperatura", "température"}
PARTIES = {"dem": "Democrat", "rep": "Republican", "democrat": "Democrat", "republican": "Republican", "oth": "other"}
KNOWN_NAMES = (ORIGINS, PARTIES)  # a side with two of the names has them all
LETTER = re.compile(r"([A-Za-z]+(?: [A-Za-z]+)*?) ([DRLGI])$")  # a candidate and a party


def display_names(
    sides: Sequence[Sequence[str]], others: Iterable[str] = (), taken: Iterable[str] = ()
) -> dict[str, str]:
    """Names for columns whose own are words joined by underscores or dots; codes and plain words keep theirs.

    A side's columns lose a word for what they hold that all of them share (``pct_white``, ``pct_black``), and a unit
    at the end is put in brackets. Where a side has two names of origins or two of parties as American files abbreviate
    them, they are written out, and so is a letter of a party after two candidates. Other abbreviations stay. Candidates
    lose the contest that their names begin with (``Mayor - O'Neil``, ``Mayor - Reyes``).

    Parameters
    ----------
    sides : list of lists of str
        Columns that are named alike: groups, outcomes, counts of classes.
    others : iterable of str
        Single columns: features, a label, a response.
    taken : iterable of str
        Other names in the file, which no column may be given.

    Returns
    -------
    dict of column to name
        Of columns that get another name; names are unique.

    Examples
    --------
    >>> from sumwise.recognise.display_names import display_names
    >>> display_names([["White.Pct", "Black.Pct"], ["Foley", "Dan.Malloy"]])
    {'White.Pct': 'White', 'Black.Pct': 'Black', 'Dan.Malloy': 'Dan Malloy'}
    >>> display_names([["vap_natam", "vap_white"], ["ADAMS_D", "BROWN_R"]])
    {'vap_natam': 'Native American', 'vap_white': 'White', 'ADAMS_D': 'Adams (D)', 'BROWN_R': 'Brown (R)'}
    >>> display_names([], ["income_usd", "day_of_week", "B01001_001E", "age"])
    {'income_usd': 'income (USD)', 'day_of_week': 'day of week'}
    >>> display_names([["reg_black", "reg_white"]], ["temperature_c", "template_c"])
    {'reg_black': 'black', 'reg_white': 'white', 'temperature_c': 'temperature (°C)', 'template_c': 'template c'}
    >>> display_names([["a", "b"], ["Mayor: Hale", "Mayor: Blank"], ["Clerk: Voss", "Clerk: Blank"]])
    {'Mayor: Hale': 'Hale', 'Mayor: Blank': 'Blank', 'Clerk: Voss': 'Voss', 'Clerk: Blank': 'Blank'}
    """
    headed = {c: name for side in sides for c, name in _without_heading(side).items()}
    found = _column_names([[c for c in side if c not in headed] for side in sides], list(others), taken)
    here = [c for side in sides for c in side if c not in headed]
    if {*headed.values()} & {*found.values(), *here, *others, *taken}:
        return found
    return {**found, **headed}


def _column_names(sides: Sequence[Sequence[str]], others: Sequence[str], taken: Iterable[str]) -> dict[str, str]:
    """As `display_names`, for columns that no contest's name begins."""
    columns = [*(c for side in sides for c in side), *others]
    plain = {c: name for c in columns if (name := _words(c)) is not None}
    short = {}
    for side in sides:
        side_names = {**{c: plain.get(c, c) for c in side}, **_without_measure(side)}
        short |= {c: name for c, name in _written_out(side_names).items() if name != c}
    for found in ({**plain, **short}, plain):
        shown = [found.get(c, c) for c in dict.fromkeys(columns)]
        again = {*taken} - {*columns}
        if len(set(shown)) == len(shown) and again.isdisjoint(found.values()):
            return {c: name for c, name in found.items() if name != c}
    return {}


def _without_heading(side: Sequence[str]) -> dict[str, str]:
    """The side's names after a contest that all of them begin with, put before a colon, a dash or a bar."""
    for sign in HEADING:
        cut = {c: [part.strip() for part in c.partition(sign)[::2]] for c in side}
        heads, tails = {head for head, _ in cut.values()}, {tail for _, tail in cut.values()}
        if len(side) > 1 and len(heads) == 1 and len(tails) == len(side) and all((*heads, *tails)):
            return {c: tail for c, (_, tail) in cut.items()}
    return {}


def _parts(column: str) -> list[str]:
    """The words of a column's name; none where it may be a code."""
    parts = [part for part in re.split(r"[_.\s]+", column) if part]
    words = all(part.isalpha() or part.isdigit() for part in parts) and any(len(p) > 1 and p.isalpha() for p in parts)
    return parts if words else []


def _words(column: str) -> str | None:
    parts = _parts(column)
    if len(parts) < 2:
        return None
    if parts[-1].lower() in DEGREES and parts[-2].lower() in TEMPERATURES:
        return f"{' '.join(parts[:-1])} ({DEGREES[parts[-1].lower()]})"
    for last in (2, 1):
        unit = UNITS.get("/".join(parts[-last:]).lower()) if len(parts) > last else None
        if unit is not None:
            return f"{' '.join(parts[:-last])} ({unit})"
    return " ".join(parts)


def _written_out(names: Mapping[str, str]) -> dict[str, str]:
    """A side's names with abbreviations of origins and parties written out, where two or more are known."""
    out = dict(names)
    for known in KNOWN_NAMES:
        found = [name.lower() for name in names.values() if name.lower() in known]
        if len(found) > 1 and any(known[name].lower() != name for name in found):  # words alone stay as they are
            out = {c: known.get(name.lower(), name) for c, name in out.items()}
    lettered = {c: found for c, name in names.items() if (found := LETTER.match(name))}
    people = {found[1].lower() for found in lettered.values()}
    if len(lettered) > 1 and len(people) == len(lettered):  # "grade D" and "grade I" are no candidates
        out |= {
            c: f"{found[1].title() if found[1].isupper() and len(found[1]) > 3 else found[1]} ({found[2]})"
            for c, found in lettered.items()
        }
    return out if len(set(out.values())) == len(out) else dict(names)


def _without_measure(side: Sequence[str]) -> Mapping[str, str]:
    """The side's names without the first or last word, where all share it and it says what a column holds."""
    parts = {c: _parts(c) for c in side}
    if len(parts) < 2 or min(map(len, parts.values())) < 2 or any(no_candidates(side)):  # "no_vote" is not "no"
        return {}
    for place in (0, -1):
        words = {p[place].lower() for p in parts.values()}
        if len(words) == 1 and words <= MEASURES:
            kept = {c: p[1:] if place == 0 else p[:-1] for c, p in parts.items()}
            return {c: " ".join(p) for c, p in kept.items()}
    return {}
