"""The page: a summary to one HTML file that needs no network, for phone, desktop and paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import Any

from sumwise.errors import visible
from sumwise.progress import Progress
from sumwise.report.rounding import NUMERIC, cell, column_digits, finding_digits, span

FAMILIES = {
    "ecological": "Ecological inference",
    "proportions": "Learning from label proportions",
    "distribution": "Distribution regression",
    "flows": "Movement from counts",
    "maxent": "Classification from tables",
    "containers": "Data",
    "aggregate": "Aggregation",
    "privacy": "Privacy",
}

MOST_SPOKEN = 3  # findings that the text of a figure repeats
MOST_TWICE = 12  # frames of a figure that are drawn for desktops and again for phones; more are drawn once for both


def page(
    *summaries: dict[str, Any],
    title: str | None = None,
    intro: list[str] | None = None,
    full: bool = False,
    files_beside: Iterable[str] = (),
    twice: bool = True,
) -> str:
    """Return one offline HTML page of a summary, or of several under one title.

    Parameters
    ----------
    *summaries : dict
        From `Summary.to_dict`, or read from ``summary.json``.
    title : str, optional
        Default: that of the first summary.
    intro : list of str, optional
        Paragraphs above several summaries.
    full : bool, default False
        Print every row of long tables on paper.
    files_beside : iterable of str, default ()
        Names of files in the page's folder, to which tables link.
    twice : bool, default True
        Draw figures for desktops and again for phones; False draws one picture for both, in half of the time.

    Returns
    -------
    str

    Examples
    --------
    >>> from sumwise.report import Summary, page
    >>> text = page(Summary("<script>", "ecological", "Bounds", ["Nothing is sure."]).to_dict())
    >>> "<h1>&lt;script&gt;</h1>" in text, "Nothing is sure." in text
    (True, True)
    """
    blocks = [block for summary in summaries for section in summary["sections"] for block in section["blocks"]]
    places = {
        id(block): [finding["line"] for finding in summary["findings"][:MOST_SPOKEN]]
        for summary in summaries
        for section in summary["sections"]
        for block in section["blocks"]
        if section["key"] == "found"
    }
    drawings = _Drawings([block["numbers"] for block in blocks if block["kind"] == "figure"], places, twice)
    environment = templates()
    environment.filters |= {"cell": typographic(cell), "defined": defined, "minus": typographic(str)}
    environment.globals |= {
        "draw": drawings.draw,
        "strip": strip,
        "strip_ends": strip_ends,
        "span": typographic(span),
        "digits": finding_digits,
        "column_digits": column_digits,
        "numeric": NUMERIC,
        "families": FAMILIES,
    }
    template = environment.get_template("report.html")
    with drawings.progress:
        text = template.render(
            title=title or summaries[0]["title"],
            intro=intro or [],
            full=full,
            files=set(files_beside),
            studies=list(summaries),
            style=template_text("report.css"),
            script=template_text("report.js"),
        )
    return visible(text, but=ISOLATES)  # pictures and cells are put in as they are


def template_text(name: str) -> str:
    """A file of the folder ``templates``."""
    return files("sumwise.report").joinpath("templates", name).read_text("utf-8")


def templates() -> Any:
    """The templates of pages; values are escaped, and a name that is missing is an error."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: (  # names in Hebrew or Arabic leave the order of the words around them
            value
            if not isinstance(value, str) or hasattr(value, "__html__")
            else RIGHT_TO_LEFT.sub(ISOLATED, visible(value))
        ),
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(template_text),
    )


_LETTERS = r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+"
RIGHT_TO_LEFT = re.compile(f"{_LETTERS}(?: {_LETTERS})*")
ISOLATES = "\u2068\u2069"
ISOLATED = f"{ISOLATES[0]}\\g<0>{ISOLATES[1]}"


class _Drawings:
    """Pictures of the figures, numbered so that their ids differ."""

    def __init__(self, figures: list[Any], found: Mapping[int, list[str]], twice: bool = True) -> None:
        self.count, self.found = 0, found
        self.most_twice = MOST_TWICE if twice else 0
        pictures = [len(numbers) if isinstance(numbers, list) else 1 for numbers in figures]
        drawn = sum(n * (2 if n <= self.most_twice else 1) for n in pictures)
        self.progress = Progress("Pictures", drawn)

    def draw(self, block: dict[str, Any]) -> list[dict[str, Any]]:
        """The frames of a figure: label and picture; most figures have one."""
        from markupsafe import Markup

        from sumwise.report.svg import draw

        many = isinstance(block["numbers"], list)
        frames = block["numbers"] if many else [block["numbers"]]
        labels = block.get("labels") or [str(i + 1) for i in range(len(frames))]
        widths = ("wide", "narrow") if len(frames) <= self.most_twice else ("both",)
        spoken_findings = [
            *self.found.get(id(block), ()),
            *(["The table below has its numbers."] if block["table"] else []),
        ]
        out, layouts = [], {width: [] if many else None for width in widths}
        for label, numbers in zip(labels, frames):
            pictures = []
            spoken = " ".join(
                [block["caption"], *([f"Shown: {label}."] if many else []), *spoken_findings]
            )  # by screen readers
            for width in widths:
                self.count += 1
                picture = draw(block["plot"], numbers, spoken, self.count, width, layouts[width])
                pictures.append({"width": width, "svg": Markup(picture)})  # noqa: S704  svg.draw escapes
                self.progress.step()
            out.append({"label": label, "pictures": pictures})
        return out


def typographic(write: Callable[..., str]) -> Callable[..., str]:
    """The same function, its numbers with a minus sign instead of a hyphen.

    Examples
    --------
    >>> from sumwise.report.html import typographic
    >>> typographic(str)("-24 points, on 2026-11-16")
    '−24 points, on 2026-11-16'
    """
    return lambda *args: re.sub(r"(?<![\w-])-(?=\d)", "\u2212", write(*args))


def defined(text: str, columns: Iterable[Mapping[str, Any]]) -> Any:
    """Text on a table with the names of columns that it defines ("low, high: the interval.") in bold.

    Examples
    --------
    >>> from sumwise.report.html import defined
    >>> str(defined("low, high: the <interval>. Note: none.", [{"name": "low"}, {"name": "high"}]))
    '<b>low, high</b>: the &lt;interval&gt;. Note: none.'
    """
    from markupsafe import Markup, escape

    names = {str(column["name"]) for column in columns}
    out, place = Markup(""), 0
    for found in re.finditer(r"(?:^|(?<=[.?!] ))[^.:?!]{1,80}(?=:)", text):
        if all(part in names for part in found[0].split(", ")):
            out += escape(text[place : found.start()]) + Markup("<b>{}</b>").format(found[0])
            place = found.end()
    return out + escape(text[place:])


SCALES = {"share": (0.0, 1.0), "points": (-1.0, 1.0)}  # kinds of values that have ends to be seen between
MARKS = ("value", "low", "high", "lower_bound", "upper_bound", "truth")  # of a strip


def strip(found: dict[str, Any]) -> Any:
    """The picture of a finding: bounds as a bar, the interval as a line, the estimate as a dot, the truth as a cross.

    Examples
    --------
    >>> from sumwise.report.html import strip
    >>> str(strip({"kind": "share", "value": 0.5, "low": 0.4, "high": 0.6})).count("<circle")
    1
    """
    from markupsafe import Markup

    marks = {k: found.get(k) for k in MARKS}
    ends = strip_ends(found)
    if ends is None:
        return Markup("")
    low, high = ends
    at = {k: 6 + 248 * (v - low) / (high - low) for k, v in marks.items() if v is not None}
    parts = ['<line x1="6" x2="254" y1="8" y2="8" class="axis"/>']
    if low < 0:
        zero = 6 - 248 * low / (high - low)
        parts.append(f'<line x1="{zero:.1f}" x2="{zero:.1f}" y1="1" y2="15" class="axis"/>')
    if "lower_bound" in at and "upper_bound" in at:
        width = max(at["upper_bound"] - at["lower_bound"], 1.5)
        parts.append(f'<rect x="{at["lower_bound"]:.1f}" y="4" width="{width:.1f}" height="8" class="bounds"/>')
    if "low" in at and "high" in at:
        parts.append(f'<line x1="{at["low"]:.1f}" x2="{at["high"]:.1f}" y1="8" y2="8" class="interval"/>')
    if "value" in at:
        parts.append(f'<circle cx="{at["value"]:.1f}" cy="8" r="4.5" class="estimate"/>')
    if "truth" in at:
        x = at["truth"]
        parts.append(f'<path d="M{x - 4:.1f} 4l8 8m0 -8l-8 8" class="truth"/>')
    shown = f'<svg class="strip" viewBox="0 0 260 16" aria-hidden="true">{"".join(parts)}</svg>'
    return Markup(shown)  # noqa: S704  made of numbers


def strip_ends(found: Mapping[str, Any]) -> tuple[float, float] | None:
    """The values at the ends of a finding's strip: 0 and 100%, -100 and 100 points, or beyond; None of other kinds.

    Examples
    --------
    >>> from sumwise.report.html import strip_ends
    >>> strip_ends({"kind": "share", "value": 0.5, "low": 0.4, "high": 0.6})
    (0.0, 1.0)
    """
    if found["kind"] not in SCALES:
        return None
    low, high = SCALES[found["kind"]]
    marks = [round(found[k], 6) for k in MARKS if found.get(k) is not None]  # rounding errors are not beyond
    return min(low, *marks), max(high, *marks)
