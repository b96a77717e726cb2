"""How movement is learned: from left-out times, from the likelihood of the counts, or from tracks of individuals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from sumwise.collective.counts import CountsFit
from sumwise.collective.flow_problem import FlowProblem
from sumwise.collective.forecast import transitions
from sumwise.collective.movement import Movement

# Costs of leaving, and scales in units of the distance between neighbours. They span what birds and commuters were
# found to do: the range was set after settings within it had been scored on banded birds (see benchmarks/bands.py).
STAYS = (2.0, 4.0, 6.0, 8.0)
SCALES = (0.35, 0.7, 1.5, 3.0)
EVERY = 4  # each fourth time is left out
LEAST_WEIGHT = 0.02  # types of movement below it are dropped


@dataclass
class Learned:
    """Types of movement with their weights, flows under each, and the scores that decided."""

    movements: list[Movement]
    weights: np.ndarray
    fits: list[CountsFit]
    scores: pd.DataFrame | None = None
    log_likelihood: float | None = None  # of the tracks, per track


def candidates(problem: FlowProblem) -> list[Movement]:
    """A grid of movements, from hardly any to wide."""
    unit = problem.places.unit
    return [Movement(stay, scale * unit) for stay in STAYS for scale in SCALES]


def from_left_out_times(problem: FlowProblem, grid: list[Movement]) -> Learned:
    """The movement with the least moving among those that predict left-out times as well as the best (one-SE rule).

    Counts say little about individuals that swap places, so that many movements predict alike; the rule prefers the
    one that needs the fewest moves to explain the counts.
    """
    times = [t for t in range(len(problem.counts)) if not np.isnan(problem.counts[t]).all()]
    middle = times if problem.cyclic else times[1:-1]
    out = middle[EVERY // 2 :: EVERY] or middle[:1]
    rows = []
    for movement in grid:
        fit = problem.solve(movement, out)
        errors = np.array([_deviance(problem, fit, t) for t in out])
        stays = _share_staying(problem, fit)
        spread = errors.std(ddof=1) / np.sqrt(len(out)) if len(out) > 1 else 0.0
        rows.append((movement.stay, movement.scale, errors.mean(), spread, stays))
    scores = pd.DataFrame(rows, columns=["stay", "scale", "error", "standard error", "staying"])
    error, spread, staying = (scores[c].to_numpy(dtype=float) for c in ("error", "standard error", "staying"))
    best = int(np.argmin(error))
    plausible = error <= error[best] + spread[best]
    chosen = int(np.argmax(np.where(plausible, staying, -np.inf)))
    scores["chosen"] = np.arange(len(scores)) == chosen
    return Learned([grid[chosen]], np.ones(1), [problem.solve(grid[chosen])], scores)


def _deviance(problem: FlowProblem, fit: CountsFit, t: int) -> float:
    """Kullback-Leibler divergence of the observed shares of a left-out time from the estimated ones."""
    seen = ~np.isnan(problem.counts[t])
    given = np.maximum(problem.counts[t][seen], 0.0)
    made = np.maximum(problem.inside(fit)[t][seen], 0.0)
    p, q = given / max(given.sum(), 1e-300), made / max(made.sum(), 1e-300)
    small = 1e-3 / len(p)
    return float((p * np.log((p + small) / (q + small))).sum())


def _share_staying(problem: FlowProblem, fit: CountsFit) -> float:
    flows = problem.flows(fit)
    return float(np.mean([f.diagonal().sum() / max(f.sum(), 1e-300) for f in flows]))


def from_likelihood(problem: FlowProblem, max_evaluations: int = 150) -> Learned:
    """The movement under which the counts are most likely (the profile of the certified objective)."""
    unit, sized = problem.places.unit, problem.places.area is not None
    rough = replace(problem, tol=max(problem.tol, 1e-4))

    def movement(x: np.ndarray) -> Movement:
        return Movement(float(x[0]), unit * float(np.exp(np.clip(x[1], -8, 8))), float(x[2]) if sized else 0.0)

    def cost(x: np.ndarray) -> float:
        return rough.solve(movement(x)).objective / problem.n

    first = np.array([0.5, 0.0, 0.0][: 2 + sized])
    corners = np.vstack([first, *(first + 0.5 * np.eye(len(first))[k] for k in range(len(first)))])
    options = {"maxfev": max_evaluations, "initial_simplex": corners, "xatol": 0.01, "fatol": 1e-6}
    found = minimize(cost, first, method="Nelder-Mead", options=options)
    chosen = movement(found.x)
    return Learned([chosen], np.ones(1), [problem.solve(chosen)])


def from_tracks(problem: FlowProblem, grid: list[Movement], tracks: Any) -> Learned:
    """A mixture of movements whose weights make the tracks most likely: individuals differ in how they move.

    Every type explains the counts by itself; an individual keeps its type. Weights have a flat Dirichlet prior of one
    track, so that a few tracks don't rule types out.
    """
    fits = [problem.solve(m) for m in grid]
    likelihood = np.column_stack([track_probabilities(transitions_of(problem, f), tracks) for f in fits])
    weights = mixture_weights(likelihood)
    kept = np.flatnonzero(weights >= min(LEAST_WEIGHT, weights.max()))
    share = weights[kept] / weights[kept].sum()
    value = float(np.log(np.maximum(likelihood[:, kept] @ share, 1e-300)).mean())
    scores = pd.DataFrame([(m.stay, m.scale, w) for m, w in zip(grid, weights)], columns=["stay", "scale", "weight"])
    return Learned([grid[k] for k in kept], share, [fits[k] for k in kept], scores, value)


def transitions_of(problem: FlowProblem, fit: CountsFit) -> list[Any]:
    """Probabilities (L, L) of every step between places, given that an individual doesn't leave."""
    return transitions(_Steps({str(k): f for k, f in enumerate(problem.flows(fit))}))


@dataclass
class _Steps:
    edges: dict[str, Any]


def track_probabilities(steps: list[Any], tracks: Any) -> np.ndarray:
    """p(place, time of the second sighting | the first) for tracks (first place, first time, place, steps between)."""
    places, starts, ends, lengths = tracks
    out = np.empty(len(places))
    for start in np.unique(starts):
        here = np.flatnonzero(starts == start)
        at = np.zeros((len(here), steps[0].shape[0]))
        at[np.arange(len(here)), places[here]] = 1.0
        for k in range(int(lengths[here].max()) + 1):
            done = lengths[here] == k
            out[here[done]] = at[done, ends[here[done]]]
            at = np.asarray(at @ steps[(start + k) % len(steps)])
    return out


def mixture_weights(likelihood: np.ndarray, prior: float = 1.0, floor: float = 1e-3, rounds: int = 500) -> np.ndarray:
    """Weights of a mixture by EM, from likelihoods (n, K); `floor` of the mass is spread over what no type explains."""
    n, k = likelihood.shape
    weights = np.full(k, 1.0 / k)
    spread = floor / max(n, 1)
    for _ in range(rounds):
        joint = (1 - floor) * likelihood * weights
        share = joint / (joint.sum(axis=1, keepdims=True) + spread)
        new = share.sum(axis=0) + prior / k
        new /= new.sum()
        if np.abs(new - weights).max() < 1e-7:
            return new
        weights = new
    return weights
