"""What ecologists report of a migration: connectivity, its strength, stopovers, arrivals and departures, centroids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.draws import Draws
from sumwise.errors import DataError
from sumwise.estimate import Estimate
from sumwise.flows.chain_draws import quotas
from sumwise.flows.flow_results import FlowResults
from sumwise.flows.function_draws import N_DRAWS


class FlowSummaries(FlowResults):
    """Summaries of a migration, all of the draws that flows and routes come from.

    Relative abundance, and more places than the posterior takes, have estimates without intervals.
    """

    def connectivity(self, regions: Mapping, from_time: Any, to_time: Any) -> pd.DataFrame:
        """Return the share of each region's individuals at `from_time` that is in each region at `to_time`.

        `regions` maps names to lists of places. Rows are regions of departure; what goes elsewhere is missing to 1.
        `connectivity_draws` has the distribution that these are means of.
        """
        values = self.connectivity_draws(regions, from_time, to_time).values.mean(axis=0)
        return pd.DataFrame(values, index=list(regions), columns=list(regions))

    def connectivity_draws(self, regions: Mapping, from_time: Any, to_time: Any) -> Draws:
        """Return draws (n, R, R) of `connectivity`: ``.estimate(0.9)`` has its intervals.

        They vary by what is not known of movement, and by the moves of the individuals there are: multinomial, times
        the overdispersion. Counts at `to_time` are informative about moves, so that chance is rather overstated.
        """
        chains = self._chains()
        at = {name: self.places_.index(members) for name, members in checks.mapping(regions, "regions").items()}
        start, n_steps = self._span(from_time, to_time)
        member = np.zeros((len(self.places_), len(at)))
        for k, places in enumerate(at.values()):
            member[places, k] = 1.0
        rng, parts, certain = np.random.default_rng(0), [], len(chains) == 1
        for draw, n in zip(chains, quotas(np.array([c.weight for c in chains]), 1 if certain else N_DRAWS)):
            there = np.maximum(draw.present[:, start].sum(axis=0), 0.0)[:, None] * member
            total = there.sum(axis=0)
            shares = (there / np.maximum(total, 1e-300)).T @ (draw.moved(start, n_steps) @ member)
            parts.append(np.broadcast_to(shares, (n, *shares.shape)))
            if not certain and n:
                parts[-1] = _with_chance(shares, total / draw.overdispersion, n, rng)
        names = [list(at), list(at)]
        return Draws(np.concatenate(parts), labels=names, axes=["from", "to"], name="share")

    def migratory_connectivity(self, from_time: Any, to_time: Any, level: float = 0.9) -> Estimate:
        """Return the strength of migratory connectivity, MC, between two times (Cohen et al. 2018).

        The correlation of distances between individuals at `from_time` with those at `to_time`: 1 where neighbours
        stay neighbours, 0 where all mix, below 0 where neighbours part and others meet.
        """
        start, n_steps = self._span(from_time, to_time)
        n = len(self.places_)
        apart = self.places_.separations()
        chains, found = self._chains(), []
        for draw in chains:
            there = np.maximum(draw.present[:, start].sum(axis=0), 0.0)
            moved = np.asarray(draw.moved(start, n_steps) @ np.eye(n))
            found.append(_strength(apart, there / there.sum(), moved))
        weights = np.array([c.weight for c in chains])
        values = np.repeat(found, quotas(weights, 1 if len(chains) == 1 else N_DRAWS))
        return self._estimate(values[:, None], ["MC"], level, "migratory connectivity")

    def stopover(self, level: float = 0.9) -> pd.DataFrame:
        """Return how long individuals that arrive at a place are there, in steps, with intervals: a row per place.

        The mean over arrivals of all steps, of what remains of the period of study (of a year that repeats: without
        end). Missing where less than one individual arrives.
        """
        chains = self._chains()
        each = np.array([self._stays(draw) for draw in chains])  # (draws, L)
        weights = np.array([c.weight for c in chains])
        values = np.repeat(each, quotas(weights, 1 if len(chains) == 1 else N_DRAWS), axis=0)
        values[:, np.isnan(values).any(axis=0)] = np.nan
        found = self._estimate(values, list(self.places_.names), level, "stopover")
        return pd.DataFrame(
            {"place": list(self.places_.names), "steps": found.values, "low": found.low, "high": found.high}
        )

    def _stays(self, draw: Any) -> np.ndarray:
        n_steps, n = len(self.steps_[0]), len(self.places_)
        total, weighted = np.zeros(n), np.zeros(n)
        for chain, present in zip(draw.chains, draw.present):
            stay = [np.asarray(p.diagonal(), dtype=float) for p in chain.steps]
            lengths, left = [np.ones(n)] * n_steps, np.ones(n)
            for _ in range(1 + self.cyclic * 3):  # three more years: who stays that long has not migrated
                for k in range(n_steps - 1, -1, -1):  # of a stay that begins with step k
                    lengths[k] = left
                    left = 1.0 + stay[k] * left
            for k, p in enumerate(chain.steps):
                arrived = np.asarray(np.maximum(present[k], 0.0) @ p).ravel() - np.maximum(present[k], 0.0) * stay[k]
                total, weighted = total + arrived, weighted + arrived * lengths[k]
        return np.where(total >= 1.0, weighted / np.maximum(total, 1e-300), np.nan)

    def timing(self, region: Sequence, level: float = 0.9) -> pd.DataFrame:
        """Return when individuals arrive in a region and when they leave it: mean times with intervals.

        Parameters
        ----------
        region : sequence of places
        level : float in (0, 1), default 0.9

        Returns
        -------
        pandas.DataFrame
            Rows ``arrival`` and ``departure``; the mean time of the moves in and out in steps from the first time,
            its interval, and the time that is nearest to the mean. A move is dated at its end.
        """
        n_steps = len(self._fitted("steps_").steps_[0])
        inside = np.zeros(len(self.places_))
        inside[self.places_.index(region)] = 1.0
        if inside.all() or not inside.any():
            raise DataError("The region has no places, or all: nobody arrives.", hint="name some of the places.")
        rows = {}
        for name, cross in (("arrival", np.outer(1 - inside, inside)), ("departure", np.outer(inside, 1 - inside))):
            moves = self._sums([{self._key(k): cross} for k in range(n_steps)])
            total = moves.sum(axis=1, keepdims=True)
            if not (total > 0).all():
                raise DataError(f"There is no {name}: nobody crosses the borders of the region.")
            rows[name] = moves @ (1.0 + np.arange(n_steps)) / total[:, 0]
        found = self._estimate(np.column_stack(list(rows.values())), list(rows), level, "timing")
        at = [self.times_[int(np.rint(v)) % len(self.times_)] for v in found.values]
        return pd.DataFrame({"step": found.values, "low": found.low, "high": found.high, "time": at}, index=list(rows))

    def centroid(self, level: float = 0.9) -> pd.DataFrame:
        """Return the mean position of all individuals at every time: time, coordinates, and low and high of each."""
        where = self._fitted("steps_").places_.positions
        names = ["lon", "lat"] if self.places_.lon is not None else ["x", "y"]
        parts, n = [], len(self.times_)
        for weights in (np.ones(len(where)), *where.T):
            parts.append(self._sums([{t: weights} for t in self.times_]))
        out = pd.DataFrame({"time": self.times_})
        for name, sums in zip(names, parts[1:]):
            found = self._estimate(sums / np.maximum(parts[0], 1e-300), list(range(n)), level, "centroid")
            out[name], out[f"{name} low"], out[f"{name} high"] = found.values, found.low, found.high
        return out

    def uncertainty(self, time: Any, level: float = 0.9) -> pd.DataFrame:
        """Return expected individuals at every place at a time, with interval and relative width: for a map."""
        names = list(self._fitted("steps_").places_.names)
        sums = self._sums([{time: row} for row in np.eye(len(names))])
        found = self._estimate(sums, names, level, "count")
        width = np.asarray(found.high) - np.asarray(found.low)
        columns = {"place": names, "count": found.values, "low": found.low, "high": found.high}
        return pd.DataFrame({**columns, "relative width": width / np.maximum(found.values, 1.0)})

    def _key(self, k: int) -> tuple[Any, Any]:
        return self.times_[k], self.times_[(k + 1) % len(self.times_)]

    def _sums(self, functions: list[dict]) -> np.ndarray:
        """Draws (n, m) of functions of counts and flows; their one estimate where there is no posterior."""
        if self._why_no_interval() is None:
            return self.draws(dict(enumerate(functions))).values
        return np.array([[self._value(parts) for parts in functions]])

    def _value(self, parts: dict) -> float:
        total = 0.0
        for key, weights in parts.items():
            k = self._time(key[0] if isinstance(key, tuple) else key)
            at = self._step(k) if isinstance(key, tuple) else self.nodes_[k]
            total += float((at * weights).sum())
        return total

    def _estimate(self, values: np.ndarray, labels: list, level: float, name: str) -> Estimate:
        """Means and quantiles of draws (n, m); one draw alone has no interval."""
        found = Draws(values, labels=[labels], axes=["part"], name=name).estimate(checks.fraction(level, "level"))
        if len(values) > 1:
            return found
        missing = np.full(len(labels), np.nan)
        return Estimate(found.values, missing, missing, level, found.labels, found.axes, name=name)


def _with_chance(shares: np.ndarray, people: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draws (n, R, R) of the shares of so many people (R,) who move independently of each other."""
    full = np.column_stack([shares, np.maximum(1.0 - shares.sum(axis=1), 0.0)])
    full /= full.sum(axis=1, keepdims=True)
    whole = np.maximum(np.rint(people), 1.0).astype(np.int64)
    drawn = np.stack([rng.multinomial(m, p, n) / m for m, p in zip(whole, full)], axis=1)
    return drawn[:, :, :-1]


def _strength(apart: np.ndarray, start: np.ndarray, moved: np.ndarray) -> float:
    """MC: the correlation of distances at first (L, L) with those later, of pairs of individuals."""
    end = start @ moved
    first, later = _standardised(apart, start), _standardised(apart, end)
    return float(start @ (first * (moved @ later @ moved.T)) @ start)


def _standardised(apart: np.ndarray, shares: np.ndarray) -> np.ndarray:
    mean = shares @ apart @ shares
    spread = np.sqrt(max(float(shares @ (apart - mean) ** 2 @ shares), 1e-300))
    return (apart - mean) / spread
