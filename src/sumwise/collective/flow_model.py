"""FlowModel: from counts over time and place to flows, routes and forecasts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from sumwise import checks
from sumwise.collective.counts import Counts
from sumwise.collective.flow_data import population_of, read_counts
from sumwise.collective.flow_problem import FlowProblem
from sumwise.collective.forecast import forecast, transitions
from sumwise.collective.intervals import count_intervals
from sumwise.collective.movement import Movement
from sumwise.collective.movement_search import (
    Learned,
    candidates,
    from_left_out_times,
    from_likelihood,
    from_tracks,
    track_probabilities,
)
from sumwise.collective.places import Places
from sumwise.collective.routes import flux, routes
from sumwise.collective.tracks import Tracks
from sumwise.errors import DataError
from sumwise.estimate import Estimate
from sumwise.estimator import Estimator
from sumwise.fit import Fit
from sumwise.noise import Noise
from sumwise.table import Table

__all__ = ["FlowModel"]

NOISE_WEIGHT = 3.0  # log-probabilities between which moves typically differ: a pull that noise outweighs
SAMPLE_WEIGHT = 0.1  # of a sample of moves is what movement by distance counts for; not tuned
FEW_TIMES = 5  # fewer leave nothing to predict left-out times from


class FlowModel(Estimator):
    """Flows of a population between places, from counts over time: who went where, by which routes, and where next.

    Learns how individuals move from the counts alone (or from `Tracks` of some of them beside the counts, or takes a
    given `Movement`), then finds the most likely flows of every step, with a proven gap.

    Parameters
    ----------
    places : Places, optional
        Where the places are. Without them, all moves other than staying are equally likely.
    movement : "distance", Movement or list of Movement, default "distance"
        ``"distance"`` learns a cost of leaving and a scale of distance. A list gives the types to choose from.
    noise : Noise, optional
        How counts differ from the truth (any of `sumwise.noise`). Default: Poisson for whole numbers; anything else is
        taken as relative abundance with a standard deviation of 1% of the mean of a place.
    population : {"fixed", "varying"}, default "fixed"
        ``"varying"``: individuals are born, die, enter and leave. They come from and go to an unobserved place outside,
        as part of the same convex problem.
    size : float, optional
        Individuals at the time when there are most. Default: the largest total (100,000 for relative abundance).
    turnover : float, default 0.005
        With a varying population: the share that leaves per step when counts don't speak against it.
    cyclic : bool, default False
        Whether the last time leads to the first, as the weeks of a year do.
    weight : float or "auto", default "auto"
        What the movement of one individual counts for against the counts, 0 to 1. At 1 it is taken as known: a million
        individuals then outweigh any noise, and pull counts towards what their movement makes likely. ``"auto"`` keeps
        counts within their noise: 1 / (1 + 3 sd) for noise of that standard deviation, a tenth of the sample over the
        population where a sample of moves is given, and 1 for relative abundance.
    tol : float, default 1e-4
        Proven gap of the flows, relative to the objective.

    Attributes
    ----------
    movements_, weights_ : list of Movement, array
        Types of movement and the share of individuals of each (one type, unless tracks were given).
    times_, places_ : list, Places
    counts_, noise_, weight_ : array, Noise, float
        What was fitted: counts in individuals, their noise, and what movement counted for.
    nodes_ : (T, L) array
        Estimated individuals at every time and place.
    steps_ : list of lists of (L, L) arrays
        For every type, the flows of every step (sparse with ``Places(reach=...)``).
    scores_ : DataFrame or None
        What movement was chosen by.
    n_ : float
    fit_ : Fit
        Of the most common type; ``gap`` is its certificate.

    Examples
    --------
    >>> from sumwise.collective import FlowModel, Movement, Places
    >>> from sumwise.noise import Gaussian
    >>> counts = {"week": [1, 1, 2, 2], "site": ["a", "b", "a", "b"], "birds": [90, 10, 40, 60]}
    >>> places = Places(x=[0.0, 1.0], y=[0.0, 0.0], names=["a", "b"])
    >>> flow = FlowModel(places, Movement(stay=1.0), noise=Gaussian(1.0))
    >>> flow = flow.fit(counts, time="week", place="site", count="birds")
    >>> flow.transitions(1, 2).round(2)
    array([[0.45, 0.55],
           [0.01, 0.99]])
    >>> flow.flows(1, least=1.0).round(0)
      from to  count
    0    a  a   40.0
    1    a  b   49.0
    2    b  b   10.0
    """

    def __init__(
        self,
        places: Places | None = None,
        movement: Any = "distance",
        noise: Noise | None = None,
        population: str = "fixed",
        size: float | None = None,
        turnover: float = 0.005,
        cyclic: bool = False,
        weight: Any = "auto",
        tol: float = 1e-4,
    ):
        self.places = places
        self.movement = movement
        self.noise = noise
        self.population = population
        self.size = size
        self.turnover = turnover
        self.cyclic = cyclic
        self.weight = weight
        self.tol = tol

    def fit(
        self,
        data: Any,
        *,
        time: str = "time",
        place: str = "place",
        count: str = "count",
        times: Any = None,
        absent: str = "unobserved",
        tracks: Tracks | None = None,
        moves: Mapping | None = None,
    ) -> FlowModel:
        """Learn movement and flows.

        Parameters
        ----------
        data : frame, (T, L) array, or Tables
            A row per time and place with its count; or counts by time and place; or one table per time.
        time, place, count : str
            Columns of the frame.
        times : sequence, optional
            All times in order, where some weeks have no row at all (they are estimated) or times don't sort.
        absent : {"unobserved", "zero"}, default "unobserved"
            What a pair of time and place without a row means.
        tracks : Tracks, optional
            Individuals that were seen twice: they decide how individuals move, within what the counts allow.
        moves : mapping, optional
            ``{(time, next time): (counts, noise)}``: counts (L, L) of moves, such as a sample of individuals
            (``Poisson(0.01)`` for one in a hundred).
        """
        self._check()
        listed, places, counts, stated = read_counts(data, self.places, (time, place, count), times, absent)
        if len(listed) < 2:
            raise DataError("There is one time; flows need at least two.", hint="is time the right column?")
        noise = stated if self.noise is None else self.noise
        scaled, noise, n = population_of(counts, noise, self.size)
        self.times_, self.places_, self.n_ = listed, places, n
        self.counts_, self.noise_ = scaled, noise
        self.moves_ = self._moves(moves)
        self.weight_ = self._weight(noise, moves, scaled is counts)
        problem = self._problem()
        self._keep(problem, self._learn(problem, tracks))
        return self

    def _problem(self) -> FlowProblem:
        """What the flows are the answer to."""
        varying = self.turnover if self.population == "varying" else None
        return FlowProblem(
            self.places_,
            self.places_.moves(),
            self.counts_,
            self.noise_,
            self.n_,
            varying,
            self.cyclic,
            dict(self.moves_),
            self.tol,
            self.weight_,
        )

    def _check(self) -> None:
        if self.places is not None and not isinstance(self.places, Places):
            raise DataError(f"places is a {type(self.places).__name__}.", hint="give Places(lon=..., lat=...).")
        checks.choice(self.population, "population", ("fixed", "varying"))
        checks.choice(self.cyclic, "cyclic", (True, False))
        checks.fraction(self.turnover, "turnover")
        checks.positive(self.tol, "tol", ndim=0)
        if self.size is not None:
            checks.positive(self.size, "size", ndim=0)
        given = self.movement if isinstance(self.movement, (list, tuple)) else [self.movement]
        if self.movement != "distance" and not (given and all(isinstance(m, Movement) for m in given)):
            raise DataError(f"movement is {self.movement!r}.", hint="give 'distance', a Movement or a list of them.")

    def _weight(self, noise: Noise, moves: Any, counted: bool) -> float:
        """What movement counts for: given, or so little that counts stay within their noise."""
        if self.weight != "auto":
            return checks.fraction(self.weight, "weight") if self.weight != 1 else 1.0
        if moves:
            sampled = sum(float(np.nansum(counts)) for counts, _ in moves.values())
            return float(min(1.0, max(SAMPLE_WEIGHT * sampled / self.n_, 1e-6)))
        sd = np.sqrt(float(np.mean(noise.variance(self.n_ / len(self.places_)))))
        return float(1.0 / (1.0 + NOISE_WEIGHT * sd)) if counted else 1.0

    def _moves(self, given: Any) -> list[tuple[int, Table]]:
        out = []
        if given is None:
            return out
        for (a, b), (counts, noise) in checks.mapping(given, "moves").items():
            first, second = self._time(a), self._time(b)
            if second != first + 1:
                raise DataError(f"Moves are given from {a!r} to {b!r}, which don't follow each other.")
            table = checks.finite(counts, "moves", ndim=2, allow_nan=True)
            n = len(self.places_)
            if table.shape != (n, n):
                raise DataError(f"Moves from {a!r} to {b!r} have shape {table.shape}; there are {n} places.")
            wide = np.full((n + 1, n + 1), np.nan) if self.population == "varying" else None
            if wide is not None:
                wide[:n, :n] = table
            out.append((first, Table(("from", "to"), table if wide is None else wide, noise=noise)))
        return out

    def _learn(self, problem: FlowProblem, tracks: Tracks | None) -> Learned:
        if isinstance(self.movement, Movement):
            return Learned([self.movement], np.ones(1), [problem.solve(self.movement)])
        grid = candidates(problem) if isinstance(self.movement, str) else list(self.movement)
        if tracks is not None:
            return from_tracks(problem, grid, self._read_tracks(tracks))
        known = int((~np.isnan(problem.counts).all(axis=1)).sum())
        if isinstance(self.movement, str) and (known < FEW_TIMES or problem.moves):
            return from_likelihood(problem)
        return from_left_out_times(problem, grid)

    def _keep(self, problem: FlowProblem, learned: Learned) -> None:
        self.movements_, self.weights_, self.scores_ = learned.movements, learned.weights, learned.scores
        self.log_likelihood_ = learned.log_likelihood
        self.steps_ = [problem.flows(f) for f in learned.fits]
        inside = np.stack([problem.inside(f) for f in learned.fits])
        self.nodes_ = np.tensordot(learned.weights, inside, axes=1)
        best = learned.fits[int(np.argmax(learned.weights))]
        history = {k: np.asarray(v) for k, v in best.history.items()}
        self.fit_ = Fit(None, best.objective, best.gap, best.n_iter, best.converged, history)

    # --- what was found

    def _time(self, given: Any) -> int:
        listed = self.times_
        if checks.plain(given) not in listed:
            checks.known(checks.plain(given), listed, "time")
        return listed.index(checks.plain(given))

    def _read_tracks(self, tracks: Tracks) -> tuple[np.ndarray, ...]:
        """Numbers of first places, first times, second places, and steps between."""
        if not isinstance(tracks, Tracks):
            raise DataError(f"tracks is a {type(tracks).__name__}.", hint="give Tracks(...) or Tracks.from_frame(...).")
        starts, ends = (np.array([self._time(t) for t in given]) for given in (tracks.from_time, tracks.to_time))
        lengths = (ends - starts) % len(self.times_) if self.cyclic else ends - starts
        if (lengths < 0).any():
            k = int(np.argmax(lengths < 0))
            raise DataError(
                f"{int((lengths < 0).sum())} tracks end before they begin. First: number {k}.",
                hint="swap the sightings, or set cyclic=True where the last time leads to the first.",
            )
        return self.places_.index(tracks.from_place), starts, self.places_.index(tracks.to_place), lengths

    def _transitions(self, kind: int) -> list[Any]:
        edges = {(str(k), str(k + 1)): f for k, f in enumerate(self.steps_[kind])}
        return transitions(Counts({}, edges))

    def transitions(self, from_time: Any, to_time: Any) -> Any:
        """Return p(place at `to_time` | place at `from_time`), (L, L); rows sum to 1.

        Given that an individual is in the population at both times. Sparse with ``Places(reach=...)``. With
        ``cyclic=True`` the year goes on: from week 50 to week 3.
        """
        self._fitted("steps_")
        start, end = self._time(from_time), self._time(to_time)
        n_steps = (end - start) % len(self.times_) if self.cyclic else end - start
        if n_steps < 0:
            raise DataError(f"{to_time!r} is before {from_time!r}.", hint="set cyclic=True for years that repeat.")
        total = None
        for kind, weight in enumerate(self.weights_):
            steps = self._transitions(kind)
            made: Any = sparse.eye_array(len(self.places_), format="csr")
            made = made if sparse.issparse(steps[0]) else made.toarray()
            for k in range(n_steps):
                made = made @ steps[(start + k) % len(steps)]
            total = weight * made if total is None else total + weight * made
        return total

    def predict_tracks(self, tracks: Tracks) -> np.ndarray:
        """Return the probability of every track's second place, given its first: one per track."""
        read = self._fitted("steps_")._read_tracks(tracks)
        each = [track_probabilities(self._transitions(k), read) for k in range(len(self.weights_))]
        return np.average(each, axis=0, weights=self.weights_)

    def _step(self, k: int) -> Any:
        """Flows of step k over all types."""
        return sum(w * steps[k] for w, steps in zip(self.weights_, self.steps_))

    def flows(self, from_time: Any, least: float = 0.05) -> pd.DataFrame:
        """Return the flows of the step after `from_time`: from, to and the estimated count, `least` or more."""
        k = self._fitted("steps_")._time(from_time)
        if k >= len(self.steps_[0]):
            raise DataError(f"No step begins at {from_time!r}, the last time.")
        table = sparse.coo_array(self._step(k))
        kept = table.data >= least
        names = np.array(self.places_.names, dtype=object)
        found = pd.DataFrame({"from": names[table.row], "to": names[table.col], "count": table.data})
        return found.loc[kept].reset_index(drop=True)

    def counts(self) -> Counts:
        """Return estimated counts of all times and flows, as `map_counts` does."""
        self._fitted("steps_")
        names = [str(t) for t in self.times_] + ([f"{self.times_[0]} again"] if self.cyclic else [])
        nodes = dict(zip(names, [*self.nodes_, self.nodes_[0]] if self.cyclic else self.nodes_))
        edges = {e: self._step(k) for k, e in enumerate(pairwise(names))}
        return Counts(nodes, edges, self.n_)

    def routes(self, n: int = 10, random_state: Any = 0) -> pd.DataFrame:
        """Draw routes of individuals, a row per step (see `sumwise.collective.routes`)."""
        places = self._fitted("steps_").places_
        same = (lambda x, y: (x, y)) if places.lon is not None else None
        dates = [*self.times_, self.times_[0]] if self.cyclic else self.times_
        return routes(self.counts(), places.positions, n, dates=dates, to_lonlat=same, random_state=random_state)

    def flux(self, start: Any, end: Any) -> pd.DataFrame:
        """Return how many cross the line from `start` to `end` (lon, lat or x, y) at every step, either way."""
        return flux(self.counts(), self._fitted("steps_").places_.positions, start, end)

    def forecast(self, counts: Any, from_time: Any, steps: int = 1, **options: Any) -> Estimate:
        """Forecast counts (L,) of `from_time` over the next steps, with intervals (see `sumwise.collective.forecast`).

        Moves are those of the most common type at these times of the year.
        """
        start = self._fitted("steps_")._time(from_time)
        moves = self._transitions(int(np.argmax(self.weights_)))
        checks.at_least(steps, "steps", 1)
        if not self.cyclic and start + steps > len(moves):
            raise DataError(f"There are {len(moves) - start} steps after {from_time!r}; {steps} were asked for.")
        return forecast(counts, [moves[(start + k) % len(moves)] for k in range(steps)], **options)

    def connectivity(self, regions: Mapping, from_time: Any, to_time: Any) -> pd.DataFrame:
        """Return the share of each region's individuals at `from_time` that is in each region at `to_time`.

        `regions` maps names to lists of places. Rows are regions of departure; what goes elsewhere is missing to 1.
        """
        self._fitted("steps_")
        at = {name: self.places_.index(members) for name, members in checks.mapping(regions, "regions").items()}
        start = np.maximum(self.nodes_[self._time(from_time)], 0.0)
        moved = self.transitions(from_time, to_time)
        rows = []
        for members in at.values():
            weight = np.zeros(len(start))
            weight[members] = start[members] / max(start[members].sum(), 1e-300)
            arrived = np.asarray(weight @ moved).ravel()
            rows.append([arrived[others].sum() for others in at.values()])
        return pd.DataFrame(rows, index=list(at), columns=list(at))

    def interval(self, functions: Mapping, level: float = 0.95) -> Estimate:
        """Estimate linear functions of counts and flows with intervals: ``{name: {(time, next time): weights}}``.

        By `count_intervals`, with the most common type of movement taken as known.
        """
        problem, n = self._fitted("steps_")._problem(), len(self.places_)
        best = self.movements_[int(np.argmax(self.weights_))]
        asked = {}
        for name, parts in checks.mapping(functions, "functions").items():
            asked[name] = {self._attributes(key, problem): _padded(w, n, problem) for key, w in parts.items()}
        return count_intervals(problem.model(best), problem.tables(), asked, level=level)

    def _attributes(self, key: Any, problem: FlowProblem) -> Any:
        if isinstance(key, tuple) and len(key) == 2:
            k = self._time(key[0])
            return problem.names[k], problem.names[k + 1]
        return problem.names[self._time(key)]


def _padded(weights: Any, n: int, problem: FlowProblem) -> np.ndarray:
    """Weights over the places, with zeros for what is outside."""
    given = np.asarray(weights.toarray() if sparse.issparse(weights) else weights, dtype=float)
    if given.shape not in ((n,), (n, n)):
        raise DataError(f"Weights have shape {given.shape}; there are {n} places.")
    return np.pad(given, (0, problem.n_states - n))
