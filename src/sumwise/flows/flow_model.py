"""FlowModel: from counts over time and place to flows, routes and forecasts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.collective.counts import dense
from sumwise.collective.potentials import filled
from sumwise.errors import DataError, ModelWarning
from sumwise.flows.detection import detection_by_place, detection_by_time
from sumwise.flows.flow_data import Columns, FlowData, population_of, read_counts
from sumwise.flows.flow_exchange import FlowExchange, od_table
from sumwise.flows.flow_problem import FlowProblem, cut_noise
from sumwise.flows.learned import Learned, is_large, of_posterior, of_types
from sumwise.flows.movement import Movement
from sumwise.flows.movement_models import CHANGING
from sumwise.flows.movement_search import Types, candidates, from_left_out_times, from_tracks, left_out, mean_tables
from sumwise.flows.places import Places
from sumwise.flows.sampled_moves import sampled_flows
from sumwise.flows.tracks import Tracks
from sumwise.noise import Exact, Noise, Poisson
from sumwise.table import Table
from sumwise.tables import Tables

MANY_SD, LEAST_CHANGE = 5.0, 0.05  # between the least and the largest total before a fixed population is doubted


@dataclass(eq=False, repr=False)
class FlowModel(FlowExchange):
    """Flows of a population between places, from counts over time: who went where, along which routes, and where next.

    Learns how individuals move from the counts alone, or from `Tracks` of some of them as well, or takes a given
    `Movement`. Every estimate is the mean of one posterior of movement and flows, and every interval a pair of its
    quantiles.

    Parameters
    ----------
    places : Places, optional
        Where the places are. Without them, all moves other than staying are equally likely.
    movement : "auto", Movement or list of Movement, default "auto"
        ``"auto"`` averages over movement models by their evidence: a cost of leaving, a scale of distance and a drift
        that are constant or change with the season or at every step, between places that attract alike or differ.
        Relative abundance has no likelihood to learn from: one constant movement is chosen by how well left-out
        times are predicted. A list gives the movements, or the types of individuals if there are tracks.
    noise : Noise, optional
        How counts differ from the truth (any of `sumwise.noise`). Default: Poisson for whole numbers; anything else is
        taken as relative abundance with a standard deviation of 1% of the mean of a place.
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

    Attributes
    ----------
    movements_, weights_ : list of Movement, array
        Types of movement and the share of individuals of each (one type, unless tracks were given). Of learned
        movement: the mean cost of leaving and scale of distance.
    times_, places_ : list, Places
    counts_, noise_ : array, Noise
        What was fitted: counts in individuals, and their noise.
    nodes_ : (T, L) array
        Expected individuals at every time and place.
    steps_ : list of lists of (L, L) arrays
        For every type, the expected flows of every step (sparse with ``Places(reach=...)``).
    posterior_ : dict
        The movement models, their probabilities, and weighted draws of their parameters, which follow the order of
        places: another order gives another approximation.
    answer_ : {"posterior mean", "most likely"}
        What `nodes_` and `steps_` are. ``"most likely"``, with a warning, for more places than a posterior of all
        their covariances can have.
    seasons_ : dict of FlowModel, or None
        With ``fit(season=)``: the model of every season, by its name. Counts and flows of the model itself are then
        means over seasons.
    total_range_ : dict or None
        The least and the largest total, each with its time, where they differ by more than noise explains although the
        population is fixed; there is a warning then.
    caution_ : str or None
        That intervals of flows are too narrow, in a year that repeats with movement that changes; there is a warning
        then.
    detection_, detection_error_ : arrays or None
        What was estimated with ``detection=``, by time or by place, and standard errors.
    log_likelihood_ : float or None
        Of the tracks, per track.
    scores_ : DataFrame or None
        What movement was chosen by, or the probabilities of the movement models.
    n_ : float
    fit_ : Fit

    See Also
    --------
    Places : Places on a map (or with any distances between them), for `FlowModel`.
    Movement : Log-probabilities of a step: a cost of leaving, a cost per distance, and how the size of a place
        attracts.

    Examples
    --------
    >>> from sumwise.flows import FlowModel, Movement, Places
    >>> from sumwise.noise import Gaussian
    >>> counts = {"week": [1, 1, 2, 2], "site": ["a", "b", "a", "b"], "birds": [90, 10, 40, 60]}
    >>> places = Places(x=[0.0, 1.0], y=[0.0, 0.0], names=["a", "b"])
    >>> flow = FlowModel(places, Movement(stay=1.0), noise=Gaussian(1.0))
    >>> flow = flow.fit(counts, time="week", place="site", count="birds")
    >>> flow.transitions(1, 2).round(2)
    array([[0.44, 0.56],
           [0.  , 1.  ]])
    >>> flow.flows(1, least=1.0).round(0)
      from to  count
    0    a  a   40.0
    1    a  b   50.0
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
        data : frame, (T, L) array, CountsOverTime, Tables, xarray.DataArray, BirdFlow or path
            A row per time and place with its count; or counts by time and place; or one table per time; or an array
            over `time` and places, or over `time` and a grid; or what `sumwise.io.formats.read_birdflow` returns; or
            the path of a GeoTIFF with a band per time, as of eBird Status and Trends (larger cells: `read_raster`).
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
            How much was looked for, by time and place, in any unit (hours, kilometres, the share that is counted): a
            column, or an array of shape (L,), (T, 1) or (T, L). Only ratios matter: counts are relative to the
            largest effort, unless `size` gives the level. Nothing is observed where it is 0.
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
        problems = [
            self._problem_of(counts[s], cut_noise(noise, counts.shape, s), n[s], read.mask, s) for s in range(len(n))
        ]
        learned = self._learn(problems, tracks, returning)
        self._store(problems, learned)
        self.log_likelihood_ = None
        self.move_cells_ = self._with_sampled_moves(problems[0])
        self.seasons_ = None if read.seasons is None else self._season_models(read.seasons, problems, learned)
        if tracks is not None:
            self.log_likelihood_ = float(np.log(np.maximum(self.predict_tracks(tracks, returning), 1e-300)).mean())
            for one in (self.seasons_ or {}).values():
                one.log_likelihood_ = self.log_likelihood_
        self.total_range_ = self._range_beyond_noise()
        self.caution_ = self._narrow_intervals()
        for one in (self.seasons_ or {}).values():
            one.total_range_, one.caution_ = None, self.caution_
        return self

    def _narrow_intervals(self) -> str | None:
        """What to know of intervals, and a warning, in a year that repeats with movement that changes."""
        if not self.cyclic or self.scores_ is None or "movement" not in self.scores_ or self.posterior_ is None:
            return None
        changing = self.scores_["movement"].isin(CHANGING).to_numpy()
        if self.scores_["probability"].to_numpy()[changing].sum() < 0.5:
            return None
        caution = (
            "Movement appears to change over a year that repeats. Intervals of flows and of those who stay are then "
            "too narrow, and those of sums over the year most of all: in simulated years, 90% intervals covered about "
            "three quarters and two thirds."
        )
        warnings.warn(f"{caution} Hint: give tracks, or a sample of moves.", ModelWarning, stacklevel=3)
        return caution

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
            stacklevel=3,
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
            if self.size is None or read.effort is None or (stated is None and not isinstance(noise, Poisson)):
                return counts, noise, n
            read.effort = read.effort * (population_of(read, stated, None)[2] / n)[:, None, None]
            return population_of(read, stated, self.size)
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
            mask=None if mask is None else mask[season],
        )

    def _problem(self) -> FlowProblem:
        """What the flows are the answer to."""
        if self.seasons_ is not None:
            raise DataError(
                "Intervals and checks are those of a season.", hint=f"use seasons_[{next(iter(self.seasons_))!r}]."
            )
        mask = None if self.mask_ is None else self.mask_[None]
        return self._problem_of(self.counts_, self.noise_, self.n_, mask, 0)

    def _check(self) -> None:
        if self.places is not None and not isinstance(self.places, Places):
            raise DataError(f"places is of type {type(self.places).__name__}.", hint="give Places(lon=..., lat=...).")
        checks.choice(self.population, "population", ("fixed", "varying"))
        checks.choice(self.cyclic, "cyclic", (True, False))
        checks.fraction(self.turnover, "turnover")
        if self.size is not None:
            checks.positive(self.size, "size", ndim=0)
        given = self.movement if isinstance(self.movement, (list, tuple)) else [self.movement]
        known = isinstance(self.movement, str) and self.movement == "auto"
        if not known and not (given and all(isinstance(m, Movement) for m in given)):
            raise DataError(f"movement is {self.movement!r}.", hint="give 'auto', a Movement or a list of them.")
        if self.detection is not None:
            checks.choice(self.detection, "detection", ("time", "place"))
            if self.population == "varying":
                raise DataError(
                    "Detection can't be identified if the population varies.",
                    hint="fewer counted may be fewer present: give the effort, or population='fixed'.",
                )

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
            out.append((first, Table(("from", "to"), table, noise=noise)))
        return out

    def _learn(self, problems: list[FlowProblem], tracks: Tracks | None, returning: bool) -> Learned:
        self._check_returning(returning)
        if returning and tracks is None:
            raise DataError("returning is about tracks, and there are none.", hint="give tracks, or returning=False.")
        given = None if isinstance(self.movement, str) else self.movement
        given = [given] if isinstance(given, Movement) else None if given is None else list(given)
        if tracks is not None:
            types = from_tracks(problems, given or candidates(problems[0]), self._read_tracks(tracks), returning)
            return of_types(problems, types)
        if (given is None or len(given) > 1) and (self.relative_ or is_large(problems)):
            if not any(left_out(p) for p in problems):
                raise DataError("Two times are too few to choose a movement.", hint="give tracks, or one Movement.")
            return of_types(problems, from_left_out_times(problems, given or candidates(problems[0])))
        if given is not None and (self.relative_ or is_large(problems)):
            return of_types(problems, Types(given, np.ones(1), None))
        return of_posterior(problems, given, self.size is not None)

    def _with_sampled_moves(self, problem: FlowProblem) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Replace the flows of steps whose moves were counted; shapes and rates of their gamma distributions."""
        out = []
        for k, table in self.moves_:
            far = -filled(-problem.far) / self.places_.unit
            before = sum(w * dense(kind[k]) for w, kind in zip(self.weights_, self.steps_))
            rows, cols = np.sum(before, axis=1), np.sum(before, axis=0)
            flows, shape, rate = sampled_flows(far, rows, cols, table.counts, table.noise)
            for kind in self.steps_:
                kind[k] = flows
            out.append((k, shape, rate))
        return out

    def _store(self, problems: list[FlowProblem], learned: Learned) -> None:
        one = problems[0]
        self.counts_ = one.counts if len(problems) == 1 else _mean_seen([p.counts for p in problems])
        self.noise_, self.mask_ = one.noise, one.mask
        self.movements_, self.weights_, self.scores_ = learned.movements, learned.weights, learned.scores
        self.posterior_ = learned.posterior
        self.answer_ = "most likely" if is_large(problems) else "posterior mean"
        self.steps_ = [mean_tables([flows for _, flows in each]) for each in learned.answers]
        inside = [np.mean([counts for counts, _ in each], axis=0) for each in learned.answers]
        self.nodes_ = np.tensordot(learned.weights, np.stack(inside), axes=1)
        if isinstance(self.noise_, Exact):
            self.nodes_ = np.where(np.isnan(self.counts_), self.nodes_, self.counts_)
        self.fit_ = learned.fit

    def _season_models(self, names: list, problems: list[FlowProblem], learned: Learned) -> dict:
        """A fitted model for every season."""
        out = {}
        for k, (name, problem) in enumerate(zip(names, problems)):
            one = FlowModel(**self.get_params(deep=False))
            one.times_, one.places_, one.n_, one.moves_ = self.times_, self.places_, problem.n, []
            one.relative_, one.seasons_ = self.relative_, None
            one.read_as_, one.data_key_ = self.read_as_, self.data_key_  # its report is about the same data
            found: Any = (self.detection_, self.detection_error_)
            if self.detection == "time":
                found = tuple(np.atleast_2d(v)[k] for v in found)
            one.detection_, one.detection_error_ = found
            one._store([problem], learned.season(k))
            one.move_cells_, one.log_likelihood_ = [], self.log_likelihood_
            out[name] = one
        return out


def _mean_seen(counts: list[np.ndarray]) -> np.ndarray:
    """The mean over seasons of what was observed; NaN where no season was."""
    stacked = np.stack(counts)
    seen = (~np.isnan(stacked)).sum(axis=0)
    return np.where(seen > 0, np.nansum(stacked, axis=0) / np.maximum(seen, 1), np.nan)
