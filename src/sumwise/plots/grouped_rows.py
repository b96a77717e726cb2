"""Grouped dot plots: a block of rows for each group, one row and one colour for each outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.plots.labels import distinct
from sumwise.plots.style import FAINT, MOST_COLOURS, colours_of

ROW, GAP, HEAD = 0.24, 0.2, 1.0  # inches of a row, between groups, and of the axis with its labels
NARROW = 0.75  # of a step between groups, for the rows of one


def rows_height(n_groups: int, n_outcomes: int) -> float:
    """The height in inches of a figure with these rows.

    Examples
    --------
    >>> from sumwise.plots.grouped_rows import rows_height
    >>> round(rows_height(2, 3), 2)
    2.84
    """
    return HEAD + n_groups * (ROW * n_outcomes + GAP)


def grouped_rows(ax: Any, groups: Sequence[Any], outcomes: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Prepare axes for a row per group and outcome; return the heights (G, O) of the rows and their colours (G, O).

    Names of groups are on the left, those of outcomes on the right in their colours: of the first group alone where
    colours tell them apart.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sumwise.plots.grouped_rows import grouped_rows
    >>> ax = plt.subplots()[1]
    >>> y, colours = grouped_rows(ax, ["Black", "white"], ["Abrams", "Kemp"])
    >>> [label.get_text() for label in ax.get_yticklabels()], [text.get_text() for text in ax.texts]
    (['Black', 'white'], ['Abrams', 'Kemp'])
    """
    n_groups, n_outcomes = len(groups), len(outcomes)
    step = NARROW / n_outcomes
    y = -np.arange(n_groups)[:, None] - (np.arange(n_outcomes) - (n_outcomes - 1) / 2) * step
    colours = colours_of(outcomes)
    names = distinct(outcomes, 22)
    labelled = range(1 if n_outcomes <= MOST_COLOURS else n_groups) if n_outcomes > 1 else ()
    for k in labelled:
        for height, name, colour in zip(y[k], names, colours):
            place = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
            ax.annotate(name, (1.0, height), xycoords=("axes fraction", "data"), color=colour, **place)
    for k in range(1, n_groups):
        ax.axhline(0.5 - k, color=FAINT, linewidth=0.4)
    ax.set(yticks=-np.arange(n_groups), yticklabels=distinct(groups, 28), ylim=(0.5 - n_groups, 0.5))
    ax.tick_params(axis="y", length=0)
    return y, np.tile(np.array(colours, dtype=object), (n_groups, 1))
