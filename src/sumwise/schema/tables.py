"""Tables: a row per cell with its count and label sum, or rows of individuals that are counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.schema.bags import unlabelled
from sumwise.schema.columns import Column, Grid, row_keys
from sumwise.schema.declared import Schema
from sumwise.schema.questions import Interview
from sumwise.schema.relation import names
from sumwise.schema.rows import TOTAL_ROW

MOST_LEVELS, FEWEST_ROWS = 12, 100
NOISE = ("noise", "scale", "rate")  # columns of our own format


def cells(grid: Grid, iv: Interview) -> Schema | None:
    """One row per combination of levels, with a count and the sum of a label."""
    numeric = [c for c in grid.columns if c.numbers is not None and not np.isnan(c.numbers).all()]
    counted = [c for c in numeric if c.called("count")]
    pairs = [(a, b) for a in counted for b in numeric if b is not a and b.called("label_sum")]
    if not pairs:
        pairs = _by_numbers(grid, numeric)
    if not pairs:
        return None
    words = "Which columns are the count of a cell, and the sum of its label?"
    options = {f"{a.name}, and {b.name} of them": (a, b) for a, b in pairs}
    if len(pairs) > 1 or not counted:
        count, total = iv.ask("cells", words, options)
    else:
        count, total = pairs[0]
    check_cells(grid, count, total)
    _ask_shares(grid, count, total, iv)
    others = {c.name for pair in pairs for c in pair} | {c.name for c in numeric if c.called("label_sum")}
    others -= {count.name, total.name}
    attributes = [c for c in grid.columns if c not in (count, total) and c.name not in (*NOISE, *others)]
    rates = [c for c in attributes if _is_rate(c, count, total)]
    attributes = [c for c in attributes if c not in rates and (c.numbers is None or c.is_whole)]
    if not attributes:
        return None
    data: dict[str, Any] = {"kind": "cells"}
    _levels_called_totals(grid, attributes, iv, data)
    columns = {"attributes": [c.name for c in attributes], "count": count.name, "label_sum": total.name}
    unused = {c.name: "a rate, which count and sum give" for c in rates} | dict.fromkeys(others, "another sum")
    return Schema("maxent", data, columns, unused=unused)


def _by_numbers(grid: Grid, numeric: list[Column]) -> list[tuple[Column, Column]]:
    """Pairs of columns that may be a count and a part of it, where no two rows have the same levels."""
    levels = [c for c in grid.columns if c.numbers is None and 2 <= c.distinct <= 50]
    if len(levels) < 2 or len(levels) + len(numeric) < len(grid.columns) or len(numeric) > 3:
        return []
    if len(np.unique(row_keys(levels))) < len(grid):
        return []
    whole = [c for c in numeric if c.is_whole and not np.isnan(c.numbers).any() and (c.numbers >= 0).all()]
    return [(a, b) for a in whole for b in whole if a is not b and (b.numbers <= a.numbers).all()]


def check_cells(grid: Grid, count: Column, total: Column) -> None:
    noisy = any(c.name in NOISE for c in grid.columns)
    hint = "noisy counts may be: say so, with columns noise and scale; else correct it."
    for c in (count, total):
        for i, text in c.odd.items():
            bad = np.isin(np.arange(len(grid)), list(c.odd))
            grid.refuse(c, bad, "is withheld or not a number", f"{text!r} isn't known: leave such cells out.")
            del i
        grid.refuse(c, np.isnan(c.numbers), "is missing", "leave such cells out, or write 0.")
        grid.refuse(c, (c.numbers < 0) & (not noisy), "is negative", hint)
    over = (total.numbers > count.numbers) & (not noisy)
    grid.refuse(total, over, f"exceeds {count.name}", "correct such rows.")


def _ask_shares(grid: Grid, count: Column, total: Column, iv: Interview) -> None:
    """Ask whether sums of a label that look like shares of the counts are sums."""
    low, top = float(np.min(total.numbers)), float(np.max(total.numbers))
    most = 100 if total.called("percent") else 1
    if low < 0 or top > most or total.is_whole or not count.is_whole:
        return
    words = f"{grid.name}: {total.name} lies between {low:g} and {top:g}"
    stop = f"{words}, as shares of {count.name} do; multiply them by {count.name}"
    iv.ask("shares", f"{words}. Are these sums of a label?", {"yes: sums, and no shares": True}, stop)


def _is_rate(c: Column, count: Column, total: Column) -> bool:
    if c.numbers is None or c.is_whole:
        return False
    rate = np.divide(total.numbers, count.numbers, out=np.zeros(len(c.numbers)), where=count.numbers > 0)
    return any(np.allclose(c.numbers, scale * rate, atol=0.06 * scale) for scale in (1, 100))


def _levels_called_totals(grid: Grid, attributes: list[Column], iv: Interview, data: dict[str, Any]) -> None:
    """Ask about levels called totals: rows that are sums of others, or tables that lack an attribute."""
    words = sorted({w for c in attributes for w in c.words if w and TOTAL_ROW.fullmatch(w)})
    if not words:
        return
    bad = np.any([np.isin(np.array(c.texts, dtype=object), words) for c in attributes], axis=0)
    text = f"{grid.name}: {int(bad.sum())} rows have a level called {words[0]!r} (first: row {grid.rows[bad][0]})."
    options = {"they are sums of other rows: leave them out": 0, "they are a level like others": 1}
    if not bad.all() or len(attributes) > 1:
        options["the table of such rows lacks that attribute"] = 2
    chosen = iv.ask("totals", f"{text} What are they?", options)
    if chosen == 0:
        data["leave_out"] = grid.rows[bad].tolist()
    elif chosen == 2:
        data["missing"] = words


def labelled_rows(grid: Grid, iv: Interview, most: bool = True) -> Schema | None:
    """Rows of individuals with a label, to be counted into tables.

    `most`: whether most columns must have few levels.
    """
    few = [c for c in grid.columns if 2 <= c.distinct <= MOST_LEVELS]
    labels = [c for c in few if c.called("label")]
    if len(grid) < FEWEST_ROWS or (most and len(few) < 0.6 * len(grid.columns)):
        return None
    if any(c.called("bag") and MOST_LEVELS < c.distinct <= len(grid) / 4 for c in grid.columns):
        return None
    labels = labels or [c for c in few if c.distinct == 2]
    if not labels:
        return None
    words = f"Which column is to be predicted ({names(labels, 8)})?"
    label = (
        labels[0]
        if len(labels) == 1 and labels[0].called("label") and most
        else iv.ask("label", words, {c.name: c for c in labels})
    )
    unused = {c.name: "the same in every row" for c in grid.columns if c.distinct < 2}
    unused |= {
        c.name: "names rows" for c in grid.columns if c.distinct == len(grid) and (c.numbers is None or c.is_whole)
    }
    unused |= {
        c.name: f"names persons: {c.distinct} values in {len(grid)} rows"
        for c in grid.columns
        if c.called("id") and c.distinct > 50
    }
    columns = {
        "label": label.name,
        "attributes": [c.name for c in grid.columns if c is not label and c.name not in unused],
    }
    data: dict[str, Any] = {}
    blanks = {w for c in grid.columns if c.name in columns["attributes"] for w in c.blanks}
    if blanks := blanks | unlabelled(grid, label, iv):
        data["missing"] = sorted(blanks)
    return Schema("maxent", data, columns, unused=unused)
