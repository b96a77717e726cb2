"""Problems on counts over time: who went where, from counts per time and place."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.domain import Domain
from sumwise.errors import DataError
from sumwise.noise import Exact, Gaussian, Poisson
from sumwise.report.summary import Summary
from sumwise.report.text.collective import tell
from sumwise.study.families.base import Study
from sumwise.study.sources import open_source
from sumwise.tables import Table, Tables

__all__ = ["STUDY", "Collective", "MovesByDistance"]

SCALES = (0.5, 1.0, 2.0, 4.0)  # times the distance to the nearest place
ROUNDS = 8  # of adapting moves to the counts
TINY = 1e-6  # of an individual, so that no move becomes impossible
LEAST = 0.05  # individuals of a flow that is listed


@dataclass
class MovesByDistance:
    """How one individual moves, and how counts come about.

    Parameters
    ----------
    noise : {"poisson", "exact", "gaussian"}
        How counts differ from the truth.
    rate : float
        Poisson: the share of individuals that is counted.
    sd : float
        Gaussian: the standard deviation of a count.
    population : float, optional
        Individuals; default: the largest count over all places, over the rate.
    scale : float, optional
        A move this long is e times less likely than staying. Default: what predicts a left-out time best.
    reach : float, optional
        No move is longer.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.study.families.collective import MovesByDistance
    >>> MovesByDistance(scale=1.0).log_moves(np.array([[0.0, 0.0], [1.0, 0.0]])).round(2)
    array([[-0.31, -1.31],
           [-1.31, -0.31]])
    """

    noise: str = "poisson"
    rate: float = 1.0
    sd: float = 1.0
    population: float | None = None
    scale: float | None = None
    reach: float | None = None

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        """The parameters."""
        return asdict(self)

    def set_params(self, **changes: Any) -> MovesByDistance:
        """Set parameters."""
        for name, value in changes.items():
            setattr(self, name, value)
        return self

    def check(self) -> None:
        """Refuse parameters that mean nothing."""
        checks.choice(self.noise, "noise", ("poisson", "exact", "gaussian"))
        for name in ("rate", "sd", "population", "scale", "reach"):
            if getattr(self, name) is not None:
                checks.positive(getattr(self, name), name, ndim=0)

    def model(self) -> Any:
        """The noise of a table."""
        return {"poisson": Poisson(self.rate), "exact": Exact(), "gaussian": Gaussian(self.sd)}[self.noise]

    def log_moves(self, positions: np.ndarray | None, n: int = 0) -> np.ndarray:
        """Log-probabilities (L, L) of moves; without positions all moves but staying are alike."""
        if positions is None:
            cost = 1.0 - np.eye(n)
        else:
            cost = np.sqrt(((positions[:, None] - positions[None]) ** 2).sum(axis=2))
        scores = -cost / float(self.scale or 1.0)
        if self.reach is not None and positions is not None:
            scores = np.where(cost <= self.reach, scores, -np.inf)
        return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


class Collective(Study):
    """Flows between places from counts over time.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from sumwise.study import Problem, study_of
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> counts = pd.DataFrame({"week": [1, 1, 2, 2], "site": ["a", "b", "a", "b"], "birds": [9, 1, 4, 6]})
    >>> counts.to_csv(folder / "birds.csv", index=False)
    >>> lines = ['family = "collective"', "[data]", 'file = "birds.csv"', "[columns]"]
    >>> lines += ['time = "week"', 'place = "site"', 'count = "birds"']
    >>> study = study_of(Problem.parse("\\n".join(lines), folder / "problem.toml"))
    >>> study.read()
    >>> study.counts
    array([[9., 1.],
           [4., 6.]])
    """

    family = "collective"
    question = "Who went where"
    data_keys = {  # noqa: RUF012
        "file": "one row per time and place, with its count",
        "places_file": "one row per place, with its coordinates",
        "absent": "what a time and place without a row means: raise, zero or unobserved",
    }
    column_keys = {  # noqa: RUF012
        "time": "the column of times, in the order in which they sort",
        "place": "the column of places",
        "count": "the column of counts; empty: not observed",
        "x": "the column of the first coordinate, in either file",
        "y": "the column of the second",
    }
    methods = ("MovesByDistance",)

    counts: np.ndarray  # (T, L), NaN where not observed
    times: list[str]
    places: list[str]
    positions: np.ndarray | None

    # --- in

    def read(self) -> None:
        """Read counts by time and place, and where the places are."""
        p = self.problem
        names = [str(p.column(key, needed=True)) for key in ("time", "place", "count")]
        with p.blamed():
            sheet = open_source(p, p.file(), None, names[:2])
            sheet.known(*names)
            time, place = (sheet.ids(c).astype(str).str.strip() for c in names[:2])
            values = sheet.numbers([names[2]], missing=True)[:, 0]
            twice = pd.DataFrame({"t": time, "p": place}).duplicated().to_numpy()
            sheet.refuse(twice, "a time and place has two rows", "add them up, or name the right columns.")
            self.times, self.places = _ordered(time), list(dict.fromkeys(place))
            self.counts = self._grid(sheet, time, place, values)
            self.positions = self._positions(sheet, names[1])
        if len(self.times) < 2:
            raise DataError(
                f"{p.place(('columns', 'time'))}: there is one time; flows need two.", hint="is time the right column?"
            )
        seen = int((~np.isnan(self.counts)).sum())
        self.notes.append(
            f"{seen:,} of {self.counts.size:,} counts are observed, at {len(self.times)} times and "
            f"{len(self.places)} places."
        )

    def _grid(self, sheet: Any, time: Any, place: Any, values: np.ndarray) -> np.ndarray:
        absent = checks.choice(self.problem.data.get("absent", "raise"), "absent", ("raise", "zero", "unobserved"))
        out = np.full((len(self.times), len(self.places)), np.nan)
        there = np.zeros(out.shape, dtype=bool)
        rows = pd.Index(self.times).get_indexer(time.tolist())
        cols = pd.Index(self.places).get_indexer(place.tolist())
        out[rows, cols], there[rows, cols] = values, True
        if absent == "raise" and not there.all():
            t, k = np.argwhere(~there)[0]
            raise DataError(
                f"{sheet.name}: {int((~there).sum())} of {there.size} pairs of time and place have no row. First: "
                f"{self.times[t]!r} at {self.places[k]!r}.",
                hint='set absent = "zero" or "unobserved" in [data].',
            )
        return np.where(there, out, 0.0) if absent == "zero" else out

    def _positions(self, sheet: Any, place: str) -> np.ndarray | None:
        p = self.problem
        x, y = p.column("x"), p.column("y")
        if x is None or y is None:
            self.notes.append("No coordinates are given: every move but staying is as likely as any other.")
            return None
        path = p.file("places_file", needed=False)
        if path is not None:
            sheet = open_source(p, path, None, [place])
        sheet.known(place, x, y)
        where = pd.DataFrame(sheet.numbers([x, y], negative=True), columns=["x", "y"])
        where["place"] = sheet.ids(place).astype(str).str.strip().to_numpy()
        one = where.groupby("place", sort=False).first()
        lone = [name for name in self.places if name not in one.index]
        if lone:
            listed = ", ".join(map(repr, lone[:5]))
            raise DataError(f"{sheet.name}: {len(lone)} places have no coordinates ({listed}).", hint="add them.")
        return one.loc[self.places, ["x", "y"]].to_numpy(dtype=float)

    # --- fit

    def choose(self) -> tuple[str, str]:
        """The one model of moves that needs nothing but counts."""
        return (
            "MovesByDistance",
            "counts don't tell how individuals move; near moves are preferred, as far as the counts allow",
        )

    def make(self, method: str) -> Any:
        """Settings of the individual model."""
        return MovesByDistance()

    def tables(self, settings: MovesByDistance, without: int | None = None) -> Tables:
        """What was observed, as tables with their noise; one time may be left out."""
        names = self.attributes()
        domain = Domain({a: [str(x) for x in self.places] for a in names})
        kept = [
            Table(a, row, noise=settings.model()) for t, (a, row) in enumerate(zip(names, self.counts)) if t != without
        ]
        return Tables(kept, domain, n=self._population(settings))

    def attributes(self) -> list[str]:
        """One attribute per time."""
        return [f"t{t}" for t in range(len(self.times))]

    def _population(self, settings: MovesByDistance) -> float:
        if settings.population is not None:
            return float(settings.population)
        return float(
            np.ceil(np.nansum(self.counts, axis=1).max() / (settings.rate if settings.noise == "poisson" else 1.0))
        )

    def individual(self, log_start: np.ndarray, log_moves: np.ndarray) -> Any:
        """The model of one individual's path: log-probabilities of the first place (L,) and of moves (T - 1, L, L)."""
        from sumwise.collective import TreeModel

        names = self.attributes()
        domain = Domain({a: [str(x) for x in self.places] for a in names})
        pairs = list(pairwise(names))
        return TreeModel(domain, pairs, {names[0]: log_start, **dict(zip(pairs, log_moves))})

    def train(self, estimator: Any) -> Any:
        """Choose the scale of moves where none is given, then find flows, and those under half and twice the scale."""
        with self.problem.blamed():
            estimator.check()
        scores = None
        if estimator.scale is None:
            scores = self._scores(estimator)
            estimator.scale = min(scores, key=lambda s: scores[s])
        found = self.flows(estimator)
        others = [self.flows(replace(estimator, scale=f * float(estimator.scale)))["edges"] for f in (0.5, 2.0)]
        stacked = np.stack([found["edges"], *others])
        spread = {"least": stacked.min(axis=0), "most": stacked.max(axis=0)}
        return {"settings": estimator.get_params(), "scores": scores, **found, **spread}

    def flows(self, settings: MovesByDistance, without: int | None = None) -> dict[str, Any]:
        """The most likely flows, with moves that start from the distance and adapt to the counts, round by round.

        A fixed model of moves would be taken as known and pull the counts to itself. Moves that follow the flows of the
        round before leave the counts their say, and stay as near to the distance as they allow.
        """
        from sumwise.collective import map_counts

        steps, names = len(self.times) - 1, self.attributes()
        moves = np.stack([settings.log_moves(self.positions, len(self.places))] * steps)
        there = np.nanmean(self.counts, axis=0) + 0.5
        start = np.log(there / there.sum())
        tables = self.tables(settings, without)
        for k in range(ROUNDS):
            last = k == ROUNDS - 1
            fit = map_counts(self.individual(start, moves), tables, tol=1e-6 if last else 1e-3)
            nodes = np.stack([np.asarray(fit.nodes[a]) for a in names])
            edges = np.stack([_dense(fit.edges[pair]) for pair in pairwise(names)])
            if not last:
                allowed = np.isfinite(moves)
                some = np.where(allowed, np.maximum(edges, 0) + TINY * np.exp(np.where(allowed, moves, 0)), 0)
                with np.errstate(divide="ignore"):
                    moves = np.log(some / some.sum(axis=2, keepdims=True))
                start = np.log((nodes[0] + TINY) / (nodes[0] + TINY).sum())
        return {
            "log_moves": moves,
            "nodes": nodes,
            "edges": edges,
            "n": float(fit.n),
            "fit": {"objective": fit.objective, "gap": fit.gap, "n_iter": fit.n_iter, "converged": bool(fit.converged)},
        }

    def _scores(self, settings: MovesByDistance) -> dict[float, float]:
        """Mean absolute error at a middle time that was left out, by scale."""
        unit, middle = self.unit_scale(), len(self.times) // 2
        if len(self.times) < 3 or np.isnan(self.counts[middle]).any():
            return {unit: float("nan")}
        rate = settings.rate if settings.noise == "poisson" else 1.0
        scores = {}
        for scale in (k * unit for k in SCALES):
            found = self.flows(replace(settings, scale=scale), without=middle)
            scores[float(scale)] = float(np.abs(rate * found["nodes"][middle] - self.counts[middle]).mean())
        return scores

    def neighbours_error(self) -> float | None:
        """The error at the same time of the mean of the times before and after."""
        middle = len(self.times) // 2
        if len(self.times) < 3 or np.isnan(self.counts[middle - 1 : middle + 2]).any():
            return None
        plain = (self.counts[middle - 1] + self.counts[middle + 1]) / 2
        return float(np.abs(plain - self.counts[middle]).mean())

    def unit_scale(self) -> float:
        """The median distance to the nearest place; 1 without coordinates."""
        if self.positions is None or len(self.places) < 2:
            return 1.0
        far = np.sqrt(((self.positions[:, None] - self.positions[None]) ** 2).sum(axis=2))
        np.fill_diagonal(far, np.inf)
        return float(np.median(far.min(axis=1))) or 1.0

    def settings(self) -> MovesByDistance:
        """The settings of the fitted model."""
        return MovesByDistance(**self.model["settings"])

    # --- out

    def estimates(self) -> pd.DataFrame:
        """Flows between places at every step, with their range over scales and the bounds that the places imply."""
        m = self.model
        t, i, j = np.nonzero(m["edges"] >= LEAST)
        here, there = m["nodes"][t, i], m["nodes"][t + 1, j]
        return pd.DataFrame(
            {
                "time": np.asarray(self.times, dtype=object)[t],
                "next time": np.asarray(self.times, dtype=object)[t + 1],
                "from": np.asarray(self.places, dtype=object)[i],
                "to": np.asarray(self.places, dtype=object)[j],
                "count": m["edges"][t, i, j],
                "least": m["least"][t, i, j],
                "most": m["most"][t, i, j],
                "lower_bound": np.maximum(here + there - m["n"], 0.0),
                "upper_bound": np.minimum(here, there),
            }
        )

    def extra(self) -> dict[str, pd.DataFrame]:
        """Counted and estimated at every time and place."""
        t, k = np.indices(self.counts.shape).reshape(2, -1)
        return {
            "places": pd.DataFrame(
                {
                    "time": np.asarray(self.times, dtype=object)[t],
                    "place": np.asarray(self.places, dtype=object)[k],
                    "counted": self.counts.ravel(),
                    "estimated": self.model["nodes"].ravel(),
                }
            )
        }

    def kept(self) -> dict[str, Any]:
        """What prediction needs beside the model."""
        return {"places": self.places, "times": self.times, "settings": self.model["settings"]}

    def predict(self, model: Any, source: Path) -> pd.DataFrame:
        """Where those who are counted now are one step later: a file with places and counts."""
        import json

        p = self.problem
        kept = json.loads((self.folder / "features.json").read_text("utf-8"))
        place, count = str(p.column("place", needed=True)), str(p.column("count", needed=True))
        with p.blamed():
            sheet = open_source(p, source, None, [place])
            sheet.known(place, count)
            names = sheet.ids(place).astype(str).str.strip().tolist()
            for name in names:
                checks.known(name, kept["places"], "place")
            values = sheet.numbers([count])[:, 0]
        now = np.zeros(len(kept["places"]))
        np.add.at(now, [kept["places"].index(name) for name in names], values)
        moves = np.exp(model["log_moves"]).mean(axis=0)  # of a step like those that were seen
        mean = now @ moves
        spread = np.sqrt(np.maximum(now @ (moves * (1 - moves)), 0))
        from scipy.stats import norm

        wide = norm.ppf((1 + p.level) / 2) * spread
        return pd.DataFrame(
            {"place": kept["places"], "now": now, "next": mean, "low": np.maximum(mean - wide, 0), "high": mean + wide}
        )

    def tell(self, summary: Summary) -> None:
        """Findings, estimates, certainty, assumptions."""
        tell(self, summary)


def _ordered(times: Any) -> list[str]:
    """Times as they sort: as numbers where all are, else as text."""
    found = list(dict.fromkeys(times.tolist()))
    try:
        return sorted(found, key=float)
    except ValueError:
        return sorted(found)


def _dense(table: Any) -> np.ndarray:
    return table.toarray() if hasattr(table, "toarray") else np.asarray(table)


STUDY = Collective
