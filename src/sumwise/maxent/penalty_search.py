"""Penalties chosen from tables alone: trained on one part of the individuals, scored on another, without rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sumwise import checks
from sumwise.errors import NotConverged
from sumwise.maxent.engines import Parameters
from sumwise.maxent.fitted_model import LogLinearModel, Schema
from sumwise.maxent.kernels.loglinear import class_scores, log_sum
from sumwise.maxent.penalties import usual_penalties
from sumwise.maxent.sufficient_statistics import SufficientStatistics, added
from sumwise.maxent.thinning import redrawn, sums_by_cell, thin
from sumwise.maxent.trainers import Settings, Start, train

TRAIN = 0.8  # share of the individuals that is trained on, where tables are thinned
MOST_SPLITS = 3  # parts of the data that are held out, one after the other; times that tables are thinned
FACTOR = 4.0  # between neighbouring penalties
GAIN = 5e-4  # of the score that a step to the next penalty must bring at least: the Monte Carlo error of two trials
LOWEST, HIGHEST = 1.0 / 64, 200_000.0
DOUBT = 2.0  # divergences of two models that the score of the less penalised may gain from a wrong model of x
DRAWS = 20_000  # rows of the reference model
FIRST, NEXT = 120, 60  # steps for the first penalty, and from one to the next
CHAINS = 3_000  # at most
FEWEST, MOST = 1_000, 200_000  # rows drawn for the covariance of the tables' errors


class Score(NamedTuple):
    """The score of one model on held-out tables, and what its error depends on."""

    value: float  # NLLH
    log_p: np.ndarray  # (m, K) of the reference's draws
    entropy: float
    n: float  # individuals held out


class TableScorer:
    """Scores parameters on tables of individuals that weren't trained on.

    The conditional log-likelihood of the held-out individuals is c . theta with their label sums c, less their mean
    normaliser, which tables don't determine. It is taken over rows drawn from a reference model of the same training
    part. What the draws lack or have too many of would enter as error, so labels of the draws are the reference's own
    probabilities, and held-out tables add only what their label sums differ from the reference's rates times their
    counts. Then scores of two parameters differ by what the held-out tables say, up to the square of the difference
    between their models of x.

    That square has a sign where x has structure that tables don't show: scores of weakly penalised parameters vary more
    over individuals than over draws, so the cost of a weak penalty is underestimated. `clearly` allows for it.
    """

    def __init__(
        self, held_out: SufficientStatistics, codes: np.ndarray, scores: np.ndarray, is_truth: bool = False
    ) -> None:
        lay = held_out.layout
        self.codes, self.layout = codes, lay
        self.n = np.inf if is_truth else held_out.n
        self.labels = np.exp(scores - log_sum(scores, axis=1)[:, None])
        if is_truth:
            self.shares, self.residual = self.labels.mean(axis=0), np.zeros_like(held_out.data.sums)
            return
        self.shares = held_out.shares
        labels = self.labels[:, 1:] if len(held_out.data.sums) == 1 else self.labels
        n = sums_by_cell(lay, codes, np.ones(len(codes)))
        sums = np.stack([sums_by_cell(lay, codes, y) for y in labels.T])
        rates = np.where(n > 0, sums / np.maximum(n, 1), labels.mean(axis=0)[:, None])  # a cell without rows: of all
        residual = (held_out.data.sums - rates * held_out.data.counts) * held_out.seen.sums * held_out.seen.counts
        self.residual = residual / held_out.n

    def score(self, parameters: Parameters) -> Score:
        """Normalised log-likelihood, 1 + mean log-likelihood / entropy, and log-probabilities of the draws."""
        z = class_scores(self.layout, parameters.theta, parameters.offsets, self.codes)
        log_p = z - log_sum(z, axis=1)[:, None]
        drawn = float(np.mean((self.labels * log_p).sum(axis=1)))
        held_out = float(np.sum(self.residual * parameters.theta))
        held_out += float((self.shares - self.labels.mean(axis=0)) @ parameters.offsets)
        return Score(1.0 + (drawn + held_out) / self.entropy, log_p, self.entropy, self.n)

    @property
    def entropy(self) -> float:
        """Of the held-out labels."""
        return -float(self.shares @ np.log(self.shares))


def penalty_search(
    stats: SufficientStatistics, schema: Schema, settings: Settings, parts: Sequence[SufficientStatistics] = ()
) -> tuple[tuple, dict]:
    """Find the penalties of theta (one-way tables, larger ones) that do best on individuals that weren't trained on.

    Parts of the data are held out in turn where there are several; else exact tables are thinned. Thinned noisy tables
    chose penalties that are far too small, so there penalties are tried on tables redrawn, noise included, from a
    first model, whose truth is known. Returns the penalties, and what was tried with its scores.
    """
    begin = usual_penalties(len(stats.layout.sizes))
    if len(parts) < 2 and stats.noisy:
        return _search([_redrawn_trial(stats, schema, settings, begin)], begin)
    splits = [(added([q for q in parts if q is not p]), p) for p in parts[:MOST_SPLITS]] if len(parts) > 1 else None
    splits = splits or _thinned(stats, schema, settings, begin)
    return _search([_split_trial(*split, schema, settings, begin) for split in splits], begin)


def _search(trials: Sequence[Any], begin: tuple) -> tuple[tuple, dict]:
    """Go from the first penalties along one, then the other, in factors of four while the score clearly rises."""
    seen: dict[tuple[float, float], list[Score]] = {}

    def scores_of(one: float, two: float) -> list[Score]:
        if (one, two) not in seen:
            seen[one, two] = [t.score((one, two)) for t in trials]
        return seen[one, two]

    one, two = begin[0], begin[-1]
    one = best_on_line(lambda old, new: clearly(scores_of(new, two), scores_of(old, two), new < old), one)
    two = best_on_line(lambda old, new: clearly(scores_of(one, new), scores_of(one, old), new < old), two)
    one = best_on_line(lambda old, new: clearly(scores_of(new, two), scores_of(old, two), new < old), one)
    scores = {pair: mean_score(v) for pair, v in seen.items()}
    chosen = (
        between(lambda p: scores.get((p, two)), one, begin[0]),
        between(lambda p: scores.get((one, p)), two, begin[-1]),
    )
    record = {"penalty_1": [p[0] for p in seen], "penalty_2": [p[1] for p in seen], "score": list(scores.values())}
    return chosen, {k: np.array(v) for k, v in record.items()}


def mean_score(scores: Sequence[Score]) -> float:
    """Of all splits."""
    return float(np.mean([s.value for s in scores]))


def clearly(new: Sequence[Score], old: Sequence[Score], weaker: bool) -> bool:
    """Whether new penalties are better than by chance and, where weaker, by more than a wrong model of x explains.

    With D the divergence between the two predictions over the draws, the gain over n held-out individuals varies by
    2 D / n, and would be D were the difference between the two just right.
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


def _quick(settings: Settings) -> Settings:
    """Settings that train briefly; the seed is drawn from that of the settings."""
    seed = int(checks.generator(settings.random_state).integers(2**31))
    n = settings.options.n_chains
    return settings.briefly(FIRST, seed, n if n == "tenth" else min(n, CHAINS))


def _thinned(
    stats: SufficientStatistics, schema: Schema, settings: Settings, begin: tuple
) -> list[tuple[SufficientStatistics, SufficientStatistics]]:
    """Tables of a part of the individuals and of the rest, by the rows of a model trained on all of them; repeatedly.

    Three draws separate penalties about twice as finely as one.
    """
    quick = _quick(settings)
    model = train_quietly(stats, schema, quick, begin)
    rng = checks.generator(quick.random_state)
    drawn = [model.draw(_n_rows(stats), rng) for _ in range(MOST_SPLITS)]
    return [thin(stats, codes, labels, TRAIN, rng) for codes, labels in drawn]


def _n_rows(stats: SufficientStatistics) -> int:
    return int(min(max(stats.n, FEWEST), MOST))


def train_quietly(
    stats: SufficientStatistics, schema: Schema, settings: Settings, penalty: Any, begin: Start | None = None
) -> LogLinearModel:
    """Train at the penalties given, by the chains alone, without a warning where that stops early."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # only the penalties that are chosen are trained to the end
        return train(stats, schema, settings, penalty, begin, weigh=False)


class _Trial(NamedTuple):
    """One split: what is trained on, where every training starts, and the scorer."""

    stats: SufficientStatistics
    schema: Schema
    settings: Settings
    begin: Start  # the same for all penalties, so that none gains from the steps that others took
    scorer: TableScorer

    def score(self, penalty: tuple[float, float]) -> Score:
        model = train_quietly(self.stats, self.schema, self.settings, penalty, self.begin)
        return self.scorer.score(model.parameters)


def _split_trial(
    stats: SufficientStatistics, held_out: SufficientStatistics, schema: Schema, settings: Settings, begin: tuple
) -> _Trial:
    """Trained on one part, scored on the other."""
    quick = _quick(settings)
    model = train_quietly(stats, schema, quick, begin)
    codes, _ = model.draw(DRAWS, checks.generator(quick.random_state))
    scorer = TableScorer(held_out, codes, model.scores(codes))
    return _Trial(stats, schema, _next(quick), Start.of(model), scorer)


def _redrawn_trial(stats: SufficientStatistics, schema: Schema, settings: Settings, begin: tuple) -> _Trial:
    """Trained on tables redrawn from a model of the tables, scored by that model."""
    quick = _quick(settings)
    truth = train_quietly(stats, schema, quick, begin)
    rng = checks.generator(quick.random_state)
    codes, labels = truth.draw(_n_rows(stats), rng)
    other = redrawn(stats, codes, labels, rng)
    codes, _ = truth.draw(DRAWS, rng)
    scorer = TableScorer(other, codes, truth.scores(codes), is_truth=True)
    model = train_quietly(other, schema, quick, begin, Start.of(truth))
    return _Trial(other, schema, _next(quick), Start.of(model), scorer)


def _next(quick: Settings) -> Settings:
    return quick.briefly(NEXT, quick.random_state)
