"""Rows of figures as a table on the screen."""

from __future__ import annotations

__all__ = ["show"]


def show(title, rows):
    """Print rows (dicts) as a table; curves (lists) stay in the JSON file. Returns the rows."""
    print(f"\n== {title}")
    keys = list(dict.fromkeys(k for row in rows for k, x in row.items() if not isinstance(x, list)))
    text = [[_cell(row.get(k)) for k in keys] for row in rows]
    width = [max(len(k), *(len(r[i]) for r in text)) for i, k in enumerate(keys)]
    for line in [keys, *text]:
        print("  ".join(x.rjust(w) for x, w in zip(line, width)), flush=True)
    return rows


def _cell(x):
    if x is None:
        return "-"
    return f"{x:.4g}" if isinstance(x, float) else str(x)
