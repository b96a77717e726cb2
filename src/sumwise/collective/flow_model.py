"""FlowModel: from counts over time and place to flows, routes and forecasts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from sumwise import checks
from sumwise.collective.detection import detection_by_place, detection_by_time
from sumwise.collective.flow_data import Columns, FlowData, population_of, read_counts
from sumwise.collective.flow_exchange import FlowExchange, od_table
from sumwise.collective.flow_problem import FlowProblem, cut_noise, possible_moves
from sumwise.collective.movement import Movement
from sumwise.collective.movement_search import (
    Learned,
    candidates,
    from_adapting,
    from_either,
    from_left_out_times,
    from_likelihood,
    from_tracks,
    left_out,
    mean_flows,
    mean_pairs,
    under,
)
from sumwise.collective.places import Places
from sumwise.collective.tracks import Tracks
from sumwise.errors import DataError, ModelWarning
from sumwise.fit import Fit
from sumwise.memory import check_fits
from sumwise.noise import Noise, Poisson
from sumwise.table import Table
from sumwise.tables import Tables

NOISE_WEIGHT = 3.0  # log-probabilities between which moves typically differ: a pull that noise outweighs
SAMPLE_WEIGHT = 0.1  # of a sample of moves is what movement by distance counts for; not tuned
PER_PAIR = 200  # bytes that a pair of moves takes, and what is computed from it
MANY_SD, LEAST_CHANGE = 5.0, 0.05  # between the least and the largest total before a fixed population is doubted
FEW_TIMES = 5  # fewer leave nothing to predict left-out times from


PROBLEMS: WeakKeyDictionary[Any, FlowProblem] = WeakKeyDictionary()


@dataclass(eq=False, repr=False)
class FlowModel(FlowExchange):
    """Flows of a population between places, from counts over time: who went where, by which routes, and where next.

    Learns how individuals move from the counts alone (or from `Tracks` of some of them beside the counts, or takes a
    given `Movement`), then finds the most likely flows of every step, with a proven gap.

    Parameters
    ----------
    places : Places, optional
        Where the places are. Without them, all moves other than staying are equally likely.
    movement : {"auto", "distance", "adaptive"}, Movement or list of Movement, default "auto"
        ``"distance"`` learns a cost of leaving and a scale of distance; of all that predict left-out times about
        equally well it takes the one with the fewest moves. ``"adaptive"`` starts from distance and lets the moves of
        every step follow the flows: better where many individuals move at every step, worse where most stay. ``"auto"``
        takes the one of these two that predicts left-out times better, and distance where tracks or counts of moves
        are given, with memory, and for fewer than five times. A list gives the types to choose from.
    noise : Noise, optional
        How counts differ from the truth (any of `sumwise.noise`). Default: Poisson for whole numbers; anything else is
        taken as relative abundance with a standard deviation of 1% of the mean of a place. With
        `NegativeBinomial` noise the flows are a stationary point, without a proven gap.
    population : {"fixed", "varying"}, default "fixed"
        ``"varying"``: individuals are born, die, enter and leave. They come from and go to an unobserved place outside,
        as part of the same convex problem.
    size : float > 0, optional
        Individuals at the time when there are most. Default: the largest total, or the mean total where stated noise
        explains how totals vary (100,000 for relative abundance).
    turnover : float in (0, 1), default 0.005
        With a varying population: the share that leaves per step when counts don't speak against it.
    cyclic : bool, default False
        Whether the last time leads to the first, as the weeks of a year do.
    detection : {"time", "place"}, optional
        Estimate what share of the individuals is counted, relative to the time or place with the highest share, from
        the counts of a fixed population. Refused where that is not identified. A known share is ``fit(effort=)``.
    weight : float or "auto", default "auto"
        What the movement of one individual counts for against the counts, 0 to 1. At 1 it is taken as known: a million
        individuals then outweigh any noise, and pull counts towards what their movement makes likely. ``"auto"`` keeps
        counts within their noise: 1 / (1 + 3 sd) for noise of that standard deviation, a tenth of the sample over the
        population where a sample of moves is given, and 1 for relative abundance.
    order : {1, 2}, default 1
        2: the next move depends on the last one, too (`Movement.memory`: birds fly on rather than back). Takes the
        square of the possible moves: give ``Places(reach=...)`` for more than some dozen places.
    tol : float > 0, default 1e-4
        Proven gap of the flows, relative to the objective.

    Attributes
    ----------
    movements_, weights_ : list of Movement, array
        Types of movement and the share of individuals of each (one type, unless tracks were given).
    times_, places_ : list, Places
    counts_, noise_, weight_ : array, Noise, float
        What was fitted: counts in individuals, their noise, and the weight of the movement model.
    nodes_ : (T, L) array
        Estimated individuals at every time and place.
    steps_ : list of lists of (L, L) arrays
        For every type, the flows of every step (sparse with ``Places(reach=...)``).
    pairs_, pair_moves_ : list of lists of sparse (E, E) arrays, (from, to); or None
        With ``order=2``: for every type, the flows of every two steps between the E moves that are possible.
    seasons_ : dict of FlowModel, or None
        With ``fit(season=)``: the model of every season, by its name. Counts and flows of the model itself are then
        means over seasons.
    total_range_ : dict or None
        The least and the largest total, each with its time, where they differ by more than noise explains although the
        population is fixed; there is a warning then.
    detection_, detection_error_ : arrays or None
        What was estimated with ``detection=``, by time or by place, and standard errors.
    log_moves_, log_start_ : list of (L, L) arrays, array, or None
        With adaptive movement: log-probabilities of the moves of every step, and of the first places.
    adapted_ : bool
        Whether moves adapted to the flows.
    scores_ : DataFrame or None
        What movement was chosen by.
    n_ : float
    fit_ : Fit
        The fit of the most common type; ``gap`` is its certificate (the sum over seasons).

    See Also
    --------
    Places : Places on a map (or with any distances between them), for `FlowModel`.
    Movement : Log-probabilities of a step: a cost of leaving, a cost per distance, and how the size of a place
        attracts.
    CollectiveEM : Learn how one individual moves from noisy counts of populations, by expectation maximisation.

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

    places: Places | None = None
    movement: Any = "auto"
    noise: Noise | None = None
    population: str = "fixed"
    size: float | None = None
    turnover: float = 0.005
    cyclic: bool = False
    detection: str | None = None
    weight: Any = "auto"
    order: int = 1
    tol: float = 1e-4

    def fit(
        self,
        data: Any,
        *,
        time: str = "time",
        place: Any = "place",
        count: str = "count",
        season: str | None = None,
        times: Any = None,
        absent: str = "unobserved",
        effort: Any = None,
        mask: Any = None,
        tracks: Tracks | None = None,
        returning: bool = False,
        moves: Mapping | None = None,
    ) -> FlowModel:
        """Learn movement and flows.

        Parameters
        ----------
        data : frame, (T, L) array, CountsOverTime, Tables, xarray.DataArray or BirdFlow
            A row per time and place with its count; or counts by time and place; or one table per time; or an array
            over `time` and places, or over `time` and a grid; or what `sumwise.readers.read_birdflow` returns.
        time, place, count : str
            Columns of the frame. Where places have no name, give their coordinates, ``place=("lon", "lat")`` (degrees,
            by their names) or ``place=("x", "y")``; `places` is then made of them.
        season : str, optional
            A column of years, days or other repetitions. Seasons share their movement; each has flows of its own.
        times : sequence or "regular", optional
            All times in order, where some weeks have no row at all (they are estimated) or times don't sort.
            ``"regular"``: numbers or dates at the shortest distance between those in the data.
        absent : {"unobserved", "zero", "raise"}, default "unobserved"
            What a pair of time and place without a row means; ``"raise"``: an error, for frames that should be complete
            (a time without any row is among the given `times` only, and is estimated).
        effort : str or array, optional
            The share of the individuals that is counted, by time and place: a column, or an array of shape (L,),
            (T, 1) or (T, L). Nothing is observed where it is 0.
        mask : str or array, optional
            Where individuals can be at which time: a column or an array as above, 0 where nobody can.
        tracks : Tracks, optional
            Individuals that were seen twice: they decide among movements compatible with the counts.
        returning : bool, default False
            Whether individuals with tracks are known to be back at their first place after a year (of a cyclic model),
            as birds that breed where they did: movement is then learned given that.
        moves : mapping, optional
            ``{(time, next time): (counts, noise)}``: counts (L, L) of moves, or a frame with origin, destination and
            flow, such as a sample of individuals (``Poisson(0.01)`` for one in a hundred).
        """
        self._check()
        read = read_counts(data, self.places, Columns(time, place, count, season, effort, mask), times, absent)
        if len(read.times) < 2:
            raise DataError("There is only one time; flows need at least two.", hint="is time the right column?")
        if moves is not None and len(read.counts) > 1:
            raise DataError("moves= is for one season.", hint="fit the seasons one by one where moves are known.")
        self.times_, self.places_ = read.times, read.places
        named = place if isinstance(place, str) else list(place)
        self.read_as_ = {"time": time, "place": named, "count": count, "season": season, "absent": absent}
        self.data_key_ = read.fingerprint
        counts, noise, n = self._scaled(read)
        self.relative_ = self.noise is None and read.noise is None and not isinstance(noise, Poisson)
        self.n_ = float(n.mean())
        self.moves_ = self._move_tables(moves)
        self.weight_ = self._movement_weight(noise, moves)
        problems = [
            self._problem_of(counts[s], cut_noise(noise, counts.shape, s), n[s], read.mask, s) for s in range(len(n))
        ]
        if len(problems) == 1:
            PROBLEMS[self] = problems[0]  # intervals and checks ask for it again; not part of what is saved
        else:
            PROBLEMS.pop(self, None)
        learned = self._learn(problems, tracks, returning)
        self._store(problems, learned)
        self.seasons_ = None if read.seasons is None else self._season_models(read.seasons, problems, learned)
        self.total_range_ = self._range_beyond_noise()
        return self

    def _range_beyond_noise(self) -> dict[str, tuple[Any, float]] | None:
        """The least and the largest total with their times, and a warning, where a fixed population can't have both."""
        rate = np.broadcast_to(np.asarray(getattr(self.noise_, "rate", 1.0), dtype=float), self.counts_.shape)
        counts = np.divide(self.counts_, rate, out=np.full(rate.shape, np.nan), where=rate > 0)
        whole = np.flatnonzero(np.isfinite(counts).all(axis=1))
        if self.population != "fixed" or self.detection_ is not None or self.seasons_ is not None or len(whole) < 2:
            return None
        totals = counts[whole].sum(axis=1)
        noise = self.noise_.variance(np.maximum(np.nan_to_num(counts), 0.0)) / np.where(rate > 0, rate, 1.0) ** 2
        noise = np.broadcast_to(noise, counts.shape)[whole]
        ends = [int(np.argmin(totals)), int(np.argmax(totals))]
        apart, sd = float(np.diff(totals[ends])[0]), float(np.sqrt(noise[ends].sum()))
        if apart < max(MANY_SD * sd, LEAST_CHANGE * totals[ends[1]]):
            return None
        least, most = ((self.times_[whole[k]], float(totals[k])) for k in ends)
        warnings.warn(
            f"Totals range from {least[1]:,.0f} (time {least[0]}) to {most[1]:,.0f} (time {most[0]}), more than their "
            f"noise explains, while the population is taken as {self.n_:,.0f} at all times. Hint: set "
            "population='varying' where individuals are born, die, enter or leave, or detection='time' where the "
            "share that is counted changes.",
            ModelWarning,
            stacklevel=4,
        )
        return {"least": least, "most": most}

    def check_data(self, data: Any) -> None:
        """Raise where `data` are not the counts that this model was fitted to."""
        try:
            self._fitted("data_key_")
            named = {k: v for k, v in self.read_as_.items() if k != "absent"}
            times = None if isinstance(data, Tables) else self.times_
            read = read_counts(data, self.places_, Columns(**named), times, str(self.read_as_["absent"]))
        except DataError as error:
            raise DataError(
                f"These are not the data that the model was fitted to. {error.message}", hint="give what fit was given."
            ) from error
        if read.fingerprint != self.data_key_:
            raise DataError(
                "These are not the counts that the model was fitted to: times and places agree, counts don't.",
                hint="give what fit was given, or fit a model to these counts.",
            )

    def _scaled(self, read: FlowData) -> tuple[np.ndarray, Noise, np.ndarray]:
        """Counts in individuals, noise and sizes, with what detection was estimated."""
        stated = read.noise if self.noise is None else self.noise
        if not (stated is None or isinstance(stated, Noise)):
            raise DataError(
                f"noise is {stated!r}.",
                hint="give one of sumwise.noise, as Gaussian(10.0), or None: Poisson for whole numbers, else relative.",
            )
        self.detection_ = self.detection_error_ = None
        counts, noise, n = population_of(read, stated, self.size)
        if self.detection is None:
            return counts, noise, n
        full = counts / noise.rate if hasattr(noise, "rate") else counts  # type: ignore[attr-defined]
        around = np.maximum(np.nan_to_num(full), 0.0)
        variance = np.broadcast_to(noise.variance(around), full.shape)
        variance = variance / noise.rate**2 if hasattr(noise, "rate") else variance  # type: ignore[attr-defined]
        by_time = self.detection == "time"
        found, errors = (detection_by_time if by_time else detection_by_place)(full, variance, n)
        # Without a given size the level is not identified: the best detection counts as 1.
        top = found.max() if self.size is None and not by_time else 1.0
        self.detection_, self.detection_error_ = found / top, errors / top
        factor = self.detection_[:, :, None] if by_time else self.detection_
        read.effort = np.broadcast_to(factor * (1.0 if read.effort is None else read.effort), read.counts.shape)
        if by_time and len(found) == 1:
            self.detection_, self.detection_error_ = self.detection_[0], self.detection_error_[0]
        relative = stated is None and not isinstance(noise, Poisson)
        return population_of(read, stated, self.size if relative else n * top)

    def _problem_of(self, counts: np.ndarray, noise: Noise, n: float, mask: Any, season: int) -> FlowProblem:
        return FlowProblem(
            self.places_,
            self.places_.moves(),
            counts,
            noise,
            float(n),
            self.turnover if self.population == "varying" else None,
            self.cyclic,
            dict(self.moves_),
            self.tol,
            self.weight_,
            None if mask is None else mask[season],
            self.order,
        )

    def _problem(self) -> FlowProblem:
        """What the flows are the answer to."""
        if self.seasons_ is not None:
            raise DataError(
                "Intervals and checks are those of a season.", hint=f"use seasons_[{next(iter(self.seasons_))!r}]."
            )
        if self in PROBLEMS:
            return PROBLEMS[self]
        mask = None if self.mask_ is None else self.mask_[None]
        return self._problem_of(self.counts_, self.noise_, self.n_, mask, 0)

    def _check(self) -> None:
        if self.places is not None and not isinstance(self.places, Places):
            raise DataError(f"places is of type {type(self.places).__name__}.", hint="give Places(lon=..., lat=...).")
        checks.choice(self.population, "population", ("fixed", "varying"))
        checks.choice(self.cyclic, "cyclic", (True, False))
        checks.fraction(self.turnover, "turnover")
        checks.positive(self.tol, "tol", ndim=0)
        if self.size is not None:
            checks.positive(self.size, "size", ndim=0)
        given = self.movement if isinstance(self.movement, (list, tuple)) else [self.movement]
        known = isinstance(self.movement, str) and self.movement in ("auto", "distance", "adaptive")
        if not known and not (given and all(isinstance(m, Movement) for m in given)):
            hint = "give 'auto', 'distance', 'adaptive', a Movement or a list of them."
            raise DataError(f"movement is {self.movement!r}.", hint=hint)
        self._check_order(given)
        if self.detection is not None:
            checks.choice(self.detection, "detection", ("time", "place"))
            if self.population == "varying":
                raise DataError(
                    "Detection can't be identified if the population varies.",
                    hint="fewer counted may be fewer present: give the effort, or population='fixed'.",
                )

    def _check_order(self, given: Any) -> None:
        """Memory needs coordinates, a second-order model, and not too many pairs of moves."""
        checks.choice(self.order, "order", (1, 2))
        if self.order == 1:
            if any(getattr(m, "memory", 0.0) != 0 for m in given):
                raise DataError("A movement has memory; the model has none.", hint="set order=2.")
            return
        if self.movement == "adaptive":
            raise DataError("Adaptive moves have no memory.", hint="set order=1, or give movement='distance'.")
        if self.places is None:
            raise DataError("Memory of direction needs places.", hint="give Places(lon=..., lat=...).")
        self.places.positions  # noqa: B018  places without coordinates have no directions
        first, second = possible_moves(self.places.moves(), self.population == "varying")
        n_pairs = int((np.bincount(first) * np.bincount(second)).sum())
        check_fits(
            PER_PAIR * n_pairs,
            "A second-order model",
            f"{n_pairs:,} pairs of moves that can follow each other",
            "give Places(reach=...) so that fewer moves are possible, or order=1.",
        )

    def _movement_weight(self, noise: Noise, moves: Any) -> float:
        """What movement counts for: given, or so little that counts stay within their noise."""
        if self.weight != "auto":
            return checks.fraction(self.weight, "weight") if self.weight != 1 else 1.0
        if moves:
            sampled = sum(float(np.nansum(table.counts)) for _, table in self.moves_)
            return float(min(1.0, max(SAMPLE_WEIGHT * sampled / self.n_, 1e-6)))
        if self.relative_:
            return 1.0
        sd = np.sqrt(float(np.mean(noise.variance(self.n_ / len(self.places_)))))
        return float(1.0 / (1.0 + NOISE_WEIGHT * sd))

    def _move_tables(self, given: Any) -> list[tuple[int, Table]]:
        out = []
        if given is None:
            return out
        for key, held in checks.mapping(given, "moves").items():
            if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in (key, held)):
                raise DataError(
                    f"moves has {key!r}, which is not a pair of times with a table and its noise.",
                    hint="give {(first time, next time): (table, noise)}.",
                )
            (a, b), (counts, noise) = key, held
            first, second = self._time(a), self._time(b)
            if second != first + 1:
                raise DataError(f"Moves are given from {a!r} to {b!r}, which don't follow each other.")
            n = len(self.places_)
            table = checks.finite(od_table(counts, self.places_), "moves", ndim=2, allow_nan=True)
            if table.shape != (n, n):
                raise DataError(f"Moves from {a!r} to {b!r} have shape {table.shape}; there are {n} places.")
            wide = np.full((n + 1, n + 1), np.nan) if self.population == "varying" else None
            if wide is not None:
                wide[:n, :n] = table
            out.append((first, Table(("from", "to"), table if wide is None else wide, noise=noise)))
        return out

    def _learn(self, problems: list[FlowProblem], tracks: Tracks | None, returning: bool) -> Learned:
        self._check_returning(returning)
        if returning and tracks is None:
            raise DataError("returning is about tracks, and there are none.", hint="give tracks, or returning=False.")
        if isinstance(self.movement, Movement):
            return under(problems, self.movement)
        if isinstance(self.movement, str) and self.movement == "adaptive":
            if tracks is not None:
                raise DataError("Adaptive moves don't use tracks.", hint="give movement='distance', or several types.")
            return from_adapting(problems)
        grid = candidates(problems[0]) if isinstance(self.movement, str) else list(self.movement)
        if tracks is not None:
            return from_tracks(problems, grid, self._read_tracks(tracks), returning)
        known = sum(int((~np.isnan(p.counts).all(axis=1)).sum()) for p in problems)
        none = not any(left_out(p) for p in problems)
        if isinstance(self.movement, str) and (none or known < FEW_TIMES or self.moves_):
            return from_likelihood(problems)
        if none:
            raise DataError(
                f"{known} times are too few to choose among {len(grid)} movements.",
                hint="give tracks, or one Movement.",
            )
        either = isinstance(self.movement, str) and self.movement == "auto" and self.order == 1
        return (from_either if either else from_left_out_times)(problems, grid)

    def _store(self, problems: list[FlowProblem], learned: Learned) -> None:
        one = problems[0]
        self.counts_ = one.counts if len(problems) == 1 else _mean_seen([p.counts for p in problems])
        self.noise_, self.mask_ = one.noise, one.mask
        self.movements_, self.weights_, self.scores_ = learned.movements, learned.weights, learned.scores
        self.log_likelihood_ = learned.log_likelihood
        self.adapted_ = learned.adapted is not None
        adapted = learned.adapted[0] if learned.adapted is not None and len(problems) == 1 else None
        self.log_moves_, self.log_start_ = (None, None) if adapted is None else (adapted.logs, adapted.start)
        self.steps_ = [mean_flows(problems, fits) for fits in learned.fits]
        self.pairs_ = None if self.order == 1 else [mean_pairs(problems, fits) for fits in learned.fits]
        self.pair_moves_ = one.pair_moves()
        inside = [np.mean([p.inside(f) for p, f in zip(problems, fits)], axis=0) for fits in learned.fits]
        self.nodes_ = np.tensordot(learned.weights, np.stack(inside), axes=1)
        fits = learned.fits[int(np.argmax(learned.weights))]
        history = {k: np.asarray(v) for k, v in fits[0].history.items()} if len(fits) == 1 else {}
        objective, gap = (float(sum(getattr(f, a) for f in fits)) for a in ("objective", "gap"))
        steps, done = max(f.n_iter for f in fits), all(f.converged for f in fits)
        self.fit_ = Fit(None, objective, gap, steps, done, history)

    def _season_models(self, names: list, problems: list[FlowProblem], learned: Learned) -> dict:
        """A fitted model for every season."""
        out = {}
        for k, (name, problem) in enumerate(zip(names, problems)):
            one = FlowModel(**self.get_params(deep=False))
            one.times_, one.places_, one.n_, one.moves_ = self.times_, self.places_, problem.n, []
            one.weight_, one.relative_, one.seasons_ = self.weight_, self.relative_, None
            one.read_as_, one.data_key_ = self.read_as_, self.data_key_  # its report is about the same data
            found: Any = (self.detection_, self.detection_error_)
            if self.detection == "time":
                found = tuple(np.atleast_2d(v)[k] for v in found)
            one.detection_, one.detection_error_ = found
            adapted = None if learned.adapted is None else [learned.adapted[k]]
            part = Learned(learned.movements, learned.weights, [[f[k]] for f in learned.fits], learned.scores)
            part.log_likelihood, part.adapted = learned.log_likelihood, adapted
            one._store([problem], part)
            out[name] = one
        return out


def _mean_seen(counts: list[np.ndarray]) -> np.ndarray:
    """The mean over seasons of what was observed; NaN where no season was."""
    stacked = np.stack(counts)
    seen = (~np.isnan(stacked)).sum(axis=0)
    return np.where(seen > 0, np.nansum(stacked, axis=0) / np.maximum(seen, 1), np.nan)
