"""The bootstrap of a model on tables: how it answers to tables that might have been, and the intervals that give.

A penalised fit errs by H_P^-1 (s - P theta): s is the sampling of individuals and the noise of tables, P theta what the
penalty P (twice `penalty_theta`, twice `penalty_mu`) takes from the true parameters, H_P the curvature with P.
Intervals need both variances. The true parameters are treated as draws from a normal distribution of mean zero and
variances c T. T is what the default penalties imply, 1 / P of those; c, one for levels and one for larger tables, is
estimated from the fit: fitted parameters are theta + H_P^-1 (s - P theta), whose variances are a + c_1 b_1 + c_2 b_2,
with a and b known from answers: a of those to other samples, b of those to penalties that pull to parameters drawn for
levels, or for larger tables, in place of zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, softmax, stdtrit

from sumwise import checks
from sumwise.maxent.effects import effects_of, least_split
from sumwise.maxent.engines import Parameters
from sumwise.maxent.export import coefficient_frame, effect_frame
from sumwise.maxent.fitted_model import DRAWS, LogLinearModel
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.kernels.hessian_products import Moves
from sumwise.maxent.kernels.loglinear import Layout
from sumwise.maxent.linear_response import LinearResponse
from sumwise.maxent.penalties import interaction_penalty, penalties_of, usual_penalties
from sumwise.maxent.resampling import jittered
from sumwise.maxent.sufficient_statistics import SufficientStatistics
from sumwise.maxent.trainers import SAMPLING, Settings, penalties_for

MOST = 200_000  # rows drawn for the covariance of the tables' errors
FEWEST_ROWS = 10  # draws in a cell from which they say how its parameter answers
ENTRIES = 2e7  # parameters times changes that are answered at once
USUAL_MU = 0.5  # variance that the default penalty of mu, 1, implies
LOG_SCALES = np.linspace(-7.0, 7.0, 281)  # of log c
UPPER = 0.84  # quantile of c that is used; chosen on 117 simulated sets of tables
ROUNDS = 4  # of finding the scale of levels given that of larger tables, and that given the former


def bootstrap(
    model: LogLinearModel,
    stats: SufficientStatistics,
    settings: Settings,
    penalty_theta: Any,
    n: int,
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """Answers of the parameters to n other samples and noise, and to n penalties that pull to drawn parameters, of
    levels and of larger tables apart.

    An answer is a Newton step from the fitted parameters (see `linear_response`): it costs little, and has no Monte
    Carlo error of its own. Returns parameters with both errors (``mu``, ``theta``, ``offsets``), the prior variances of
    effects (``prior``) and of coefficients, the shares of levels, and the scales c.
    """
    codes, labels = model.draw(int(np.clip(stats.n, 1000, MOST)), rng)
    plain = penalties_for(stats, settings, penalty_theta, aware=False)
    variances = _prior(stats, settings, penalty_theta, plain)
    groups = by_order(stats.layout, variances)
    centres = _drawn(stats, [part for part in groups for _ in range(n)], plain, rng)
    others = [jittered(stats, codes, labels, rng) for _ in range(n)]
    per_count = settings.engine_for(stats) in SAMPLING
    rows, weights = standing_rows(model, codes)
    penalties = penalties_for(stats, settings, penalty_theta)
    response = LinearResponse(model, stats, rows, stats.n * weights, penalties, per_count)
    sampled = _in_parts(lambda at: _to_others(response, stats, others[at]), n, stats)
    pulled = _in_parts(lambda at: _to_centres(response, centres[at]), len(centres), stats)
    fewest = 0 if len(weights) != len(codes[:DRAWS]) or np.ptp(weights) > 0 else FEWEST_ROWS
    counted = np.bincount(response.cells.ravel(), minlength=stats.layout.n_params) >= fewest
    drawn = np.stack([c.sums for c in centres])
    optimum = _optimum(response, model, stats) if stats.noisy else model.parameters.theta
    kept = _replicates(model, stats, [g.sums for g in groups], drawn, (sampled, pulled), counted, optimum)
    by_drawing = stats.n / len(weights) if fewest else 0.0  # variance of rows that were drawn, over that of the sample
    kept["away"] = own_pull(optimum - model.parameters.theta, sampled.theta.var(axis=-1, ddof=1), by_drawing)
    return kept | {"coefficients": least_split(stats.layout, kept["prior"], plain.sums, True)}


def standing_rows(model: LogLinearModel, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows (m, D) that stand for the distribution of x, and their shares: all cells of a small table, else draws."""
    sizes = model.layout.sizes
    if np.prod(sizes, dtype=float) > DRAWS:
        return codes[:DRAWS], np.full(min(DRAWS, len(codes)), 1.0 / min(DRAWS, len(codes)))
    return model.all_cells()


def _in_parts(answers: Callable[[slice], Moves], n: int, stats: SufficientStatistics) -> Moves:
    """Answers to n changes, a few at a time, so that memory stays bounded."""
    each = max(1, int(ENTRIES // (stats.layout.n_params * (1 + len(stats.data.sums)))))
    parts = [answers(slice(i, min(i + each, n))) for i in range(0, n, each)]
    return Moves(*(np.concatenate(p, axis=-1) for p in zip(*parts)))


def _to_others(response: LinearResponse, stats: SufficientStatistics, others: list[SufficientStatistics]) -> Moves:
    counts = np.stack([o.data.counts - stats.data.counts for o in others])
    sums = np.stack([o.data.sums - stats.data.sums for o in others])
    totals = stats.n * np.stack([o.shares - stats.shares for o in others])
    return response.answers(counts, sums, totals[:, 1:] if sums.shape[1] == 1 else totals)


def _to_centres(response: LinearResponse, centres: list[Moments]) -> Moves:
    counts, sums = np.stack([c.counts for c in centres]), np.stack([c.sums for c in centres])
    nothing = np.zeros((len(centres), sums.shape[1]))
    return response.answers(np.zeros_like(counts), np.zeros_like(sums), nothing, Moments(counts, sums))


def _optimum(response: LinearResponse, model: LogLinearModel, stats: SufficientStatistics) -> np.ndarray:
    """Theta (C, P) where the penalties of `response` would have it, by a Newton step from the model's.

    Where tables have noise, a fit gives every table a penalty of its own (`own_penalties`), often a far larger one.
    Such a theta is too close to zero to show how large the true ones are.
    """
    now, expected = model.parameters, response.expected
    shares = stats.shares[1:] if len(now.theta) == 1 else stats.shares
    counts, sums = stats.data.counts - expected.mu[:, 0], stats.data.sums - expected.theta[:, :, 0]
    totals = stats.n * shares - expected.offsets[:, 0]
    zero = Moments(-now.mu[None], -now.theta[None])
    return now.theta + response.answers(counts[None], sums[None], totals[None], zero).theta[:, :, 0]


def own_pull(away: np.ndarray, sampled: np.ndarray, by_drawing: float) -> np.ndarray:
    """How far (C, P) the fit's own penalties pulled theta from where the usual ones would have it.

    sampled (C, P): variance of theta by sampling. The drawn rows that stand for x give `away` a variance of by_drawing
    times that, which is taken out.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent.bootstrap import own_pull
    >>> own_pull(np.array([[-0.5, 0.1]]), np.array([[0.09, 0.09]]), by_drawing=1.0)
    array([[-0.4,  0. ]])
    """
    return np.sign(away) * np.sqrt(np.maximum(away**2 - by_drawing * sampled, 0.0))


def _prior(stats: SufficientStatistics, settings: Settings, penalty_theta: Any, plain: Moments) -> Moments:
    """Variances of the true parameters, up to a factor."""
    both = (penalty_theta, usual_penalties(len(stats.layout.sizes)))
    given, usual = (penalties_of(stats, p, settings.options.penalty_mu, aware=False, large=False).sums for p in both)
    out = prior_variance(plain, given, usual)
    if not stats.noisy:
        return out
    # A fit to noisy counts estimates how far each pair is from independence: what its mu vary by
    return out._replace(counts=np.minimum(out.counts, 0.5 / interaction_penalty(stats)))


def by_order(lay: Layout, variances: Moments) -> list[Moments]:
    """The variances of levels, those of larger tables being zero, and of larger tables; only one where there is one."""
    single = np.repeat([lay.order(t) == 1 for t in range(len(lay.terms))], np.diff(lay.term_starts))
    return [Moments(*(np.where(at, v, 0.0) for v in variances)) for at in (single, ~single) if at.any()]


def _replicates(
    model: LogLinearModel,
    stats: SufficientStatistics,
    variances: list[np.ndarray],
    centres: np.ndarray,
    answers: tuple[Moves, Moves],
    counted: np.ndarray,
    optimum: np.ndarray,
) -> dict[str, np.ndarray]:
    """Parameters with both errors; counted (P,): cells with rows enough to show their answer decide the scales, by
    their theta in optimum (C, P).

    variances, of each group of `by_order`; centres (G n, C, P) and the second answers: n of the first group, then n of
    the next.
    """
    lay, fitted, n_groups = stats.layout, model.parameters, len(variances)
    to_sample = Moves(*(_around_mean(np.moveaxis(v, -1, 0)) for v in answers[0]))
    to_pull = [Moves(*map(_around_mean, part)) for part in _split(answers[1], n_groups)]
    answered = [p.theta - _around_mean(c) for p, c in zip(to_pull, np.split(centres, n_groups))]
    a, *b = (v.var(axis=0, ddof=1).ravel() for v in (to_sample.theta, *answered))
    own = np.broadcast_to(counted * lay.own_places() * free_shares(lay), fitted.theta.shape)
    scales = suggested_scales(optimum.ravel(), a, np.stack(b), own.ravel())
    mu, theta, offsets = (x + sum(np.sqrt(c) * y for c, y in zip(scales, ys)) for x, *ys in zip(to_sample, *to_pull))
    if len(fitted.theta) == 1:
        offsets = np.column_stack([np.zeros(len(offsets)), offsets])
    return {
        "mu": fitted.mu + mu,
        "theta": fitted.theta + theta,
        "offsets": fitted.offsets + offsets,
        "prior": np.sum([c * v for c, v in zip(scales, variances)], axis=0),
        "shares": np.concatenate([stats.margin(a) for a in range(len(lay.levels))]),
        "level_noise": np.concatenate([stats.margin_noise(a) for a in range(len(lay.levels))]),
        "scale": scales,
    }


def suggested_scales(fitted: np.ndarray, sampled: np.ndarray, answered: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Scales c (G,) of `suggested_scale`, each given the others; answered (G, m)."""
    scales = np.ones(len(answered))
    for _ in range(ROUNDS if len(scales) > 1 else 1):
        for g in range(len(scales)):
            rest = sampled + np.delete(scales, g) @ np.delete(answered, g, axis=0)
            scales[g] = suggested_scale(fitted, rest, answered[g], weights)
    return scales


def _split(moves: Moves, n_groups: int) -> list[tuple]:
    """Moves with the vectors first, group by group."""
    return list(zip(*(np.split(np.moveaxis(v, -1, 0), n_groups) for v in moves)))


def probability_intervals(
    model: LogLinearModel, replicates: dict[str, np.ndarray], frame: Any, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Low and high ends of P(class | features), each (n_rows, K)."""
    codes = model.schema.codes(frame)
    zero = np.zeros_like(model.parameters.mu)
    every = zip(replicates["theta"], replicates["offsets"])
    odds = np.stack([_log_odds(model.scores(codes, Parameters(zero, t, o))) for t, o in every])
    half = quantile(replicates, level) * odds.std(axis=0, ddof=1)
    centre = _log_odds(model.scores(codes))
    return expit(centre - half), expit(centre + half)


def coefficient_intervals(model: LogLinearModel, replicates: dict[str, np.ndarray], level: float) -> Any:
    """`coefficient_frame` with columns ``low``, ``high`` and ``contraction``."""
    own = model.layout.own_places()
    spread = replicates["theta"].std(axis=0, ddof=1)
    halves, known = quantile(replicates, level) * spread, contraction(spread, replicates["coefficients"])
    halves = np.hypot(halves, replicates.get("away", 0.0))
    halves, known = (v.T[own].ravel() for v in (halves, known))
    frame = coefficient_frame(model)
    middle = frame["coefficient"]
    return frame.assign(low=middle - halves, high=middle + halves, contraction=known)


def effect_intervals(model: LogLinearModel, replicates: dict[str, np.ndarray], level: float) -> Any:
    """Effects of levels and of their crosses on log-odds, with intervals."""
    lay, theta = model.layout, model.parameters.theta
    shares = np.split(replicates["shares"], np.cumsum(lay.levels)[:-1])
    away = np.broadcast_to(replicates.get("away", 0.0), theta.shape)
    fitted, every, away, prior = (
        effects_of(lay, values, shares, variances=i == 3)
        for i, values in enumerate((theta, replicates["theta"], away, replicates["prior"]))
    )
    if len(theta) > 1:
        fitted, every, away = ([e - e.mean(axis=-2, keepdims=True) for e in part] for part in (fitted, every, away))
        prior = [p * (1.0 - 1.0 / len(theta)) for p in prior]
    spread = [e.std(axis=0, ddof=1) for e in every]
    known = [contraction(s, p) for s, p in zip(spread, prior)]
    halves = [np.hypot(quantile(replicates, level) * s, a) for s, a in zip(spread, away)]
    return effect_frame(model, fitted, halves, known)


def quantile(replicates: dict[str, np.ndarray], level: float) -> float:
    """Student's t for the number of refits."""
    freedom = len(replicates["theta"]) - 1
    return float(stdtrit(freedom, 0.5 + checks.fraction(level, "level") / 2))


def _drawn(
    stats: SufficientStatistics, variances: list[Moments], plain: Moments, rng: np.random.Generator
) -> list[Moments]:
    """Parameters with each of these variances, split between tables as penalties do; else refits would only move them
    there."""
    raw = [[rng.standard_normal(v.shape) * np.sqrt(v) for v in part] for part in variances]
    mu, theta = (np.stack(values) for values in zip(*raw))
    n, n_scores, size = theta.shape
    mu = least_split(stats.layout, mu, np.broadcast_to(plain.counts, mu.shape))
    theta = least_split(stats.layout, theta.reshape(-1, size), np.tile(plain.sums, (n, 1)))
    return [Moments(m, t) for m, t in zip(mu, theta.reshape(n, n_scores, size))]


def _around_mean(values: np.ndarray) -> np.ndarray:
    return values - values.mean(axis=0)


def contraction(spread: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Share of the prior variance that the tables removed; all of it where there was no penalty."""
    return np.where(prior > 0, np.clip(1.0 - spread**2 / np.maximum(prior, 1e-300), 0.0, 1.0), 1.0)


def _log_odds(scores: np.ndarray) -> np.ndarray:
    """Log-odds of every class against the others, (n, K)."""
    out = np.empty_like(scores)
    for k in range(scores.shape[1]):
        out[:, k] = scores[:, k] - np.logaddexp.reduce(np.delete(scores, k, axis=1), axis=1)
    return out


def prior_variance(penalties: Moments, given: np.ndarray, usual: np.ndarray) -> Moments:
    """Variances T of mu (P,) and theta (C, P) that the default penalties imply.

    penalties: of mu and theta, as trained with on tables without noise. given and usual (C, P): those of theta by the
    order of tables, as they are and as they are by default. What raises penalties of large attributes above those given
    lowers T. Of parameters without a penalty nothing is taken, and T is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent.kernels.contrastive import Moments
    >>> from sumwise.maxent.bootstrap import prior_variance
    >>> given, usual = np.full((1, 2), 50.0), np.array([[1.0, 10.0]])
    >>> prior_variance(Moments(np.ones(2), np.array([[50.0, 100.0]])), given, usual).sums
    array([[0.5  , 0.025]])
    """
    raised = penalties.sums / np.where(given > 0, given, 1.0)
    theta = np.where(raised > 0, 0.5 / np.maximum(usual * raised, 1e-300), 0.0)
    return Moments(np.where(penalties.counts > 0, USUAL_MU, 0.0), theta)


def free_shares(lay: Layout) -> np.ndarray:
    """How much of a parameter (P,) is free: of a table of L x M cells, (L - 1) (M - 1) are, beyond its margins.

    Examples
    --------
    >>> from sumwise.maxent.kernels.loglinear import layout
    >>> from sumwise.maxent.bootstrap import free_shares
    >>> free_shares(layout((2, 4), [(0, 1)]))[0]
    np.float64(0.375)
    """
    each = [np.prod([(lay.levels[a] - 1) / lay.levels[a] for a in term]) for term in lay.terms]
    return np.repeat(each, np.diff(lay.term_starts))


def suggested_scale(fitted: np.ndarray, sampled: np.ndarray, answered: np.ndarray, weights: np.ndarray) -> float:
    """c, where fitted parameters (m,) are normal around zero with variances sampled + c answered: a posterior quantile.

    weights (m,): how much of an observation each is. The prior of the root of c is half of Student's t with four
    degrees of freedom: where the fit says nothing of it, c is three. The quantile is one standard deviation above the
    mean of a normal posterior: intervals are too narrow by more where c is too small than too wide where it is large.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent.bootstrap import suggested_scale
    >>> values = 3.0 * np.random.default_rng(0).standard_normal(500)
    >>> round(suggested_scale(values, np.ones(500), np.ones(500), np.ones(500)), 1)
    8.6
    """
    used = (answered > 0) & (weights > 0)
    prior = 0.5 * LOG_SCALES - 2.5 * np.log1p(np.exp(LOG_SCALES) / 4.0)
    likely = np.empty_like(LOG_SCALES)
    for i, step in enumerate(LOG_SCALES):
        variance = sampled[used] + np.exp(step) * answered[used]
        likely[i] = -0.5 * np.sum(weights[used] * (np.log(variance) + fitted[used] ** 2 / variance))
    return float(np.exp(np.interp(UPPER, np.cumsum(softmax(prior + likely)), LOG_SCALES)))
