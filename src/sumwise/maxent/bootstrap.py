"""The bootstrap of a model on tables: refits to tables that might have been, and the intervals that they give.

A penalised fit errs by H_P^-1 (s - P theta): s is the sampling of individuals and the noise of tables, P theta what the
penalty P (twice `penalty_theta`, twice `penalty_mu`) takes from the true parameters, H_P the curvature with P.
Intervals need the variance of both. The true parameters are taken for draws from a normal distribution around zero with
variances c T. T is what the default penalties imply, 1 / P of those; c is estimated from the fit: fitted parameters are
theta + H_P^-1 (s - P theta), whose variances are a + c b, with a and b known from refits: a of those to other samples,
b of those with penalties that pull to drawn parameters in place of zero.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, softmax, stdtrit

from sumwise import checks
from sumwise.maxent.effects import effects_of, least_split
from sumwise.maxent.engines import Parameters
from sumwise.maxent.export import coefficient_frame, effect_frame
from sumwise.maxent.fitted_model import LogLinearModel
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.kernels.loglinear import Layout
from sumwise.maxent.penalties import penalties_of, usual_penalties
from sumwise.maxent.penalty_search import train_quietly
from sumwise.maxent.sufficient_statistics import SufficientStatistics
from sumwise.maxent.thinning import jittered
from sumwise.maxent.trainers import Settings, Start, penalties_for
from sumwise.progress import track

MOST = 200_000  # rows drawn for the covariance of the tables' errors
STEPS = 60  # from the fitted model to that of other tables
USUAL_MU = 0.5  # variance that the default penalty of mu, 1, implies
LOG_SCALES = np.linspace(-7.0, 7.0, 281)  # of log c


def bootstrap(
    model: LogLinearModel,
    stats: SufficientStatistics,
    settings: Settings,
    penalty_theta: Any,
    n: int,
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """Refit n times to other samples and noise, n times with penalties that pull to drawn parameters.

    Returns parameters with both errors (``theta``, ``offsets``), the prior variances of effects (``prior``) and of
    coefficients, the shares of levels, and the scale c.
    """
    codes, labels = model.draw(int(np.clip(stats.n, 1000, MOST)), rng)
    plain = penalties_for(stats, settings, penalty_theta, aware=False)
    variances = _prior(stats, settings, penalty_theta, plain)
    centres = [_drawn(stats, variances, plain, rng) for _ in range(n)]
    theta, offsets = [], []
    same = int(rng.integers(2**31))  # Monte Carlo error is in one kind of refit, and cancels in the other
    for i in track(range(2 * n), "bootstrap", verbose=settings.verbose):
        other = jittered(stats, codes, labels, rng) if i < n else replace(stats, centre=centres[i - n])
        quick = replace(settings.briefly(STEPS, int(rng.integers(2**31)) if i < n else same), brief=True)
        refit = train_quietly(other, model.schema, quick, penalty_theta, Start.of(model), weigh=True)
        theta.append(refit.parameters.theta)
        offsets.append(refit.parameters.offsets)
    kept = _replicates(model, stats, variances.sums, [c.sums for c in centres], np.stack(theta), np.stack(offsets))
    return kept | {"coefficients": least_split(stats.layout, kept["prior"], plain.sums, True)}


def _prior(stats: SufficientStatistics, settings: Settings, penalty_theta: Any, plain: Moments) -> Moments:
    """Variances of the true parameters, up to a factor."""
    both = (penalty_theta, usual_penalties(len(stats.layout.sizes)))
    given, usual = (penalties_of(stats, p, settings.penalty_mu, aware=False, large=False).sums for p in both)
    return prior_variance(plain, given, usual)


def _replicates(
    model: LogLinearModel,
    stats: SufficientStatistics,
    variances: np.ndarray,
    centres: list,
    theta: np.ndarray,
    offsets: np.ndarray,
) -> dict[str, np.ndarray]:
    n, lay, fitted = len(centres), stats.layout, model.parameters
    sampled, pulled = (_around_mean(theta[at]) for at in (slice(0, n), slice(n, None)))
    answered = pulled - _around_mean(np.stack(centres))
    a, b = (v.var(axis=0, ddof=1).ravel() for v in (sampled, answered))
    own = np.broadcast_to(lay.own_places() * free_shares(lay), fitted.theta.shape)
    scale = suggested_scale(fitted.theta.ravel(), a, b, own.ravel())
    root = np.sqrt(scale)
    moved = _around_mean(offsets[:n]) + root * _around_mean(offsets[n:])
    return {
        "theta": fitted.theta + sampled + root * pulled,
        "offsets": fitted.offsets + moved,
        "prior": scale * variances,
        "shares": np.concatenate([stats.margin(a) for a in range(len(lay.sizes))]),
        "scale": np.array(scale),
    }


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
    halves, known = (v.T[own].ravel() for v in (halves, known))
    frame = coefficient_frame(model)
    middle = frame["coefficient"]
    return frame.assign(low=middle - halves, high=middle + halves, contraction=known)


def effect_intervals(model: LogLinearModel, replicates: dict[str, np.ndarray], level: float) -> Any:
    """Effects of levels and of their crosses on log-odds, with intervals."""
    lay, theta = model.layout, model.parameters.theta
    shares = np.split(replicates["shares"], np.cumsum(lay.sizes)[:-1])
    fitted, every, prior = (
        effects_of(lay, values, shares, variances=i == 2)
        for i, values in enumerate((theta, replicates["theta"], replicates["prior"]))
    )
    if len(theta) > 1:
        fitted, every = ([e - e.mean(axis=-2, keepdims=True) for e in part] for part in (fitted, every))
        prior = [p * (1.0 - 1.0 / len(theta)) for p in prior]
    spread = [e.std(axis=0, ddof=1) for e in every]
    known = [contraction(s, p) for s, p in zip(spread, prior)]
    return effect_frame(model, fitted, [quantile(replicates, level) * s for s in spread], known)


def quantile(replicates: dict[str, np.ndarray], level: float) -> float:
    """Student's t for the number of refits."""
    freedom = len(replicates["theta"]) - 1
    return float(stdtrit(freedom, 0.5 + checks.fraction(level, "level") / 2))


def _drawn(stats: SufficientStatistics, variances: Moments, plain: Moments, rng: np.random.Generator) -> Moments:
    """Parameters with these variances, split between tables as penalties do; else refits would only move them there."""
    lay = stats.layout
    mu, theta = (rng.standard_normal(v.shape) * np.sqrt(v) for v in variances)
    return Moments(least_split(lay, mu[None], plain.counts[None])[0], least_split(lay, theta, plain.sums))


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
    """How much of a parameter (P,) is free: of a table of L x M cells, (L - 1) (M - 1) are, what others tell apart.

    Examples
    --------
    >>> from sumwise.maxent.kernels.loglinear import layout
    >>> from sumwise.maxent.bootstrap import free_shares
    >>> free_shares(layout((2, 4), [(0, 1)]))[0]
    np.float64(0.375)
    """
    each = [np.prod([(lay.sizes[a] - 1) / lay.sizes[a] for a in term]) for term in lay.terms]
    return np.repeat(each, np.diff(lay.term_starts))


def suggested_scale(fitted: np.ndarray, sampled: np.ndarray, answered: np.ndarray, weights: np.ndarray) -> float:
    """Mean of c, where fitted parameters (m,) are normal around zero with variances sampled + c answered.

    weights (m,): how much of an observation each is. The prior of the root of c is half of Student's t with four
    degrees of freedom: where the fit says nothing of it, c is two.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent.bootstrap import suggested_scale
    >>> values = 3.0 * np.random.default_rng(0).standard_normal(500)
    >>> round(suggested_scale(values, np.ones(500), np.ones(500), np.ones(500)), 1)
    8.2
    """
    used = (answered > 0) & (weights > 0)
    if not used.any():
        return 2.0
    prior = 0.5 * LOG_SCALES - 2.5 * np.log1p(np.exp(LOG_SCALES) / 4.0)
    likely = np.empty_like(LOG_SCALES)
    for i, step in enumerate(LOG_SCALES):
        variance = sampled[used] + np.exp(step) * answered[used]
        likely[i] = -0.5 * np.sum(weights[used] * (np.log(variance) + fitted[used] ** 2 / variance))
    return float(softmax(prior + likely) @ np.exp(LOG_SCALES))
