"""What penalties took from the coefficients: draws of it, as large as the fitted coefficients suggest.

A penalised fit errs by H_P^-1 (s - P theta): s is the sampling of individuals and the noise of tables, P theta what the
penalty P (twice `penalty_theta`, twice `penalty_mu`) takes from the true parameters, H_P the curvature with P.
Intervals need the variance of both. The true parameters are taken for draws from a normal distribution around zero with
variances c T. T is what the default penalties suppose, 1 / P of those; the fit tells c: fitted parameters are
theta + H_P^-1 (s - P theta), whose variances are a + c b, with a and b known from refits: a of those to other samples,
b of those with penalties that pull to drawn parameters in place of zero.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.kernels.loglinear import Layout

__all__ = ["free_shares", "suggested_scale", "supposed"]

USUAL_MU = 0.5  # variance that the default penalty of mu, 1, supposes
STEPS = np.linspace(-7.0, 7.0, 281)  # of log c


def supposed(penalties: Moments, given: np.ndarray, usual: np.ndarray) -> Moments:
    """Variances T of mu (P,) and theta (C, P) that the default penalties suppose.

    penalties: of mu and theta, as trained with on tables without noise. given and usual (C, P): those of theta by the
    order of tables, as they are and as they are by default. What raises penalties of large attributes above those given
    lowers T. Of parameters without a penalty nothing is taken, and T is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent.kernels.contrastive import Moments
    >>> from sumwise.maxent.shrinkage import supposed
    >>> given, usual = np.full((1, 2), 50.0), np.array([[1.0, 10.0]])
    >>> supposed(Moments(np.ones(2), np.array([[50.0, 100.0]])), given, usual).sums
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
    >>> from sumwise.maxent.shrinkage import free_shares
    >>> free_shares(layout((2, 4), [(0, 1)]))[0]
    np.float64(0.375)
    """
    each = [np.prod([(lay.sizes[a] - 1) / lay.sizes[a] for a in term]) for term in lay.terms]
    return np.repeat(each, np.diff(lay.term_starts))


def suggested_scale(fitted: np.ndarray, sampled: np.ndarray, answered: np.ndarray, weights: np.ndarray) -> float:
    """Mean of c, where fitted parameters (m,) are normal around zero with variances sampled + c answered.

    weights (m,): how much of an observation each is. The prior of the root of c is half of Student's t with four
    degrees of freedom: where the fit tells nothing, c is two.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent.shrinkage import suggested_scale
    >>> values = 3.0 * np.random.default_rng(0).standard_normal(500)
    >>> round(suggested_scale(values, np.ones(500), np.ones(500), np.ones(500)), 1)
    8.2
    """
    used = (answered > 0) & (weights > 0)
    if not used.any():
        return 2.0
    prior = 0.5 * STEPS - 2.5 * np.log1p(np.exp(STEPS) / 4.0)
    likely = np.empty_like(STEPS)
    for i, step in enumerate(STEPS):
        variance = sampled[used] + np.exp(step) * answered[used]
        likely[i] = -0.5 * np.sum(weights[used] * (np.log(variance) + fitted[used] ** 2 / variance))
    return float(softmax(prior + likely) @ np.exp(STEPS))
