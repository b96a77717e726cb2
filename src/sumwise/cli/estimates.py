"""Estimates in a terminal: the numbers of a report's first picture, a row each, with a bar for the interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sumwise.plots.style import MOST_LINES
from sumwise.report.rounding import cell, finding_digits, span
from sumwise.report.summary import plain

WIDTH = 32  # characters of a bar
BOUND, INTERVAL, ESTIMATE, OPEN = "·", "─", "●", "/"
DRAWN = ("intervals", "subgroups")  # pictures of shares, whose numbers are the table


def estimates_table(summary: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows for `sumwise.cli.output.write_table`: what, estimate, interval, and a bar.

    Parameters
    ----------
    summary : mapping
        Of a report: the numbers of its first picture if these are shares, else its findings; of several contests their
        findings.

    Examples
    --------
    >>> from sumwise.cli.estimates import estimates_table
    >>> found = {"what": "White voters", "value": 0.5, "low": 0.4, "high": 0.6, "kind": "share", "level": 0.95}
    >>> estimates_table({"findings": [found], "sections": []})[1][0][:3]
    ['White voters', '50%', '40% to 60%']
    """
    first = next((s["blocks"] for s in summary.get("sections", ()) if s["key"] == "found"), [])
    picture = next((b for b in first if b["kind"] == "figure" and b["plot"] in DRAWN), None)
    rows = _findings(summary["findings"]) if picture is None else share_rows(picture["numbers"])
    level = next((f["level"] for f in summary["findings"] if f.get("level")), 0.95)
    shares = picture is not None or all(f["kind"] == "share" for f in summary["findings"])
    label = "finding" if picture is None else picture["numbers"].get("label", "share of the group")
    return columns_of(level, label, shares), rows[:MOST_LINES]


def columns_of(level: float, label: str = "share of the group", shares: bool = True) -> list[str]:
    """The headings of the table; that of the bars says their ends, if they are of shares.

    Examples
    --------
    >>> from sumwise.cli.estimates import columns_of
    >>> columns_of(0.9)[:3]
    ['share of the group', '>estimate', '>90% interval']
    """
    scale = "0%".ljust(WIDTH - 4) + "100%" if shares else ""
    return [label, ">estimate", f">{100 * level:g}% interval", scale]


def share_rows(numbers: Mapping[str, Any]) -> list[list[str]]:
    """A row per share of a picture of intervals or subgroups.

    Examples
    --------
    >>> from sumwise.cli.estimates import share_rows
    >>> numbers = {"groups": ["white"], "outcomes": ["Kemp"], "share": [[0.5]], "low": [[0.4]], "high": [[0.6]]}
    >>> share_rows(numbers)[0][:3]
    ['white: Kemp', '50%', '40% to 60%']
    """
    numbers = plain(dict(numbers))
    size = np.size(numbers["share"])
    if "names" in numbers:
        names = [f"  {n}" if not h else n for n, h in zip(numbers["names"], numbers.get("headings", [True] * size))]
    else:
        names = [f"{g}: {o}" for g in numbers["groups"] for o in numbers["outcomes"]]
    columns = [_flat(numbers.get(key), size) for key in ("share", "low", "high", "lower_bound", "upper_bound")]
    withheld = _flat(numbers.get("withheld"), size)
    widths = (columns[2] - columns[1])[np.isfinite(columns[0])]
    digits = finding_digits({"kind": "share", "low": 0.0, "high": float(np.max(widths, initial=0.0))})  # of all rows
    out = []
    for name, share, low, high, least, most, no_finding in zip(names, *columns, withheld):
        if not np.isfinite(share):
            out.append([name, "", "", ""])
            continue
        if no_finding == 1 or numbers.get("bounds_only"):
            ends = (least, most) if np.isfinite(least) else (low, high)
            words = "no finding" if no_finding == 1 else ""
            out.append([name, words, span(*ends, "share", digits, True), bar((0, 1), bounds=ends, mark=OPEN)])
            continue
        known = bool(high > low)  # else it was counted
        shown = bar((0, 1), share, (low, high) if known else None, (least, most))
        out.append([name, cell(share, "share", digits), span(low, high, "share", digits) if known else "", shown])
    return out


def bar(
    ends: Sequence[float],
    value: float | None = None,
    interval: Sequence[float] | None = None,
    bounds: Sequence[float] = (float("nan"), float("nan")),
    mark: str = BOUND,
) -> str:
    """A bar of `WIDTH` characters from one of the `ends` to the other: bounds, interval and estimate.

    Examples
    --------
    >>> from sumwise.cli.estimates import bar
    >>> bar((0, 1), 0.5, (0.4, 0.6), (0.25, 0.75)).strip()
    '····────●───····'
    """
    cells = [" "] * WIDTH
    spread = (ends[1] - ends[0]) or 1.0

    def place(at: float) -> int:
        return int(np.clip(round((at - ends[0]) / spread * (WIDTH - 1)), 0, WIDTH - 1))

    for part, sign in ((bounds, mark), (interval, INTERVAL)):
        if part is not None and np.isfinite(part[0]):
            for k in range(place(part[0]), place(part[1]) + 1):
                cells[k] = sign
    if value is not None:
        cells[place(value)] = ESTIMATE
    return "".join(cells)


def _findings(findings: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """A row per finding; only shares have a bar, as other numbers have no common ends."""
    rows = []
    for found in findings:
        digits, kind = finding_digits(found), found["kind"]
        inside = None if found.get("low") is None else (found["low"], found["high"])
        bounds = None if found.get("lower_bound") is None else (found["lower_bound"], found["upper_bound"])
        value = "" if found["value"] is None else cell(found["value"], kind, digits)
        shown = "" if kind != "share" else bar((0, 1), found["value"], inside, bounds or (np.nan, np.nan))
        ends = inside or (bounds if found["value"] is None else None)
        words = span(*ends, kind, digits, inside is None) if ends else ""
        rows.append([found["what"], value, words, shown])
    return rows


def _flat(values: Any, size: int) -> np.ndarray:
    if values is None:
        return np.full(size, np.nan)
    return np.array(values, dtype=float).ravel()
