"""The summary: what a study found, as a dict of plain values; the page shows this and nothing else.

A summary leads with a paragraph for readers outside the field and with findings: an estimate each, its interval, what
the data alone imply, and what it rests on. Sections follow in a fixed order; a section has blocks. A block is a dict
with a ``kind``: text, bullets, note, facts, table, matrix or figure. A figure holds the name of its plot and the
numbers that it draws, never a picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sumwise.display import finding_html
from sumwise.report.rounding import cell, finding_digits, span

FORMAT = 2
SECTIONS = {
    "found": "Findings",
    "estimates": "Estimates",
    "certainty": "How certain are these estimates?",
    "assumptions": "Assumptions, and what could go wrong",
    "appendix": "Appendix: full tables",
    "provenance": "Data and reproducibility",
}
FEW_ROWS = 40  # of a table that is neither folded nor cut on paper
MOST_FINDINGS = 5  # cards of a page
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


def links(places: Mapping[str, str], title: str | None = None) -> dict[str, Any]:
    """Links to pages in the same folder: names, and relative addresses.

    Examples
    --------
    >>> from sumwise.report.summary import links
    >>> links({"Mayor": "Mayor/report.html"})["items"]
    [['Mayor', 'Mayor/report.html']]
    """
    return {"kind": "links", "title": title, "items": [[str(name), str(place)] for name, place in places.items()]}


def table(
    frame: Any,
    title: str,
    kinds: Mapping[Any, str] | None = None,
    file: str | None = None,
    folded: bool = False,
    about: str | None = None,
) -> dict[str, Any]:
    """A table of a frame; the page lets readers sort, filter and download it.

    Parameters
    ----------
    frame : pandas.DataFrame
    title : str
    kinds : mapping of column to str, optional
        How to write its values, a kind of `sumwise.report.rounding.cell`. Default: text for text, else number.
    file : str, optional
        The file of the result folder that holds all rows.
    folded : bool, default False
        Show the caption alone until the reader opens it.
    about : str, optional
        What the columns mean, shown below the title.

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
        "folded": folded,
        "about": about,
    }


def matrix(cells: Mapping[tuple[str, str], Mapping[str, Any]], title: str, about: str) -> dict[str, Any]:
    """A matrix of findings, such as contests by groups: a row per first key, a column per second.

    Parameters
    ----------
    cells : mapping of (row, column) to dict
        Each with ``name`` (what is named there), ``share``, ``low``, ``high``, ``open`` (why it is not a finding, or an
        empty text) and ``marks``, a list of words.
    title : str
        The finding.
    about : str
        What the cells mean.

    Examples
    --------
    >>> from sumwise.report.summary import matrix
    >>> cell = {"name": "Kemp", "share": 0.72, "low": 0.61, "high": 0.83, "open": "", "marks": ["won"]}
    >>> block = matrix({("Governor", "white"): cell}, "Who preferred whom", "Shares of voters.")
    >>> block["columns"], block["rows"][0]["name"]
    (['white'], 'Governor')
    """
    rows, columns = (list(dict.fromkeys(key[k] for key in cells)) for k in (0, 1))
    lines = [{"name": row, "cells": [plain(cells.get((row, column))) for column in columns]} for row in rows]
    return {"kind": "matrix", "title": title, "about": about, "columns": columns, "rows": lines}


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
        ``title``: the finding that it shows. ``labels``: the names of the frames. ``folded``: the title that shows
        alone until the reader opens the figure; such figures are left out on paper.

    Examples
    --------
    >>> from sumwise.report.summary import figure
    >>> figure("intervals", {"share": [[0.5]]}, "Shares")["plot"]
    'intervals'
    """
    return {"kind": "figure", "plot": plot, "numbers": plain(numbers), "caption": caption, "table": data, **plain(more)}


def finding(
    what: str,
    value: float | None,
    kind: str = "share",
    ends: Sequence[Any] = (None, None),
    level: float | None = None,
    because: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A finding: what is estimated, its value and interval, what the data alone imply, and what it rests on.

    How sure a statement is, is a probability from the draws of the estimate, in the words of `inference.certainty`;
    it belongs in ``because``.

    Parameters
    ----------
    what : str
        What the number is, as a phrase.
    value : float or None
        The estimate; None where the data alone give bounds and nothing more.
    kind : {"share", "points", "count", "number"}, default "share"
        points: percentage points, with a sign.
    ends : pair of float, optional
        The interval.
    level : float, optional
        Of the interval.
    because : str, optional
        What it rests on, or how sure it is, in a sentence.
    **more
        ``lower_bound``, ``upper_bound``: what the data imply without a model. ``truth``: if it is known.

    Examples
    --------
    >>> from sumwise.report.summary import finding
    >>> finding("Young voters who chose yes", 0.61, ends=(0.55, 0.67), level=0.95)["line"]
    'Young voters who chose yes: 61% (95% interval 55% to 67%).'
    """
    facts = {"low": ends[0], "high": ends[1], "level": level, "because": because, **more}
    out = {"what": what, "value": value, "kind": kind, **dict.fromkeys(FINDING), **facts}
    digits = finding_digits(out)
    words = []
    if value is not None:
        words.append(cell(value, kind, digits))
    if ends[0] is not None:
        named = "" if level is None else f"{100 * level:g}% interval "
        words.append(f"({named}{span(ends[0], ends[1], kind, digits)})")
    line = f"{what}: {' '.join(words)}".rstrip(": ")
    if out["lower_bound"] is not None:
        bounds = span(out["lower_bound"], out["upper_bound"], kind, digits, outward=True)
        alone = f"; the data alone imply {bounds}"
        line += alone if words else f": {bounds}, whatever the model"
    line += "."
    return plain({**out, "line": line})


def sentences(found: Mapping[str, Any]) -> list[str]:
    """A finding's line, and what it rests on or what speaks against it, unless the line has it.

    Examples
    --------
    >>> from sumwise.report.summary import finding, sentences
    >>> sentences(finding("Young voters who chose yes", 0.61, because="That they are most is likely."))
    ['Young voters who chose yes: 61.0%.', 'That they are most is likely.']
    """
    line, because = found["line"], found.get("because")
    return [line, because] if because and because not in line else [line]


FINDING = ("low", "high", "lower_bound", "upper_bound", "level", "because", "truth")


@dataclass
class Summary:
    """What a study found, section by section.

    Parameters
    ----------
    title : str
    family, method : str
    lead : list of str
        The verdict, in a paragraph that a reader outside the field understands; then what speaks against it.
    checked : list of str
        What a comparison with the truth showed, where that is known.
    findings : list of dict
        From `finding`, in order of importance.
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
    findings: list[dict[str, Any]] = field(default_factory=list)
    sections: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    checked: list[str] = field(default_factory=list)

    def _repr_html_(self) -> str:
        return finding_html("\n".join([self.title, *self.lead, *(found["what"] for found in self.findings)]))

    def add(self, section: str, *blocks: dict[str, Any] | None) -> None:
        """Put blocks at the end of a section; None is left out."""
        if section not in SECTIONS:
            raise KeyError(section)
        self.sections.setdefault(section, []).extend(block for block in blocks if block is not None)

    def to_dict(self) -> dict[str, Any]:
        """The summary as a dict of plain values, the same for the same findings."""
        present = [
            key for key in SECTIONS if self.sections.get(key) or (key == "found" and (self.lead or self.findings))
        ]
        return plain(
            {
                "format": FORMAT,
                "title": self.title,
                "family": self.family,
                "method": self.method,
                "lead": self.lead,
                "checked": self.checked,
                "findings": self.findings,
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


def with_provenance(summary: dict[str, Any], provenance: dict[str, Any]) -> dict[str, Any]:
    """Return the summary with a last section that says how to get the same numbers.

    Parameters
    ----------
    summary : dict
        Of ``summary.json``.
    provenance : dict
        Of ``provenance.json``.

    Examples
    --------
    >>> from sumwise.report.summary import with_provenance
    >>> facts = {"command": "sumwise fit p.toml", "seed": 0, "data": [], "versions": {}}
    >>> made = with_provenance({"sections": []}, facts)
    >>> made["sections"][0]["blocks"][0]["pairs"][0]
    ['command', 'sumwise fit p.toml']
    """
    shown = ("command", "method", "seed", "written", "seconds")
    blocks = [facts({key: provenance[key] for key in shown if key in provenance})]
    for data in provenance["data"]:
        blocks.append(facts({"file": data["file"], "bytes": data["bytes"], "SHA-256": data["sha256"]}))
    if provenance.get("options"):
        blocks.append(facts(provenance["options"], "Parameters of the method"))
    blocks.append(facts(provenance["versions"], "Versions"))
    if provenance.get("problem"):
        blocks.append({"kind": "source", "title": "The problem file", "text": provenance["problem"]})
    sections = [dict(section) for section in summary["sections"]]
    if not sections or sections[-1]["key"] != "provenance":
        sections.append({"key": "provenance", "title": SECTIONS["provenance"], "blocks": []})
    sections[-1]["blocks"] = [*sections[-1]["blocks"], *blocks]
    return {**summary, "sections": sections}
