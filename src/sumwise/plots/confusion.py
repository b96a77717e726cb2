"""How often each class was predicted as which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def plot_confusion(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `diagnostics.confusion` returns: a square per pair, dark where many are, with its count.

    Parameters
    ----------
    numbers : mapping
        ``counts`` (actual, predicted) and ``classes``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.diagnostics.confusion : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.plots import plot_confusion
    >>> plot_confusion({"counts": [[3, 1], [0, 4]], "classes": ["a", "b"]}).get_ylabel()
    'actual'
    """

    from sumwise.plots.labels import axes_or_new, short, tips

    counts = np.asarray(numbers["counts"], dtype=float)
    ax = axes_or_new(ax, 4, 4)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    ax.pcolormesh(share, cmap="Blues", vmin=0, vmax=1, edgecolors="white", linewidth=1)
    for i, row in enumerate(counts):
        for j, n in enumerate(row):
            colour = "white" if share[i, j] > 0.6 else "#111111"
            text = ax.text(j + 0.5, i + 0.5, f"{n:,.0f}", ha="center", va="center", color=colour)
            names = numbers["classes"][i], numbers["classes"][j]
            tips(text, [f"actual {names[0]}, predicted {names[1]}: {n:,.0f} ({100 * share[i, j]:.0f}%)"])
    names = [short(c, 14) for c in numbers["classes"]]
    place = np.arange(len(names)) + 0.5
    ax.set(xticks=place, yticks=place, xticklabels=names, yticklabels=names, xlabel="predicted", ylabel="actual")
    ax.set(aspect="equal")
    ax.invert_yaxis()
    return ax
