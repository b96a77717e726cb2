"""Numbers as people read them, rounded to what they are worth."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

NUMERIC = ("share", "points", "distance", "count", "number", "p", "chance")
WIDE = 0.1  # intervals of shares at least this wide are given in whole percents
SAME_SCALE = ("low", "high", "actual", "predicted", "estimated", "estimate", "truth", "value")

MINUS_ZERO = re.compile(r"^-(?=0(\.0*)?%?$)")  # a share of -1e-17 is 0.0%


def cell(value: Any, kind: str, digits: int | None = None) -> str:
    """A value as people read it.

    Parameters
    ----------
    value : object
    kind : {"text", "share", "points", "distance", "count", "number", "p", "chance", "yes"}
        points: percentage points, with a sign; distance: without one; p: a p value; chance: a simulated probability.
    digits : int, optional
        Decimals of a share (in percent), of points or of a number. Default: one of a share, four significant digits.

    Examples
    --------
    >>> from sumwise.report.rounding import cell
    >>> cell(0.1234, "share"), cell(12345.6, "count"), cell(None, "number"), cell(True, "yes"), cell(1.0, "chance")
    ('12.3%', '12,346', '', 'yes', '> 99%')
    """
    if value is None:
        return ""
    if kind == "yes" or isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)) or kind == "text":
        return str(value)
    write = {
        "share": lambda: f"{100 * value:.{1 if digits is None else digits}f}%",
        "points": lambda: f"{_signed(100 * value, 1 if digits is None else digits)} points",
        "distance": lambda: f"{100 * value:.1f} points",
        "p": lambda: "< 0.001" if value < 0.001 else f"{value:.3f}",
        "chance": lambda: "> 99%" if value > 0.99 else "< 1%" if value < 0.01 else f"{100 * value:.0f}%",
        "count": lambda: f"{value:,.0f}" if abs(value) >= 10 or value == round(value) else f"{value:.1f}",
        "number": lambda: _significant(value) if digits is None else _fixed(value, digits),
    }
    return MINUS_ZERO.sub("", write.get(kind, write["number"])())


def span(low: Any, high: Any, kind: str, digits: int | None = None, outward: bool = False) -> str:
    """Two ends as people read them, with the unit of points once; `outward` rounds bounds so that they still hold.

    Examples
    --------
    >>> from sumwise.report.rounding import span
    >>> span(-0.5, 0.25, "points", 0), span(0.2, 0.31, "share", 0)
    ('-50 to +25 points', '20% to 31%')
    >>> span(0.428, 0.9971, "share", 0, outward=True)
    '42% to 100%'
    """
    if outward and kind in ("share", "points"):
        scale = 10.0 ** (2 + (1 if digits is None else digits))
        low = math.floor(low * scale + 1e-6) / scale
        high = math.ceil(high * scale - 1e-6) / scale
    ends = cell(low, kind, digits), cell(high, kind, digits)
    return f"{ends[0].removesuffix(' points')} to {ends[1]}"


def finding_digits(found: Mapping[str, Any]) -> int | None:
    """The decimals of a finding: whole percents where the interval is wide, else by the width of the interval.

    Examples
    --------
    >>> from sumwise.report.rounding import finding_digits
    >>> finding_digits({"kind": "share", "low": 0.2, "high": 0.4}), finding_digits({"kind": "number", "value": 0.10612})
    (0, 3)
    """
    kind, low, high = found["kind"], found.get("low"), found.get("high")
    if kind in ("share", "points"):
        return 0 if low is not None and high is not None and high - low >= WIDE else 1
    if kind != "number":
        return None
    if low is not None and high is not None and high > low:
        return _decimals(high - low, 2)
    value = found.get("value")
    return None if not value or value == round(value) else min(_decimals(value, 3), 3 if abs(value) >= 0.01 else 6)


def column_digits(columns: Iterable[Mapping[str, str]], rows: list[list[Any]]) -> list[int | None]:
    """The decimals of every column of numbers: three significant digits, or two of the width of low to high.

    Examples
    --------
    >>> from sumwise.report.rounding import column_digits
    >>> columns = [{"name": n, "kind": "number"} for n in ("predicted", "low", "high")]
    >>> column_digits(columns, [[6.0791, 4.082, 8.076]])
    [1, 1, 1]
    """
    columns = list(columns)
    names = [c["name"] for c in columns]
    width = None
    if "low" in names and "high" in names and columns[names.index("low")]["kind"] == "number":
        ends = names.index("low"), names.index("high")
        widths = [r[ends[1]] - r[ends[0]] for r in rows if _real(r[ends[0]]) and _real(r[ends[1]])]
        widths = [w for w in widths if w > 0]
        width = _decimals(median(widths), 2) if widths else None
    out: list[int | None] = []
    for k, column in enumerate(columns):
        values = [abs(r[k]) for r in rows if _real(r[k])] if column["kind"] == "number" else []
        if all(v == round(v) for v in values):
            out.append(None)
        elif width is not None and column["name"] in SAME_SCALE:
            out.append(width)
        else:
            out.append(_decimals(median([v for v in values if v]), 3))
    return out


def _real(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _decimals(size: float, significant: int) -> int:
    return min(max(0, significant - 1 - math.floor(math.log10(abs(size)))), 6)


def _signed(value: float, digits: int) -> str:
    shown = f"{value:+.{digits}f}"
    return shown if float(shown) else shown[1:]


def _significant(value: float) -> str:
    """Whole numbers as they are, others with four significant digits."""
    if isinstance(value, int) or (value == round(value) and abs(value) < 1e6):
        return f"{value:,.0f}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}" if 1e-4 <= abs(value) < 1e6 else f"{value:.3g}"


def _fixed(value: float, digits: int) -> str:
    """So many decimals, but never rounded to nothing."""
    if value and abs(value) < 0.5 * 10.0**-digits:
        return f"{value:.2g}"
    return f"{value:,.{digits}f}" if abs(value) < 1e9 else f"{value:.3g}"
