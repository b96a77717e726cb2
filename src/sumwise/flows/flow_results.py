"""What a fitted FlowModel knows: transitions, flows, routes, flux, forecasts, connectivity, intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from scipy import sparse

from sumwise import checks
from sumwise.collective.counts import Counts, dense
from sumwise.collective.transitions import row_shares
from sumwise.draws import Draws
from sumwise.errors import DataError
from sumwise.estimate import Estimate
from sumwise.estimator import Estimator
from sumwise.flows.chain_draws import ChainDraw
from sumwise.flows.flow_problem import FlowProblem
from sumwise.flows.forecast import forecast, forecast_chains
from sumwise.flows.function_draws import draws_of
from sumwise.flows.kernels.flow_filter import Functions
from sumwise.flows.move_chain import MoveChain, chain_of
from sumwise.flows.movement import Movement
from sumwise.flows.movement_search import left_out, share_divergence
from sumwise.flows.places import Places
from sumwise.flows.posterior import FlowPosterior
from sumwise.flows.routes import drawn_states, flux, line_crossings, route_frame
from sumwise.flows.sampled_moves import sampled_draws
from sumwise.flows.tracks import Tracks
from sumwise.learned import check_part
from sumwise.progress import track

SAMPLED_DRAWS = 200  # where moves were counted: each rakes a table
MOST_LISTED = 2_000_000  # pairs of places over all steps, whose flows a notebook lists
_CHAINS: WeakKeyDictionary[Any, tuple[Any, list[ChainDraw]]] = WeakKeyDictionary()  # of models, with their flows


class FlowResults(Estimator):
    """The methods of a fitted `FlowModel`."""

    _learned = (
        "places_: is Places; places_.names: len L; counts_: count T L; nodes_: float T L; "
        "weights_: float *; times_: len T; fit_: is Fit; read_as_: is dict; data_key_, answer_: is str; "
        "relative_: is bool; n_: number; moves_, movements_, steps_, posterior_, move_cells_: is list; "
        "scores_: is DataFrame"
    )

    movement: Any
    cyclic: bool
    size: Any
    population: str
    relative_: bool
    posterior_: list[dict[str, Any]] | None
    move_cells_: list[tuple[int, np.ndarray, np.ndarray]]
    scores_: pd.DataFrame | None
    times_: list
    places_: Places
    counts_: np.ndarray
    nodes_: np.ndarray
    steps_: list[list[Any]]
    movements_: list[Movement]
    weights_: np.ndarray
    seasons_: dict | None
    n_: float

    def _check_rebuilt(self) -> None:
        super()._check_rebuilt()
        n = len(getattr(self, "places_", ()))
        for flows in (flows for kind in getattr(self, "steps_", ()) for flows in kind):
            values = flows.data if sparse.issparse(flows) else flows
            if np.shape(flows) != (n, n) or values.dtype.kind != "f" or not np.isfinite(values).all():
                raise DataError(f"steps_ are no flows between {n} places.", hint="save the object again.")
        for state in getattr(self, "posterior_", None) or ():
            sizes = {"models": len(state["models"])}
            rules = {"probabilities": "float models", "weights": "float m", "candidate": "int<models m"}
            for part, rule in {**rules, "parameters": "len m"}.items():
                check_part(f"posterior_ {part}", state[part], rule, sizes)
            for around in state["around"]:
                check_part("posterior_ around", around, "float * places", {"places": n})
            for point in state["parameters"]:
                check_part("posterior_ parameters", point, "float *", sizes)

    def notebook_finding(self) -> tuple[str, Any] | None:
        """Return what the fitted model found, without its data: a sentence and a frame, or None."""
        n_steps, n_places = len(self.steps_[0]), len(self.places_)
        words = f"Counts at {n_places:,} places and {len(self.times_):,} times."
        if n_steps * n_places**2 > MOST_LISTED:
            return words, None
        words += (
            f" About {100 * self.staying().mean():.0f}% stay where they are from one time to the next."
            " The largest flows between places follow; report(data) adds intervals."
        )
        found = self.flows()
        moved: Any = found[found["from"] != found["to"]]
        return words, moved.sort_values("count", ascending=False, kind="stable")

    def _problem(self) -> FlowProblem:
        raise NotImplementedError

    def _time(self, given: Any) -> int:
        listed = self.times_
        if checks.plain(given) not in listed:
            checks.known(checks.plain(given), listed, "time")
        return listed.index(checks.plain(given))

    def _read_tracks(self, tracks: Tracks) -> tuple[np.ndarray, ...]:
        """Numbers of first places, first times, second places, and steps between."""
        if not isinstance(tracks, Tracks):
            raise DataError(
                f"tracks is of type {type(tracks).__name__}.", hint="give Tracks(...) or Tracks.from_frame(...)."
            )
        starts, ends = (np.array([self._time(t) for t in given]) for given in (tracks.from_time, tracks.to_time))
        lengths = (ends - starts) % len(self.times_) if self.cyclic else ends - starts
        hint = "swap the sightings, or set cyclic=True where the last time leads to the first."
        checks.nowhere(lengths < 0, "{} tracks end before they begin", lambda k: f"number {k}", hint)
        return self.places_.index(tracks.from_place), starts, self.places_.index(tracks.to_place), lengths

    def chain(self, kind: int) -> MoveChain:
        """Return probabilities of the moves of one type of movement, step by step."""
        return chain_of(self._fitted("steps_").steps_[kind])

    def transitions(self, from_time: Any, to_time: Any, returning: bool = False) -> Any:
        """Return p(place at `to_time` | place at `from_time`), (L, L); rows sum to 1.

        Given that an individual is in the population at both times. Sparse with ``Places(reach=...)``. With
        ``cyclic=True`` the year goes on: from week 50 to week 3. `returning` (of a cyclic model): given also that the
        individual is back at its first place after a year, as birds are that return to their nest.
        """
        self._fitted("steps_")
        self._check_returning(returning)
        return self._moved(*self._span(from_time, to_time), returning)

    def _span(self, from_time: Any, to_time: Any) -> tuple[int, int]:
        """The first time and the number of steps to the second."""
        self._fitted("steps_")
        start, end = self._time(from_time), self._time(to_time)
        n_steps = (end - start) % len(self.times_) if self.cyclic else end - start
        if n_steps < 0:
            raise DataError(f"{to_time!r} is before {from_time!r}.", hint="set cyclic=True for years that repeat.")
        return start, n_steps

    def _moved(self, start: int, n_steps: int, returning: bool = False) -> Any:
        """The mean transitions of some steps."""
        total: Any = None
        for draw in self._chains():
            made = draw.weight * draw.moved(start, n_steps, returning)
            total = made if total is None else total + made
        return row_shares(total) if returning else total

    def _chains(self) -> list[ChainDraw]:
        """Draws of how individuals move; one, of the expected flows, where there is no posterior of them."""
        kept = _CHAINS.get(self)
        if kept is None or kept[0] is not self._fitted("steps_").steps_:
            kept = (self.steps_, self._made_chains())
            _CHAINS[self] = kept
        return kept[1]

    def _made_chains(self) -> list[ChainDraw]:
        if self._why_no_interval() is not None or self.posterior_ is None:
            present = np.asarray(self.weights_)[:, None, None] * np.maximum(self.nodes_, 0.0)
            return [ChainDraw(1.0, 1.0, present, [self.chain(k) for k in range(len(self.weights_))])]
        draws = FlowPosterior.restored([self._problem()], self.posterior_[0]).chains(0)
        for k, *_ in self.move_cells_:  # moves that were counted
            known = row_shares(self.steps_[0][k])
            for chain in (c for draw in draws for c in draw.chains):
                chain.steps[k] = known
        return draws

    def _check_returning(self, returning: bool) -> None:
        checks.choice(returning, "returning", (True, False))
        if returning and not self.cyclic:
            raise DataError("Only individuals of a year that repeats return.", hint="set cyclic=True.")

    def predict_tracks(self, tracks: Tracks, returning: bool = False) -> np.ndarray:
        """Return the probability of every track's second place, given its first: one per track.

        `returning`: given also that the individual is back at its first place after a year, as for `transitions`.
        """
        self._fitted("steps_")
        read = self._read_tracks(tracks)
        self._check_returning(returning)
        place, start = read[0], read[1]
        joint, whole = np.zeros(len(place)), np.zeros(len(place))
        for draw in self._chains():
            for chain, shares in zip(draw.chains, draw.shares[:, start, place]):
                found = chain.returning_probabilities(read) if returning else (chain.track_probabilities(read), 1.0)
                joint, whole = (a + draw.weight * shares * b for a, b in zip((joint, whole), found))
        return np.divide(joint, whole, out=np.zeros_like(joint), where=whole > 0)

    def _step(self, k: int) -> Any:
        """Flows of step k over all types."""
        return sum(w * steps[k] for w, steps in zip(self.weights_, self.steps_))

    def _step_after(self, k: int, from_time: Any) -> int:
        if k >= len(self.steps_[0]):
            raise DataError(f"No step begins at {from_time!r}, the last time.")
        return k

    def flows(self, from_time: Any = None, least: float = 0.05) -> pd.DataFrame:
        """Return the flows of the step after `from_time`: from, to and the estimated count, `least` or more.

        Without a time: of all steps, with the columns time and next time, the largest flows of each step first.
        """
        names = np.array(self._fitted("steps_").places_.names, dtype=object)
        if from_time is not None:
            return self._listed(self._step_after(self._time(from_time), from_time), names, least)
        parts = []
        for k in range(len(self.steps_[0])):
            found = self._listed(k, names, least).sort_values("count", ascending=False, kind="stable")
            times = {"time": self.times_[k], "next time": self.times_[(k + 1) % len(self.times_)]}
            parts.append(found.assign(**times)[["time", "next time", "from", "to", "count"]])
        return pd.concat(parts, ignore_index=True)

    def _listed(self, k: int, names: np.ndarray, least: float) -> pd.DataFrame:
        table = sparse.coo_array(self._step(k))
        kept = table.data >= least
        found = pd.DataFrame({"from": names[table.row], "to": names[table.col], "count": table.data})
        return found.loc[kept].reset_index(drop=True)

    def staying(self) -> np.ndarray:
        """Return the share of individuals that stay where they are, for every step."""
        steps: list[Any] = [self._step(k) for k in range(len(self._fitted("steps_").steps_[0]))]
        return np.array([float(f.diagonal().sum() / max(f.sum(), 1e-300)) for f in steps])

    def to_frame(self) -> pd.DataFrame:
        """Return what was counted and is estimated at every time and place, a row each."""
        t, k = np.indices(self._fitted("steps_").counts_.shape).reshape(2, -1)
        times, places = (np.array(list(v), dtype=object) for v in (self.times_, self.places_.names))
        columns = {"time": times[t], "place": places[k]}
        return pd.DataFrame({**columns, "counted": self.counts_.ravel(), "estimated": self.nodes_.ravel()})

    def flow_bounds(self, from_place: Any, to_place: Any, from_time: Any) -> tuple[float, float]:
        """Return the least and the largest flow that the estimated counts of two places allow, whatever the movement.

        In a population that varies, the least is 0.
        """
        self._fitted("steps_")
        k = self._step_after(self._time(from_time), from_time)
        i, j = self.places_.index([from_place, to_place])
        here, there = self.nodes_[k, i], self.nodes_[(k + 1) % len(self.times_), j]
        low = max(here + there - self.n_, 0.0) if self.population == "fixed" else 0.0
        return float(low), float(min(here, there))

    def counts(self) -> Counts:
        """Return estimated counts of all times and flows, as `map_counts` does."""
        self._fitted("steps_")
        names = [str(t) for t in self.times_] + ([f"{self.times_[0]} again"] if self.cyclic else [])
        nodes = dict(zip(names, [*self.nodes_, self.nodes_[0]] if self.cyclic else self.nodes_))
        edges = {e: self._step(k) for k, e in enumerate(pairwise(names))}
        return Counts(nodes, edges, self.n_)

    def routes(
        self, n: int = 10, *, start: Any = None, end: Any = None, returning: bool = False, random_state: Any = 0
    ) -> pd.DataFrame:
        """Draw routes of individuals, a row per step (see `sumwise.flows.routes`).

        Parameters
        ----------
        n : int >= 1, default 10
        start, end : optional
            The place where all routes begin at the first time, and where they end at the last one.
        returning : bool, default False
            Routes that end where they began, as those of birds that come back to their nest after a year.
        random_state : int, Generator or None, default 0
        """
        places = self._fitted("steps_").places_
        same = (lambda x, y: (x, y)) if places.lon is not None else None
        dates = [*self.times_, self.times_[0]] if self.cyclic else self.times_
        first, last = (None if p is None else int(places.index([p])[0]) for p in (start, end))
        checks.at_least(n, "n", 1)
        rng, drawn = checks.generator(random_state), []
        chains = self._chains()
        for draw, some in zip(chains, rng.multinomial(n, np.array([c.weight for c in chains]))):
            here = draw.present[:, 0]
            weights = here.sum(axis=1) if first is None else np.maximum(here[:, first], 1e-300)
            for k, m in enumerate(rng.multinomial(some, weights / weights.sum())):
                if m > 0:
                    drawn.append(drawn_states(draw.chains[k], here[k], int(m), first, last, returning, rng))
        return route_frame(np.concatenate(drawn), places.positions, dates, same)

    def flux(self, start: Any, end: Any, level: float = 0.9) -> pd.DataFrame:
        """Return how many cross the line from `start` to `end` (lon, lat or x, y) at every step, either way.

        Longitudes are as in ``places_``, which has those of 0 to 360 degrees as -180 to 180 unless places lie on both
        sides of the 180th meridian.

        Returns
        -------
        pandas.DataFrame
            step, forward (from the left to the right side of the line), backward, net; and with a posterior the
            interval of net, low and high.
        """
        positions, times = self._fitted("steps_").places_.positions, [*self.times_, self.times_[0]]
        made = flux(self.counts(), positions, start, end)
        if self._why_no_interval() is None:
            sign = line_crossings(positions, start, end)
            net = {step: {(times[k], times[k + 1]): sign} for k, step in enumerate(made["step"])}
            found = self.interval(net, level)
            made = made.assign(net=found.values, low=found.low, high=found.high)
        return made

    def forecast(
        self,
        counts: Any,
        from_time: Any = None,
        steps: int = 1,
        *,
        level: float = 0.9,
        draws: int = 1000,
        random_state: Any = 0,
    ) -> Estimate:
        """Forecast counts of `from_time` over the next steps.

        Futures are drawn: of what is not known of movement, and of what chance makes of the moves of individuals, each
        of which keeps its type. Estimates are their means, intervals their quantiles. Without a time: one step, by
        the mean of all steps.

        Parameters
        ----------
        counts : (L,) array, or (m, L) array of draws
        from_time : optional
        steps : int >= 1, default 1
        level : float in (0, 1), default 0.9
        draws : int >= 10, default 1000
        random_state : int, Generator or None, default 0
        """
        n_steps = len(self._fitted("steps_").steps_[0])
        checks.at_least(steps, "steps", 1)
        if from_time is None:
            if steps > 1:
                raise DataError("Without a time there is one step to forecast.", hint="give from_time.")
            mean = sum(self._moved(k, 1) for k in range(n_steps)) / n_steps
            return forecast(counts, [mean], level=level, draws=draws, random_state=random_state)
        start = self._time(from_time)
        if not self.cyclic and start + steps > n_steps:
            raise DataError(f"There are {n_steps - start} steps after {from_time!r}; {steps} were asked for.")
        options = {"level": level, "draws": draws, "random_state": random_state}
        return forecast_chains(counts, self._chains(), start, steps, **options)

    def check(self) -> pd.DataFrame:
        """Return how well times are predicted that are left out, beside simple rules.

        Every fourth time is left out and estimated from the others ("between"); the last one from all before it
        ("ahead"), with the movement that was learned from all times.

        Returns
        -------
        pandas.DataFrame
            time, kind, and Kullback-Leibler divergences of the observed shares from those of the model, of the mean of
            the neighbouring times ("between") and of the time before.
        """
        self._fitted("steps_")
        problem = self._problem()
        seen = [t for t in range(len(problem.counts)) if not np.isnan(problem.counts[t]).all()]
        tries = [("between", left_out(problem))]
        if len(seen) > 2 and not self.cyclic:
            tries.append(("ahead", [seen[-1]]))
        rows = []
        for kind, times in track(tries, "Checks"):
            made = self._without(problem, times)
            for t in times:
                before = max((s for s in seen if s < t), default=seen[-1])
                after = min((s for s in seen if s > t), default=seen[0])
                given, sums = problem.counts, [problem.counts[before], problem.counts[after]]
                mean = np.nanmean(sums, axis=0) if kind == "between" else given[before]
                each = [share_divergence(given[t], np.nan_to_num(q)) for q in (made[t], mean, given[before])]
                rows.append((self.times_[t], kind, *each))
        return pd.DataFrame(rows, columns=["time", "kind", "model", "neighbouring times", "time before"])

    def _without(self, problem: FlowProblem, times: list[int]) -> np.ndarray:
        """Expected counts (T, L) without the counts of some times."""
        if self.posterior_ is None:
            return problem.inside(problem.solve(self.movements_[int(np.argmax(self.weights_))], times))
        common = int(np.argmax(self.weights_)) if len(self.posterior_) > 1 else 0
        counts = problem.counts.copy()
        counts[times] = np.nan
        return FlowPosterior.restored([replace(problem, counts=counts)], self.posterior_[common]).flows(0)[0]

    def estimate(self, level: float = 0.95) -> Estimate:
        """Return how many stay where they are at every step: means and quantiles of the posterior draws.

        Examples
        --------
        >>> from sumwise.flows import FlowModel, Movement, Places
        >>> places = Places(x=[0.0, 1.0], y=[0.0, 0.0], names=["a", "b"])
        >>> flow = FlowModel(places, Movement(stay=1.0)).fit([[90, 10], [40, 60]], times=["May", "June"])
        >>> flow.estimate().labels
        (('stay from May to June',),)
        """
        same = np.eye(len(self._fitted("steps_").places_))
        steps = zip(self.times_, self.times_[1:] + self.times_[:1] * self.cyclic)
        return self.interval({f"stay from {a} to {b}": {(a, b): same} for a, b in steps}, level)

    def interval(self, functions: Mapping, level: float = 0.95) -> Estimate:
        """Estimate linear functions of counts and flows with intervals: ``{name: {(time, next time): weights}}``.

        Means and quantiles of `draws`.
        """
        return self.draws(functions).estimate(checks.fraction(level, "level"))

    def draws(self, functions: Mapping) -> Draws:
        """Return draws of linear functions of counts and flows: ``{name: {(time, next time): weights}}``.

        A time as key stands for counts. Given how individuals move, counts and flows are normal with the covariances
        of multinomial moves times an overdispersion; draws are mixtures over movement models, their parameters and the
        overdispersion, weighted by how likely they make the counts. What counts individuals is never negative, and
        comes in whole individuals if it varies no more than they do.

        Examples
        --------
        >>> import numpy as np
        >>> from sumwise.flows import FlowModel, Movement, Places
        >>> places = Places(x=[0.0, 1.0], y=[0.0, 0.0], names=["a", "b"])
        >>> flow = FlowModel(places, Movement(stay=1.0)).fit([[90, 10], [40, 60]])
        >>> flow.draws({"leave a": {(0, 1): [[0, 1], [0, 0]]}, "stay": {(0, 1): np.eye(2)}}).shape
        (2,)
        """
        self._fitted("steps_")
        problem = self._problem()
        reason = self._why_no_interval()
        if reason is not None or self.posterior_ is None:
            raise reason or DataError("There is no posterior.")
        asked, jumps = self._read_functions(checks.mapping(functions, "functions"), problem)
        posterior = FlowPosterior.restored([problem], self.posterior_[0])
        sampled = [cells for cells in self.move_cells_ if cells[0] in asked.of_flows]
        values = draws_of(posterior.moments(0, asked), posterior.weights, jumps)
        for k, *cells in sampled:
            values = self._with_sampled(values, asked, posterior, k, cells)
        return Draws(values, labels=[list(functions)], axes=["function"], name="count")

    def _with_sampled(self, values, asked: Functions, posterior: FlowPosterior, k: int, cells: Any) -> np.ndarray:
        """Draws of functions of the flows of a step whose moves were counted, in place of those without the moves."""
        elsewhere = {f for step, parts in asked.of_flows.items() if step != k for f, _ in parts}
        elsewhere |= {f for parts in asked.of_counts.values() for f, _ in parts}
        numbers, weights = zip(*asked.of_flows[k])
        if not elsewhere.isdisjoint(numbers):
            raise DataError(
                f"A function sums flows after {self.times_[k]!r}, whose moves were counted, and others.",
                hint="ask for the two parts by themselves.",
            )
        n = len(self.places_)
        margins = Functions(2 * n)
        for side in (0, 1):
            for i in range(n):
                table = np.zeros((len(weights[0]),) * 2)
                table[:n, i] = 1.0
                margins.of_flows.setdefault(k, []).append((n * side + i, table if side else table.T))
        drawn = draws_of(posterior.moments(0, margins), posterior.weights, np.ones(2 * n))
        some = np.arange(SAMPLED_DRAWS) * len(drawn) // SAMPLED_DRAWS
        made = sampled_draws(tuple(cells), drawn[some, :n], drawn[some, n:], np.stack(weights)[:, :n, :n])
        out = values[some].copy()
        out[:, list(numbers)] = made
        return out

    def _why_no_interval(self) -> DataError | None:
        """The error of asking for intervals that would not cover."""
        if self.seasons_ is not None:
            return DataError("Intervals are those of a season.", hint="use seasons_.")
        if self.relative_:
            return DataError(
                "There are no intervals: of relative abundance neither noise nor the number of individuals is known.",
                hint="state both where you know them: FlowModel(noise=Gaussian(...), size=...).",
            )
        if self.posterior_ is not None and len(self.posterior_) > 1:
            return DataError(
                "There are no intervals for a mixture of types of movement, learned from tracks.",
                hint="give one Movement, or fit the counts alone.",
            )
        if self.posterior_ is None:
            return DataError(
                f"Intervals take covariances of all places, and there are {len(self.places_):,}.",
                hint="group the places of a region, and fit their counts.",
            )
        return None

    def _read_functions(self, functions: Mapping, problem: FlowProblem) -> tuple[Functions, np.ndarray]:
        """The functions over states, and what one individual counts in each (NaN if some weight is negative)."""
        if not functions:
            raise DataError("There are no functions.", hint="give {'flow': {(time, next time): weights}}.")
        n, asked = len(self.places_), Functions(len(functions))
        values, square, signed = np.zeros(asked.size), np.zeros(asked.size), np.zeros(asked.size, dtype=bool)
        for f, parts in enumerate(functions.values()):
            for key, given in checks.mapping(parts, "functions").items():
                of_flows = isinstance(key, tuple) and len(key) == 2
                k = self._time(key[0] if of_flows else key)
                weights = _padded(given, n, problem, 1 + of_flows)
                (asked.of_flows if of_flows else asked.of_counts).setdefault(k, []).append((f, weights))
                at = dense(self._step(self._step_after(k, key[0])) if of_flows else self.nodes_[k])
                inside = weights[:n, :n] if of_flows else weights[:n]
                values[f] += (inside * at).sum()
                square[f] += (inside**2 * at).sum()
                signed[f] |= bool((inside < 0).any())
        jump = np.divide(square, values, out=np.ones(asked.size), where=values > 0)
        return asked, np.where(signed, np.nan, jump)


def _padded(weights: Any, n: int, problem: FlowProblem, ndim: int) -> np.ndarray:
    """Weights over the places, with zeros for what is outside."""
    given = dense(weights)
    if given.shape != (n,) * ndim:
        raise DataError(f"Weights have shape {given.shape}; there are {n} places.")
    return np.pad(given, (0, problem.n_states - n))
