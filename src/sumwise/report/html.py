"""The page: a summary to one HTML file that needs no network, for phone, desktop and paper."""

from __future__ import annotations

import math
from importlib.resources import files
from typing import Any

__all__ = ["page"]

MOST_TWICE = 6  # frames of a figure that are drawn for desktops and for phones


def page(
    *summaries: dict[str, Any], title: str | None = None, intro: list[str] | None = None, full: bool = False
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
    from jinja2 import Environment, StrictUndefined

    drawings = _Drawings()
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["cell"] = cell
    environment.globals["draw"] = drawings.draw
    template = environment.from_string(_template("report.html"))
    return template.render(
        title=title or summaries[0]["title"],
        intro=intro or [],
        full=full,
        studies=list(summaries),
        style=_template("report.css"),
        script=_template("report.js"),
    )


def _template(name: str) -> str:
    return files("sumwise.report").joinpath("templates", name).read_text("utf-8")


class _Drawings:
    """Pictures of the figures, numbered so that their ids differ."""

    def __init__(self) -> None:
        self.count = 0

    def draw(self, block: dict[str, Any]) -> list[dict[str, Any]]:
        """The frames of a figure: label and picture; most figures have one."""
        from markupsafe import Markup

        from sumwise.report.svg import draw

        many = isinstance(block["numbers"], list)
        frames = block["numbers"] if many else [block["numbers"]]
        labels = block.get("labels") or [str(i + 1) for i in range(len(frames))]
        widths = ("wide", "narrow") if len(frames) <= MOST_TWICE else ("wide",)
        out = []
        for label, numbers in zip(labels, frames):
            pictures = []
            for width in widths:
                self.count += 1
                picture = draw(block["plot"], numbers, block["caption"], self.count, width)
                pictures.append({"width": width, "svg": Markup(picture)})  # noqa: S704  svg.draw escapes
            out.append({"label": label, "pictures": pictures})
        return out


def cell(value: Any, kind: str) -> str:
    """A value as people read it.

    Examples
    --------
    >>> from sumwise.report.html import cell
    >>> cell(0.1234, "share"), cell(12345.6, "count"), cell(None, "number"), cell(True, "yes")
    ('12.3%', '12,346', '', 'yes')
    """
    if value is None:
        return ""
    if kind == "yes" or isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)) and kind != "text":
        return _number(value, kind)
    return str(value)


def _number(value: float, kind: str) -> str:
    if kind == "share":
        return f"{100 * value:.1f}%"
    if kind == "points":
        return f"{100 * value:+.1f} points"
    if kind == "p":
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    if kind == "count":
        return f"{value:,.0f}" if abs(value) >= 10 or value == round(value) else f"{value:.1f}"
    if isinstance(value, int) or (value == round(value) and abs(value) < 1e6):
        return f"{value:,.0f}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}" if 1e-4 <= abs(value) < 1e6 else f"{value:.3g}"
