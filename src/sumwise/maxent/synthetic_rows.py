"""Synthetic rows in a Parquet file, a chunk at a time, and how well they agree with tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.io.writer import new_file
from sumwise.maxent.fitted_model import LogLinearModel
from sumwise.maxent.queries import label_name
from sumwise.noise import Exact
from sumwise.provenance import Promise
from sumwise.table import Table, title
from sumwise.tables import Tables

if TYPE_CHECKING:
    import pandas as pd


NO_PROMISE = (
    "No promise of differential privacy: the model was fitted to tables without one, and rows drawn from it may "
    "reveal what those tables do."
)


def privacy_statement(releases: Sequence[Mapping[str, Any]]) -> str:
    """What is promised to the people behind rows that are drawn from a model of tables.

    Examples
    --------
    >>> from sumwise.maxent.synthetic_rows import privacy_statement
    >>> privacy_statement([{"mechanism": "geometric", "epsilon": 1.0, "delta": 0.0, "neighbours": "up to 1 row"}])[:62]
    'Differential privacy: epsilon 1, delta 0, by geometric noise; '
    """
    promise = Promise.of(releases)
    if promise is None:
        return NO_PROMISE
    return f"{promise} Rows are drawn from a model of the released tables alone, so the promise covers them."


def write_rows(
    model: LogLinearModel,
    path: Any,
    n: int,
    tables: Tables | None,
    chunk: int,
    rng: np.random.Generator,
    privacy: str = NO_PROMISE,
) -> pd.DataFrame:
    """See `MaxEntClassifier.write_sample`."""
    import pandas as pd
    import pyarrow.parquet as pq

    counted = [] if tables is None else [_Counted(model, t) for t in _checked(tables, model)]
    noises = sorted({repr(t.table.noise) for t in counted if not isinstance(t.table.noise, Exact)})
    about = {"sumwise": json.dumps({"rows": n, "noise": noises, "privacy": privacy})}

    def chunks() -> Iterator[Any]:
        for begin in range(0, n, chunk):
            codes, labels = model.draw(min(chunk, n - begin), rng)
            for t in counted:
                t.add(codes, labels)
            yield _arrow(model, codes, labels).replace_schema_metadata(about)

    made = chunks()
    first = next(made)
    with new_file(path) as file, pq.ParquetWriter(file, first.schema) as writer:
        for part in chain([first], made):
            writer.write_table(part)
    rows = [(title(t.table.attributes), len(t.table.attributes), t.fitted, t.variation()) for t in counted]
    found = pd.DataFrame(rows, columns=["table", "order", "fitted", "variation"])
    found.attrs["privacy"] = privacy
    return found


def _checked(tables: Any, model: LogLinearModel) -> Tables:
    if not isinstance(tables, Tables):
        raise DataError(
            f"tables is of type {type(tables).__name__}.", hint="give the Tables that rows are compared with."
        )
    for a in tables.domain.attributes:
        checks.known(a, model.schema.domain, "attribute")
        if tables.domain.levels(a) != model.schema.domain.levels(a):
            raise DataError(f"Levels of {a!r} aren't those of the model.", hint="count with the model's domain_.")
    return tables


def _arrow(model: LogLinearModel, codes: np.ndarray, labels: np.ndarray) -> Any:
    """Rows of levels and the label; levels of mixed types as text."""
    import pyarrow as pa

    domain, columns = model.schema.domain, {}
    for j, a in enumerate(domain.attributes):
        columns[a] = _column([checks.plain(v) for v in domain.levels(a)], codes[:, j])
    columns[label_name(model)] = _column([checks.plain(c) for c in model.schema.classes], labels)
    return pa.table(columns)


def _column(levels: list, codes: np.ndarray) -> Any:
    import pyarrow as pa

    kinds = {type(v) for v in levels if v is not None}
    values = levels if len(kinds) == 1 else [None if v is None else str(v) for v in levels]
    return pa.array(values).take(pa.array(codes))


class _Counted:
    """A table and the same table of the rows so far."""

    def __init__(self, model: LogLinearModel, table: Table) -> None:
        domain = model.schema.domain
        self.table, self.axes = table, domain.axes(table.attributes)
        self.fitted = tuple(sorted(self.axes)) in model.layout.terms
        self.n_classes = len(model.schema.classes)
        self.labelled = table.label_sums is not None
        shape = (*table.shape, self.n_classes) if self.labelled else table.shape
        self.counts = np.zeros(shape)

    def add(self, codes: np.ndarray, labels: np.ndarray) -> None:
        """Count more rows."""
        levels = tuple(codes[:, a] for a in self.axes)
        cell = np.ravel_multi_index((*levels, labels) if self.labelled else levels, self.counts.shape)
        self.counts += np.bincount(cell, minlength=self.counts.size).reshape(self.counts.shape)

    def variation(self) -> float:
        """Total variation distance of the two tables' shares; noisy counts are cut at 0, unobserved cells left out."""
        counts = np.asarray(self.table.counts, dtype=float)
        if self.labelled:
            sums = np.asarray(self.table.label_sums, dtype=float)
            whole = sums.ndim > counts.ndim and sums.shape[-1] == self.n_classes
            one = sums if sums.ndim == counts.ndim else sums[..., -1]
            counts = sums if whole else np.stack([counts - one, one], axis=-1)
        known = ~np.isnan(counts)
        given, drawn = np.maximum(counts[known], 0.0), self.counts[known]
        return float(0.5 * np.abs(given / given.sum() - drawn / max(drawn.sum(), 1.0)).sum())
