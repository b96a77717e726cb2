"""The tomography plot: every unit's line of possible shares, and where a method puts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["plot_tomography"]


def plot_tomography(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `diagnostics.tomography` returns.

    Parameters
    ----------
    numbers : mapping
        ``lines``, and where they are there ``points``, ``segments`` and ``contours``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.diagnostics import tomography
    >>> from sumwise.plots.tomography import plot_tomography
    >>> plot_tomography(tomography(Margins([[50, 50]], [[75, 25]], row_names=["a", "b"]))).get_xlabel()
    "share of 'a' for 'col0'"
    """
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection

    from sumwise.plots.labels import percent, short, tips

    ax = plt.subplots(figsize=(5, 5))[1] if ax is None else ax
    ax.add_collection(LineCollection(list(numbers["lines"]), colors="#9a9a9a", linewidths=0.6, alpha=0.7, zorder=1))
    if "segments" in numbers:
        ax.add_collection(LineCollection(list(numbers["segments"]), colors="#E69F00", linewidths=1.2, zorder=2))
    if "points" in numbers:
        dots = ax.scatter(*numbers["points"].T, s=12, color="#D55E00", zorder=3)
        tips(dots, [f"{percent(a)}, {percent(b)}" for a, b in numbers["points"]])
    for level, ring in numbers.get("contours", {}).items():
        ax.plot(*ring.T, color="#0072B2", linewidth=1, label=f"{100 * float(level):g}% contour", zorder=4)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda v, _: f"{100 * v:.0f}%")
    for axis, name in zip("xy", numbers["axes"]):
        ax.set(**{f"{axis}label": f"share of {short(name)!r} for {short(numbers['outcome'])!r}"})
    if numbers.get("contours"):
        ax.legend(loc="lower left", fontsize="small")
    return ax
