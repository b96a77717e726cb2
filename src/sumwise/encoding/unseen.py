"""Values that are not a level: how many, of which column, and how many are too many to be an accident."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.memory import at_caller

FEWEST = 20  # rows below which a share says nothing
MANY = 0.01


class Unseen(NamedTuple):
    """Values of one column that are not a level: how many of how many that are not missing, and the first of them."""

    rows: int
    present: int
    first: Any
    levels: tuple


def count_unseen(column: Any, unknown: np.ndarray, levels: tuple) -> Unseen:
    """Count the entries of a column that are present but unknown."""
    present = ~column.isna().to_numpy()
    at = np.flatnonzero(present & unknown)
    first = checks.plain(column.iloc[at[0]]) if len(at) else None
    return Unseen(len(at), int(present.sum()), first, levels)


def report_unseen(found: dict[str, Unseen]) -> None:
    """Warn of columns of which more than 1% is not a level of theirs; refuse one of which nothing is."""
    bad = {n: u for n, u in found.items() if u.present >= FEWEST and u.rows > MANY * u.present}
    for name, u in bad.items():
        if u.rows == u.present:
            raise DataError(
                f"No value of column {name!r} is a level of the tables: it has {u.first!r} "
                f"({type(u.first).__name__}), they have {checks.plain(u.levels[0])!r} ({type(u.levels[0]).__name__}).",
                hint="read the column as it was counted: codes such as '01234' and dates as text (dtype=str), true "
                "and false as booleans.",
            )
    if bad:
        worst = max(bad, key=lambda n: bad[n].rows / bad[n].present)
        shares = ", ".join(f"{n!r} {100 * u.rows / u.present:.3g}%" for n, u in list(bad.items())[:6])
        warnings.warn(
            f"Values that no table has a level for: {shares}. First of {worst!r}: {bad[worst].first!r}. They go to "
            "the level for other values where a rule names one, and are treated as unknown elsewhere. "
            "Hint: is the column typed as it was when it was counted?",
            stacklevel=at_caller(4),
        )
