"""Weights on the simplex with which an average of held-out predictions is best (stacking)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

__all__ = ["stack_classes", "stack_numbers"]


def stack_numbers(predicted: np.ndarray, truth: np.ndarray, counted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (n_methods,) and losses (n_methods + 1,), the last that of the average.

    ``min_w sum_b c_b |sum_k w_k f_k(b) - y_b|^2 / s^2`` over ``w >= 0, sum w = 1``, with s the outputs' deviations.
    predicted (n_methods, n_bags, n_outputs), truth (n_bags, n_outputs), counted (n_bags,). Losses are mean squared
    errors in units of the variance.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.stacking import stack_numbers
    >>> y = np.array([[0.0], [1.0], [2.0]])
    >>> stack_numbers(np.stack([y + 1, y - 1]), y, np.ones(3))[0].round(3)
    array([0.5, 0.5])
    """
    centre = np.average(truth, axis=0, weights=counted)
    spread = np.sqrt(np.average((truth - centre) ** 2, axis=0, weights=counted))
    root = np.sqrt(counted / counted.sum())[:, None] / np.where(spread > 0, spread, 1.0)
    errors = ((predicted - truth) * root).reshape(len(predicted), -1)
    # Errors of the average are w'e if the weights sum to 1, which a heavy row asks for: nnls then rescales nothing.
    heavy = 1e4 * max(np.abs(errors).max(), 1e-12)
    weights, _ = nnls(np.vstack([errors.T, np.full(len(errors), heavy)]), np.append(np.zeros(errors.shape[1]), heavy))
    weights /= weights.sum()
    return weights, np.append((errors**2).sum(axis=1), ((weights @ errors) ** 2).sum()) / truth.shape[1]


def stack_classes(predicted: np.ndarray, codes: np.ndarray, counted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (n_methods,) and losses (n_methods + 1,): minus the mean log-probability of bags' classes.

    ``max_w sum_b c_b log sum_k w_k p_k(class of b)`` over the simplex, by EM: it is concave and each step is a mean of
    responsibilities. predicted (n_methods, n_bags, n_classes), codes (n_bags,), counted (n_bags,).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.stacking import stack_classes
    >>> sure, vague = np.array([[0.99, 0.01]] * 4), np.full((4, 2), 0.5)
    >>> weights, losses = stack_classes(np.stack([sure, vague]), np.array([0, 0, 0, 1]), np.ones(4))
    >>> (weights @ [0.99, 0.5]).round(3)  # the average is as sure as it is right
    np.float64(0.75)
    """
    floor = np.finfo(float).tiny  # a method may call the class of a held-out bag impossible
    own = np.maximum(predicted[:, np.arange(len(codes)), codes], floor)
    counted = counted / counted.sum()
    weights = np.full(len(own), 1 / len(own))
    for _ in range(10_000):
        step = (own / (weights @ own)) @ counted
        weights = weights * step
        if step.max() < 1 + 1e-6:  # the gap: no weights have a mean log-likelihood larger by more than log(max step)
            break
    weights = np.where(weights < 1e-4, 0.0, weights)
    weights /= weights.sum()
    return weights, -np.append(np.log(own) @ counted, np.log(np.maximum(weights @ own, floor)) @ counted)
