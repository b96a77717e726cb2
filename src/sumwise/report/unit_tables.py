"""Frames of an ecological fit for the report: methods side by side, cells of every unit, groups' first choices."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.ecological.kernels.bounds import cell_bounds
from sumwise.errors import DataError
from sumwise.margins import Margins
from sumwise.nonvoting import choices


def methods_table(fits: Any, level: float = 0.95) -> Any:
    """Return the shares of several methods side by side, with intervals, their kind, and whether each converged.

    Parameters
    ----------
    fits : mapping of name to fitted estimator
    level : float in (0, 1), default 0.95

    Returns
    -------
    pandas.DataFrame
        One row per method, group and outcome; ``intervals`` is "contextual", "model only", "bounds" or "none" (a
        method that refuses them).

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.report.unit_tables import methods_table
    >>> from sumwise.ecological import EcologicalEM, Goodman
    >>> m = synthetic.precincts(40, random_state=0).margins
    >>> methods_table({"EM": EcologicalEM().fit(m), "Goodman": Goodman().fit(m)})["intervals"].unique().tolist()
    ['contextual', 'model only']
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
    >>> from sumwise.report.unit_tables import unit_cells
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
    shares = est.unit_shares(margins)
    n, n_rows, n_cols = shares.shape
    names = [np.asarray(part, dtype=object) for part in (margins.units, margins.row_names, margins.col_names)]
    return pd.DataFrame(
        {
            "unit": np.repeat(names[0], n_rows * n_cols),
            "group": np.tile(np.repeat(names[1], n_cols), n),
            "outcome": np.tile(names[2], n * n_rows),
            "share": shares.ravel(),
            **_unit_ends(est, margins, level),
            "count": (shares * size).ravel(),
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
    >>> from sumwise.report.unit_tables import first_choices
    >>> from sumwise.ecological import EcologicalEM
    >>> first_choices(EcologicalEM().fit(synthetic.precincts(40, random_state=0).margins)).columns.tolist()[:3]
    ['group', 'first choice', 'probability']
    """
    import pandas as pd

    real = choices(est.col_names_)
    if not real:
        raise DataError("All outcomes are abstentions.", hint="name the outcomes that people chose.")
    sizes, shares, drawn = est.group_sizes_, est.shares_[:, real], est.draws(n_draws, random_state).values[:, :, real]
    low, high = (end[:, real] for end in est.interval(level))
    if 1 < len(real) < len(est.col_names_):
        sizes = np.maximum(sizes * shares.sum(axis=1), 1e-300)  # those who chose
        drawn = drawn / np.maximum(drawn.sum(axis=-1, keepdims=True), 1e-9)
        shares = drawn.mean(axis=0)
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
