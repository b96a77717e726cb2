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
from sumwise.study.families.base import Study
from sumwise.study.sources import open_source
from sumwise.study.telling.collective import tell
from sumwise.tables import Table, Tables

__all__ = ["STUDY", "Collective", "MovesByDistance"]

SCALES = (0.5, 1.0, 2.0, 4.0)  # times the distance to the nearest place
HELD = 3  # times that are left out to choose among them
MOST_INTERVALS = 100  # flows with an interval, the largest
LEAST = 0.05  # individuals of a flow that is listed


@dataclass
class MovesByDistance:
    """How one individual moves: the likelier the nearer, and how counts come about.

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
        A move this long is e times less likely than staying; default: what predicts left-out times best.
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
        return "MovesByDistance", "counts alone don't tell how individuals move; nearer places are taken as likelier"

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

    def individual(self, settings: MovesByDistance) -> Any:
        """The model of one individual's path."""
        from sumwise.collective import TreeModel

        names = self.attributes()
        domain = Domain({a: [str(x) for x in self.places] for a in names})
        moves = settings.log_moves(self.positions, len(self.places))
        return TreeModel(domain, list(pairwise(names)), dict.fromkeys(pairwise(names), moves))

    def train(self, estimator: Any) -> Any:
        """Choose the scale of moves where none is given, then find the most likely flows."""
        from sumwise.collective import map_counts

        with self.problem.blamed():
            estimator.check()
        scores = None
        if estimator.scale is None:
            scores = self._scores(estimator)
            estimator.scale = min(scores, key=lambda s: scores[s])
        fit = map_counts(self.individual(estimator), self.tables(estimator))
        pairs = list(pairwise(self.attributes()))
        return {
            "settings": estimator.get_params(),
            "scores": scores,
            "nodes": np.stack([np.asarray(fit.nodes[a]) for a in self.attributes()]),
            "edges": np.stack([_dense(fit.edges[pair]) for pair in pairs]),
            "n": float(fit.n),
            "fit": {"objective": fit.objective, "gap": fit.gap, "n_iter": fit.n_iter, "converged": bool(fit.converged)},
        }

    def unit_scale(self) -> float:
        """The median distance to the nearest place; 1 without coordinates."""
        if self.positions is None or len(self.places) < 2:
            return 1.0
        far = np.sqrt(((self.positions[:, None] - self.positions[None]) ** 2).sum(axis=2))
        np.fill_diagonal(far, np.inf)
        return float(np.median(far.min(axis=1))) or 1.0

    def _scores(self, settings: MovesByDistance) -> dict[float, float]:
        """Mean absolute error of left-out times, by scale."""
        from sumwise.collective import map_counts

        inner = np.unique(np.linspace(0, len(self.times) - 1, HELD + 2).round().astype(int)[1:-1])
        inner = [t for t in inner if 0 < t < len(self.times) - 1]
        if not inner:
            return {self.unit_scale(): float("nan")}
        scores = {}
        rate = settings.rate if settings.noise == "poisson" else 1.0
        for scale in (k * self.unit_scale() for k in SCALES):
            tried = replace(settings, scale=scale)
            errors = []
            for t in inner:
                fit = map_counts(self.individual(tried), self.tables(tried, without=int(t)), tol=1e-4)
                errors.append(np.nanmean(np.abs(rate * np.asarray(fit.nodes[f"t{t}"]) - self.counts[t])))
            scores[float(scale)] = float(np.mean(errors))
        return scores

    def settings(self) -> MovesByDistance:
        """The settings of the fitted model."""
        return MovesByDistance(**self.model["settings"])

    # --- out

    def estimates(self) -> pd.DataFrame:
        """Flows between places at every step; the largest moves with intervals."""
        if getattr(self, "_estimates", None) is None:
            self._estimates = self.work.step("intervals of flows", self._flows)
        return self._estimates

    def _flows(self) -> pd.DataFrame:
        edges = self.model["edges"]
        t, i, j = np.nonzero(edges >= LEAST)
        frame = pd.DataFrame(
            {
                "time": np.asarray(self.times, dtype=object)[t],
                "next time": np.asarray(self.times, dtype=object)[t + 1],
                "from": np.asarray(self.places, dtype=object)[i],
                "to": np.asarray(self.places, dtype=object)[j],
                "count": edges[t, i, j],
            }
        )
        frame["low"], frame["high"] = np.nan, np.nan
        moved = np.flatnonzero(i != j)
        top = moved[np.argsort(-frame["count"].to_numpy()[moved], kind="stable")[:MOST_INTERVALS]]
        low, high = self._intervals(t[top], i[top], j[top])
        frame.loc[top, "low"], frame.loc[top, "high"] = low, high
        return frame

    def _intervals(self, t: np.ndarray, i: np.ndarray, j: np.ndarray) -> tuple[Any, Any]:
        from sumwise.collective import count_intervals

        names, size = self.attributes(), len(self.places)
        functions = {}
        for k, (s, a, b) in enumerate(zip(t, i, j)):
            weights = np.zeros((size, size))
            weights[a, b] = 1.0
            functions[f"f{k}"] = {(names[s], names[s + 1]): weights}
        if not functions:
            return [], []
        settings = self.settings()
        found = count_intervals(self.individual(settings), self.tables(settings), functions, level=self.problem.level)
        return found.interval

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
        where = None if self.positions is None else self.positions.tolist()
        return {"places": self.places, "positions": where, "settings": self.model["settings"]}

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
        where = None if kept["positions"] is None else np.array(kept["positions"])
        now = np.zeros(len(kept["places"]))
        np.add.at(now, [kept["places"].index(name) for name in names], values)
        moves = np.exp(MovesByDistance(**kept["settings"]).log_moves(where, len(now)))
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
