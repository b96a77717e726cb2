"""One way to choose: candidates are averaged with weights from the likelihood of units that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.draws import Draws, mixture
from sumwise.errors import DataError

NEGLIGIBLE = 1e-2  # weight, relative to the greatest, of what an average leaves out

__all__ = ["average_draws", "average_weights"]


def average_weights(log_likelihoods: Any, log_prior: Any = None, dispersion: float = 1.0) -> np.ndarray:
    """Return the weights of candidates by the likelihood of each unit under the fit without it.

    ``weight_k ~ exp(sum_u log p(unit u | candidate k, fitted without u) / dispersion + log prior_k)``. Counts that vary
    more than the model says, by a factor `dispersion`, are worth that much less evidence. The weights are a function of
    the set of units: their order changes no bit.

    Parameters
    ----------
    log_likelihoods : array (n_candidates, n_units)
        Of each unit, held out (alone or with a group that is formed by content).
    log_prior : array (n_candidates,), optional
        Weak prior weights; by default none.
    dispersion : float of at least 1
        Variance of held-out counts over the variance that the model implies.

    Examples
    --------
    >>> from sumwise.inference import average_weights
    >>> average_weights([[-1.0, -2.0], [-1.5, -2.5]]).round(3)
    array([0.731, 0.269])
    >>> average_weights([[-1.0, -2.0], [-1.5, -2.5]], dispersion=10.0).round(3)
    array([0.525, 0.475])
    """
    held_out = np.asarray(log_likelihoods, float)
    if held_out.ndim != 2 or not held_out.size or np.isnan(held_out).any() or np.isposinf(held_out).any():
        raise DataError(
            f"Held-out log-likelihoods of shape {held_out.shape} are not finite numbers per candidate and unit.",
            hint="give an array (n_candidates, n_units); -inf is allowed where a unit is impossible.",
        )
    dispersion = checks.at_least(dispersion, "dispersion", 1.0, whole_number=False)
    evidence = np.sort(held_out, axis=1).sum(axis=1) / dispersion
    if log_prior is not None:
        prior = checks.finite(log_prior, "log_prior")
        if prior.shape != evidence.shape:
            raise DataError(f"log_prior has shape {prior.shape} for {len(evidence)} candidates.")
        evidence = evidence + prior
    if np.isneginf(evidence).all():
        raise DataError(
            f"Each of the {len(evidence)} candidates says that some held-out unit is impossible.",
            hint="the model can't have produced these units; check the data for entries that contradict each other.",
        )
    return evidence_weights(evidence)


def evidence_weights(evidence: np.ndarray, axis: int = 0) -> np.ndarray:
    """Return the weights of candidates, along an axis, by the logarithms of their likelihoods times their priors.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.inference.averaging import evidence_weights
    >>> evidence_weights(np.log([1.0, 3.0])).round(3)
    array([0.25, 0.75])
    """
    weights = np.exp(evidence - evidence.max(axis=axis, keepdims=True))
    return weights / weights.sum(axis=axis, keepdims=True)


def average_draws(candidates: Sequence[Draws], weights: Any) -> Draws:
    """Return draws of the average of candidates: a mixture, whose variance includes that between them.

    Parameters
    ----------
    candidates : sequence of Draws
        Of the same quantities.
    weights : array
        One per candidate, as `average_weights` gives them.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Draws
    >>> from sumwise.inference import average_draws
    >>> low, high = (Draws(np.full((10, 1), value)) for value in (0.0, 1.0))
    >>> average_draws([low, high], [0.5, 0.5]).mean
    array([0.5])
    """
    return mixture(candidates, weights)
