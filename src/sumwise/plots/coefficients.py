"""The largest coefficients of a model, as bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.plots.style import ESTIMATE, INTERVAL, MOST_LINES


def plot_coefficients(frame: Any, ax: Any = None) -> Any:
    """Draw coefficients, the largest first, with the class or the table that each belongs to.

    Parameters
    ----------
    frame : pandas frame
        ``coefficient``, and columns of words that say what it is of, such as ``class`` and ``feature``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.plots import plot_coefficients
    >>> found = pd.DataFrame({"class": [1, 1], "feature": ["age", "sex=f"], "coefficient": [0.4, -1.2]})
    >>> ax = plot_coefficients(found)
    >>> [label.get_text() for label in ax.get_yticklabels()], ax.get_xlabel()
    (['sex=f', 'age'], 'coefficient of class 1 (log-odds)')
    """

    from sumwise.plots.labels import axes_or_new, short, tips

    size = frame["coefficient"].abs().to_numpy()
    shown = frame.iloc[np.argsort(-size, kind="stable")[:MOST_LINES]]
    ax = axes_or_new(ax, 6.5, 0.9 + 0.3 * len(shown))
    classes = frame["class"].unique().tolist() if "class" in frame else []
    words = [c for c in shown.columns if c != "coefficient" and (c != "class" or len(classes) > 1)]
    names = [": ".join(_text(row[c], c) for c in words) for _, row in shown.iterrows()]
    values = shown["coefficient"].to_numpy(dtype=float)
    y = np.arange(len(shown))[::-1]
    colours = np.where(values < 0, ESTIMATE, INTERVAL)
    ax.hlines(y, 0, values, color=colours, linewidth=4)
    dots = ax.scatter(values, y, color=colours, s=30)
    tips(dots, [f"{name}: {value:+.3g}" for name, value in zip(names, values)])
    ax.axvline(0, color="#777777", linewidth=0.8)
    of = f" of class {classes[0]}" if len(classes) == 1 else ""
    ax.set(yticks=y, yticklabels=[short(name, 44) for name in names], xlabel=f"coefficient{of} (log-odds)")
    if len(frame) > len(shown):
        ax.set_title(f"the {len(shown)} largest of {len(frame):,} coefficients", fontsize="medium")
    return ax


def _text(value: Any, column: str) -> str:
    """Words of a cell; those of a table or of levels are several."""
    words = ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
    return f"class {words}" if column == "class" and words.isdigit() else words
