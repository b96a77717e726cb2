"""Penalties chosen from tables alone: trained on one part of the individuals, judged on another, without rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from sumwise import checks
from sumwise.errors import NotConverged
from sumwise.maxent.individuals import term_scores
from sumwise.maxent.kernels.loglinear import Layout, log_sum
from sumwise.maxent.penalties import usual_penalties
from sumwise.maxent.sufficient_statistics import Sufficient, added
from sumwise.maxent.thinning import redrawn, thin

__all__ = ["Judge", "choose_penalties", "fit_quietly", "quick_copy"]

TRAIN = 0.8  # share of the individuals that is trained on, where tables are thinned
MOST_SPLITS = 3  # parts of the data that judge, one after the other; times that tables are thinned
FACTOR = 4.0  # between neighbouring penalties
GAIN = 5e-4  # of the score that a step to the next penalty must bring at least: the Monte Carlo error of two trials
LOWEST, HIGHEST = 1.0 / 64, 200_000.0
DOUBT = 2.0  # divergences of two models that the score of the less penalised may gain from a wrong model of x
DRAWS = 20_000  # rows of the reference model
FIRST, NEXT = 120, 60  # steps for the first penalty, and from one to the next
CHAINS = 3_000  # at most
FEWEST, MOST = 1_000, 200_000  # rows that tell how the tables' errors hang together


class Verdict(NamedTuple):
    """What one judge says of one model: its score, and what decides how well it can be told from another's."""

    score: float  # NLLH
    log_p: np.ndarray  # (m, K) of the reference's draws
    entropy: float
    n: float  # individuals who judged


class Judge:
    """Scores parameters on tables of individuals that weren't trained on.

    The conditional log-likelihood of the judges is c . theta with their label sums c, less their mean normaliser, which
    tables don't tell. It is taken over rows drawn from a reference model of the same training part. What the draws lack
    or have too many of would enter as error, so labels of the draws are the reference's own probabilities, and the
    judges add only what their label sums differ from the reference's rates times their counts. Then scores of two
    parameters differ by what the judges say, up to the square of the difference between their models of x.

    That square has a sign where x has structure that tables don't show: scores of weakly penalised parameters vary more
    over individuals than over draws, and what that costs is told too low. `clearly` allows for it.
    """

    def __init__(self, judges: Sufficient, codes: np.ndarray, scores: np.ndarray, is_truth: bool = False) -> None:
        lay = judges.layout
        self.codes, self.layout = codes, lay
        self.n = np.inf if is_truth else judges.n
        self.labels = np.exp(scores - log_sum(scores, axis=1)[:, None])
        if is_truth:
            self.shares, self.residual = self.labels.mean(axis=0), np.zeros_like(judges.data.sums)
            return
        self.shares = judges.shares
        binary = len(judges.data.sums) == 1
        rates = _cell_rates(codes, lay, self.labels[:, 1:] if binary else self.labels)
        residual = (judges.data.sums - rates * judges.data.counts) * judges.seen.sums * judges.seen.counts
        self.residual = residual / judges.n

    def verdict(self, theta: np.ndarray, offsets: np.ndarray) -> Verdict:
        """Normalised log-likelihood, 1 + mean log-likelihood / entropy, and log-probabilities of the draws."""
        lay = self.layout
        z = term_scores(self.codes, list(lay.terms), lay.term_starts, lay.sizes, theta, lay.listed)
        z = (np.column_stack([np.zeros(len(z)), z[:, 0]]) if z.shape[1] == 1 else z) + offsets
        log_p = z - log_sum(z, axis=1)[:, None]
        drawn = float(np.mean((self.labels * log_p).sum(axis=1)))
        judged = float(np.sum(self.residual * theta)) + float((self.shares - self.labels.mean(axis=0)) @ offsets)
        return Verdict(1.0 + (drawn + judged) / self.entropy, log_p, self.entropy, self.n)

    @property
    def entropy(self) -> float:
        """Of the judges' labels."""
        return -float(self.shares @ np.log(self.shares))


def _cell_rates(codes: np.ndarray, lay: Layout, labels: np.ndarray) -> np.ndarray:
    """Mean label (C, P) of the rows in every cell; of all rows where a cell has none."""
    out = np.empty((labels.shape[1], lay.n_params))
    overall = labels.mean(axis=0)
    for t, term in enumerate(lay.terms):
        at = slice(lay.term_starts[t], lay.term_starts[t + 1])
        cell = np.ravel_multi_index(tuple(codes[:, a] for a in term), lay.shape(term))
        cell = lay.parameters(t, cell) - at.start
        size = int(at.stop - at.start)
        n = np.bincount(cell, minlength=size)
        for k in range(labels.shape[1]):
            sums = np.bincount(cell, weights=labels[:, k], minlength=size)
            out[k, at] = np.where(n > 0, sums / np.maximum(n, 1), overall[k])
    return out


def choose_penalties(model: Any, found: Sufficient, parts: Sequence[Sufficient], tables: Any) -> tuple[tuple, dict]:
    """Find the penalties of theta (one-way tables, larger ones) that do best on individuals that weren't trained on.

    model: a `MaxEntClassifier` whose settings are used. Parts of the data judge each other where there are several;
    else exact tables are thinned. Thinned noisy tables chose penalties that are far too small, so there penalties are
    tried on tables redrawn, noise included, from a first model, whose truth is known.
    """
    begin = usual_penalties(len(found.layout.sizes))
    if len(parts) == 1 and found.noisy:
        return _search([_Redrawn(model, found, tables, begin)], begin)
    splits = [(added([q for q in parts if q is not p]), p) for p in parts[:MOST_SPLITS]] if len(parts) > 1 else None
    splits = splits or _thinned(model, found, tables, begin)
    return _search([_Trial(model, *split, tables, begin) for split in splits], begin)


def _search(trials: Sequence[Any], begin: tuple) -> tuple[tuple, dict]:
    """Go from the first penalties along one, then the other, in factors of four while the score clearly rises."""
    seen: dict[tuple[float, float], list[Verdict]] = {}

    def verdicts(one: float, two: float) -> list[Verdict]:
        if (one, two) not in seen:
            seen[one, two] = [t.verdict((one, two)) for t in trials]
        return seen[one, two]

    one, two = begin[0], begin[-1]
    one = best_on_line(lambda old, new: clearly(verdicts(new, two), verdicts(old, two), new < old), one)
    two = best_on_line(lambda old, new: clearly(verdicts(one, new), verdicts(one, old), new < old), two)
    one = best_on_line(lambda old, new: clearly(verdicts(new, two), verdicts(old, two), new < old), one)
    scores = {pair: mean_score(v) for pair, v in seen.items()}
    chosen = (
        between(lambda p: scores.get((p, two)), one, begin[0]),
        between(lambda p: scores.get((one, p)), two, begin[-1]),
    )
    record = {"penalty_1": [p[0] for p in seen], "penalty_2": [p[1] for p in seen], "score": list(scores.values())}
    return chosen, {k: np.array(v) for k, v in record.items()}


def mean_score(verdicts: Sequence[Verdict]) -> float:
    """Of all splits."""
    return float(np.mean([v.score for v in verdicts]))


def clearly(new: Sequence[Verdict], old: Sequence[Verdict], weaker: bool) -> bool:
    """Whether new penalties are better than by chance and, where weaker, by more than a wrong model of x explains.

    With D the divergence between the two predictions over the draws, the gain of n judges varies by 2 D / n, and would
    be D were the difference between the two just right.
    """
    apart = float(np.mean([np.mean((np.exp(a.log_p) * (a.log_p - b.log_p)).sum(axis=1)) for a, b in zip(new, old)]))
    entropy, n = float(np.mean([v.entropy for v in new])), sum(v.n for v in new)
    needed = np.sqrt(2 * max(apart, 0.0) / n) + (DOUBT * apart if weaker else 0.0)
    return bool(mean_score(new) - mean_score(old) > max(GAIN, needed / entropy))


def best_on_line(better: Callable[[float, float], bool], begin: float) -> float:
    """The last of begin * FACTOR ** k, going up or else down, as long as each is better than the one before."""
    best = begin
    for step in (FACTOR, 1.0 / FACTOR):
        while LOWEST <= best * step <= HIGHEST and better(best, best * step):
            best *= step
        if best != begin:
            break
    return best


def between(known: Callable[[float], float | None], best: float, begin: float) -> float:
    """The top of the parabola through the best and its neighbours, on a log scale, at most one step away.

    A top below the beginning stays out of it: towards small penalties scores are too high.
    """
    low, mid, high = known(best / FACTOR), known(best), known(best * FACTOR)
    if low is None or mid is None or high is None or 2 * mid <= low + high:
        return best
    shift = np.clip(0.5 * (high - low) / (2 * mid - low - high), -1.0, 1.0)
    return float(max(best * FACTOR**shift, min(best, begin)))


def _thinned(model: Any, found: Sufficient, tables: Any, begin: tuple) -> list[tuple[Sufficient, Sufficient]]:
    """Tables of a part of the individuals and of the rest, by the rows of a model trained on all of them; repeatedly.

    A fifth of the individuals tells penalties apart to about .001 NLLH; three draws of them to about half as much.
    """
    trial = _quick(model)
    fit_quietly(trial, found, tables, begin)
    rng = checks.generator(trial.random_state)
    drawn = [trial._draws(_n_rows(found), rng) for _ in range(MOST_SPLITS)]
    return [thin(found, codes, labels, TRAIN, rng) for codes, labels in drawn]


def _n_rows(found: Sufficient) -> int:
    return int(min(max(found.n, FEWEST), MOST))


def quick_copy(model: Any, max_iter: int, seed: int) -> Any:
    """A model of the same settings that trains briefly, from where the given one is if it has been fitted."""
    from sklearn.base import clone

    out: Any = clone(model)
    out.set_params(warm_start=True, checkpoint=None, verbose=0, max_iter=max_iter, random_state=seed)
    for name in ("mu_", "theta_", "offsets_", "chains_", "domain_", "terms_", "listed_"):
        if hasattr(model, name):
            setattr(out, name, deepcopy(getattr(model, name)))
    return out


def _quick(model: Any) -> Any:
    """A model that trains briefly from the start; its seed is drawn from the model's."""
    from sklearn.base import clone

    out = quick_copy(clone(model), FIRST, int(checks.generator(model.random_state).integers(2**31)))
    if model.n_chains != "tenth":
        out.set_params(n_chains=min(model.n_chains, CHAINS))
    return out


def fit_quietly(model: Any, found: Sufficient, tables: Any, penalty: Any, weigh: bool = False) -> None:
    """Train at the penalties given, without a warning where that stops early; by the chains alone unless `weigh`."""
    model.set_params(penalty_theta=penalty)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # only the penalties that are chosen are trained to the end
        model._fit_found(found, tables, weigh=weigh)


class _Trial:
    """One split: a model trained at the first penalties, from which all others start, and its judge."""

    def __init__(self, model: Any, train: Sufficient, judges: Sufficient, tables: Any, begin: tuple) -> None:
        self.model, self.train, self.tables = _quick(model), train, tables
        self._begin(begin)
        codes, _ = self.model._draws(DRAWS, None)
        self.judge = Judge(judges, codes, self.model._scores(codes))

    def _begin(self, penalty: tuple) -> None:
        fit_quietly(self.model, self.train, self.tables, penalty)
        self.begin = {name: deepcopy(getattr(self.model, name)) for name in ("mu_", "theta_", "offsets_", "chains_")}
        self.model.set_params(max_iter=NEXT)

    def verdict(self, penalty: tuple[float, float]) -> Verdict:
        for name, value in self.begin.items():  # so that no penalty gains from the steps that others took
            setattr(self.model, name, deepcopy(value))
        fit_quietly(self.model, self.train, self.tables, penalty)
        return self.judge.verdict(self.model.theta_, self.model.offsets_)


class _Redrawn(_Trial):
    """Tables redrawn from a model trained on the tables, judged by that model."""

    def __init__(self, model: Any, found: Sufficient, tables: Any, penalty: tuple) -> None:
        self.model, self.tables = _quick(model), tables
        fit_quietly(self.model, found, tables, penalty)
        rng = checks.generator(self.model.random_state)
        codes, labels = self.model._draws(_n_rows(found), rng)
        self.train = redrawn(found, codes, labels, rng)
        codes, _ = self.model._draws(DRAWS, rng)
        self.judge = Judge(self.train, codes, self.model._scores(codes), is_truth=True)
        self._begin(penalty)
