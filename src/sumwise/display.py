"""How containers show themselves: one readable line, and a small escaped table in notebooks."""

from __future__ import annotations

import re
from html import escape
from typing import Any

__all__ = [
    "facts_html",
    "facts_text",
    "finding_html",
    "in_natural_order",
    "readable",
    "record_html",
    "shortened",
]

SIZES = {"low": 0, "lower": 0, "small": 0, "mid": 1, "middle": 1, "medium": 1, "high": 2, "higher": 2, "large": 2}
SHARES = ("share", "low", "high", "lower_bound", "upper_bound")  # columns of estimates


def shortened(items: Any, most: int = 6) -> str:
    """Return the first few items, comma separated, and how many more there are.

    Examples
    --------
    >>> from sumwise.display import shortened
    >>> shortened(range(10), most=3)
    '0, 1, 2, ... (10 in all)'
    """
    listed = list(items)
    shown = ", ".join(str(x) for x in listed[:most])
    return shown if len(listed) <= most else f"{shown}, ... ({len(listed)} in all)"


def in_natural_order(levels: list[Any]) -> list[Any]:
    """Return levels by the first number in each, "under" before and "over" after it; as given where one has none.

    Examples
    --------
    >>> from sumwise.display import in_natural_order
    >>> in_natural_order(["$25k-$75k", "over $75k", "under $25k"])
    ['under $25k', '$25k-$75k', 'over $75k']
    >>> in_natural_order(["-0.5 to 0.6", "above 0.6", "up to -0.5"])
    ['up to -0.5', '-0.5 to 0.6', 'above 0.6']
    >>> in_natural_order(["no", "yes"])
    ['no', 'yes']
    >>> in_natural_order(["high", "low", "mid"])
    ['low', 'mid', 'high']
    """
    if all(str(level).lower() in SIZES for level in levels):
        return sorted(levels, key=lambda level: SIZES[str(level).lower()])
    keys = {}
    for level in levels:
        words = str(level).lower()
        number = re.search(r"(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)\s*([km]\b)?", words)
        if words == "(missing)":
            keys[level] = (float("inf"), 0)
        elif number is None:
            return levels
        else:
            size = float(number[1].replace(",", "")) * {"k": 1e3, "m": 1e6}.get(number[2], 1.0)
            side = bool(re.search(r"over|above|more|>|\+", words)) - bool(re.search(r"under|below|less|up to|<", words))
            negative = re.search(r"(?:^|\s)[-−]$", words[: number.start()])
            keys[level] = (-size if negative else size, side)
    return sorted(levels, key=keys.__getitem__)


def facts_text(title: str, facts: dict[str, Any]) -> str:
    """Return `Title(key=value, ...)`.

    Examples
    --------
    >>> from sumwise.display import facts_text
    >>> facts_text("Bags", {"bags": 3, "rows": 1200})
    'Bags(bags=3, rows=1,200)'
    """
    return f"{title}({', '.join(f'{k}={_text(v)}' for k, v in facts.items())})"


def facts_html(title: str, facts: dict[str, Any]) -> str:
    """Return the facts as an HTML table; names from files are escaped.

    Examples
    --------
    >>> from sumwise.display import facts_html
    >>> "&lt;b&gt;" in facts_html("Margins", {"first unit": "<b>"})
    True
    """
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(str(k))}</th><td style='text-align:left'>{escape(_text(v))}</td></tr>"
        for k, v in facts.items()
    )
    return f"<table><caption style='text-align:left'><b>{escape(title)}</b></caption>{rows}</table>"


def finding_html(words: str, frame: Any = None, most: int = 40) -> str:
    """Return sentences, and the first rows of a pandas frame below them, as HTML; names from files are escaped.

    Examples
    --------
    >>> from sumwise.display import finding_html
    >>> finding_html("Two of <b>.")
    '<p>Two of &lt;b&gt;.</p>'
    """
    paragraphs = "".join(f"<p>{escape(line)}</p>" for line in words.splitlines())
    if frame is None or not len(frame):
        return paragraphs
    shown = readable(frame.head(most))
    table = shown.to_html(index=False, escape=True, border=0, float_format=lambda x: f"{x:,.4g}")
    return paragraphs + table + (f"<p>... {len(frame):,} in all.</p>" if len(frame) > most else "")


def readable(frame: Any) -> Any:
    """Return a pandas frame for people: shares as percentages, several words in a cell without brackets.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.display import readable
    >>> readable(pd.DataFrame({"group": [("a", "b")], "share": [0.5], "lower_bound": [0.125]})).to_dict("records")
    [{'group': 'a, b', 'share': '50.0%', 'lower bound': '12.5%'}]
    """
    shown = frame.copy()
    for name in shown.columns:
        values = list(shown[name])
        if values and all(isinstance(value, tuple) for value in values):
            shown[name] = [", ".join(map(str, value)) for value in values]
        elif "share" in frame and name in SHARES and all(isinstance(value, float) for value in values):
            shown[name] = ["" if value != value else f"{100 * value:.1f}%" for value in values]  # NaN is not itself
    return shown.rename(columns={name: str(name).replace("_", " ") for name in SHARES})


def record_html(record: Any) -> str:
    """Return what a record of several parts holds, one row per part: sizes in place of arrays and frames.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> import numpy as np
    >>> from sumwise.display import record_html
    >>> "array of 2 x 3" in record_html(make_dataclass("Split", ["y"])(np.zeros((2, 3))))
    True
    """
    parts = record.__dataclass_fields__ if hasattr(record, "__dataclass_fields__") else vars(record)
    shown = {name: getattr(record, name) for name in parts if not name.startswith("_")}
    return facts_html(type(record).__name__, {name: _part(value) for name, value in shown.items() if value is not None})


def _part(value: Any) -> Any:
    if hasattr(value, "columns") and hasattr(value, "iloc"):
        return f"{len(value):,} rows: {shortened(value.columns)}"
    if getattr(value, "ndim", 0):
        return f"array of {' x '.join(f'{n:,}' for n in value.shape)}"
    return shortened(value) if isinstance(value, dict) else value


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, (tuple, list)):
        return f"[{shortened(value)}]"
    return str(value)
