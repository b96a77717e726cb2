"""release_selected: choose privately which pairs of attributes to release, and release those."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.noise import Gaussian
from sumwise.privacy import mechanisms
from sumwise.privacy.accounting import rho_of_epsilon
from sumwise.privacy.budget import Budget
from sumwise.privacy.class_forest import ClassForest
from sumwise.privacy.ledger import fingerprints
from sumwise.privacy.release import UNSAID, PersonBounds, check_weights, plan_release
from sumwise.progress import Progress
from sumwise.table import Table
from sumwise.tables import Tables

METHODS = ("adaptive", "tree")
PURPOSES = ("both", "label", "tables")
SHARE_OF_CHOICE = 0.1  # of each round's rho goes to the choice, the rest to the measurement (McKenna et al. 2022)
ROUNDS_PER_ATTRIBUTE = 15  # a first guess of how many rounds there will be; fewer, where noise is halved on the way
# The next two were settled on an American Community Survey and `synthetic.rows` with strong associations, at epsilon
# .1, 1 and 10, by the total variation of the quick model over all pairs: .124 to .098 on the survey at .1, .043 to .037
# at 1, .0066 to .0064 at 10, against 1/16 and 1.
FIRST_MARGINS = 0.25  # of the rho goes to the single attributes first, the more the more levels they have
CHARGE = 0.25  # of the noise of a measurement is taken off a candidate's misfit
MEAN_ABSOLUTE = math.sqrt(2 / math.pi)  # of a standard normal


def release_selected(
    tables: Tables,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    bounds: PersonBounds | int | None = None,
    budget: Budget | None = UNSAID,
    *,
    method: str = "adaptive",
    purpose: str = "both",
    public_levels: Any = False,
    what: str = "release_selected",
    verbose: int = 0,
) -> Tables:
    """Choose privately which pairs of attributes to release, and release those with Gaussian noise.

    Fewer tables have less noise each. All single attributes are measured first; then, round by round, a quick model of
    all pairs is fitted to what was measured, the pair that it describes worst is chosen by OpenDP's report-noisy-max,
    and that pair is measured. Repeated measurements of a pair are averaged.

    For a classifier, :func:`release` of all pairs is the better choice (see *Release tables with privacy noise*); this
    one is for readers who need accurate single tables, and for hundreds of pairs.

    Parameters
    ----------
    tables : Tables
        Exact tables of all pairs to choose from, as ``aggregate(..., order=2)`` gives them.
    epsilon, delta, bounds, budget, public_levels, what, verbose
        As in :func:`release`; the budget needs a delta.
    method : {"adaptive", "tree"}
        ``"adaptive"`` goes on until the budget is spent and halves the noise where a measurement taught nothing, after
        AIM (McKenna et al. 2022). ``"tree"`` chooses the edges of one spanning tree, then measures them, after MST
        (McKenna et al. 2021).
    purpose : {"both", "label", "tables"}
        What makes a pair badly described: its counts by class (``"tables"``, for synthetic rows), the label's rates
        within it (``"label"``, for a classifier), or both alike.

    Returns
    -------
    Tables
        The single attributes and the chosen pairs, each with its noise, by cell and class where there is a label.

    See Also
    --------
    release : All tables.

    Notes
    -----
    One person changes the misfit of a pair, summed over its cells, by at most ``rows * weight`` (twice that where rows
    are replaced), which is the sensitivity of the choice. The whole release has the rho of zCDP that OpenDP's
    conversion allows at (epsilon, delta), and all of it is spent before anything is looked at.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.aggregate import aggregate
    >>> from sumwise.privacy import Budget, release_selected
    >>> rows = synthetic.rows(2000, sizes=[3, 2, 4], random_state=0)
    >>> tables = aggregate(rows.frame(), ["f0", "f1", "f2"], label="label", domain=rows.domain)
    >>> noisy = release_selected(tables, epsilon=1.0, budget=Budget(1.0, 1e-6), method="tree")
    >>> [len(t.attributes) for t in noisy]
    [1, 1, 1, 2, 2]
    """
    checks.choice(method, "method", METHODS)
    checks.choice(purpose, "purpose", PURPOSES)
    plan = plan_release(tables, epsilon, delta, "gaussian", bounds, public_levels=public_levels)
    check_weights(tables, plan)
    if budget is UNSAID or (budget is not None and not isinstance(budget, Budget)):
        raise DataError("budget is not given.", hint="give budget=Budget(...), or budget=None for no ledger at all.")
    exact = ExactCounts(tables)
    rho = rho_of_epsilon(float(epsilon), float(delta))
    if budget is not None:
        budget.spend(rho=rho, what=what, data=() if budget.path is None else fingerprints(tables))
    weighted = plan.bounds.weight is not None
    work = Measurements(exact, plan.bounds, whole=not weighted, rho=rho, purpose=purpose)
    with Progress("Choosing tables", None, verbose) as progress:
        (adaptive if method == "adaptive" else spanning_tree)(work, progress)
    facts = {"mechanism": f"gaussian, {method} choice of tables", "epsilon": float(epsilon), "delta": float(delta),
             "neighbours": plan.describe()["neighbours"], "rho": rho}  # fmt: skip
    return replace(tables, tables=tuple(work.released()), n=None, provenance=tables.provenance.with_release(**facts))


class ExactCounts:
    """The exact counts (..., K) of all pairs, and of all single attributes, by class."""

    def __init__(self, tables: Tables) -> None:
        self.names = [a for a in tables.domain.attributes if any(a in t.attributes for t in tables)]
        place = {a: i for i, a in enumerate(self.names)}
        self.pairs: dict[tuple[int, int], np.ndarray] = {}
        self.binary = any(len(t.label_totals) == 1 for t in tables)
        self.labelled = tables.classes is not None
        for t in tables:
            if len(t.attributes) == 2:
                i, j = sorted(place[a] for a in t.attributes)
                self.pairs[i, j] = self._by_class(t.transpose((self.names[i], self.names[j])))
        if not self.pairs or {i for pair in self.pairs for i in pair} != set(range(len(self.names))):
            raise DataError(
                "Tables are chosen among pairs of attributes, and each attribute needs to be in one.",
                hint="count with order=2.",
            )
        self.singles = []
        for i in range(len(self.names)):
            pair = next(p for p in self.pairs if i in p)
            self.singles.append(self.pairs[pair].sum(axis=1 - pair.index(i)))

    @staticmethod
    def _by_class(table: Table) -> np.ndarray:
        counts, sums = table.counts, table.label_sums
        if sums is None:
            return counts[..., None]
        return np.stack([counts - sums, sums], axis=-1) if sums.ndim == counts.ndim else sums


@dataclass
class MeanCounts:
    """The mean of measurements of one table, weighted by their precision, and its standard deviation."""

    counts: np.ndarray
    scale: float

    def add(self, counts: np.ndarray, scale: float) -> None:
        weights = self.scale**-2, scale**-2
        self.counts = (weights[0] * self.counts + weights[1] * counts) / sum(weights)
        self.scale = sum(weights) ** -0.5


class Measurements:
    """Everything that touches the exact counts: noisy choices and noisy tables, and what they leave of the rho."""

    def __init__(self, exact: ExactCounts, bounds: PersonBounds, whole: bool, rho: float, purpose: str) -> None:
        self.exact, self.bounds, self.whole, self.purpose = exact, bounds, whole, purpose
        self.left = rho
        self.gaussian = mechanisms.mechanism("gaussian")
        self.singles: dict[int, MeanCounts] = {}
        self.pairs: dict[tuple[int, int], MeanCounts] = {}

    def measure(self, kind: str, key: Any, rho: float) -> float:
        """Measure one table; its standard deviation."""
        noisy, scale = self.with_noise(getattr(self.exact, kind)[key], self._take(rho))
        kept = getattr(self, kind)
        if key in kept:
            kept[key].add(noisy, scale)
        else:
            kept[key] = MeanCounts(noisy, scale)
        return scale

    def choose(self, candidates: list, noise: dict, rho: float) -> Any:
        """The candidate of the worst misfit beyond its noise, by report-noisy-max."""
        expected = self.model().expected()
        scores = [self._misfit(self.exact.pairs[c], expected[c]) - noise.get(c, 0.0) for c in candidates]
        chosen, loss = self.noisy_max(scores, rho)
        self._take(loss)
        return candidates[chosen]

    def with_noise(self, values: np.ndarray, rho: float) -> tuple[np.ndarray, float]:
        """Values with the Gaussian noise that rho allows, and its standard deviation."""
        scale = self.gaussian.scale(self.bounds.euclidean_reach, rho)
        return self.gaussian.add(values, scale, self.whole), scale

    def noisy_max(self, scores: list[float], rho: float) -> tuple[int, float]:
        """The place of the largest score but for noise, and the rho that this cost."""
        dp = require("opendp.prelude", extra="privacy")
        dp.enable_features("contrib")
        space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.linf_distance(T="f64")
        sensitivity = self.bounds.reach  # of a sum of absolute differences, however it is weighed
        scale = sensitivity / math.sqrt(2 * rho) * (1 + 1e-9)  # scores may move apart by twice the sensitivity
        measurement = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale)
        return int(measurement([float(s) for s in scores])), float(measurement.map(sensitivity))

    def _misfit(self, counts: np.ndarray, expected: np.ndarray) -> float:
        """Summed absolute differences of counts by class, or of label sums from what the expected rates make of the
        counts: a person changes either by what they have in the table."""
        by_cell = float(np.abs(counts - expected).sum())
        if self.purpose == "tables" or not self.exact.labelled:
            return by_cell
        above = np.maximum(expected, 0.0)  # rates that sum to more than 1 would let a person move more than that
        rates = above / np.maximum(above.sum(axis=-1, keepdims=True), 1e-9)
        by_label = float(np.abs(counts - rates * counts.sum(axis=-1, keepdims=True)).sum()) / 2
        return by_label if self.purpose == "label" else (by_cell + by_label) / 2

    def model(self) -> ClassForest:
        """The quick model of all pairs, fitted to what was measured."""
        return ClassForest([self.singles[i] for i in range(len(self.exact.names))], self.pairs)

    def _take(self, rho: float) -> float:
        if rho > self.left * (1 + 1e-9):
            raise DataError(f"A round needs rho {rho:g}, and {self.left:g} is left.", hint="please report this.")
        self.left = max(self.left - rho, 0.0)
        return rho

    def released(self) -> list[Table]:
        """The measured tables: singles, then pairs."""
        names, out = self.exact.names, []
        measured: list[tuple[tuple[int, ...], MeanCounts]] = [((i,), m) for i, m in sorted(self.singles.items())]
        measured += sorted(self.pairs.items())
        for key, mean in measured:
            attributes, counts = tuple(names[i] for i in key), mean.counts.sum(axis=-1)
            noise = Gaussian(mean.scale * math.sqrt(mean.counts.shape[-1]))
            if not self.exact.labelled:
                out.append(Table(attributes, counts, noise=noise))
                continue
            sums = mean.counts[..., 1] if self.exact.binary else mean.counts
            out.append(Table(attributes, counts, sums, noise, label_noise=Gaussian(mean.scale)))
        return out


def adaptive(work: Measurements, progress: Any) -> None:
    """Measure, fit, choose the worst described pair: until nothing is left."""
    sizes = np.array([len(s) for s in work.exact.singles]) ** (2 / 3)  # least noise summed over all levels
    for i, share in enumerate(FIRST_MARGINS * work.left * sizes / sizes.sum()):
        work.measure("singles", i, float(share))
    each = work.left / (ROUNDS_PER_ATTRIBUTE * len(work.exact.names))
    candidates, rest = sorted(work.exact.pairs), 1e-6 * work.left
    while work.left > rest:  # but for rounding
        if work.left < 2 * each:  # the last round has all that is left
            each = work.left
        scale = work.bounds.euclidean_reach / math.sqrt(2 * (1 - SHARE_OF_CHOICE) * each)
        noise = {c: CHARGE * MEAN_ABSOLUTE * scale * work.exact.pairs[c].size for c in candidates}
        before = work.model().expected()
        chosen = work.choose(candidates, noise, SHARE_OF_CHOICE * each)
        work.measure("pairs", chosen, min((1 - SHARE_OF_CHOICE) * each, work.left))
        learned = np.abs(work.model().expected()[chosen] - before[chosen]).sum()
        if learned <= noise[chosen]:
            each = min(4 * each, work.left)  # half the noise
        progress.step(1)


def spanning_tree(work: Measurements, progress: Any) -> None:
    """A third of the budget for the single attributes, a third to choose a tree, a third to measure it."""
    d, third = len(work.exact.names), work.left / 3
    for i in range(d):
        work.measure("singles", i, third / d)
    part = list(range(d))
    edges: list[tuple[int, int]] = []
    for _ in range(d - 1):
        candidates = [p for p in sorted(work.exact.pairs) if part[p[0]] != part[p[1]]]
        if not candidates:
            break
        chosen = work.choose(candidates, {}, third / max(d - 1, 1))
        edges.append(chosen)
        old, new = part[chosen[0]], part[chosen[1]]
        part = [new if p == old else p for p in part]
        progress.step(1)
    share = work.left / max(len(edges), 1)
    for edge in edges:
        work.measure("pairs", edge, min(share, work.left))
