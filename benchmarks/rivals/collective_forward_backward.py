"""Collective forward-backward, written from Singh, Haasler, Zhang, Karlsson and Chen (2022, IEEE Trans. Autom. Contr.).

Constrained belief propagation in a hidden Markov model of a population: at every time the numbers of people by sensor
are known exactly, and a person in place x is seen by sensor o with probability ``emission[x, o]``. Sweeps rescale the
sensors of each time so that they have their numbers (Sinkhorn's iterations along a tree), until all have.
"""

from __future__ import annotations

import numpy as np


def collective_forward_backward(first, step, emission, seen, tol=1e-6, max_sweeps=10_000):
    """Moves (T - 1, L, L) of the population and the number of sweeps; `seen` is (T, O) with equal sums.

    Ends when no time's sensors are further than `tol` from `seen`, as a share of all people (L1 distance).
    """
    shares = seen / seen.sum(axis=1, keepdims=True)
    times, places = len(seen), len(first)
    scales = np.ones_like(shares)
    forward, backward, up = np.ones((times, places)), np.ones((times, places)), np.ones((times, places))
    for sweep in range(1, max_sweeps + 1):  # noqa: B007 - the number of sweeps is returned
        off = 0.0
        for t in range(times):
            forward[t] = first if t == 0 else (forward[t - 1] * up[t - 1]) @ step
            forward[t] /= forward[t].sum()
            sensors = (forward[t] * backward[t]) @ emission
            expected = sensors * scales[t]
            off = max(off, float(np.abs(expected / expected.sum() - shares[t]).sum()))
            scales[t] = np.divide(shares[t], sensors, out=np.zeros_like(sensors), where=sensors > 0)
            up[t] = emission @ scales[t]
        if off <= tol:
            break
        for t in reversed(range(times)):
            backward[t] = 1.0 if t == times - 1 else step @ (up[t + 1] * backward[t + 1])
            backward[t] /= backward[t].max()
    moves = [np.outer(forward[t] * up[t], up[t + 1] * backward[t + 1]) * step for t in range(times - 1)]
    return np.array([m / m.sum() for m in moves]) * seen[0].sum(), sweep
