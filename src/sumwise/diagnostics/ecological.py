"""Numbers behind the figures of ecological inference; each function returns a dict that a figure draws."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from sumwise.ecological.aggregation_bias import aggregation_bias_test
from sumwise.ecological.bounds import Bounds
from sumwise.ecological.kernels.bounds import cell_bounds
from sumwise.ecological.kernels.least_squares import free_shares, gram
from sumwise.ecological.kernels.truncated_normal import natural
from sumwise.errors import DataError, UnknownName
from sumwise.margins import Margins
from sumwise.nonvoting import choices, is_abstention  # noqa: F401 (public here)


def tomography(margins: Margins, est: Any = None, n_contour: int = 100) -> dict[str, Any]:
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
    >>> from sumwise.diagnostics import tomography
    >>> tomography(Margins([[50, 50]], [[75, 25]]))["lines"][0].tolist()
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


def interval_numbers(est: Any, level: float = 0.95) -> dict[str, Any]:
    """Return shares, intervals and bounds of every group and outcome, ready to be drawn as bars.

    Parameters
    ----------
    est : ecological estimator
        Fitted.
    level : float in (0, 1), default 0.95
        Level of the intervals.

    See Also
    --------
    sumwise.plots.plot_intervals : Draws these numbers.
    sumwise.plots.plot_share_heatmap : Draws these numbers.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.diagnostics import interval_numbers
    >>> from sumwise.ecological import Bounds
    >>> interval_numbers(Bounds().fit(Margins([[60, 40]], [[80, 20]])))["low"].round(2).tolist()
    [[0.67, 0.0], [0.5, 0.0]]
    """
    low, high = est.interval(level)
    return {
        "bounds_only": isinstance(est, Bounds),  # whose shares are no estimates
        "share": est.shares_,
        "low": low,
        "high": high,
        "lower_bound": est.lower_bound_,
        "upper_bound": est.upper_bound_,
        "level": level,
        "groups": est.row_names_,
        "outcomes": est.col_names_,
    }


def _place(name: Any, names: tuple, what: str) -> int:
    if isinstance(name, (int, np.integer)) and 0 <= name < len(names):
        return int(name)
    if name in names:
        return names.index(name)
    raise UnknownName(f"There is no {what} {name!r}.", hint=f"there are {', '.join(names)}.")


def unit_scatter(margins: Margins, row: Any = 0, col: Any = 0) -> dict[str, Any]:
    """Return each unit's share of a group and of an outcome, Goodman's line through them, and the units' bounds.

    Parameters
    ----------
    margins : Margins
    row, col : int or str, default 0
        The group and the outcome.

    See Also
    --------
    sumwise.plots.plot_unit_scatter : Draws these numbers.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.diagnostics import unit_scatter
    >>> m = Margins([[80, 20], [30, 70], [50, 50]], [[70, 30], [40, 60], [52, 48]])
    >>> unit_scatter(m)["line"].round(2)
    array([0.22, 0.82])
    """
    r, c = _place(row, margins.row_names, "group"), _place(col, margins.col_names, "outcome")
    full = margins[margins.totals > 0]
    x, t = full.row_shares[:, r], full.col_shares[:, c]
    pair = np.stack([x, 1 - x], axis=1)
    weight = full.totals * full.weights
    line = free_shares(*gram(pair, t[:, None], weight / weight.mean()), 0.0, np.array([t.mean()]))[:, 0]
    low, high = cell_bounds(full.rows, full.cols)
    size = np.maximum(full.rows[:, r], 1e-300)
    return {
        "x": x,
        "t": t,
        "size": full.totals,
        "line": line[::-1],
        "lower": np.where(full.rows[:, r] > 0, low[:, r, c] / size, 0.0),
        "upper": np.where(full.rows[:, r] > 0, high[:, r, c] / size, 1.0),
        "group": margins.row_names[r],
        "outcome": margins.col_names[c],
    }


def share_density(est: Any, col: Any = 0, n_draws: int = 2000, n_grid: int = 201) -> dict[str, Any]:
    """Return the density of every group's overall share of an outcome, from draws of the fitted method.

    Parameters
    ----------
    est : fitted estimator
    col : int or str, default 0
    n_draws, n_grid : int

    See Also
    --------
    sumwise.plots.plot_share_density : Draws these numbers.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.diagnostics import share_density
    >>> from sumwise.ecological import EcologicalEM
    >>> share_density(EcologicalEM().fit(synthetic.precincts(40, random_state=0).margins))["density"].shape
    (2, 201)
    """
    from scipy.stats import gaussian_kde

    c = _place(col, est.col_names_, "outcome")
    draws = est.sample(n_draws)[:, :, c]
    grid = np.linspace(0, 1, n_grid)
    density = np.zeros((draws.shape[1], n_grid))
    for r in range(draws.shape[1]):
        spread = draws[:, r].std()
        if spread > 1e-6:
            density[r] = gaussian_kde(draws[:, r])(grid)
        else:  # known exactly: all mass at the nearest point
            density[r, np.argmin(np.abs(grid - draws[0, r]))] = n_grid - 1.0
    return {"grid": grid, "density": density, "groups": est.row_names_, "outcome": est.col_names_[c]}


def contextual(margins: Margins) -> list[dict[str, Any]]:
    """Curvature and p-value per group and outcome; now part of `sumwise.ecological.aggregation_bias_test`."""
    warnings.warn(
        "sumwise.diagnostics.contextual is now sumwise.ecological.aggregation_bias_test, which returns a frame; the "
        "old name will be removed in version 0.3.",
        DeprecationWarning,
        stacklevel=2,
    )
    found: Any = aggregation_bias_test(margins)
    return found[["group", "outcome", "curvature", "p value"]].to_dict("records")


def polarisation_numbers(findings: Any) -> dict[str, Any]:
    """Return how far every group is from everybody else, per outcome, with intervals.

    Parameters
    ----------
    findings : VotingPatterns
        From `sumwise.ecological.voting_patterns`.

    See Also
    --------
    sumwise.plots.plot_polarisation : Draws these numbers.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.diagnostics import polarisation_numbers
    >>> from sumwise.ecological import EcologicalEM, voting_patterns
    >>> found = voting_patterns(EcologicalEM().fit(synthetic.precincts(40, random_state=0).margins))
    >>> polarisation_numbers(found)["gap"].shape
    (2, 2)
    """
    estimate = findings.polarisation
    groups, outcomes = estimate.labels
    low, high = estimate.interval
    return {
        "gap": estimate.values,
        "low": low,
        "high": high,
        "groups": groups,
        "outcomes": outcomes,
        "level": findings.level,
    }


def method_numbers(fits: Any, level: float = 0.95) -> dict[str, Any]:
    """Return the shares of several methods on the same margins, and the intervals of the first.

    Parameters
    ----------
    fits : mapping of name to fitted estimator
    level : float in (0, 1), default 0.95

    See Also
    --------
    sumwise.plots.plot_methods : Draws these numbers.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.diagnostics import method_numbers
    >>> from sumwise.ecological import EcologicalEM, Goodman
    >>> m = synthetic.precincts(40, random_state=0).margins
    >>> method_numbers({"EM": EcologicalEM().fit(m), "Goodman": Goodman().fit(m)})["shares"].shape
    (2, 2, 2)
    """
    names = list(fits)
    first = fits[names[0]]
    low, high = first.interval(level)
    return {
        "methods": names,
        "shares": np.stack([fits[name].shares_ for name in names]),
        "low": low,
        "high": high,
        "groups": first.row_names_,
        "outcomes": first.col_names_,
        "level": level,
    }


def methods_table(fits: Any, level: float = 0.95) -> Any:
    """Return the shares of several methods side by side, with intervals, their kind, and whether each converged.

    Parameters
    ----------
    fits : mapping of name to fitted estimator
    level : float in (0, 1), default 0.95

    Returns
    -------
    pandas.DataFrame
        One row per method, group and outcome; ``intervals`` is "calibrated", "model only", "bounds" or "none" (a
        method that refuses them).

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.diagnostics import methods_table
    >>> from sumwise.ecological import EcologicalEM, Goodman
    >>> m = synthetic.precincts(40, random_state=0).margins
    >>> methods_table({"EM": EcologicalEM().fit(m), "Goodman": Goodman().fit(m)})["intervals"].unique().tolist()
    ['calibrated', 'model only']
    """
    import pandas as pd

    parts = []
    for name, est in fits.items():
        try:
            low, high = est.interval(level)
            kind = est.interval_kind
        except DataError:
            low = high = np.full(est.shares_.shape, np.nan)
            kind = "none"
        index = np.indices(est.shares_.shape).reshape(2, -1)
        facts = {"method": name, "converged": bool(est.fit_.converged), "intervals": kind}
        cells = {"group": [est.row_names_[r] for r in index[0]], "outcome": [est.col_names_[c] for c in index[1]]}
        parts.append(
            pd.DataFrame(facts | cells | {"share": est.shares_.ravel(), "low": low.ravel(), "high": high.ravel()})
        )
    return pd.concat(parts, ignore_index=True)


def unit_cells(est: Any, margins: Margins, level: float = 0.95) -> Any:
    """Return every unit's cells as a frame: share, interval, count and the bounds that its totals imply.

    Parameters
    ----------
    est : ecological estimator
        Fitted.
    margins : Margins
        The units it was fitted to.
    level : float in (0, 1), default 0.95
        Level of the intervals.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.diagnostics import unit_cells
    >>> from sumwise.ecological import Bounds
    >>> m = Margins([[60, 40]], [[80, 20]])
    >>> unit_cells(Bounds().fit(m), m)["lower_bound"].round(2).tolist()
    [0.67, 0.0, 0.5, 0.0]
    """
    import pandas as pd

    size = margins.rows[:, :, None]
    low, high = cell_bounds(margins.rows, margins.cols)
    for bound in (low, high):
        np.divide(bound, size, out=bound, where=size > 0)
        bound[margins.rows == 0] = np.nan
    n, n_rows, n_cols = est.cells_.shape
    names = [np.asarray(part, dtype=object) for part in (margins.units, margins.row_names, margins.col_names)]
    return pd.DataFrame(
        {
            "unit": np.repeat(names[0], n_rows * n_cols),
            "group": np.tile(np.repeat(names[1], n_cols), n),
            "outcome": np.tile(names[2], n * n_rows),
            "share": est.cells_.ravel(),
            **_unit_ends(est, margins, level),
            "count": (est.cells_ * size).ravel(),
            "lower_bound": low.ravel(),
            "upper_bound": high.ravel(),
        },
        copy=False,
    )


def _unit_ends(est: Any, margins: Margins, level: float) -> dict[str, np.ndarray]:
    """Intervals of units' cells; none where a method refuses them."""
    try:
        low, high = est.unit_interval(margins, level)
    except DataError:
        return {}
    return {"low": low.ravel(), "high": high.ravel()}


def first_choices(est: Any, level: float = 0.95, random_state: Any = 0, n_draws: int = 2000) -> Any:
    """Return the first choice of every group as a frame; not voting is not a choice, and shares are of those who chose.

    Parameters
    ----------
    est : fitted estimator on margins with draws (not `Bounds`)
    level : float in (0, 1), default 0.95
    random_state : int, Generator or None, default 0
    n_draws : int, default 2000

    Returns
    -------
    pandas.DataFrame
        group, first choice, probability, runner-up, support, low, high, support elsewhere.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.diagnostics import first_choices
    >>> from sumwise.ecological import EcologicalEM
    >>> first_choices(EcologicalEM().fit(synthetic.precincts(40, random_state=0).margins)).columns.tolist()[:3]
    ['group', 'first choice', 'probability']
    """
    import pandas as pd

    real = choices(est.col_names_)
    if not real:
        raise DataError("All outcomes are abstentions.", hint="name the outcomes that people chose.")
    sizes, shares, drawn = est.group_sizes_, est.shares_[:, real], est.sample(n_draws, random_state)[:, :, real]
    low, high = (end[:, real] for end in est.interval(level))
    if 1 < len(real) < len(est.col_names_):
        sizes = np.maximum(sizes * shares.sum(axis=1), 1e-300)  # those who chose
        shares, drawn = (part / np.maximum(part.sum(axis=-1, keepdims=True), 1e-9) for part in (shares, drawn))
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    counts, first = shares * sizes[:, None], drawn.argmax(axis=2)
    rows = []
    for r, group in enumerate(est.row_names_):
        order = np.argsort(-shares[r], kind="stable")
        c = order[0]
        rest = sizes.sum() - sizes[r]
        rows.append(
            {
                "group": group,
                "first choice": est.col_names_[real[c]],
                "probability": float(np.mean(first[:, r] == c)),
                "runner-up": est.col_names_[real[order[1]]] if len(order) > 1 else "",
                "support": shares[r, c],
                "low": low[r, c],
                "high": high[r, c],
                "support elsewhere": (counts[:, c].sum() - counts[r, c]) / rest if rest > 0 else np.nan,
            }
        )
    return pd.DataFrame(rows)
