"""Figures as SVG to stand in a page: drawn from numbers, same numbers same bytes, and names are text, never markup."""

from __future__ import annotations

import base64
import io
import json
import re
import textwrap
from html import escape
from typing import Any

import numpy as np

from sumwise import plots
from sumwise.errors import DataError
from sumwise.plots.grouped_rows import rows_height
from sumwise.plots.labels import NARROW_FIGURE, line_names, short_names
from sumwise.plots.share_heatmap import turned
from sumwise.plots.style import PALETTE, STYLE

SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,  # a precinct called "$x" is no formula
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "axes.prop_cycle": None,  # set when drawn
    "figure.dpi": 72,
    "axes.edgecolor": "black",  # which the page replaces by the colour of its text
    **{f"{part}color": "black" for part in ("axes.label", "xtick.", "ytick.", "xtick.label", "ytick.label")},
    "savefig.transparent": True,
}
MAPS = {"unit_map", "flows", "routes", "places"}
SQUARE = {"tomography", "calibration", "confusion", "predicted", "unit_scatter", "connectivity", *MAPS}
LINES = {"methods": "low", "subgroups": "low"}
GROUPED = {
    "intervals": ("groups", "outcomes"),
    "polarisation": ("groups", "outcomes"),
    "bag_contrast": ("features", "groups"),
}
WIDTH_USED = 0.92  # of the width, where frames share their layout
DASHES = ["-", "--", ":", "-."]
NAMES = {"wide": 40, "narrow": 20, "both": 20}  # characters of a name
# Inches at 72 dots, and the size of letters: shown one to one, and a little smaller on a phone where one serves both.
WIDTHS = {"wide": (12.0, 13.0), "narrow": (4.9, 12.5), "both": (5.9, 14.0)}


def draw(
    plot: str,
    numbers: dict[str, Any],
    caption: str,
    number: int = 1,
    width: str = "wide",
    layout: list[Any] | None = None,
) -> str:
    """Return a figure as an SVG element.

    Parameters
    ----------
    plot : str
        A figure of ``sumwise.plots``: its function ``plot_NAME`` takes the numbers.
    numbers : dict
        Lists of numbers become arrays.
    caption : str
        Read aloud by screen readers.
    number : int
        Which figure of the page this is, so that ids differ.
    width : {"wide", "narrow", "both"}, default "wide"
        For a desktop, for a phone, or for either: letters have the size of the text in both.
    layout : list, optional
        Where axes lie, shared by the frames of one figure: an empty list is filled by the first frame, and the others,
        with as many axes, lie as it does. Laying out takes longer than drawing.

    Examples
    --------
    >>> from sumwise.report.svg import draw
    >>> numbers = {"grid": [0.0, 0.5, 1.0], "density": [[0.0, 2.0, 0.0]], "groups": ["<a>"], "outcome": "yes"}
    >>> picture = draw("share_density", numbers, "Densities")
    >>> picture.startswith("<svg"), "&lt;a&gt;" in picture, "<a>" in picture
    (True, True, False)
    """
    import matplotlib.style
    from cycler import cycler
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    if f"plot_{plot}" not in plots.__all__:
        raise DataError(f"There is no plot {plot!r}.", hint="was the summary written by a newer sumwise?")
    function = getattr(plots, f"plot_{plot}").__wrapped__  # SETTINGS reads no names as formulas
    cycle = cycler(color=PALETTE[:4]) + cycler(linestyle=DASHES)
    salt: dict[Any, Any] = {
        "axes.prop_cycle": cycle,
        "svg.hashsalt": f"sumwise-{number}",
        "font.size": WIDTHS[width][1],
    }
    with matplotlib.style.context([STYLE, {**SETTINGS, **salt}]):
        figure = Figure(figsize=_size(plot, numbers, width), layout="constrained")
        FigureCanvasSVG(figure)
        with short_names(NAMES[width]):
            function(arrays(numbers), ax=figure.subplots())
        across, down = (72 / 0.56 * side for side in figure.get_size_inches())  # letters are 0.56 as wide as high
        for ax in figure.axes:  # a label that is longer than the picture would be cut
            for words, room in (
                (ax.xaxis.label, 0.62 * across),
                (ax.title, 0.75 * across),
                (ax.yaxis.label, 0.8 * down),
            ):
                most = max(int(room / words.get_fontsize()), 12)
                if "\n" not in words.get_text():
                    words.set_text(textwrap.fill(words.get_text(), most, break_long_words=False))
        if layout is not None:
            _lie_alike(figure, layout)
        out = io.StringIO()
        figure.savefig(out, format="svg", dpi=200, metadata={"Date": None, "Creator": None})
    return _element(out.getvalue(), caption)


def _lie_alike(figure: Any, layout: list[Any]) -> None:
    """Put the axes where `layout` says, which the first figure fills, with some room for longer labels on the right."""
    if len(layout) != len(figure.axes):
        figure.draw_without_rendering()
        bounds = [axes.get_position().bounds for axes in figure.axes]  # of the map itself, narrower than its place
        left = min(x for x, _, _, _ in bounds)
        layout[:] = [(left + WIDTH_USED * (x - left), y, WIDTH_USED * w, h) for x, y, w, h in bounds]
    figure.set_layout_engine("none")
    for axes, place in zip(figure.axes, layout):
        axes.set_position(place)


def _size(plot: str, numbers: dict[str, Any], width: str) -> tuple[float, float]:
    """The page's width, and tall enough for a line per entry; at most about one screen."""
    across = WIDTHS[width][0]
    if plot in GROUPED:
        blocks, lines = GROUPED[plot]
        rows = len(numbers["labels" if "labels" in numbers else blocks]), len(numbers.get(lines, ("",)))
        return across, 0.4 + (1.35 if width == "wide" else 1.5) * rows_height(*rows)
    if plot in LINES:
        lines = int(np.size(np.array(numbers[LINES[plot]], dtype=float)))
        if plot == "methods" and not numbers.get("labels"):
            lines += len(numbers["groups"])  # their headings
        with short_names(NAMES[width]):
            tall = max([name.count("\n") + 1 for name in line_names(numbers)], default=1)  # where names are wrapped
        head, line = (1.5, 0.36) if width == "wide" else (2.0, 0.32)
        return across, head + max(line, 0.24 * tall) * lines
    if plot == "share_heatmap":
        rows, columns = np.shape(np.array(numbers["share"], dtype=float))
        if turned((rows, columns)):  # lines of a list of outcomes may be lower
            return min(across, max(4.9, 3.8 + 0.9 * rows)), 2.4 + 0.26 * columns
        tall = 1.9 + (0.34 * rows if width == "wide" else 0.4 * rows + 0.9)
        return max(min(across, 4.2 + 0.9 * columns), 4.0) if width == "wide" else across, tall
    if plot in SQUARE:
        large = (9.5, 7.4) if plot in MAPS else (7.4, 6.2)
        return large if width == "wide" else (across, 1.1 * across)
    return (9.5, 4.2) if width == "wide" else (across, 3.2)


def _element(svg: str, caption: str) -> str:
    """The svg element alone, scaled by the page, with its title; black is the colour of the page's text."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    head, rest = body.split(">", 1)
    box = re.search(r'viewBox="([^"]*)"', head)
    width, height = (float(side) for side in box[1].split()[2:]) if box else (400.0, 300.0)
    label = escape(" ".join(caption.split()), quote=True)
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    start = f'<svg {spaces} viewBox="{box[1] if box else ""}"'
    rest = re.sub(r"(stroke|fill): #000000", r"\1: currentColor", rest.strip())
    rest = re.sub(
        r"(stroke|fill): (#0072b2|#d55e00|#b9b9b9)",
        lambda found: f"{found[1]}: var({PAGE_COLOURS[found[2]]}, {found[2]})",
        rest,
    )
    rest = with_tips(NUMBERS.sub(lambda found: f'{found[1]}{DIGITS.sub(_rounded, found[2])}"', rest))
    lines = height > 1.5 * width or (width > 600 and height > 0.6 * width)  # many lines: on paper up to a page
    tall = ' class="tall"' if lines else ""
    share = width / (72 * WIDTHS["wide"][0])  # of a page's width, so that letters have one size on paper
    most = 1.15 if width > 72 * NARROW_FIGURE else 1.25
    look = f'style="max-width:{most * width:.0f}px;--share:{share:.2f}" fill="currentColor"{tall}'
    return f'{start} {look} role="img" aria-label="{label}">{rest}'


NUMBERS = re.compile(r'( (?:d|x|y)=")([^"]*)"')  # of paths and positions
DIGITS = re.compile(r"\s*\n|-?\d+\.\d+")


def _rounded(found: re.Match) -> str:
    """A hundredth of a dot, or a tenth where there are many dots, and no line breaks: half of the bytes of a map."""
    value = found[0]
    return " " if value.isspace() else f"{round(float(value), 1 if abs(float(value)) > 10 else 2):g}"


PAGE_COLOURS = {"#0072b2": "--blue", "#d55e00": "--orange", "#b9b9b9": "--bar"}  # lighter ones in the dark


def with_tips(svg: str) -> str:
    """The picture with the values that `sumwise.plots.labels.tips` put on its marks as titles that show on hover."""
    start = re.compile(r'<g id="tip-([A-Za-z0-9_=-]*)">')
    out, place = [], 0
    while (found := start.search(svg, place)) is not None:
        depth, end = 1, len(svg)
        for tag in re.finditer(r"<g[ >]|</g>", svg[found.end() :]):
            depth += -1 if tag[0] == "</g>" else 1
            if depth == 0:
                end = found.end() + tag.start()
                break
        words = json.loads(base64.urlsafe_b64decode(found[1]).decode("utf-8"))
        out += [svg[place : found.start()], '<g class="tip">', _titled(svg[found.end() : end], words)]
        place = end
    return "".join([*out, svg[place:]])


def _titled(inner: str, words: list[str]) -> str:
    """Each mark with its title: marks are uses of one shape, or paths outside of definitions."""
    titles = [f"<title>{escape(word)}</title>" for word in words]
    if len(titles) == 1:
        return titles[0] + inner
    for kind in ("use", "path"):
        parts = re.split(rf"((?s:<defs>.*?</defs>)|<{kind} [^>]*/>)", inner)
        marks = [k for k, part in enumerate(parts) if part.startswith(f"<{kind} ") and part.endswith("/>")]
        if len(marks) == len(titles):
            for k, title in zip(marks, titles):
                parts[k] = f"{parts[k][:-2]}>{title}</{kind}>"
            return "".join(parts)
    return inner


def arrays(value: Any) -> Any:
    """Lists of numbers as arrays (None as NaN), deep inside dicts too; all else as it is."""
    if isinstance(value, dict):
        return {key: arrays(item) for key, item in value.items()}
    if isinstance(value, list):
        try:
            array = np.array(value)
            if any(isinstance(x, str) for x in array.flat):  # NumPy would read "3" as a number
                raise ValueError
            return array.astype(float)
        except (TypeError, ValueError):
            return [arrays(item) for item in value] if any(isinstance(x, (list, dict)) for x in value) else value
    return value
