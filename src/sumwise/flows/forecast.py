"""forecast: how a population will be spread over the next steps, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sumwise import checks
from sumwise.errors import DataError
from sumwise.estimate import Estimate
from sumwise.flows.chain_draws import ChainDraw, quotas
from sumwise.flows.move_chain import MoveChain


def forecast(
    start: Any, steps: Any, *, level: float = 0.9, draws: int = 1000, names: Any = None, random_state: Any = 0
) -> Estimate:
    """Forecast counts of the next steps, with intervals that hold the present's uncertainty and the moves' chance.

    Parameters
    ----------
    start : (L,) array, or (m, L) array of draws
        Counts now; draws of them (`sample_counts(...).nodes["t9"].reshape(-1, L)`) carry their uncertainty on.
    steps : list of (L, L) arrays or sparse arrays
        Probabilities of moving from row to column, one array per step ahead. Rows sum to one.
    level : float in (0, 1), default 0.9
    draws : int >= 10, default 1000
        Futures that are drawn.
    names : sequence of str, optional
        Names of the steps; default ``"+1"``, ``"+2"``, ...
    random_state : int, Generator or None, default 0

    Returns
    -------
    Estimate
        Means and quantiles, steps by places. Where there will be almost surely nobody the interval is from 0 to 0,
        and the mean a little above.

    See Also
    --------
    transitions : Moves as probabilities.

    Examples
    --------
    >>> from sumwise.flows.forecast import forecast
    >>> ahead = forecast([100.0, 0.0], [[[0.5, 0.5], [0.0, 1.0]]] * 2)
    >>> ahead.values.round(1)
    array([[50., 50.],
           [25., 75.]])
    >>> bool((ahead.low[0] < 50).all() and (ahead.high[0] > 50).all())
    True
    """
    now = np.atleast_2d(checks.counts(start, "start"))
    moves = [_probabilities(p, now.shape[-1], k) for k, p in enumerate(checks.listing(steps, "steps"))]
    if not moves:
        raise DataError("There are no steps to forecast.", hint="give one array of probabilities per step.")
    one = ChainDraw(1.0, 1.0, np.ones((1, len(moves), now.shape[-1])), [MoveChain(moves)])
    options = {"level": level, "draws": draws, "random_state": random_state}
    return forecast_chains(start, [one], 0, len(moves), names=names, **options)


def forecast_chains(
    start: Any,
    chains: list[ChainDraw],
    first: int,
    n_steps: int,
    *,
    level: float,
    draws: int,
    names: Any = None,
    random_state: Any,
) -> Estimate:
    """Means and quantiles of futures from step `first` on, drawn by weighted draws of how individuals move."""
    level, rng = checks.fraction(level, "level"), checks.generator(random_state)
    checks.at_least(draws, "draws", 10)
    now = np.atleast_2d(checks.counts(start, "start"))
    if now.ndim != 2 or now.shape[1] != chains[0].present.shape[2]:
        raise DataError(f"start has shape {now.shape}.", hint="give counts (L,), or draws of them (m, L).")
    parts = []
    for one, n in zip(chains, quotas(np.array([c.weight for c in chains]), draws)):
        chosen = now[rng.integers(len(now), size=n)]
        people = np.floor(chosen + rng.random(chosen.shape)).astype(np.int64)  # whole people, right on average
        parts.append(one.futures(people, first, n_steps, rng))
    futures = np.concatenate(parts, axis=1)
    low, high = np.quantile(futures, [(1 - level) / 2, (1 + level) / 2], axis=1)
    given = checks.names(names, n_steps, "names", "+") if names is not None else [f"+{k + 1}" for k in range(n_steps)]
    labels = (tuple(given), tuple(range(now.shape[1])))
    ahead = [sum(c.weight * (now.mean(axis=0) @ c.moved(first, k)) for c in chains) for k in range(1, n_steps + 1)]
    values = np.round(np.array(ahead), 9)  # exact means: not less than a certain whole number by rounding errors
    return Estimate(values, low, high, level, labels, ("step", "place"), name="count")


def _probabilities(given: Any, n: int, k: int) -> Any:
    """The step as a sparse array by rows."""
    values = given.data if sparse.issparse(given) else given
    entries = checks.finite(values, f"step {k + 1}")
    p = sparse.csr_array(given if sparse.issparse(given) else entries)
    if p.shape != (n, n):
        raise DataError(f"Step {k + 1} has probabilities of shape {p.shape}; there are {n} places.")
    sums = np.asarray(p.sum(axis=1)).ravel()
    if (entries < 0).any() or not np.allclose(sums, 1.0, atol=1e-6):
        row, least = int(np.argmax(np.abs(sums - 1))), entries.min()
        raise DataError(
            f"Step {k + 1} has no probabilities: row {row} sums to {sums[row]:.4g}, the least entry is {least:.3g}.",
            hint="divide every row by its sum; `transitions` does so for tables of counts.",
        )
    return sparse.csr_array(sparse.diags_array(1.0 / sums) @ p)
