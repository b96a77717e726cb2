"""Amounts as labels of tables: sums and sums of squares per cell, clipped and scaled so that one row adds 1 in all.

A value y between `low` and `high` is scaled to a = (y - low) / (high - low). A row adds 1 - a, a - a^2 and a^2 to three
classes of its cell: none is negative, and they sum to 1. So tables of amounts are tables of three classes with
fractional counts, one person's row changes them by 1 in L1 and by at most 1 in L2, and `sumwise.privacy.release`
protects them as it does any other (Laplace or Gaussian noise). Without squares there are two classes, 1 - a and a.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.table import Table
from sumwise.tables import Tables

CLASSES = ("rest", "spread", "square")  # sums of 1 - a, a - a^2 and a^2


def amount_ends(low: Any, high: Any) -> tuple[float, float]:
    """The range of an amount, checked."""
    try:
        ends = float(low), float(high)
    except (TypeError, ValueError):
        raise DataError(f"The range of amounts is {low!r} to {high!r}.", hint="give two numbers.") from None
    if not (np.isfinite(ends).all() and ends[0] < ends[1]):
        raise DataError(f"The range of amounts is {low!r} to {high!r}.", hint="low is below high.")
    return ends


def tables_by_power(powers: Sequence[Tables], amount: str, ends: tuple[float, float]) -> Tables:
    """Tables of an amount, from the same rows counted with weights 1, a and, where squares are wanted, a^2."""
    made = []
    for one, first, *second in zip(*powers):
        counts, sums = one.counts, first.counts
        if second:
            square = second[0].counts
            sums = np.maximum(np.stack([counts - sums, sums - square, square], axis=-1), 0.0)  # but for rounding
        made.append(Table(one.attributes, counts, sums))
    known = replace(powers[0].provenance, weighted=True, max_weight=1.0, amount=ends)
    classes = CLASSES if len(powers) == 3 else (0, 1)
    return Tables(made, powers[0].domain, powers[0].n, amount, classes, powers[0].encoding, known)
