"""What a file is: margins, bags, tables or counts over time; one file per form, and the nearest wins.

The file ``recognise/NAME.py`` defines ``guess(looks)``, which returns a `Guess` or None.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from sumwise.errors import DataError
from sumwise.study.recognise.guess import Guess

__all__ = ["Guess", "recognise"]


def recognise(looks: list[Any], family: str | None = None) -> Guess:
    """The likeliest problem for files that were looked at.

    Parameters
    ----------
    looks : list of Look
    family : str, optional
        Only of this family.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.study.profile_file import look_at
    >>> from sumwise.study.recognise import recognise
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "votes.csv"
    >>> _ = path.write_text("precinct,young,old,yes,no\\nA,60,40,55,45\\nB,10,90,30,70\\n")
    >>> recognise([look_at(path)]).columns["groups"]
    ['young', 'old']
    """
    forms = [name for _, name, _ in pkgutil.iter_modules(__path__) if name != "guess"]
    found = [importlib.import_module(f"sumwise.study.recognise.{name}").guess(looks) for name in forms]
    guesses = [g for group in found for g in (group if isinstance(group, list) else [group]) if g is not None]
    if family is not None:
        guesses = [g for g in guesses if g.family == family]
    if not guesses:
        names = ", ".join(repr(look.path.name) for look in looks)
        what = "no form that is known" if family is None else f"no form that {family} takes"
        raise DataError(
            f"{names} has {what}: margins, individuals in bags, cells of tables, or counts over time."
            + _no_counts(looks),
            hint="sumwise init --help tells the forms; docs/how-to/from-files-to-findings.md shows a problem file.",
        )
    best = max(guesses, key=lambda g: g.score)
    best.ask += [
        f"some rows of {look.path.name} have too few or too many fields and are left out; is the file whole?"
        for look in looks
        if look.ragged
    ]
    best.ask += [f"in {look.path.name}, 1.234 was taken for 1234." for look in looks if look.decimal]
    return best


def _no_counts(looks: list[Any]) -> str:
    """Words on columns of numbers that can't be counts, since some are missing or negative: a likely reason."""
    told = []
    for column in (c for look in looks for c in look.columns if c.numbers is not None and not c.counts):
        below = int((column.numbers < 0).sum())
        told += [f"{column.name!r} is missing in {column.missing:,} rows"] if column.missing else []
        told += [f"{column.name!r} is negative in {below:,} rows"] if below else []
    return f" Counts can't be missing or negative: {'; '.join(told[:3])}{'; ...' if told[3:] else ''}." if told else ""
