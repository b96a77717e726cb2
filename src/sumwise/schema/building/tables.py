"""Tables from a frame: every subset of attributes counted exactly, with label sums."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from sumwise import checks, frames
from sumwise.domain import Domain
from sumwise.errors import DataError
from sumwise.provenance import Provenance
from sumwise.sparse_table import table_of_cells
from sumwise.table import Table, title

MAX_CELLS = 2**40  # cells of one table: it is held sparse


def tables_from_frame(
    cls: type,
    frame: Any,
    attributes: Sequence[str],
    label: str | None,
    order: int,
    weight: str | None,
    domain: Domain | None,
    missing: str = "raise",
) -> Any:
    """Do the work of `Tables.from_frame`, which documents it.

    Examples
    --------
    >>> from sumwise import Tables
    >>> t = Tables.from_frame({"a": [0, 1, 1], "y": ["p", "q", "r"]}, ["a"], label="y", order=1)
    >>> t["a"].label_sums
    array([[1., 0., 0.],
           [0., 1., 1.]])
    >>> t.classes
    ('p', 'q', 'r')
    """
    checks.name_of_column(label, "label")
    checks.name_of_column(weight, "weight")
    checks.choice(missing, "missing", ("raise", "level"))
    if domain is not None and not isinstance(domain, Domain):
        raise DataError(f"The domain is of type {type(domain).__name__}.", hint="give a Domain.")
    listed = checks.listing(attributes, "attributes", "give a list of columns.")
    attributes = list(checks.unique(listed, "attributes"))
    if not attributes:
        raise DataError("attributes names no columns.", hint="give a list of columns.")
    checks.at_least(order, "order", 1)
    if order > len(attributes):
        raise DataError(f"order is {order}, but there are {len(attributes)} attributes.")
    if label in attributes or weight in attributes or (label is not None and label == weight):
        raise DataError("A column plays two parts among attributes, label and weight.", hint="name each once.")
    columns = [*attributes, *([] if label is None else [label]), *([] if weight is None else [weight])]
    table = frames.to_pandas(frame, columns)
    if not len(table):
        raise DataError("The frame has no rows, so there is nothing to count.")
    codes, domain = _codes(table, attributes, domain, missing == "level")
    y, classes = (None, None) if label is None else label_codes(table[label], label)
    w = None
    if weight is not None:
        w = checks.counts(frames.numeric(table, [weight], "weights")[:, 0], f"column {weight!r}")
    scores = 1 if classes is None else len(classes)
    filled = ((min(domain.size(s), len(table)), scores) for s in combinations(attributes, order))
    checks.allocation("Counting", *filled, hint="merge rare levels with an Encoding, or lower the order.")
    counted = [_count(subset, codes, domain, y, classes, w) for subset in combinations(attributes, order)]
    names = (0, 1) if y is not None and classes is None else classes
    learned = [*(a for a in attributes if a in domain.learned), *([label] if classes is not None else [])]
    provenance = Provenance(weighted=w is not None, learned=tuple(learned))
    return cls(counted, domain, label=label, classes=names, provenance=provenance)


def label_codes(column: Any, name: str) -> tuple[np.ndarray, tuple | None]:
    """Return a 0/1 label as numbers and None, any other label as class codes and the classes.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.schema.building.tables import label_codes
    >>> label_codes(pd.Series([True, False]), "click")
    (array([1., 0.]), None)
    """
    codes, classes = frames.codes_and_levels(column, name)
    if set(classes) <= {0, 1} and not any(isinstance(c, str) for c in classes):
        return np.array(classes, dtype=float)[codes], None
    frames.check_classes(classes, name)
    return codes, classes


def _codes(
    table: Any, attributes: list[str], domain: Domain | None, own_level: bool
) -> tuple[dict[str, np.ndarray], Domain]:
    if domain is None:
        read = _with_missing if own_level else frames.codes_and_levels
        found = {a: read(table[a], a) for a in attributes}
        levels = {a: levels for a, (_, levels) in found.items()}
        return {a: codes for a, (codes, _) in found.items()}, Domain(levels, learned=tuple(levels))
    codes = {a: frames.codes_and_levels(table[a], a, domain.levels(a))[0] for a in attributes}
    return codes, domain


def _with_missing(column: Any, name: str) -> tuple[np.ndarray, tuple]:
    """Codes and levels of a column; None is a last level where values are missing."""
    missing = column.isna().to_numpy()
    if not missing.any():
        return frames.codes_and_levels(column, name)
    inside, levels = frames.codes_and_levels(column[~missing], name)
    codes = np.full(len(column), len(levels), dtype=np.int64)
    codes[~missing] = inside
    return codes, (*levels, None)


def _count(
    subset: tuple[str, ...],
    codes: dict[str, np.ndarray],
    domain: Domain,
    y: np.ndarray | None,
    classes: tuple | None,
    w: np.ndarray | None,
) -> Table:
    shape = tuple(domain[a] for a in subset)
    size = domain.size(subset)
    if size > MAX_CELLS:
        raise DataError(
            f"The table over {title(subset)} has {size:,} cells; {MAX_CELLS:,} are the most.",
            hint="merge rare levels with an Encoding, or lower the order.",
        )
    cell = np.ravel_multi_index(tuple(codes[a] for a in subset), shape)
    if y is None:
        return table_of_cells(subset, shape, cell, w)
    if classes is None:
        return table_of_cells(subset, shape, cell, w, y if w is None else y * w)
    by_class = ((y == k) * (1.0 if w is None else w) for k in range(len(classes)))
    return table_of_cells(subset, shape, cell, w, by_class)
