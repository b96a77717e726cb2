"""Categorical rows with a label, by the million: interactions of any order and the true P(label | x)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.domain import Domain
from sumwise.errors import DataError
from sumwise.io.writer import new_file
from sumwise.synthetic.record import Record
from sumwise.synthetic.row_model import BLOCK, RowModel
from sumwise.tables import Table, Tables

if TYPE_CHECKING:
    import pandas as pd

PRESETS: dict[str, dict[str, Any]] = {
    "plain": {"sizes": (2, 3, 4, 5, 6, 8, 10, 12), "skew": 0.5, "correlation": 0.3, "rate": 0.3},
    "adkdd": {
        "sizes": (3, 5, 8, 10, 12, 16, 20, 30, 40, 50, 70, 90, 150, 250, 400, 500, 700, 850, 1000),
        "skew": 1.1,
        "correlation": 0.7,
        "rate": 0.1,
    },
}
FORMATS = ("pandas", "arrow", "numpy")


@dataclass(frozen=True, eq=False, repr=False)
class Rows(Record):
    """Categorical rows that are drawn when they are asked for, always the same ones; made by `rows`.

    Attributes
    ----------
    n : int >= 1
        Number of rows.
    domain : Domain
        Attributes ``"f0"``, ``"f1"``, ... with levels 0, 1, ...
    label : str
        Name of the label column, ``"label"``.
    model : RowModel
        The truth: marginals, parents, and the terms of the logit.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> data = synthetic.rows(1000, random_state=0)
    >>> sum(len(chunk) for chunk in data.chunks(300))
    1000
    >>> data.tables(order=2)["f0", "f1"].total
    1000.0
    """

    n: int
    domain: Domain
    label: str
    model: RowModel

    def __len__(self) -> int:
        return self.n

    def take(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows start to stop - 1: codes (m, d), labels (m,) and true probabilities (m,).

        Any range can be had without drawing what comes before it, so several workers can share the work.
        """
        if not 0 <= start < stop <= self.n:
            raise DataError(f"Rows {start} to {stop} were asked of {self.n}.", hint="0 <= start < stop <= n.")
        return next(self._arrays(start, stop, stop - start))

    def chunks(self, size: int = 1_000_000, format: str = "pandas", probability: bool = False) -> Iterator[Any]:
        """Iterate over all rows, `size` at a time, in memory that doesn't grow with n.

        Parameters
        ----------
        size : int, default 1,000,000
            Rows per chunk; it doesn't change the rows.
        format : {"pandas", "arrow", "numpy"}
            Frames, arrow record batches, or (codes, labels, probabilities).
        probability : bool, default False
            Add the true P(label = 1 | x) as column ``"probability"``.
        """
        checks.at_least(size, "size", 1)
        checks.choice(format, "format", FORMATS)
        return (self._dressed(part, format, probability) for part in self._arrays(0, self.n, size))

    def frame(self, probability: bool = False) -> pd.DataFrame:
        """Return all rows as one pandas frame."""
        return next(self.chunks(self.n, probability=probability))

    def write_parquet(self, path: str | Path, chunk_rows: int = 1_000_000, probability: bool = False) -> Path:
        """Write all rows to a Parquet file, one row group per chunk, in constant memory; return its path.

        The file appears under its name when it is complete.
        """
        import pyarrow.parquet as pq

        chunks = self.chunks(chunk_rows, format="arrow", probability=probability)
        first = next(chunks)
        with new_file(path) as file, pq.ParquetWriter(file, first.schema) as writer:
            writer.write_batch(first)
            for batch in chunks:
                writer.write_batch(batch)
        return Path(path)

    def probabilities(self, x: Any) -> np.ndarray:
        """Return the true P(label = 1 | x) of a frame with the attributes' columns or a matrix of codes (m, d)."""
        names = list(self.domain.attributes)
        if hasattr(x, "columns"):
            missing = [a for a in names if a not in list(x.columns)]
            if missing:
                raise DataError(f"The frame lacks {len(missing)} of {len(names)} attributes. First: {missing[0]!r}.")
            x = np.stack([np.asarray(x[a]) for a in names], axis=1)
        codes = checks.whole(x, "x", ndim=2)
        if codes.shape[1] != len(names):
            raise DataError(f"x has {codes.shape[1]} columns for {len(names)} attributes.")
        bad = codes >= np.array(self.domain.shape)
        if bad.any():
            i, j = np.argwhere(bad)[0]
            raise DataError(f"Row {i} has level {codes[i, j]:g} of {names[j]!r}, which has {self.domain.shape[j]}.")
        return self.model.probability(codes.astype(np.int64).T)

    def tables(self, order: int = 2) -> Tables:
        """Return the contingency tables of all subsets of `order` attributes, with label sums, counted in a stream."""
        checks.at_least(order, "order", 1)
        names, shape = self.domain.attributes, self.domain.shape
        if order > len(names):
            raise DataError(f"order is {order}; there are {len(names)} attributes.")
        subsets = list(combinations(range(len(names)), order))
        sums = [np.zeros((2, int(np.prod([shape[j] for j in s])))) for s in subsets]
        for codes, labels, _ in self._arrays(0, self.n, BLOCK):
            columns = codes.T.astype(np.int64)
            for s, out in zip(subsets, sums, strict=True):
                cell = np.ravel_multi_index(columns[list(s)], [shape[j] for j in s])
                out[0] += np.bincount(cell, minlength=out.shape[1])
                out[1] += np.bincount(cell, weights=labels, minlength=out.shape[1])
        tables = []
        for s, out in zip(subsets, sums, strict=True):
            counts, label_sums = out.reshape(2, *(shape[j] for j in s))
            tables.append(Table(tuple(names[j] for j in s), counts, label_sums=label_sums))
        return Tables(tables, self.domain, label=self.label)

    def _arrays(self, start: int, stop: int, size: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield (codes, labels, probabilities) of rows start to stop, `size` at a time; each block is drawn once."""
        number, block = -1, None
        for first in range(start, stop, size):
            last = min(stop, first + size)
            parts = []
            for b in range(first // BLOCK, (last - 1) // BLOCK + 1):
                if b != number:
                    number, block = b, self.model.block(b)
                assert block is not None
                part_of_block = slice(max(first - b * BLOCK, 0), min(last - b * BLOCK, BLOCK))
                parts.append(tuple(array[part_of_block] for array in block))
            yield tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))  # type: ignore[misc]

    def _dressed(self, part: tuple, format: str, probability: bool) -> Any:
        codes, labels, probabilities = part
        if format == "numpy":
            return part
        columns = {a: np.ascontiguousarray(codes[:, j]) for j, a in enumerate(self.domain.attributes)}
        columns[self.label] = labels
        if probability:
            columns["probability"] = probabilities
        if format == "arrow":
            import pyarrow as pa

            return pa.RecordBatch.from_pydict(columns)
        import pandas as pd

        return pd.DataFrame(columns)


def rows(
    n: int = 100_000,
    sizes: Sequence[int] | None = None,
    *,
    preset: str = "plain",
    main: float = 1.0,
    pairwise: float = 0.7,
    higher: float = 0.0,
    skew: float | None = None,
    correlation: float | None = None,
    joint_parents: int = 0,
    rate: float | None = None,
    random_state: Any = None,
) -> Rows:
    """Describe a table of categorical rows with a binary label; its rows are drawn on demand.

    Parameters
    ----------
    n : int, default 100,000
        Number of rows; 80 million are as good as a thousand, since nothing is kept.
    sizes : sequence of int, optional
        Number of levels of each attribute; of the preset if not given.
    preset : {"plain", "adkdd"}, default "plain"
        Where `sizes`, `skew`, `correlation` and `rate` come from if they aren't given. ``"adkdd"`` has the shape of
        the Criteo AdKDD data after target encoding: 19 attributes, twelve under 100 levels and seven up to 1,000,
        strongly correlated, 10% positive.
    main, pairwise, higher : float, default 1.0, 0.7, 0.0
        Standard deviations of the three parts of the logit (see below). With ``higher=0`` a logistic regression on
        all pairs has the right form.
    skew : float >= 0, optional
        Level k (from 0) of an attribute has a share proportional to (k + 1)^-skew.
    correlation : float in [0, 1), optional
        Chance that an attribute is a function of an earlier one instead of a draw of its own.
    joint_parents : int >= 0, default 0
        How many of the last attributes are, with chance `correlation`, a function of *two* independent earlier
        ones, (a[x_j] + b[x_k]) modulo the size, as in xor: pairwise tables don't show it (exactly so for equal sizes
        and no skew, nearly so else). At most (d - 1) / 2 of the d attributes.
    rate : float in (0, 1), optional
        Share of positive labels; 0.001 gives rare positives. The intercept is set on a sample of 65,536 rows.
    random_state : int, numpy.random.Generator or None
        The same seed gives the same rows, whatever n and the chunk size: a shorter table is the beginning of a
        longer one.

    Returns
    -------
    Rows

    Notes
    -----
    ::

        logit P(label = 1 | x) = intercept + main / sqrt(d) sum_j w_j[x_j]
                               + pairwise / sqrt(P) sum_(j,k) u_jk[x_j] v_jk[x_k]
                               + higher / sqrt(Q) sum_(j,k,l) r[x_j] s[x_k] t[x_l]

    with standard normal scores per level and term, P = 2 d random pairs and Q = d random triples (or all, where there
    are fewer).

    Examples
    --------
    >>> from sumwise import synthetic
    >>> data = synthetic.rows(1000, sizes=[2, 3, 50], random_state=0)
    >>> data.frame(probability=True).columns.tolist()
    ['f0', 'f1', 'f2', 'label', 'probability']
    >>> advertising = synthetic.rows(80_000_000, preset="adkdd", random_state=0)
    >>> len(next(advertising.chunks(10)))
    10
    """
    rng = checks.generator(random_state)
    checks.at_least(n, "n", 1)
    defaults = PRESETS[checks.choice(preset, "preset", tuple(PRESETS))]
    given: Any = defaults["sizes"] if sizes is None else sizes
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise DataError(f"sizes is {given!r}.", hint="give one number of levels per attribute, as in [2, 3, 50].")
    levels = tuple(int(checks.at_least(size, f"sizes[{j}]", 1)) for j, size in enumerate(given))
    if not levels:
        raise DataError("sizes is empty.", hint="give at least one attribute.")
    tilt = checks.at_least(defaults["skew"] if skew is None else skew, "skew", 0, whole_number=False)
    linked = checks.at_least(
        defaults["correlation"] if correlation is None else correlation, "correlation", 0, whole_number=False
    )
    if linked >= 1:
        raise DataError(f"correlation is {linked!r}; it must be below 1.")
    rate = checks.fraction(defaults["rate"] if rate is None else rate, "rate")
    checks.at_least(joint_parents, "joint_parents", 0)
    if joint_parents > (len(levels) - 1) // 2:
        raise DataError(f"joint_parents is {joint_parents}; {len(levels)} attributes allow {(len(levels) - 1) // 2}.")
    for value, name in ((main, "main"), (pairwise, "pairwise"), (higher, "higher")):
        checks.at_least(value, name, 0, whole_number=False)
    model = RowModel.draw(levels, float(tilt), float(linked), joint_parents, (main, pairwise, higher), rate, rng)
    domain = Domain({f"f{j}": size for j, size in enumerate(levels)})
    return Rows(int(n), domain, "label", model)
