"""Names, legends and axes in figures: long names are cut, so that the picture stays larger than its labels."""

from __future__ import annotations

import base64
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sumwise.plots.style import MOST_COLOURS

_MOST: ContextVar[int] = ContextVar("most characters of a name", default=1000)
_LINES: ContextVar[int] = ContextVar("lines of a name", default=1)
NARROW_FIGURE = 6.0  # inches: figures below are drawn for phones


@contextmanager
def short_names(most: int) -> Iterator[None]:
    """Inside, `short` keeps at most this many characters, whatever a figure asks for.

    Examples
    --------
    >>> from sumwise.plots.labels import short, short_names
    >>> with short_names(9):
    ...     short("Registered voters")
    'Regi…ters'
    """
    before = _MOST.set(most)
    try:
        yield
    finally:
        _MOST.reset(before)


@contextmanager
def wrapped_names(lines: int = 3) -> Iterator[None]:
    """Inside, `short` breaks long names into this many lines before it cuts them: for paper, where nothing is on hover.

    Examples
    --------
    >>> from sumwise.plots.labels import short, wrapped_names
    >>> with wrapped_names():
    ...     short("Registered voters of no party", 20)
    'Registered voters of\\nno party'
    """
    before = _LINES.set(lines)
    try:
        yield
    finally:
        _LINES.reset(before)


def short(name: object, most: int = 28) -> str:
    """A name on one line, cut in the middle where it is long (see `wrapped_names`).

    Examples
    --------
    >>> from sumwise.plots.labels import short
    >>> short("Registered voters of no party\\nat all", 20)
    'Registered…ty at all'
    """
    text = " ".join(str(name).split())
    text = "".join(c if c.isprintable() else "�" for c in text)
    most = min(most, _MOST.get())
    if len(text) <= most:
        return text
    if _LINES.get() > 1:
        lines = textwrap.wrap(text, most)
        if len(lines) <= _LINES.get():
            return "\n".join(lines)
    half = (most - 1) // 2
    return f"{text[: most - 1 - half]}…{text[-half:]}"


def distinct(names: Sequence[Any], most: int = 40) -> list[str]:
    """Names as `short` cuts them; those that would look alike begin with the word in which they differ.

    Examples
    --------
    >>> from sumwise.plots.labels import distinct
    >>> distinct(["Citizens who came in 2020", "Citizens who left in 2020", "Others"], 14)
    ['…came in 2020', '…left in 2020', 'Others']
    """
    cut, texts = [short(name, most) for name in names], [" ".join(str(name).split()) for name in names]
    for look in {c for c in cut if cut.count(c) > 1}:
        alike = [k for k, found in enumerate(cut) if found == look]
        start = min(len(texts[k]) for k in alike)
        start = next((i for i in range(start) if len({texts[k][i] for k in alike}) > 1), start)
        for k in alike:
            rest = texts[k][texts[k].rfind(" ", 0, start) + 1 :]
            cut[k] = f"…{short(rest, most)}" if rest and rest != texts[k] else look
    return cut


def line_names(numbers: Mapping[str, Any], most: int = 40) -> list[str]:
    """What stands before each line of a figure: its name, or group and outcome, in two lines where they are long.

    Examples
    --------
    >>> from sumwise.plots.labels import line_names
    >>> line_names({"groups": ["young", "old"], "outcomes": ["yes"]})
    ['young: yes', 'old: yes']
    >>> line_names({"groups": ["people of a long name"], "outcomes": ["a choice"]}, 21)
    ['people of a long name\\na choice']
    """
    listed = numbers.get("names") or numbers.get("labels")
    if listed:
        return distinct(listed, most)
    groups, outcomes = list(numbers.get("groups", ())), list(numbers.get("outcomes", ()))
    lines = [f"{g}: {o}" for g in groups for o in outcomes]
    if max(map(len, lines), default=0) <= min(most, _MOST.get()):
        return lines
    return [f"{g}\n{o}" for g in distinct(groups, most) for o in distinct(outcomes, most)]


def line_inches(names: Sequence[str]) -> float:
    """The height of a line of a figure: more where its name takes two.

    Examples
    --------
    >>> from sumwise.plots.labels import line_inches
    >>> line_inches(["young: yes"]), line_inches(["people of a long name\\na choice"])
    (0.3, 0.45)
    """
    return 0.45 if any("\n" in name for name in names) else 0.3


def tips(artist: Any, words: Sequence[str]) -> Any:
    """Put the values of an artist's marks on it, for pictures that show them on hover; returns the artist.

    Parameters
    ----------
    artist : matplotlib artist
        With one mark per entry, or any artist with one entry.
    words : sequence of str

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sumwise.plots.labels import tips
    >>> tips(plt.subplots()[1].scatter([1], [2]), ["a: 1, 2"]).get_gid()[:4]
    'tip-'
    """
    text = json.dumps([" ".join(str(word).split()) for word in words], ensure_ascii=False)
    artist.set_gid(f"tip-{base64.urlsafe_b64encode(text.encode('utf-8')).decode('ascii')}")
    return artist


def axes_or_new(ax: Any, width: float, height: float) -> Any:
    """The axes that are given, or new ones of this size in inches."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height))[1] if ax is None else ax


def percent(value: float) -> str:
    """A share as people read it."""
    return f"{100 * value:.1f}%"


def fitted(*values: Any, pad: float = 0.04, least: tuple[float, float] | None = None) -> tuple[float, float]:
    """The ends of an axis that hold all values, and `least`, with a margin.

    Examples
    --------
    >>> from sumwise.plots.labels import fitted
    >>> fitted([0.2, 1.3], pad=0.0, least=(0, 1))
    (0.0, 1.3)
    """
    import numpy as np

    every = np.concatenate([np.ravel(np.asarray(v, dtype=float)) for v in values] + [np.array(least or ())])
    every = every[np.isfinite(every)]
    if not every.size:
        return 0.0, 1.0
    low, high = float(every.min()), float(every.max())
    edge = pad * ((high - low) or 1.0)
    return low - edge, high + edge


def share_ends(*values: Any, pad: float = 0.015) -> tuple[float, float]:
    """The ends of an axis of shares: 0 and 1, or close to the values if they lie within two fifths of that.

    Values that `percent` writes alike are no reason to come closer: the axis would show rounding errors.

    Examples
    --------
    >>> from sumwise.plots.labels import share_ends
    >>> share_ends([0.2, 0.9], pad=0.0)
    (0.0, 1.0)
    >>> share_ends([0.9, 0.95], pad=0.0)
    (0.9, 0.95)
    """
    low, high = fitted(*values, pad=0.0)
    near = percent(low) != percent(high) and high - low < 0.4
    return fitted([low, high], pad=3 * pad) if near else fitted([low, high], least=(0, 1), pad=pad)


def percent_axes(*axes: Any) -> None:
    """Write the ticks of these axes, shares, in percent, with as many decimals as they need to be exact.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sumwise.plots.labels import percent_axes
    >>> ax = plt.subplots()[1]
    >>> percent_axes(ax.xaxis)
    >>> ax.xaxis.get_major_formatter()(0.25)
    '25%'
    """
    from matplotlib.ticker import FuncFormatter

    for axis in axes:
        axis.set_major_formatter(FuncFormatter(lambda value, _=None, axis=axis: _tick(value, axis.get_majorticklocs())))


def _tick(value: float, ticks: Sequence[float]) -> str:
    """A tick in percent, with as many decimals as the ticks need to be exact: 42.5% is not 42%."""
    percents = [100 * float(tick) for tick in ticks]
    digits = next((d for d in range(4) if all(abs(p - round(p, d)) < 1e-6 for p in percents)), 4)
    return f"{100 * value:.{digits}f}%".replace("-", "\u2212")


def turn_where_long(ax: Any, names: Sequence[str]) -> None:
    """Turn the names below columns of width 1 if the longest is wider than its column.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sumwise.plots.labels import turn_where_long
    >>> ax = plt.subplots()[1]
    >>> _ = ax.set_xticks([0.5, 1.5], ["no", "yes"])
    >>> turn_where_long(ax, ["no", "yes"])
    >>> ax.get_xticklabels()[0].get_rotation()
    0.0
    """
    labels = ax.get_xticklabels()
    column = 0.75 * 72 * float(ax.figure.get_size_inches()[0]) / max(len(names), 1)  # points; the axes take 0.75
    if max(map(len, names), default=0) * 0.6 * labels[0].get_fontsize() > column:
        for label in labels:
            label.set(rotation=30, ha="right", rotation_mode="anchor")


def name_lines(ax: Any, names: Sequence[str], ends: Sequence[float]) -> None:
    """Write the names of the lines of a figure next to their right ends, in their colours; of many, a legend.

    Parameters
    ----------
    ax : matplotlib axes
        With one line per name, and its limits set.
    names : sequence of str
    ends : sequence of float
        The heights of the right ends of the lines.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sumwise.plots.labels import name_lines
    >>> ax = plt.subplots()[1]
    >>> _ = ax.plot([0, 1], [0, 1]), ax.plot([0, 1], [0, 2])
    >>> name_lines(ax, ["a", "b"], [1, 2])
    >>> [text.get_text() for text in ax.texts]
    ['a', 'b']
    """
    import numpy as np

    if len(names) > MOST_COLOURS:
        for line, name in zip(ax.lines, names):
            line.set_label(short(name, 30))
        legend_above(ax)
        return
    low, high = ax.get_ylim()
    letter = float(ax.xaxis.label.get_fontsize())
    step = 1.3 * letter * (high - low) / (0.75 * 72 * float(ax.figure.get_size_inches()[1]))  # of a line of text
    order = np.argsort(ends, kind="stable")
    places = np.array(ends, dtype=float)[order]
    for k in range(1, len(places)):
        places[k] = max(places[k], places[k - 1] + step)
    for k in reversed(range(len(places))):  # not above the picture
        places[k] = min(places[k], high - step * (len(places) - 1 - k))
    style: dict[str, Any] = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
    shown = distinct(names, 24)
    for k, height in zip(order, places):
        ax.annotate(shown[k], (1.0, height), xycoords=("axes fraction", "data"), color=ax.lines[k].get_color(), **style)


def legend_above(ax: Any, **options: Any) -> Any:
    """The legend above the picture, in as many columns as its width allows; returns it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sumwise.plots.labels import legend_above
    >>> ax = plt.subplots()[1]
    >>> _ = ax.plot([1, 2], label="a")
    >>> len(legend_above(ax).get_texts())
    1
    """
    import matplotlib as mpl

    handles, names = ax.get_legend_handles_labels()
    size = mpl.rcParams["font.size"]
    entry = (0.52 * max(map(len, names), default=1) + 3.6) * size  # handle, gap and letters, in points
    columns = max(1, min(len(names), int(0.9 * 72 * ax.figure.get_size_inches()[0] / entry)))
    lines = -(-len(names) // columns)
    columns = -(-len(names) // lines)  # as even as can be
    place = ("lower center", 0.5) if columns > 1 else ("lower left", 0.0)
    order = [k for first in range(columns) for k in range(first, len(names), columns)]  # read line by line
    shown = [[found[k] for k in order] for found in (handles, names)]
    return ax.legend(*shown, ncols=columns, columnspacing=1.5, loc=place[0], bbox_to_anchor=(place[1], 1.0), **options)
