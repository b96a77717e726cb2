"""Sums of independent labels by enumeration and in high precision, written to be read."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import product

import numpy as np


def count_by_enumeration(logits, log_potential):
    """log sum_y p(y) exp(log_potential(sum y)) and the posterior of each label, over all 2^n labelings."""
    probs = 1.0 / (1.0 + np.exp(-np.asarray(logits, dtype=np.longdouble)))
    total, ones = np.longdouble(0), np.zeros(len(probs), dtype=np.longdouble)
    for labels in product([0, 1], repeat=len(probs)):
        y = np.array(labels)
        weight = np.prod(np.where(y == 1, probs, 1 - probs)) * np.exp(np.longdouble(log_potential(y.sum())))
        total += weight
        ones += weight * y
    return float(np.log(total)), (ones / total).astype(float)


def count_in_high_precision(logits, z, digits=60):
    """The same for an exact count, by forward and backward polynomials in decimal arithmetic of many digits."""
    with localcontext() as context:
        context.prec = digits
        probs = [1 / (1 + (-Decimal(float(x))).exp()) for x in logits]
        n = len(probs)
        backward = [[Decimal(0)] * (z + 1) for _ in range(n + 1)]  # P(labels i.. sum to s)
        backward[n][0] = Decimal(1)
        for i in range(n - 1, -1, -1):
            for s in range(min(z, n - i) + 1):
                with_one = probs[i] * backward[i + 1][s - 1] if s else 0
                backward[i][s] = (1 - probs[i]) * backward[i + 1][s] + with_one
        forward = [Decimal(1)] + [Decimal(0)] * z
        total = backward[0][z]
        posterior = []
        for i in range(n):
            one = sum(forward[s] * backward[i + 1][z - 1 - s] for s in range(min(i, z - 1) + 1)) if z else 0
            posterior.append(float(probs[i] * one / total))
            for s in range(min(z, i + 1), -1, -1):
                forward[s] = (1 - probs[i]) * forward[s] + (probs[i] * forward[s - 1] if s else 0)
        return float(total.ln()), np.array(posterior)


def vectors_by_enumeration(log_potentials, outcomes, target):
    """log P(sum of outcome vectors = target) and each member's posterior over outcomes, over all labelings."""
    log_potentials = np.asarray(log_potentials, dtype=float)
    outcomes = np.asarray(outcomes)
    probs = np.exp(log_potentials - np.logaddexp.reduce(log_potentials, axis=1, keepdims=True))
    n, m = probs.shape
    total, posterior = 0.0, np.zeros((n, m))
    for labels in product(range(m), repeat=n):
        if (outcomes[list(labels)].sum(axis=0) == np.asarray(target)).all():
            weight = np.prod(probs[np.arange(n), list(labels)])
            total += weight
            posterior[np.arange(n), list(labels)] += weight
    return np.log(total), posterior / total
