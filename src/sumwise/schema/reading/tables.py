"""Tables from files: cells, folders of tables, or rows that are counted."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.errors import DataError
from sumwise.io.formats import read_tables
from sumwise.io.formats.tables_folder import read_tables_folder
from sumwise.schema.opened import labelled_only, open_source
from sumwise.schema.problem import NOISES, noise_of
from sumwise.schema.reading.base import Reading
from sumwise.schema.sheet_columns import level_texts, typed_frame
from sumwise.tables import Tables

OF_CELLS = {kind: NOISES[kind] for kind in ("exact", "poisson", "gaussian", "laplace", "geometric")}
FEW = 500  # rows below which none are held out
RARE = 20  # rows below which levels are put together


class TablesReading(Reading):
    """Tables of counts with label sums."""

    family = "maxent"
    data_keys = {  # noqa: RUF012
        "file": "rows of individuals, cells of tables, or a folder that sumwise aggregate or release wrote",
        "kind": "rows, cells or folder; default: a folder is one, a file with a column of counts contains cells",
        "holdout": "rows: the share that is kept for checking; default 0.2",
        "bins": "rows: levels that a column of numbers is cut into; default 5",
        "order": "rows: how many attributes a table has; default 2",
        "noise": "cells: the noise of counts and label sums: exact, poisson, gaussian, laplace or geometric",
        "sd": "cells: its standard deviation (gaussian, laplace, geometric)",
        "rate": "cells: its rate (poisson): the share of people that is counted",
        "absent": "cells: what a cell means that has no row: raise, zero or unobserved",
    }
    column_keys = {  # noqa: RUF012
        "label": "rows: the column to be predicted; cells: its name",
        "attributes": "the features; default: all other columns",
        "categorical": "rows: features that are levels though they look like numbers",
        "weight": "rows: people that a row stands for",
        "count": "cells: the column of counts",
        "label_sum": "cells: the column of the label's sums",
    }
    named_columns = ("label", "attributes")
    noises = "data", OF_CELLS
    tables: Tables
    rows: pd.DataFrame | None = None  # individuals that were held out
    labels: np.ndarray | None = None  # their classes, as positions

    def read(self) -> None:
        """Read tables, or count rows into them."""
        p = self.problem
        path = p.file()
        folder = isinstance(path, Path) and path.is_dir()
        kind = p.data.get("kind") or ("folder" if folder else "cells" if "count" in p.columns else "rows")
        with p.blamed(("data", "kind")):
            checks.choice(kind, "kind", ("rows", "cells", "folder"))
        if kind != "cells" and "noise" in p.data:
            p.fail(("data", "noise"), f"noise is given, and the data are {kind}.", "only cells take a noise.")
        with p.blamed():
            if kind == "folder":
                self.tables = read_tables_folder(path)
            elif kind == "cells":
                self.tables = self._cells(path)
            else:
                self._count(path)
        self.data = self.tables
        self.check_names([*self.tables.domain.attributes, self.tables.label])
        self.details = {"names": p.names}
        if self.tables.label is None and all(t.label_sums is None for t in self.tables):
            p.fail(("data", "file"), "The tables have no label sums.", "a classifier needs them; count with a label.")

    def _cells(self, path: Any) -> Tables:
        p = self.problem
        names = {key: str(p.column(key)) for key in ("count", "label_sum") if p.column(key) is not None}
        sheet = open_source(p, path, None, None)
        own = names.get("label_sum", "label_sum")
        return read_tables(
            sheet,
            p.column_list("attributes"),
            absent=p.data.get("absent", "raise"),
            label=p.column("label") or (None if own == "label_sum" else own),
            noise=noise_of(p.data, ("auto", *OF_CELLS)),
            names=names or None,
        )

    def _count(self, path: Any) -> None:
        from sumwise.aggregate import aggregate
        from sumwise.encoding import Encoding

        p = self.problem
        target = str(p.column("label", needed=True))
        sheet = open_source(p, path, None, [target])
        sheet.known(target)
        sheet = labelled_only(sheet, target, self.notes)
        weight = p.column("weight")
        columns = p.column_list("attributes") or sheet.others(target, weight)
        frame: Any = typed_frame(sheet, columns, p.column_list("categorical") or ())
        bins = checks.at_least(p.data.get("bins", 5), "bins", 2)
        spec = {c: _rule(frame[c], bins) for c in columns if len(pd.unique(frame[c])) > 1}
        if not spec:
            raise DataError(f"{sheet.name}: all attributes are the same in every row.", hint="name other columns.")
        name = target if target not in spec else f"{target} (label)"
        frame[name] = level_texts(sheet, target)
        if weight is not None:
            frame[weight] = sheet.numbers([weight])[:, 0]
        if frame[name].nunique() < 2:
            raise DataError(f"Column {target!r} is the same in every row.", hint="there is nothing to predict.")
        held = self._held_out(len(frame))
        train = frame[~held].reset_index(drop=True)
        order = min(int(checks.at_least(p.data.get("order", 2), "order", 1)), len(spec))
        encoding = Encoding.fit(train, spec)
        self.tables = aggregate(train, list(spec), label=name, order=order, weight=weight, encoding=encoding)
        if held.any():
            self._keep_held_out(frame[held].reset_index(drop=True), name)
        self.notes.append(
            f"{len(train):,} rows were counted into {len(self.tables)} tables of {order} attributes each; the fit "
            "sees the tables only. "
            f"Numbers are cut into {bins} levels at quantiles; levels of fewer than {RARE} rows are put together."
        )

    def _keep_held_out(self, rows: pd.DataFrame, name: str) -> None:
        """Individuals to check the result with, with their classes."""
        places = {str(c): k for k, c in enumerate(self.tables.classes or ())}
        self.rows, self.labels = rows, np.array([places[text] for text in rows[name]])
        self.truth = self.rows, self.labels

    def _held_out(self, n: int) -> np.ndarray:
        """Which rows are not counted and check the result."""
        p = self.problem
        share = p.data.get("holdout", 0.2 if n >= FEW else 0.0)
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share < 1:
            p.fail(("data", "holdout"), f"holdout is {share!r}.", "give a share of the rows, such as 0.2; 0 for none.")
        rng = np.random.default_rng([p.seed, zlib.crc32(b"held out")])  # unlike any other use of that seed
        held = rng.random(n) < share
        if held.any():
            self.notes.append(f"{int(held.sum()):,} rows, drawn at random, were held out to check the result.")
        return held


def _rule(column: Any, bins: int) -> dict[str, Any]:
    if pd.api.types.is_float_dtype(column.dtype) and column.nunique() > bins:
        return {"kind": "quantiles", "bins": bins}
    return {"kind": "levels", "min_count": RARE, "max_levels": 50}
