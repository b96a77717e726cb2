"""What separates bags: each feature in the bags of a low and of a high response, or of each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sumwise.bags import Bags
from sumwise.plots.grouped_rows import grouped_rows, rows_height
from sumwise.plots.style import FAINT, MOST_LINES

THIRDS = ("lowest third", "middle third", "highest third")
ENDS = (0.1, 0.5, 0.9)  # quantiles of the samples


def bag_contrast_numbers(bags: Bags, y: Any, classes: Sequence[Any] | None = None) -> dict[str, Any]:
    """Return the median and the 10% and 90% quantiles of the features that differ most between bags.

    Parameters
    ----------
    bags : Bags
        Every bag counts alike, whatever its size.
    y : array (n_bags,)
        A response, by which bags are in thirds; or, with `classes`, positions among them.
    classes : sequence, optional

    Returns
    -------
    dict
        ``features``, ``groups``, and ``middle``, ``low``, ``high`` (features, groups) in standard deviations from the
        mean of all samples.

    See Also
    --------
    sumwise.plots.plot_bag_contrast : Draws these numbers.

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.plots import bag_contrast_numbers
    >>> bags = Bags.from_arrays([[[0.0], [1.0]], [[2.0], [3.0]], [[4.0], [5.0]]])
    >>> bag_contrast_numbers(bags, [1.0, 2.0, 3.0])["middle"].round(2).tolist()
    [[-1.17, 0.0, 1.17]]
    """
    full = np.flatnonzero(bags.sizes)
    bags, y = bags[full], np.asarray(y)[full]
    values = np.asarray(bags.values, dtype=float)
    known = np.isfinite(values)
    weights = bags.weights / np.add.reduceat(bags.weights, bags.offsets[:-1])[bags.bag_index]
    filled, present = np.where(known, values, 0.0), weights[:, None] * known
    total = np.maximum(present.sum(axis=0), 1e-300)
    mean = (present * filled).sum(axis=0) / total
    spread = np.sqrt((present * (filled - mean) ** 2).sum(axis=0) / total)
    used = np.flatnonzero(spread > 0)
    group, names = _groups(y, classes)
    row_group = group[bags.bag_index]
    scores = []
    for f in used:  # how far means and spreads differ between groups
        moments = []
        for g in range(len(names)):
            w = present[row_group == g, f]
            x = (filled[row_group == g, f] - mean[f]) / spread[f]
            centre = (w * x).sum() / max(w.sum(), 1e-300)
            moments.append((centre, np.sqrt((w * (x - centre) ** 2).sum() / max(w.sum(), 1e-300))))
        scores.append(np.ptp(np.array(moments), axis=0).max())
    chosen = used[np.argsort(-np.array(scores), kind="stable")][: MOST_LINES // len(names)]
    out = np.full((len(chosen), len(names), len(ENDS)), np.nan)
    for k, f in enumerate(chosen):
        for g in range(len(names)):
            inside = (row_group == g) & known[:, f]
            out[k, g] = _quantiles((values[inside, f] - mean[f]) / spread[f], weights[inside])
    low, middle, high = np.moveaxis(out, -1, 0)
    features = [str(bags.features[f]) for f in chosen]
    return {"features": features, "groups": names, "middle": middle, "low": low, "high": high}


def _groups(y: np.ndarray, classes: Sequence[Any] | None) -> tuple[np.ndarray, list[str]]:
    """The group of every bag, and the names of groups: classes, or thirds of the response."""
    if classes is not None:
        return y.astype(int), [str(c) for c in classes]
    cuts = np.quantile(y, [1 / 3, 2 / 3])
    third = (y > cuts[0]).astype(int) + (y > cuts[1])
    present = np.unique(third)
    return np.searchsorted(present, third), [THIRDS[k] for k in present]


def _quantiles(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted quantiles: where the cumulated weight, at the middle of each step, reaches the level."""
    if not len(x):
        return np.full(len(ENDS), np.nan)
    order = np.argsort(x, kind="stable")
    cumulated = np.cumsum(weights[order])
    return np.interp(ENDS, (cumulated - weights[order] / 2) / cumulated[-1], x[order])


def plot_bag_contrast(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `bag_contrast_numbers` returns: a block of rows per feature, a row per group of bags.

    Parameters
    ----------
    numbers : mapping
        ``features``, ``groups``, ``middle``, ``low``, ``high``. ``withheld``: the differences are no finding, so that
        they are drawn in grey with hollow dots.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.plots.bag_contrast_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.plots import plot_bag_contrast
    >>> numbers = {"features": ["depth"], "groups": ["low", "high"], "middle": [[0, 1]]}
    >>> plot_bag_contrast(numbers | {"low": [[-1, 0]], "high": [[1, 2]]}).get_xlabel()
    'standard deviations from the mean of all samples'
    """
    from sumwise.plots.labels import axes_or_new, fitted, tips

    middle, low, high = (np.asarray(numbers[k], dtype=float) for k in ("middle", "low", "high"))
    features, groups = list(numbers["features"]), list(numbers["groups"])
    ax = axes_or_new(ax, 6.5, rows_height(len(features), len(groups)))
    y, colours = grouped_rows(ax, features, groups)
    withheld = bool(numbers.get("withheld"))
    shown = [FAINT] * y.size if withheld else colours.ravel().tolist()
    ax.hlines(y.ravel(), low.ravel(), high.ravel(), color=shown, linewidth=1 if withheld else 2.5)
    filled = {"facecolors": "none", "edgecolors": FAINT} if withheld else {"c": shown}
    dots = ax.scatter(middle.ravel(), y.ravel(), s=38, zorder=3, **filled)
    for text in ax.texts if withheld else ():
        text.set_color(FAINT)
    named = [f"{f}, {g}" for f in features for g in groups]
    rows = zip(named, middle.ravel(), low.ravel(), high.ravel())
    tips(dots, [f"{name}: median {m:.2f}, 80% of samples from {a:.2f} to {b:.2f}" for name, m, a, b in rows])
    ax.set(xlim=fitted(low, high), xlabel="standard deviations from the mean of all samples")
    return ax
