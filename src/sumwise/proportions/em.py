"""Expectation maximisation (Sun et al. 2017, section IV.A): labels' posteriors, then a classifier on soft labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from sumwise.errors import DataError
from sumwise.progress import Progress
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import Solution

FLOOR = np.finfo(np.float32).eps  # probabilities of a foreign classifier are kept this far from 0 and 1


def log_probabilities(model, values) -> np.ndarray:
    """Logits of a fitted scikit-learn classifier: (n_rows,) for two classes, else log-probabilities."""
    probs = np.clip(model.predict_proba(values), FLOOR, 1.0 - FLOOR)
    if probs.shape[1] == 2:
        return np.log(probs[:, 1]) - np.log(probs[:, 0])
    return log_softmax(np.log(probs), axis=1)


def fit_weighted(model, values, soft, weights):
    """Fit on every row once per class, weighted by the class's posterior."""
    n, n_classes = soft.shape
    everywhere = np.tile(values, (n_classes, 1))
    labels = np.repeat(np.arange(n_classes), n)
    powers = (soft * weights[:, None]).T.ravel()
    used = powers > 0.0
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        key = f"{name}__sample_weight"
    else:
        last, key = model, "sample_weight"
    if not has_fit_parameter(last, "sample_weight"):
        raise DataError(
            f"{type(last).__name__} takes no sample_weight, so it can't be fitted to soft labels.",
            hint="any scikit-learn classifier whose fit takes sample_weight: gradient boosting, trees, forests, ...",
        )
    fresh: Any = clone(model)
    return fresh.fit(everywhere[used], labels[used], **{key: powers[used]})


def alternate(
    state: Any,
    assign: Callable[[Any], np.ndarray],
    fit: Callable[[np.ndarray, Any], tuple[Any, float]],
    n_members: float,
    max_rounds: int,
    tol: float,
) -> tuple[Any, Solution]:
    """Assign labels and fit to them in turn, until the objective per member settles or the same labels come back.

    Parameters
    ----------
    state : object
        What labels are assigned by at the start: parameters, or logits.
    assign : callable
        ``assign(state)`` gives labels.
    fit : callable
        ``fit(labels, state)`` gives the next state and the objective, which is to be as large as possible.
    n_members, max_rounds, tol : float, int, float

    Returns
    -------
    object, Solution
        The state of the largest objective, and how the rounds went; it holds no parameters.
    """
    history: list[float] = []
    best, change, seen = (-np.inf, state), np.inf, set()
    while len(history) < max_rounds and change > tol:
        labels = assign(state)
        mark = hash(labels.tobytes())
        if mark in seen:  # the rounds repeat from here on
            change = 0.0
            break
        seen.add(mark)
        state, objective = fit(labels, state)
        change = abs(objective - history[-1]) / n_members if history else np.inf
        history.append(objective)
        best = max(best, (objective, state), key=lambda pair: pair[0])
    return best[1], Solution(np.empty(0), best[0], change, len(history), change <= tol, history)


def em_classifier(model, values, likelihood: BagLikelihood, logits, tol=1e-4, max_iter=50, verbose=0):
    """EM with a scikit-learn classifier as M step, from the logits of a first guess.

    The likelihood need not rise at every step, as such a classifier doesn't maximise it; the best one is kept. It
    stops when the mean log-likelihood per bag changes by less than ``tol``, or hasn't risen for five steps.
    """
    history: list[float] = []
    best, since, change = (-np.inf, None), 0, np.inf
    value = likelihood.evaluate(logits)
    with Progress("EM", max_iter, verbose) as progress:
        for _ in range(max_iter):
            fitted = fit_weighted(model, values, value.soft_labels, likelihood.row_weights)
            value = likelihood.evaluate(log_probabilities(fitted, values))
            total, _ = likelihood.total_and_residual(value)
            change = abs(total - history[-1]) / likelihood.n_bags if history else np.inf
            history.append(total)
            progress.step(log_likelihood=total)
            since = 0 if total > best[0] else since + 1
            best = max(best, (total, fitted), key=lambda pair: pair[0])
            if change <= tol or since >= 5:
                break
    converged = change <= tol or since >= 5
    return best[1], Solution(np.empty(0), best[0], change, len(history), converged, history)
