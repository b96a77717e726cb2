"""Commuters on a map, counted with Laplace noise (Sun 2019, section 2.6.2)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.domain import Domain
from sumwise.errors import DataError
from sumwise.noise import Gaussian, Laplace
from sumwise.synthetic.draws import cell_centres, chain_tables
from sumwise.synthetic.record import Record
from sumwise.tables import Table, Tables


@dataclass(frozen=True, eq=False, repr=False)
class Mobility(Record):
    """A morning of commuting: noisy transition counts, and the truth behind them; made by `mobility`.

    L = map cells, T time points named ``"t0"``, ``"t1"``, ...

    Attributes
    ----------
    edge_tables : Tables
        T - 1 noisy transition tables (L, L), each cell with `Laplace(scale)` noise (cells may be negative).
    node_tables : Tables
        The same noisy tables summed to T node tables (L,): over the destination for t0 to t(T - 2), over the
        origin for the last. A cell's noise is then a sum of L Laplace variables; it is stated as
        `Gaussian(scale * sqrt(2 L))`, which has its variance.
    domain : Domain
    edges : tuple of pairs
        ``(("t0", "t1"), ...)``.
    log_potentials : dict
        ``{"t0": (L,), "t9": (L,), ("t0", "t1"): (L, L), ...}``: log phi_1, log phi_T and log psi, not normalised.
    nodes, edge_counts : dict
        True counts, ``{"t0": (L,)}`` and ``{("t0", "t1"): (L, L)}``; row and column sums of the edges are the
        nodes exactly.
    node_marginals : (T, L) array
        True P(x_t), against which the node MAE is measured.
    edge_marginals : (T - 1, L, L) array
        True P(x_t, x_{t+1}), against which the pairwise MAE is measured.
    positions : (L, 2) array
        Cell centres (x, y) in cell widths.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> morning = synthetic.mobility((4, 7), 5, 10_000, scale=50.0, random_state=0)
    >>> len(morning.edge_tables), len(morning.node_tables)
    (4, 5)
    """

    edge_tables: Tables
    node_tables: Tables
    domain: Domain
    edges: tuple
    log_potentials: dict
    nodes: dict
    edge_counts: dict
    node_marginals: np.ndarray
    edge_marginals: np.ndarray
    positions: np.ndarray


def mobility(
    shape: tuple[int, int] = (15, 14),
    n_steps: int = 10,
    n_people: int = 1_000_000,
    *,
    scale: float = 10.0,
    home_spread: float = 2.0,
    work_spread: float = 2.0,
    move_spread: float = 1.5,
    random_state: Any = None,
) -> Mobility:
    """Draw the commutes of many people on a map, observed through noisy transition counts.

    Parameters
    ----------
    shape : (int, int), default (15, 14)
        Rows and columns of the map; L = rows * columns.
    n_steps : int >= 2, default 10
        Number of time points T, at least 2.
    n_people : int, default 1,000,000
        Population M. The time doesn't grow with it: tables are drawn, not people.
    scale : float, default 10.0
        Scale b of the Laplace noise: ``p(y | n) = exp(-|y - n| / b) / (2 b)``.
    home_spread, work_spread, move_spread : float, default 2.0, 2.0, 1.5
        Standard deviations, in cell widths, of the home and work potentials and of a move.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    Mobility

    Notes
    -----
    With v the centre of a cell (Sun 2019, section 2.6.2.1)::

        p(x_1, ..., x_T) = phi_1(x_1) psi(x_1, x_2) ... psi(x_{T-1}, x_T) phi_T(x_T) / Z
        phi_1(x) = exp(-|v - home|^2 / (2 home_spread^2)),  home = (0.75 columns, 0.75 rows): top right
        phi_T(x) = exp(-|v - work|^2 / (2 work_spread^2)),  work = (0.25 columns, 0.25 rows): bottom left
        psi(x, x') = exp(-|v - v'|^2 / (2 move_spread^2))

    The thesis gives the form and no constants; centres and spreads are ours. The chain is turned into initial and
    transition probabilities by a backward pass, and the tables are then drawn exactly, a multinomial per row.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> morning = synthetic.mobility(random_state=0)
    >>> morning.edge_marginals.shape
    (9, 210, 210)
    >>> int(morning.edge_counts["t0", "t1"].sum())
    1000000
    """
    rng = checks.generator(random_state)
    n_rows, n_cols = _map_shape(shape)
    checks.at_least(n_steps, "n_steps", 2)
    checks.at_least(n_people, "n_people", 1)
    scale, home_spread, work_spread, move_spread = (
        float(checks.positive(value, name, ndim=0))
        for value, name in (
            (scale, "scale"), (home_spread, "home_spread"), (work_spread, "work_spread"), (move_spread, "move_spread")
        )
    )  # fmt: skip

    positions = cell_centres(n_rows, n_cols)
    home = _log_bump(positions, np.array([0.75 * n_cols, 0.75 * n_rows]), home_spread)
    work = _log_bump(positions, np.array([0.25 * n_cols, 0.25 * n_rows]), work_spread)
    move = -((positions[:, None] - positions) ** 2).sum(axis=-1) / (2 * move_spread**2)
    start, steps = _as_chain(home, move, work, n_steps)
    counts, flows = chain_tables(n_people, start, lambda t: steps[t], n_steps, rng)
    node_marginals, edge_marginals = _marginals(start, steps)

    names = [f"t{t}" for t in range(n_steps)]
    edges = tuple(pairwise(names))
    domain = Domain(dict.fromkeys(names, n_rows * n_cols))
    noise = Laplace(scale)
    noisy = [noise.sample(flow, random_state=rng) for flow in flows]
    return Mobility(
        Tables([Table(e, y, noise=noise) for e, y in zip(edges, noisy, strict=True)], domain, n=n_people),
        Tables(_node_tables(names, noisy, scale), domain, n=n_people),
        domain,
        edges,
        {names[0]: home, names[-1]: work, **dict.fromkeys(edges, move)},
        dict(zip(names, counts, strict=True)),
        dict(zip(edges, flows, strict=True)),
        node_marginals,
        edge_marginals,
        positions,
    )


def _map_shape(shape: Any) -> tuple[int, int]:
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        raise DataError(f"shape is {shape!r}.", hint="give rows and columns, as in (15, 14).")
    return checks.at_least(shape[0], "rows of shape", 1), checks.at_least(shape[1], "columns of shape", 1)


def _log_bump(positions: np.ndarray, centre: np.ndarray, spread: float) -> np.ndarray:
    return -((positions - centre) ** 2).sum(axis=1) / (2 * spread**2)


def _as_chain(home: np.ndarray, move: np.ndarray, work: np.ndarray, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return P(x_1) (L,) and P(x_{t+1} | x_t) (T - 1, L, L) of the undirected chain, by a backward pass in logs."""
    steps = np.empty((n_steps - 1, len(home), len(home)))
    ahead = work
    for t in range(n_steps - 2, -1, -1):
        logits = move + ahead
        top = logits.max(axis=1)
        weight = np.exp(logits - top[:, None])
        total = weight.sum(axis=1)
        steps[t] = weight / total[:, None]
        ahead = top + np.log(total)
    start = np.exp(home + ahead - (home + ahead).max())
    return start / start.sum(), steps


def _marginals(start: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    nodes, pairs = [start], []
    for step in steps:
        pairs.append(nodes[-1][:, None] * step)
        nodes.append(pairs[-1].sum(axis=0))
    return np.stack(nodes), np.stack(pairs)


def _node_tables(names: list[str], noisy: list[np.ndarray], scale: float) -> list[Table]:
    noise = Gaussian(scale * np.sqrt(2 * len(noisy[0])))
    sums = [y.sum(axis=1) for y in noisy] + [noisy[-1].sum(axis=0)]
    return [Table((a,), y, noise=noise) for a, y in zip(names, sums, strict=True)]
