"""Guess: a problem as a file suggests it, and the commented problem file that says so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sumwise.errors import DataError
from sumwise.study.problem import value

TOGETHER = (
    "They are fitted together, and borrow from each other as far as that helps; pool = false fits each by itself."
)
APART = (
    "Their options are numbers, which may stand for other groups in another contest, so each is fitted by itself. If "
    "they are the same everywhere, set pool = true; a second file with their names (row, row_name, col, col_name) does "
    "it too."
)
POOL = {
    True: "pool = true  # contests with the same groups are fitted together",
    False: "pool = false  # true fits contests together: say so only if an option's number means the same in each",
}


@dataclass
class Guess:
    """A problem as a file suggests it.

    Parameters
    ----------
    family : str
    score : float
        How sure: 1 is certain.
    seen : str
        What the file looks like, in words.
    data, columns, options : dict
        The tables of the problem file.
    comments : dict of (table, key) to str
        Words beside a key.
    ask : list of str
        What a person should look at.

    Examples
    --------
    >>> from sumwise.recognise import Guess
    >>> guess = Guess("ecological", 1.0, "one row per unit", {"file": "a.csv"}, {"groups": ["x", "y"]})
    >>> print(guess.text())  # doctest: +ELLIPSIS
    # a problem file for sumwise...
    """

    family: str
    score: float
    seen: str
    data: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    comments: dict[tuple[str, str], str] = field(default_factory=dict)
    ask: list[str] = field(default_factory=list)
    contests: list[dict[str, Any]] = field(default_factory=list)
    unused: dict[str, str] = field(default_factory=dict)
    keep: Any = None  # which rows of the file are used; None: all
    refusal: Exception | None = None  # why such a file can't be fitted as it is, if it can't
    unequal: bool = False  # of margins: whether groups and outcomes have different sums
    pool: bool = True  # whether contests may be fitted together
    names: dict[str, str] = field(default_factory=dict)  # names to show in place of columns'

    def text(self, name: str = "problem.toml", out: str = "result") -> str:
        """The commented problem file."""
        from sumwise.study.families import study_class

        others = [m for m in study_class(self.family).methods if m != "MaxEntRegressor" or "amount" in self.columns]
        lines = [
            f"# a problem file for sumwise; fit it with: sumwise fit {name} --out {out}",
            f"# seen: {self.seen}",
            *(f"# please check: {' '.join(line.split())}" for line in self.ask),
            *(f"# not used: {' '.join(name.split())}: {why}" for name, why in self.unused.items()),
            "",
            f"family = {value(self.family)}",
            'title = ""  # of the report',
            'method = "auto"' + (f"  # or {', '.join(others)}" if others else ""),
            "seed = 0  # of all randomness",
            "level = 0.95  # of the intervals",
            *([POOL[self.pool]] if self.contests else []),
        ]
        tables = {"data": self.data, "columns": self.columns, "options": self.options, "names": self.names}
        for table, entries in tables.items():
            if entries:
                note = "  # shown in place of the names of columns; change them as you like" if table == "names" else ""
                lines += ["", f"[{table}]{note}"]
                lines += [self._line(table, key, given) for key, given in entries.items()]
        for contest in self.contests:
            lines += ["", "[[contest]]", *(f"{key} = {value(given)}" for key, given in contest.items())]
        return "\n".join(lines) + "\n"

    def called(self, labels: Mapping[str, str]) -> Guess:
        """The same guess with columns by their names, where it was made from their labels."""
        real = {label: name for name, label in labels.items()}

        def named(given: Any) -> Any:
            if isinstance(given, list):
                return [named(g) for g in given]
            if isinstance(given, dict):
                return {real.get(k, k): v for k, v in given.items()}
            return real.get(given, given) if isinstance(given, str) else given

        picked = {k: named(v) if k in ("without", "only") else v for k, v in self.data.items()}
        columns = {k: v if k in ("row", "col") else named(v) for k, v in self.columns.items()}
        contests = [{k: v if k == "name" else named(v) for k, v in contest.items()} for contest in self.contests]
        sides = [*columns.get("groups", ()), *columns.get("outcomes", ())]
        sides += [c for contest in contests for c in contest.get("outcomes", ())]
        shown = {c: labels[c] for c in sides if c in labels} if self.family == "ecological" else {}
        unused = {real.get(k, k): why for k, why in self.unused.items()}
        return replace(self, data=picked, columns=columns, contests=contests, unused=unused, names=shown)

    def _line(self, table: str, key: str, given: Any) -> str:
        comment = self.comments.get((table, key))
        plain = re.fullmatch(r"[A-Za-z0-9_-]+", key) is not None
        line = f"{key if plain else value(key)} = {value(given)}"
        return line if comment is None else f"{line}  # {' '.join(comment.split())}"


def no_total(profile: Any, column: Any, name: str) -> DataError:
    """A refusal of rows that are totals by their name and not by their numbers."""
    return DataError(
        f"{profile.path.name}: {column.name} {name!r} reads like a total, and isn't the sum of the others.",
        hint="leave such rows out, or correct them.",
    )


def refused(family: str, score: float, message: str, hint: str) -> Guess:
    """A form that a file nearly has, and why it can't be fitted; raised unless another form is surer.

    Examples
    --------
    >>> from sumwise.recognise.guess import refused
    >>> str(refused("ecological", 0.1, "Rows are columns.", "swap them.").refusal)
    'Rows are columns. Hint: swap them.'
    """
    return Guess(family, score, message, refusal=DataError(message, hint=hint))
