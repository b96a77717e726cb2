"""Reading: from a problem's files to its container, with notes on what was done to the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sumwise.errors import DataError
from sumwise.io.documents import read_json
from sumwise.schema.opened import OPENING
from sumwise.schema.problem import Problem


class Reading:
    """The files of a problem of one family, read into containers.

    A family supplies `read`, which sets ``data`` (what ``fit`` of an estimator takes, a tuple where that is several
    containers), and where there are any ``truth`` and ``details``.
    """

    family = ""
    data_keys: dict[str, str] = {}  # noqa: RUF012  key of [data] -> its meaning
    column_keys: dict[str, str] = {}  # noqa: RUF012  key of [columns] -> its meaning
    named_sides: tuple[str, ...] = ()  # keys of [columns] whose columns [names] names alike: groups, outcomes
    named_columns: tuple[str, ...] = ()  # other keys whose columns [names] may name
    noises: tuple[str, dict[str, tuple[str, ...]]] | None = None  # the table that says the noise; kind -> parameters

    def __init__(self, problem: Problem):
        self.problem = problem
        self.notes: list[str] = []  # what was done to the data
        self.cautions: list[str] = []  # what a reader must know before the numbers
        self.warnings: list[str] = []
        self.data: Any = None
        self.truth: Any = None
        self.details: dict[str, Any] = {}
        self.folder = Path()  # of a result, for prediction
        in_data = [*self.data_keys, *OPENING]
        problem.check_keys(("data",), problem.data, in_data, {"columns": self.column_keys})
        problem.check_keys(("columns",), problem.columns, self.column_keys, {"data": in_data})

    def read(self) -> None:
        """Read the files into containers."""
        raise NotImplementedError

    def files(self) -> list[Path]:
        """The files that [data] names."""
        named = [k for k in self.data_keys if k in self.problem.data and (k == "file" or k.endswith("_file"))]
        found = [self.problem.file(key, needed=False) for key in named]
        return [path for path in found if path is not None]

    def named(self, column: str, level: str | None = None) -> str:
        """What [names] calls a column, or a level of it (the key is then "COLUMN = LEVEL"); else its own name."""
        if level is None:
            return self.problem.names.get(column, column)
        return self.problem.names.get(f"{column} = {level}", level)

    def check_names(self, columns: Any, levels: bool = True, used: Any = None) -> None:
        """Refuse a key of [names] that is neither one of these columns nor a level of one, and names given twice.

        Twice among the columns that are `used`, by default all.
        """
        p = self.problem
        for key in p.names:
            if key not in columns and not (levels and key.partition(" = ")[0] in columns):
                p.fail(("names",), f"[names] has {key!r}, which is not a column.", "check its spelling.")
        shown = [self.named(str(column)) for column in (columns if used is None else used)]
        for column, name in p.names.items():
            if column in columns and shown.count(name) > 1:
                p.fail(("names",), f"Two columns are called {name!r}.", "give each a name of its own.")

    def kept(self) -> dict[str, Any] | None:
        """What prediction needs beside the model, for ``features.json``."""
        return None

    def kept_by_the_fit(self, *lists: str) -> dict[str, Any]:
        """What `kept` gave when the result was fitted, for prediction; what it must hold are lists."""
        try:
            kept = read_json(self.folder / "features.json")
            if not isinstance(kept, dict) or not all(isinstance(kept.get(name), list) for name in lists):
                raise ValueError(f"it lacks {' or '.join(lists)}")
        except ValueError as error:
            said = f"features.json in {str(self.folder)!r} is damaged ({error})."
            raise DataError(said, hint="fit the problem file again.") from None
        return kept
