"""Bird migration on a grid: a log-linear chain with four weights and Poisson counts (Sun et al. 2015, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.domain import Domain
from sumwise.errors import DataError
from sumwise.noise import Poisson
from sumwise.synthetic.draws import cell_centres, logsumexp, multinomial
from sumwise.synthetic.record import Record
from sumwise.tables import Table, Tables

FEATURES = ("minus_distance", "wind", "destination", "move")


@dataclass(frozen=True, eq=False, repr=False)
class Birds(Record):
    """A migration season: noisy counts, and the flights behind them; made by `birds`.

    L = side^2 cells, T time points named ``"t0"``, ``"t1"``, ...

    Attributes
    ----------
    tables : Tables
        What an observer sees: T node tables with `Poisson(rate)` noise; ``tables.n`` is the number of birds.
    domain : Domain
        The T variables, each with L states.
    edges : tuple of pairs
        ``(("t0", "t1"), ("t1", "t2"), ...)``.
    weights : (4,) array
        The true weights, in the order of `FEATURES`.
    log_potentials : dict
        ``{"t0": (L,), ("t0", "t1"): (L, L), ...}``: log initial and log transition probabilities, so the chain's
        partition function is one. With a `reach` the edge entries are SciPy CSR arrays that store the log
        probability of every allowed move (an entry that isn't stored is a move that can't be made).
    nodes : dict
        ``{"t0": (L,), ...}``: true counts.
    edge_counts : dict
        ``{("t0", "t1"): (L, L), ...}``: true flights (CSR arrays with a `reach`); row sums and column sums are
        the node counts exactly.
    wind : (T - 1,) array
        Direction the wind blows to, in radians counter-clockwise from the x axis.
    positions : (L, 2) array
        Cell centres (x, y) in cell widths; cell 0 is the bottom left (start), cell L - 1 the top right (destination).
    targets : (L, K) int array
        The K cells that can be reached from each cell: 0, ..., L - 1 without a `reach`; -1 pads cells near a border.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> season = synthetic.birds(4, 6, 1000, random_state=0)
    >>> season.features.shape, season.step_features(0).shape
    ((5, 16, 16, 4), (16, 16, 4))
    >>> int(season.nodes["t3"].sum())
    1000
    """

    tables: Tables
    domain: Domain
    edges: tuple
    weights: np.ndarray
    log_potentials: dict
    nodes: dict
    edge_counts: dict
    wind: np.ndarray
    positions: np.ndarray
    targets: np.ndarray

    def step_features(self, t: int) -> np.ndarray:
        """Return the features of the moves from time t to t + 1: (L, K, 4), K = L without a `reach`."""
        return _features(self.positions, self.targets, self.wind[t])

    @property
    def features(self) -> np.ndarray:
        """The features of all steps, (T - 1, L, K, 4), built when asked for; pads (targets of -1) are zero."""
        return np.stack([self.step_features(t) for t in range(len(self.wind))])


def birds(
    side: int = 10,
    n_steps: int = 20,
    n_birds: int = 1000,
    *,
    weights: Any = (5.0, 10.0, 10.0, 10.0),
    rate: Any = 1.0,
    wind: Any = None,
    reach: float | None = None,
    random_state: Any = None,
) -> Birds:
    """Draw a migration of birds from the bottom left to the top right corner of a side x side grid.

    Parameters
    ----------
    side, n_steps, n_birds : int, default 10, 20, 1000
        Grid side (L = side^2 cells), number of time points T (at least 2), population M.
    weights : sequence of 4 floats, default (5, 10, 10, 10)
        Weights of the four features below; the papers use (5, 10, 10, 10) and (0.5, 1, 1, 1).
    rate : float or (L,) array, default 1.0
        Detection rate: the observed count is Poisson(rate * n).
    wind : (T - 1,) array, optional
        Wind directions in radians, one per step; if not given, normal about the diagonal from start to destination
        (pi / 4) with a standard deviation of pi / 2: a prevailing tail wind that often turns.
    reach : float >= 0, optional
        Longest possible move in cell widths. Potentials and flights are then sparse, so that grids of 100 x 100
        cells fit in memory.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    Birds

    Notes
    -----
    The papers name the features and give no formula. Here, for a move from cell i to j with centres v_i and v_j in
    cell widths, wind direction u_t (a unit vector) and destination g::

        minus_distance   -|v_j - v_i|                                  from -(side - 1) sqrt(2) to 0
        wind             cos angle(v_j - v_i, u_t), 0 for staying      in [-1, 1]
        destination      cos angle(v_j - v_i, v_g - v_i), 0 for staying in [-1, 1];
                         at the destination itself: 1 for staying, -1 for leaving
        move             1 for i != j, 0 for staying

        P(x_{t+1} = j | x_t = i) = exp(w . f_t(i, j)) / sum_k exp(w . f_t(i, k))
        P(x_0 = i) proportional to exp(-|v_i - v_0|^2 / 2)

    Nothing is rescaled with the grid, so that one set of weights means the same bird on every grid: with
    (5, 10, 10, 10) it flies one or two cells a step, waits out a head wind, and stays once it has arrived.
    The counts are drawn table by table (a multinomial per cell), which has the same distribution as counting
    n_birds simulated birds.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> season = synthetic.birds(5, 10, 1000, random_state=0)
    >>> season.edges[0], season.log_potentials["t0", "t1"].shape
    (('t0', 't1'), (25, 25))
    >>> int(season.edge_counts["t0", "t1"].sum())
    1000
    >>> years = [synthetic.birds(6, 20, weights=(0.5, 1, 1, 1), random_state=year) for year in range(3)]
    >>> [len(year.tables) for year in years]
    [20, 20, 20]
    """
    rng = checks.generator(random_state)
    checks.at_least(side, "side", 1)
    checks.at_least(n_steps, "n_steps", 2)
    checks.at_least(n_birds, "n_birds", 1)
    if reach is not None:
        checks.at_least(reach, "reach", 0, whole_number=False)
    weights = _vector(weights, "weights", 4)
    wind = rng.normal(np.pi / 4, np.pi / 2, n_steps - 1) if wind is None else _vector(wind, "wind", n_steps - 1)

    positions = cell_centres(side, side)
    targets = _targets(side, reach)
    names = [f"t{t}" for t in range(n_steps)]
    edges = tuple(pairwise(names))
    start = -0.5 * ((positions - positions[0]) ** 2).sum(axis=1)
    potentials: dict = {"t0": start - logsumexp(start)}
    nodes = {"t0": multinomial(np.asarray(n_birds), np.exp(potentials["t0"]), rng)}
    edge_counts = {}
    for t, edge in enumerate(edges):
        logits = _features(positions, targets, wind[t]) @ weights
        logits[targets < 0] = -np.inf
        log_p = logits - logsumexp(logits)
        flights = multinomial(nodes[edge[0]], np.exp(log_p), rng)
        allowed = targets >= 0
        out = np.bincount(targets[allowed], weights=flights[allowed], minlength=len(targets))
        nodes[edge[1]] = out.astype(np.int64)
        potentials[edge] = _as_matrix(log_p, targets, reach)
        edge_counts[edge] = _as_matrix(flights, targets, reach)
    domain = Domain(dict.fromkeys(names, side * side))
    noise = Poisson(rate if np.ndim(rate) == 0 else _vector(rate, "rate", side * side))
    observed = [Table((a,), noise.sample(nodes[a], random_state=rng), noise=noise) for a in names]
    tables = Tables(observed, domain, n=n_birds)
    return Birds(tables, domain, edges, weights, potentials, nodes, edge_counts, wind, positions, targets)


def _targets(side: int, reach: float | None) -> np.ndarray:
    n_cells = side * side
    if reach is None:
        return np.broadcast_to(np.arange(n_cells), (n_cells, n_cells))
    span = np.arange(-int(reach), int(reach) + 1)
    d_row, d_col = (a.ravel() for a in np.meshgrid(span, span, indexing="ij"))
    near = d_row**2 + d_col**2 <= reach**2 + 1e-9
    row, col = np.divmod(np.arange(n_cells)[:, None], side)
    row, col = row + d_row[near], col + d_col[near]
    inside = (row >= 0) & (row < side) & (col >= 0) & (col < side)
    return np.where(inside, row * side + col, -1)


def _features(positions: np.ndarray, targets: np.ndarray, wind: float) -> np.ndarray:
    move = positions[targets] - positions[:, None]  # a pad (-1) gives the last cell and is zeroed below
    distance = np.sqrt((move**2).sum(axis=-1))
    moves = distance > 0
    per_length = np.divide(1.0, distance, out=np.zeros_like(distance), where=moves)
    to_goal = positions[-1] - positions
    goal_distance = np.sqrt((to_goal**2).sum(axis=1))
    goal_direction = np.divide(to_goal, goal_distance[:, None], out=np.zeros_like(to_goal), where=to_goal != 0)
    destination = (move * goal_direction[:, None]).sum(axis=-1) * per_length
    destination[-1] = np.where(moves[-1], -1.0, 1.0)
    with_wind = (move @ np.array([np.cos(wind), np.sin(wind)])) * per_length
    out = np.stack([-distance, with_wind, destination, moves.astype(float)], axis=-1)
    out[targets < 0] = 0.0
    return out


def _as_matrix(values: np.ndarray, targets: np.ndarray, reach: float | None) -> Any:
    if reach is None:
        return values
    from scipy.sparse import csr_array

    allowed = targets >= 0  # targets grow along a row, so the CSR indices are sorted
    ends = np.concatenate([[0], np.cumsum(allowed.sum(axis=1))])
    return csr_array((values[allowed], targets[allowed], ends), shape=(len(targets), len(targets)))


def _vector(values: Any, name: str, n: int) -> np.ndarray:
    array = checks.finite(values, name, ndim=1)
    if len(array) != n:
        raise DataError(f"{name} has {len(array)} entries; it needs {n}.")
    return array
