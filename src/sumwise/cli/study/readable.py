"""Names of groups and outcomes as people write them, suggested for the report: "Black" for ``bvap``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sumwise.nonvoting import is_abstention, is_rest
from sumwise.schema import Schema

CODES = {  # census abbreviations, and words that are written with a capital
    "bvap": "Black", "wvap": "white", "hvap": "Hispanic", "lvap": "Latino", "avap": "Asian", "nvap": "Native American",
    "ovap": "other", "natam": "Native American", "aian": "Native American", "nhpi": "Pacific Islander",
    "blk": "Black", "wht": "white", "hisp": "Hispanic", "black": "Black", "asian": "Asian", "hispanic": "Hispanic",
    "latino": "Latino", "latina": "Latina", "latinx": "Latinx", "novote": "no vote",
}  # fmt: skip
BEFORE = re.compile(
    r"^(?:pct|percent|perc|prop|share|votes?|num|cnt|count|total|tot|pop|vap|cvap)[_ ]+(?:for[_ ]+)?", re.I
)
AFTER = re.compile(r"[_ ]+(?:pct|percent|perc|prop|share|votes?|num|cnt|count|pop|vap|cvap)$", re.IGNORECASE)
NUMBERED = re.compile(r"^([^\W\d_]{3,})\d$")  # hardy2
WORDS = {"yes", "no", "for", "against", "other", "others", "all", "none", "total", "rest"}  # choices without a capital


def readable_names(schema: Schema) -> dict[str, str]:
    """Names for the report, by column: of groups and outcomes that are written as codes.

    A name is suggested only if it differs from the names of all other columns of its side.

    Examples
    --------
    >>> from sumwise.cli.study.readable import readable_names
    >>> from sumwise.schema import Schema
    >>> columns = {"groups": ["wvap", "bvap"], "outcomes": ["pct_for_hardy2", "kemp", "no vote"]}
    >>> readable_names(Schema("ecological", {}, columns))
    {'wvap': 'white', 'bvap': 'Black', 'pct_for_hardy2': 'Hardy', 'kemp': 'Kemp'}

    The name of a contest before its candidates says nothing more:

    >>> contests = [{"name": "mayor", "outcomes": ["mayor_smith", "mayor_jones"]}]
    >>> readable_names(Schema("ecological", {}, {"groups": ["a", "b"]}, contests=contests))
    {'mayor_smith': 'Smith', 'mayor_jones': 'Jones'}
    """
    if schema.family != "ecological":
        return {}
    found: dict[str, str] = {}
    for columns in (schema.columns, *schema.contests):
        for side in ("groups", "outcomes"):
            found |= _of_side(columns.get(side), side, str(columns.get("name", "")))
    return {column: name for column, name in found.items() if name != column and column not in schema.names}


def _of_side(given: Any, side: str, contest: str) -> dict[str, str]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        return {}
    before = re.compile(rf"^{re.escape(contest)}[_ ]+(?=[^\W\d_]{{2}})", re.IGNORECASE) if contest else None
    bare = {str(column): before.sub("", str(column)) if before else str(column) for column in given}
    names = {column: _readable(name, side) for column, name in bare.items()}
    shown = [name.casefold() for name in names.values()]
    return {column: name for column, name in names.items() if name and shown.count(name.casefold()) == 1}


def _readable(column: str, side: str) -> str:
    """A column's name as a person writes it."""
    if column.lower() in CODES:
        return CODES[column.lower()]
    if is_abstention(column):
        return column
    bare = AFTER.sub("", BEFORE.sub("", column))
    bare = NUMBERED.sub(r"\1", bare).replace("_", " ").strip()
    if bare == bare.lower():
        bare = " ".join(CODES.get(word, word) for word in bare.split())
    rest = next((words for words in ("not ", "all other ") if bare.startswith(words)), "")
    name = bare.removeprefix(rest)
    if side == "outcomes" and re.fullmatch(r"[a-z]{3,}", name) and name not in WORDS:
        return rest + name.capitalize()
    return bare or column


def readable_contests(schema: Schema) -> list[dict[str, Any]]:
    """The contests, those that are called by their columns ("pct_hardy2 / pct_not_hardy2") by their candidates.

    Examples
    --------
    >>> from sumwise.cli.study.readable import readable_contests
    >>> from sumwise.schema import Schema
    >>> contests = [{"name": "pct_hardy2 / pct_not_hardy2", "outcomes": ["pct_hardy2", "pct_not_hardy2"]}]
    >>> names = {"pct_hardy2": "Hardy", "pct_not_hardy2": "not Hardy"}
    >>> readable_contests(Schema("ecological", {}, {}, contests=contests, names=names))[0]["name"]
    'Hardy'
    """
    out, called = [dict(contest) for contest in schema.contests], []
    for contest in out:
        columns, name = contest.get("outcomes", ()), contest.get("name")
        if columns and name == f"{columns[0]} / {columns[-1]}":
            candidates = [schema.names.get(c, c) for c in columns if not is_abstention(c) and not is_rest(c)]
            name = ", ".join(candidates) or name
        called.append(name)
    if len(set(called)) < len(called):
        return out
    return [contest | ({} if name is None else {"name": name}) for contest, name in zip(out, called)]
