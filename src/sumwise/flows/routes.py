"""Routes of single individuals through a fitted population, and how many cross a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from sumwise import checks
from sumwise.collective.transitions import transitions
from sumwise.errors import DataError
from sumwise.flows.kernels.polygons import crossings
from sumwise.flows.move_chain import MoveChain


def routes(
    counts: Any,
    positions: Any,
    n: int = 10,
    *,
    dates: Any = None,
    to_lonlat: Callable | None = None,
    start: int | None = None,
    end: int | None = None,
    returning: bool = False,
    random_state: Any = 0,
):
    """Draw routes of individuals from the flows of a fitted chain, as a table with a row per step.

    Parameters
    ----------
    counts : CountsFit, Counts or anything with ``nodes`` and ``edges``
        The result of `map_counts`, say. Steps follow each other in the order of its edges.
    positions : (L, 2) array
        Coordinates x, y of the cells.
    n : int >= 1, default 10
    dates : sequence, optional
        One for every time.
    to_lonlat : callable, optional
        Turns arrays x, y into longitude and latitude; without it those columns are missing (NaN).
    start, end : int, optional
        The cell where all routes begin, and where they end: routes are drawn given both.
    returning : bool, default False
        Whether every route ends in the cell where it began.
    random_state : int, Generator or None, default 0

    Returns
    -------
    pandas.DataFrame
        route_id, x, y, i (the cell), lon, lat, timestep, date, stay_id (counts the stops of a route) and stay_len
        (steps spent at that stop). The columns are those of BirdFlow's routes; ids, cells and time steps count from 1.

    See Also
    --------
    flux : How many cross a line.
    forecast : Where individuals will be.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.collective import TreeModel, map_counts
    >>> from sumwise.flows.routes import routes
    >>> season = synthetic.birds(4, 6, 1000, random_state=0)
    >>> fit = map_counts(TreeModel(season.domain, season.edges, season.log_potentials), season.tables)
    >>> made = routes(fit, season.positions, 3)
    >>> len(made), made.columns.tolist()[:4]
    (18, ['route_id', 'x', 'y', 'i'])
    """
    where, edges = _places(positions), _chain(counts)
    checks.at_least(n, "n", 1)
    first = np.asarray(counts.nodes[edges[0][0]], dtype=float)
    if len(first) != len(where):
        raise DataError(f"There are {len(where)} positions and {len(first)} cells.")
    chain = MoveChain(transitions(counts))
    states = drawn_states(chain, first, n, start, end, returning, checks.generator(random_state))
    return route_frame(states, where, dates, to_lonlat)


def route_frame(states: np.ndarray, where: np.ndarray, dates: Any, to_lonlat: Callable | None) -> Any:
    """The table that `routes` returns, of places (n, T)."""
    import pandas as pd

    n, steps = states.shape
    when = [pd.NaT] * steps if dates is None else list(dates)
    if len(when) != steps:
        raise DataError(f"There are {len(when)} dates and {steps} times.")
    flat = states.ravel()
    x, y = where[flat].T
    lon, lat = (np.full(len(flat), np.nan),) * 2 if to_lonlat is None else to_lonlat(x, y)
    stays, lengths = _stays(states)
    return pd.DataFrame(
        {
            "route_id": np.repeat(np.arange(1, n + 1), steps),
            "x": x,
            "y": y,
            "i": flat + 1,
            "lon": lon,
            "lat": lat,
            "timestep": np.tile(np.arange(1, steps + 1), n),
            "date": pd.Series(when * n),
            "stay_id": stays.ravel(),
            "stay_len": lengths.ravel(),
        }
    )


def _shares(first: np.ndarray, start: int | None) -> np.ndarray:
    """Where routes begin: as the population does, or in one cell."""
    if start is None:
        return first / first.sum()
    checks.choice(int(start), "start", range(len(first)))
    return np.eye(len(first))[int(start)]


def drawn_states(chain: MoveChain, first: np.ndarray, n: int, start: Any, end: Any, returning: bool, rng) -> np.ndarray:
    """Places (n, T) of drawn routes that begin as `first`, or at `start`; given that they end at `end`, or return.

    With h(s) the probability of the end from state s on, a step has probability ``p(s, r) h(r) / h(s)``.
    """
    begins = _shares(first, start)
    steps = chain.steps
    if end is None and not returning:
        return _drawn(steps, rng.choice(len(first), size=n, p=begins), rng)
    cells = np.flatnonzero(begins > 0)
    last = {int(c): int(c) if returning or end is None else int(end) for c in cells}
    to_end = {c: _end_probability(steps, c) for c in set(last.values())}
    weight = np.zeros(len(first))
    weight[cells] = [begins[c] * to_end[last[int(c)]][0][c] for c in cells]
    if not weight.sum() > 0:
        raise DataError("No route of the flows ends there.", hint="choose another end, or start.")
    begun = rng.choice(len(first), size=n, p=weight / weight.sum())
    states = np.empty((n, len(steps) + 1), dtype=np.int64)
    for cell in np.unique(begun):
        after, here = to_end[last[int(cell)]], np.flatnonzero(begun == cell)
        tilted = [sparse.csr_array(p) @ sparse.diags_array(h) for p, h in zip(steps, after[1:])]
        states[here] = _drawn(tilted, begun[here], rng)
    return states


def _end_probability(steps: list, last: int) -> list[np.ndarray]:
    """The probability of ending at a place, from the states of every time on."""
    out = [np.eye(steps[0].shape[0])[last]]
    for p in reversed(steps):
        out.append(np.asarray(p @ out[-1]).ravel())
    return out[::-1]


def _drawn(steps: list, begun: np.ndarray, rng) -> np.ndarray:
    """Places (n, T) of routes that begin somewhere."""
    places, state = [begun], begun
    for p in steps:
        state = np.array(_next_states(p, state, rng.random(len(begun))), dtype=np.int64)
        places.append(state)
    return np.stack(places, axis=1)


def _next_states(p: Any, states: np.ndarray, u: np.ndarray) -> list[int]:
    """Where each of `states` moves to with probabilities `p` (L, L), dense or sparse, by uniform numbers `u`."""
    rows = sparse.csr_array(p)
    out = []
    for state, x in zip(states, u):
        here = slice(rows.indptr[state], rows.indptr[state + 1])
        total = np.cumsum(rows.data[here])
        out.append(int(rows.indices[here][np.searchsorted(total[:-1], x * total[-1], side="right")]))
    return out


def _stays(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every step of every route: which stop it belongs to, from 1, and how many steps that stop lasts."""
    moved = np.diff(states, axis=1) != 0
    stays = 1 + np.concatenate([np.zeros((len(states), 1), dtype=np.int64), np.cumsum(moved, axis=1)], axis=1)
    return stays, np.array([np.bincount(s)[s] for s in stays])


def line_crossings(positions: Any, start: Any, end: Any) -> np.ndarray:
    """Which moves between cells cross a line, (L, L): 1 from its left to its right side, -1 the other way, 0 if not.

    A move is a straight line from centre to centre; left is as seen from `start` looking to `end`. Positive parts are
    weights for `sample_counts` and `count_intervals`, which then estimate the flux with its interval.

    Parameters
    ----------
    positions : (L, 2) array
        Centres of the cells.
    start, end : pair of float
        The ends of the line, in the units of `positions`.

    See Also
    --------
    flux : How many cross the line at every step.

    Examples
    --------
    >>> from sumwise.flows.routes import line_crossings
    >>> line_crossings([[0.0, 0.0], [2.0, 0.0]], start=[1.0, -1.0], end=[1.0, 1.0]).tolist()
    [[0, 1], [-1, 0]]
    """
    where = _places(positions)
    line = _line(start, end)
    return crossings(where[:, None], where[None, :], *line)


def _line(start: Any, end: Any) -> tuple[np.ndarray, np.ndarray]:
    a, b = (checks.finite(p, name, ndim=1) for p, name in ((start, "start"), (end, "end")))
    if a.shape != (2,) or b.shape != (2,) or np.array_equal(a, b):
        raise DataError("A line needs two different points (x, y).", hint="give start=[x, y], end=[x, y].")
    return a, b


def flux(counts: Any, positions: Any, start: Any, end: Any):
    """How many cross the line from `start` to `end` at every step, either way.

    Parameters
    ----------
    counts : Counts or CountsFit
        With tables of moves between times.
    positions : (L, 2) array
        Centres of the cells.
    start, end : pair of float
        The ends of the line, in the units of `positions`.

    Returns
    -------
    pandas.DataFrame
        step, forward (from the left to the right side of the line), backward, net.

    See Also
    --------
    line_crossings : Which moves cross a line.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.collective import Counts
    >>> from sumwise.flows.routes import flux
    >>> season = synthetic.birds(4, 6, 1000, random_state=0)
    >>> true = Counts(season.nodes, season.edge_counts, 1000)
    >>> found = flux(true, season.positions, start=[2.0, 5.0], end=[2.0, -1.0])
    >>> found.columns.tolist()
    ['step', 'forward', 'backward', 'net']
    """
    import pandas as pd

    where, line, rows = _places(positions), _line(start, end), []
    for edge in _chain(counts):
        table = counts.edges[edge]
        moves = sparse.coo_array(table if sparse.issparse(table) else np.asarray(table, dtype=float))
        if moves.shape != (len(where), len(where)):
            raise DataError(f"{' to '.join(edge)} has moves of shape {moves.shape}; there are {len(where)} positions.")
        sign = crossings(where[moves.row], where[moves.col], *line)
        forward, backward = float(moves.data[sign > 0].sum()), float(moves.data[sign < 0].sum())
        rows.append((" to ".join(edge), forward, backward, forward - backward))
    return pd.DataFrame(rows, columns=["step", "forward", "backward", "net"])


def _places(positions: Any) -> np.ndarray:
    where = checks.finite(positions, "positions", ndim=2)
    if where.shape[1] != 2:
        raise DataError(f"positions have {where.shape[1]} coordinates; a map has two.")
    return where


def _chain(counts: Any) -> list[tuple[str, str]]:
    """The edges, where each begins at the time at which the last one ended."""
    edges = list(counts.edges)
    broken = [k for k in range(1, len(edges)) if edges[k][0] != edges[k - 1][1]]
    if not edges or broken:
        why = "there are no moves"
        if edges:
            why = f"{' to '.join(edges[broken[0]])} doesn't start where the last step ended"
        raise DataError(f"Routes and flux need a chain of times: {why}.")
    return edges
