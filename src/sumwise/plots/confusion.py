"""How often each class was predicted as which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def confusion_numbers(actual: Any, predicted: Any, classes: Any) -> dict[str, Any]:
    """Return how often each class was predicted as which.

    Parameters
    ----------
    actual, predicted : arrays of class positions, shape (n,)
    classes : sequence of str

    See Also
    --------
    sumwise.plots.plot_confusion : Draws these numbers.

    Examples
    --------
    >>> from sumwise.plots import confusion_numbers
    >>> confusion_numbers([0, 1, 1], [0, 1, 0], ["a", "b"])["counts"].tolist()
    [[1, 0], [1, 1]]
    """
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, (np.asarray(actual, dtype=int), np.asarray(predicted, dtype=int)), 1)
    return {"counts": counts, "classes": list(classes)}


def plot_confusion(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `confusion_numbers` returns: a square per pair, dark where many are, with its count.

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
    sumwise.plots.confusion_numbers : The numbers behind this figure.

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
