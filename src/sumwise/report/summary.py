"""The summary: what a study found, as a dict of plain values; the page shows this and nothing else.

A summary has sections in a fixed order, and a section has blocks. A block is a dict with a ``kind``: text, bullets,
note, facts, table or figure. A figure holds the name of its plot and the numbers that it draws, never a picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SECTIONS", "Summary", "bullets", "facts", "figure", "note", "plain", "table", "text"]

FORMAT = 1
SECTIONS = {
    "found": "What was found",
    "estimates": "The estimates",
    "certainty": "How sure, and why",
    "assumptions": "What is assumed, and what would break it",
    "provenance": "Where this comes from",
}
KINDS = ("text", "share", "count", "number", "yes")
MOST_ROWS = 400  # of a table on the page; the files hold all


def text(*paragraphs: str) -> dict[str, Any]:
    """Paragraphs.

    Examples
    --------
    >>> from sumwise.report.summary import text
    >>> text("One.", "Two.")
    {'kind': 'text', 'lines': ['One.', 'Two.']}
    """
    return {"kind": "text", "lines": list(paragraphs)}


def bullets(items: Sequence[str], title: str | None = None) -> dict[str, Any]:
    """A list of points.

    Examples
    --------
    >>> from sumwise.report.summary import bullets
    >>> bullets(["a", "b"])["items"]
    ['a', 'b']
    """
    return {"kind": "bullets", "title": title, "items": list(items)}


def note(words: str, level: str = "warning") -> dict[str, Any]:
    """A remark that nobody should miss; `level` is "warning" or "good".

    Examples
    --------
    >>> from sumwise.report.summary import note
    >>> note("The fit stopped early.")["level"]
    'warning'
    """
    return {"kind": "note", "level": level, "text": words}


def facts(pairs: Mapping[str, Any], title: str | None = None) -> dict[str, Any]:
    """Names and values, one below the other.

    Examples
    --------
    >>> from sumwise.report.summary import facts
    >>> facts({"units": 212})["pairs"]
    [['units', '212']]
    """
    return {"kind": "facts", "title": title, "pairs": [[str(k), _shown(v)] for k, v in pairs.items()]}


def table(frame: Any, title: str, kinds: Mapping[str, str] | None = None, file: str | None = None) -> dict[str, Any]:
    """A table of a frame; the page lets readers sort it.

    Parameters
    ----------
    frame : pandas.DataFrame
    title : str
    kinds : mapping of column to {"text", "share", "count", "number", "yes"}, optional
        How to write its values. Default: text for text, else number.
    file : str, optional
        The file of the result folder that holds all rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.report.summary import table
    >>> block = table(pd.DataFrame({"group": ["a"], "share": [0.25]}), "Shares", {"share": "share"})
    >>> block["columns"], block["rows"]
    ([{'name': 'group', 'kind': 'text'}, {'name': 'share', 'kind': 'share'}], [['a', 0.25]])
    """
    import pandas as pd

    chosen = dict(kinds or {})
    columns = []
    for name in frame.columns:
        number = pd.api.types.is_numeric_dtype(frame[name]) and not pd.api.types.is_bool_dtype(frame[name])
        kind = chosen.get(name, "number" if number else "yes" if pd.api.types.is_bool_dtype(frame[name]) else "text")
        columns.append({"name": str(name), "kind": kind})
    rows = [plain(list(row)) for row in frame.head(MOST_ROWS).itertuples(index=False, name=None)]
    return {
        "kind": "table",
        "title": title,
        "columns": columns,
        "rows": rows,
        "n_rows": len(frame),
        "file": file,
    }


def figure(plot: str, numbers: Any, caption: str, data: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A figure: the name of its plot, the numbers that it draws, what it shows in words, the table behind it.

    Parameters
    ----------
    plot : str
        A file of ``sumwise.plots``, such as "intervals".
    numbers : mapping, or list of mappings
        What the plot takes; a list is drawn as frames with a slider.
    caption : str
        What the figure shows, for those who can't see it too.
    data : dict, optional
        A `table`.
    **more
        ``labels``: the names of the frames.

    Examples
    --------
    >>> from sumwise.report.summary import figure
    >>> figure("intervals", {"share": [[0.5]]}, "Shares")["plot"]
    'intervals'
    """
    return {"kind": "figure", "plot": plot, "numbers": plain(numbers), "caption": caption, "table": data, **plain(more)}


@dataclass
class Summary:
    """What a study found, section by section.

    Parameters
    ----------
    title : str
    family, method : str
    lead : list of str
        What was found, in a few sentences.
    sections : dict of str to list of blocks
        By the keys of `SECTIONS`.

    Examples
    --------
    >>> from sumwise.report.summary import Summary, text
    >>> summary = Summary("Votes", "ecological", "EcologicalEM", ["All is known."])
    >>> summary.add("certainty", text("There is one unit."))
    >>> [section["key"] for section in summary.to_dict()["sections"]]
    ['found', 'certainty']
    """

    title: str
    family: str
    method: str
    lead: list[str] = field(default_factory=list)
    sections: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)

    def add(self, section: str, *blocks: dict[str, Any] | None) -> None:
        """Put blocks at the end of a section; None is left out."""
        if section not in SECTIONS:
            raise KeyError(section)
        self.sections.setdefault(section, []).extend(block for block in blocks if block is not None)

    def to_dict(self) -> dict[str, Any]:
        """The summary as a dict of plain values, the same for the same findings."""
        present = [key for key in SECTIONS if self.sections.get(key) or (key == "found" and self.lead)]
        return plain(
            {
                "format": FORMAT,
                "title": self.title,
                "family": self.family,
                "method": self.method,
                "lead": self.lead,
                "record": self.record,
                "sections": [
                    {"key": key, "title": SECTIONS[key], "blocks": self.sections.get(key, [])} for key in present
                ],
            }
        )


def plain(value: Any) -> Any:
    """The value with arrays as lists, tuples as lists, keys as text and non-finite numbers as None.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.report.summary import plain
    >>> plain({"a": np.array([1.0, np.nan]), 2: (True,)})
    {'a': [1.0, None], '2': [True]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        return plain(value.tolist())
    if isinstance(value, float) and not (float("-inf") < value < float("inf")):
        return None
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
