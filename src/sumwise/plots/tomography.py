"""The tomography plot: every unit's line of possible shares, and where a method puts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.ecological.kernels.truncated_normal import natural
from sumwise.errors import DataError
from sumwise.margins import Margins
from sumwise.plots.style import ESTIMATE, FAINT, INTERVAL


def tomography_numbers(margins: Margins, est: Any = None, n_contour: int = 100) -> dict[str, Any]:
    """Return each 2 x 2 unit's line of possible shares, and where a fitted method puts it.

    Parameters
    ----------
    margins : Margins
        With two groups and two outcomes.
    est : fitted estimator, optional
        Adds ``points``, ``segments`` (80% intervals along the lines) and ``contours`` of the distribution of units: for
        `King` of the fitted normal before truncation, for other methods of the normal with the units' mean and
        covariance (spread of the estimates plus their uncertainty). `Bounds` adds nothing.
    n_contour : int, default 100
        Points per contour.

    See Also
    --------
    sumwise.plots.plot_tomography : Draws these numbers.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.plots import tomography_numbers
    >>> tomography_numbers(Margins([[50, 50]], [[75, 25]]))["lines"][0].tolist()
    [[0.5, 1.0], [1.0, 0.5]]
    """
    if (margins.n_rows, margins.n_cols) != (2, 2):
        message = f"A tomography plot is for 2 x 2 tables; these are {margins.n_rows} x {margins.n_cols}."
        raise DataError(message, hint="merge groups and outcomes.")
    full = margins.totals > 0
    x, t = margins.row_shares[full, 0], margins.col_shares[full, 0]
    both = full.copy()
    both[full] = (x > 0) & (x < 1)
    x, t = margins.row_shares[both, 0], margins.col_shares[both, 0]
    low, high = np.clip((t - (1 - x)) / x, 0, 1), np.clip(t / x, 0, 1)
    ends = np.stack([low, high], axis=1)
    lines = np.stack([ends, np.clip((t[:, None] - x[:, None] * ends) / (1 - x[:, None]), 0, 1)], axis=2)
    numbers: dict[str, Any] = {"lines": lines, "axes": margins.row_names, "outcome": margins.col_names[0]}
    if est is None or not hasattr(est, "cells_") or est.interval_kind == "bounds":
        return numbers
    numbers["points"] = est.cells_[both][:, :, 0]
    if hasattr(est, "unit_interval_"):
        ends = est.unit_interval_[both]
    else:
        ends = np.stack([end[both][:, 0, 0] for end in est.unit_interval(margins, 0.8)], axis=1)
    across = np.clip((t[:, None] - x[:, None] * ends) / (1 - x[:, None]), 0, 1)
    numbers["segments"] = np.stack([ends, across], axis=2)
    shape = natural(est.phi_) if hasattr(est, "phi_") else _unit_normal(numbers["points"], numbers["segments"])
    if shape is not None:
        numbers["contours"] = {level: _ellipse(shape, level, n_contour) for level in (0.5, 0.95)}
    return numbers


def _unit_normal(points: np.ndarray, segments: np.ndarray) -> tuple[float, ...] | None:
    """Means, standard deviations and correlation of the units' shares; None for fewer than three units."""
    known = np.isfinite(points).all(axis=1) & np.isfinite(segments).all(axis=(1, 2))
    if known.sum() < 3:
        return None
    half = (segments[known, 1] - segments[known, 0]) / (2 * 1.2816)  # of a normal's 80% interval, along the line
    total = np.cov(points[known].T) + half.T @ half / known.sum()
    sd = np.sqrt(np.maximum(np.diag(total), 1e-12))
    rho = float(np.clip(total[0, 1] / (sd[0] * sd[1]), -0.999, 0.999))
    return (*map(float, points[known].mean(axis=0)), *map(float, sd), rho)


def _ellipse(shape: Any, level: float, n: int) -> np.ndarray:
    mean_b, mean_w, sb, sw, rho = shape
    angle = np.linspace(0, 2 * np.pi, n)
    radius = np.sqrt(-2 * np.log(1 - level))
    first = np.cos(angle)
    second = rho * first + np.sqrt(1 - rho**2) * np.sin(angle)
    return np.stack([mean_b + radius * sb * first, mean_w + radius * sw * second], axis=1)


def plot_tomography(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `tomography_numbers` returns.

    Parameters
    ----------
    numbers : mapping
        ``lines``, and where they are there ``points``, ``segments`` and ``contours``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.plots.tomography_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.plots import tomography_numbers
    >>> from sumwise.plots import plot_tomography
    >>> plot_tomography(tomography_numbers(Margins([[50, 50]], [[75, 25]], row_names=["a", "b"]))).get_xlabel()
    'share of a for col0'
    """
    from matplotlib.collections import LineCollection

    from sumwise.plots.labels import axes_or_new, legend_above, percent, percent_axes, short, tips

    ax = axes_or_new(ax, 5, 5)
    grey = {"colors": FAINT, "linewidths": 0.6, "alpha": 0.7, "zorder": 1, "label": "possible shares of a unit"}
    ax.add_collection(LineCollection(list(numbers["lines"]), **grey))
    if "segments" in numbers:
        look = {"colors": "#E69F00", "linewidths": 1.2, "alpha": 0.6, "zorder": 2, "label": "80% interval of a unit"}
        ax.add_collection(LineCollection(list(numbers["segments"]), **look))
    if "points" in numbers:
        dots = ax.scatter(*numbers["points"].T, s=12, color=ESTIMATE, zorder=3, label="estimate of a unit")
        tips(dots, [f"{percent(a)}, {percent(b)}" for a, b in numbers["points"]])
    for style, (level, ring) in zip(("-", "--", ":"), numbers.get("contours", {}).items()):
        shown = f"{100 * float(level):g}% of units (fitted)"
        ax.plot(*ring.T, style, color=INTERVAL, linewidth=1.5, label=shown, zorder=4)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    percent_axes(ax.xaxis, ax.yaxis)
    for axis, name in zip("xy", numbers["axes"]):
        ax.set(**{f"{axis}label": f"share of {short(name)} for {short(numbers['outcome'])}"})
    legend_above(ax)
    return ax
