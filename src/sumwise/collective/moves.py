"""DistanceMoves: flows between places from counts over time, where near moves are more likely than far ones."""

# Names are bound in loops that run at least once.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.collective.map_counts import map_counts
from sumwise.collective.tree_model import TreeModel
from sumwise.domain import Domain
from sumwise.errors import DataError
from sumwise.estimator import Estimator
from sumwise.fit import Fit
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Noise, Poisson
from sumwise.tables import Table, Tables

SCALES = (0.5, 1.0, 2.0, 4.0)  # times the distance to the nearest place
ROUNDS = 8  # of adapting moves to the counts
TINY = 1e-6  # of an individual, so that no move becomes impossible


@dataclass(frozen=True, slots=True, eq=False)
class CountsOverTime:
    """How many individuals were counted at every time and place.

    Parameters
    ----------
    counts : array of shape (n_times, n_places)
        NaN where nothing was observed; noisy counts may be negative.
    times, places : sequences of str, optional
        Their names. Default: "0", "1", ...
    positions : array of shape (n_places, 2), optional
        Coordinates of the places; without them all moves but staying are equally likely.

    Examples
    --------
    >>> from sumwise.collective import CountsOverTime
    >>> len(CountsOverTime([[9, 1], [4, 6]], places=["a", "b"]))
    2
    """

    counts: np.ndarray
    times: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    positions: np.ndarray | None = None

    if TYPE_CHECKING:  # callers may give more kinds than are stored

        def __init__(self, counts: Any, times: Any = (), places: Any = (), positions: Any = None) -> None: ...

    def __post_init__(self):
        counts = checks.finite(self.counts, "counts", ndim=2, allow_nan=True)
        if len(counts) < 2:
            raise DataError("There is one time; flows need at least two.", hint="counts has one row per time.")
        object.__setattr__(self, "counts", checks.frozen(counts))
        for name, n in (("times", counts.shape[0]), ("places", counts.shape[1])):
            given = getattr(self, name)
            object.__setattr__(self, name, checks.names(list(given) or list(map(str, range(n))), n, name, name[:-1]))
        if self.positions is not None:
            positions = checks.finite(self.positions, "positions", ndim=2)
            if positions.shape != (counts.shape[1], 2):
                raise DataError(
                    f"positions has shape {positions.shape}; there are {counts.shape[1]} places.",
                    hint="give two coordinates per place.",
                )
            object.__setattr__(self, "positions", checks.frozen(positions))

    def __len__(self) -> int:
        return len(self.counts)

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the figure that suits these data and return its axes; see `sumwise.plots.plot_containers`."""
        from importlib import import_module

        return import_module("sumwise.plots").plot_containers(self, ax, **options)

    def distances(self) -> np.ndarray:
        """Distances (L, L) between places; 1 between any two where no positions are given."""
        if self.positions is None:
            return 1.0 - np.eye(self.counts.shape[1])
        return np.sqrt(((self.positions[:, None] - self.positions[None]) ** 2).sum(axis=2))


class DistanceMoves(Estimator):
    """Flows between places from counts over time: the most likely ones when near moves are preferred.

    Moves start from a probability that falls exponentially with distance and adapt to the flows, round by round. A
    fixed model of moves would pull the counts towards itself; moves that follow the flows of the round before agree
    with the counts and stay as close to the distance as those allow.

    Parameters
    ----------
    noise : {"poisson", "exact", "gaussian", "laplace", "geometric"}, default "poisson"
        How counts differ from the truth; the last three allow negative counts.
    rate : float, default 1.0
        Poisson: the share of individuals that is counted.
    sd : float, default 1.0
        Gaussian, Laplace, geometric: the standard deviation of a count (of Laplace noise, its scale times 1.414).
    population : float, optional
        Individuals. Default: the largest count over all places, divided by the rate.
    scale : float, optional
        A move this long is e times less likely than staying. Default: the scale that predicts a left-out time best.
    reach : float, optional
        No move is longer.

    Attributes
    ----------
    edges_ : array of shape (n_times - 1, n_places, n_places)
        Flows of every step.
    nodes_ : array of shape (n_times, n_places)
        Estimated individuals at every time and place.
    least_, most_ : arrays of the shape of ``edges_``
        The range of the flows over half and twice the scale.
    log_moves_ : array of the shape of ``edges_``
        Log-probabilities of moves after adapting.
    scale_ : float
        The scale that was used.
    scores_ : dict of float to float, or None
        Mean absolute error at the left-out time, by scale, where the scale was chosen.
    n_ : float
        Individuals.
    fit_ : Fit
        Of the last round.

    Examples
    --------
    >>> from sumwise.collective import CountsOverTime, DistanceMoves
    >>> counts = CountsOverTime([[9, 1], [4, 6]], positions=[[0, 0], [1, 0]])
    >>> DistanceMoves(scale=1.0).fit(counts).edges_.round()
    array([[[4., 5.],
            [0., 1.]]])
    """

    def __init__(
        self,
        noise: str = "poisson",
        rate: float = 1.0,
        sd: float = 1.0,
        population: float | None = None,
        scale: float | None = None,
        reach: float | None = None,
    ):
        self.noise = noise
        self.rate = rate
        self.sd = sd
        self.population = population
        self.scale = scale
        self.reach = reach

    def fit(self, counts: CountsOverTime) -> DistanceMoves:
        """Choose the scale where none is given, then find the flows, and those under half and twice the scale."""
        self._check()
        below = int((counts.counts < 0).sum())
        if below and self.noise in ("poisson", "exact"):
            raise DataError(
                f"{below} of {counts.counts.size} counts are negative, which noise={self.noise!r} rules out.",
                hint="give noise='laplace', 'geometric' or 'gaussian' and its standard deviation sd.",
            )
        scale, scores = self.scale, None
        if scale is None:
            scores = self._held_out_errors(counts)
            scale = min(scores, key=lambda s: scores[s])
        found = self._flows(counts, float(scale))
        others = [self._flows(counts, f * float(scale))["edges"] for f in (0.5, 2.0)]
        stacked = np.stack([found["edges"], *others])
        self.scale_, self.scores_ = float(scale), scores
        self.edges_, self.nodes_, self.log_moves_ = found["edges"], found["nodes"], found["log_moves"]
        self.least_, self.most_ = stacked.min(axis=0), stacked.max(axis=0)
        self.n_, self.fit_ = found["n"], found["fit"]
        self.times_, self.places_ = counts.times, counts.places
        return self

    def predict(self, counts: Any) -> np.ndarray:
        """Expected counts (n_places,) one step later of those who are counted now, by the mean move of a step."""
        return self._now(counts) @ np.exp(self._fitted().log_moves_).mean(axis=0)

    def predict_interval(self, counts: Any, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """(low, high) of the counts one step later, taking the estimated moves as known."""
        from scipy.stats import norm

        moves, now = np.exp(self._fitted().log_moves_).mean(axis=0), self._now(counts)
        spread = np.sqrt(np.maximum(now @ (moves * (1 - moves)), 0))
        wide = norm.ppf((1 + checks.fraction(level, "level")) / 2) * spread
        return np.maximum(now @ moves - wide, 0), now @ moves + wide

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper) bounds of every flow whatever the model, given the estimated counts of the places."""
        here, there = self._fitted().nodes_[:-1, :, None], self.nodes_[1:, None, :]
        return np.maximum(here + there - self.n_, 0.0), np.minimum(here, there)

    def expected_counts(self) -> np.ndarray:
        """What would be counted on average at every time and place."""
        return (self.rate if self.noise == "poisson" else 1.0) * self._fitted().nodes_

    def log_moves(self, counts: CountsOverTime, scale: float) -> np.ndarray:
        """Log-probabilities (L, L) of moves by distance alone."""
        far = counts.distances()
        scores = -far / scale
        if self.reach is not None and counts.positions is not None:
            scores = np.where(far <= self.reach, scores, -np.inf)
        return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)

    def _check(self) -> None:
        checks.choice(self.noise, "noise", ("poisson", "exact", "gaussian", "laplace", "geometric"))
        for name in ("rate", "sd", "population", "scale", "reach"):
            if getattr(self, name) is not None:
                checks.positive(getattr(self, name), name, ndim=0)

    def _now(self, counts: Any) -> np.ndarray:
        now = checks.finite(counts, "counts", ndim=1)
        if len(now) != len(self._fitted().places_):
            raise DataError(f"There are {len(now)} counts for {len(self.places_)} places.", hint="give one per place.")
        return now

    def _noise(self) -> Noise:
        made = {"gaussian": Gaussian(self.sd), "laplace": Laplace(self.sd / np.sqrt(2))}
        made |= {"geometric": Geometric(self.sd / np.sqrt(2)), "poisson": Poisson(self.rate), "exact": Exact()}
        return made[self.noise]

    def _tables(self, counts: CountsOverTime, without: int | None) -> Tables:
        names = [f"t{t}" for t in range(len(counts))]
        domain = Domain({a: list(map(str, counts.places)) for a in names})
        noise = self._noise()
        kept = [Table(a, row, noise=noise) for t, (a, row) in enumerate(zip(names, counts.counts)) if t != without]
        whole = np.nansum(counts.counts, axis=1).max() / (self.rate if self.noise == "poisson" else 1.0)
        if self.population is None and not whole > 0:
            raise DataError("The counts sum to nobody at every time.", hint="give the population.")
        return Tables(kept, domain, n=float(np.ceil(whole)) if self.population is None else float(self.population))

    def _flows(self, counts: CountsOverTime, scale: float, without: int | None = None) -> dict[str, Any]:
        tables = self._tables(counts, without)
        names = tables.domain.attributes
        pairs = list(pairwise(names))
        moves = np.stack([self.log_moves(counts, scale)] * len(pairs))
        there = np.maximum(np.nanmean(counts.counts, axis=0), 0.0) + 0.5
        start = np.log(there / there.sum())
        for k in range(ROUNDS):
            last = k == ROUNDS - 1
            model = TreeModel(tables.domain, pairs, {names[0]: start, **dict(zip(pairs, moves))})
            fit = map_counts(model, tables, tol=1e-6 if last else 1e-3)
            nodes = np.stack([np.asarray(fit.nodes[a]) for a in names])
            edges = np.stack([_dense(fit.edges[pair]) for pair in pairs])
            if not last:
                allowed = np.isfinite(moves)
                some = np.where(allowed, np.maximum(edges, 0) + TINY * np.exp(np.where(allowed, moves, 0)), 0)
                with np.errstate(divide="ignore"):
                    moves = np.log(some / some.sum(axis=2, keepdims=True))
                start = np.log((nodes[0] + TINY) / (nodes[0] + TINY).sum())
        record = Fit(None, fit.objective, fit.gap, fit.n_iter, bool(fit.converged), fit.history)
        return {"log_moves": moves, "nodes": nodes, "edges": edges, "n": float(fit.n), "fit": record}

    def _held_out_errors(self, counts: CountsOverTime) -> dict[float, float]:
        """Mean absolute error at a middle time that was left out, by scale."""
        unit, middle = _nearest(counts), len(counts) // 2
        if len(counts) < 3 or np.isnan(counts.counts[middle]).any():
            return {unit: float("nan")}
        rate = self.rate if self.noise == "poisson" else 1.0
        scores = {}
        for scale in (k * unit for k in SCALES):
            nodes = self._flows(counts, scale, without=middle)["nodes"]
            scores[float(scale)] = float(np.abs(rate * nodes[middle] - counts.counts[middle]).mean())
        return scores


def interpolation_error(counts: CountsOverTime) -> float | None:
    """The mean absolute error at the middle time of the mean of the times before and after.

    The baseline for `DistanceMoves.scores_`; None where there are fewer than three times or a count is missing.

    Examples
    --------
    >>> from sumwise.collective import CountsOverTime, interpolation_error
    >>> interpolation_error(CountsOverTime([[9, 1], [4, 6], [1, 9]]))
    1.0
    """
    middle = len(counts) // 2
    if len(counts) < 3 or np.isnan(counts.counts[middle - 1 : middle + 2]).any():
        return None
    mean = (counts.counts[middle - 1] + counts.counts[middle + 1]) / 2
    return float(np.abs(mean - counts.counts[middle]).mean())


def _nearest(counts: CountsOverTime) -> float:
    """The median distance to the nearest place; 1 without coordinates."""
    if counts.positions is None or counts.counts.shape[1] < 2:
        return 1.0
    far = counts.distances()
    np.fill_diagonal(far, np.inf)
    return float(np.median(far.min(axis=1))) or 1.0


def _dense(table: Any) -> np.ndarray:
    return table.toarray() if hasattr(table, "toarray") else np.asarray(table)
