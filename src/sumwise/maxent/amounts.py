"""Tables of an amount from a frame, or from sums that somebody else has made; see `sumwise.amounts`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sumwise import checks, frames
from sumwise.amounts import amount_ends, tables_by_power
from sumwise.domain import Domain
from sumwise.errors import DataError
from sumwise.table import Table
from sumwise.tables import Tables


def amount_tables(
    frame: Any,
    attributes: Sequence[str],
    amount: str,
    low: float,
    high: float,
    *,
    order: int = 2,
    squares: bool = True,
    domain: Domain | None = None,
) -> Tables:
    """Count rows by attributes, with the sums and sums of squares of an amount, for `MaxEntRegressor`.

    Parameters
    ----------
    frame : pandas, polars or pyarrow frame, or dict of columns
    attributes : list of str
    amount : str
        A column of numbers, such as revenue or visits; none may be missing.
    low, high : float
        Amounts beyond are clipped. The range decides how much one person can change the tables, so choose it without
        looking at the data where they will be released.
    order : int, default 2
        Attributes of each table.
    squares : bool, default True
        Whether to sum squares, too: they show how much amounts vary at given features.
    domain : Domain, optional
        The levels to count over; default: those in the frame.

    Returns
    -------
    Tables
        Their provenance has the range (``amount``), and says that a row weighs at most 1.

    See Also
    --------
    MaxEntRegressor : The model of amounts.

    Examples
    --------
    >>> from sumwise.maxent import amount_tables
    >>> rows = {"age": [0, 0, 1], "city": [0, 1, 1], "spent": [10.0, 30.0, 900.0]}
    >>> tables = amount_tables(rows, ["age", "city"], "spent", 0, 100)
    >>> tables["age", "city"].label_sums[0, 1]  # 30 of 100: 1 - 0.3, 0.3 - 0.09, 0.09
    array([0.7 , 0.21, 0.09])
    """
    low, high = amount_ends(low, high)
    table = frames.to_pandas(frame, [*attributes, checks.name_of_column(amount, "amount")])
    values = frames.numeric(table, [amount], "amounts")[:, 0]
    scaled = (np.clip(values, low, high) - low) / (high - low)
    name = "weight"
    while name in attributes:
        name += "_"
    powers = [np.ones(len(values)), scaled, *([scaled**2] if squares else [])]
    counted = [
        Tables.from_frame(table.assign(**{name: w}), attributes, order=order, weight=name, domain=domain)
        for w in powers
    ]
    return tables_by_power(counted, amount, (low, high))


def amount_sums(counts: Any, sums: Any, squares: Any = None, *, low: float, high: float) -> np.ndarray:
    """Return the label sums of a `Table` of amounts, from sums (and sums of squares) of the clipped amounts themselves.

    For tables that somebody else has summed; give ``Provenance(amount=(low, high))`` to their `Tables`.

    Parameters
    ----------
    counts, sums : array
        Per cell.
    squares : array, optional
        Sums of squares.
    low, high : float
        The range of the amounts.

    See Also
    --------
    amount_tables : Counts with sums of an amount.

    Examples
    --------
    >>> from sumwise.maxent import amount_sums
    >>> amount_sums([2, 4], [30.0, 200.0], [500.0, 12000.0], low=0, high=100)
    array([[1.7 , 0.25, 0.05],
           [2.  , 0.8 , 1.2 ]])
    """
    low, high = amount_ends(low, high)
    n, s = (checks.finite(v, what) for v, what in ((counts, "counts"), (sums, "sums")))
    first = (s - low * n) / (high - low)
    outside = (first < -1e-9 * np.maximum(n, 1.0)) | (first > n + 1e-9 * np.maximum(n, 1.0))
    checks.nowhere(
        outside,
        f"In {{}} cells the sum isn't one of amounts between {low:g} and {high:g}",
        lambda *at: f"{n[at]:g} amounts sum to {s[at]:g}",
        "clip amounts before they are summed, or widen the range.",
    )
    if squares is None:
        return first
    second = (checks.finite(squares, "squares") - 2 * low * s + low**2 * n) / (high - low) ** 2
    return np.maximum(np.stack([n - first, first - second, second], axis=-1), 0.0)


def amount_range(tables: Tables) -> tuple[float, float]:
    """The range of the amounts of tables; refuses tables of classes."""
    found = tables.provenance.amount
    if found is None:
        raise DataError(
            "The label sums of these tables are of classes, not of an amount.",
            hint="count with amount_tables, or state Provenance(amount=(low, high)).",
        )
    return found


def as_binary(tables: Tables) -> Tables:
    """The tables with sums of the scaled amount as those of a 0/1 label, and noise to match."""
    return replace(
        tables,
        tables=tuple(_as_binary(t) for t in tables),
        classes=(0, 1),
        provenance=replace(tables.provenance, amount=None),
    )


def _as_binary(table: Table) -> Table:
    from sumwise.noise import Gaussian, Summed

    sums, noise = table.label_sums, table.noise_of_sums
    if sums is None or sums.ndim == len(table.shape):
        return table
    two: Any = None
    if table.label_noise is not None:
        two = Gaussian(noise.scale * np.sqrt(2.0)) if isinstance(noise, Gaussian) else Summed(noise, 2)  # type: ignore[arg-type]
    return Table(table.attributes, table.counts, sums[..., 1] + sums[..., 2], table.noise, label_noise=two)
