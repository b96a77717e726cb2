"""Movement that isn't learned from the likelihood of counts: from tracks of individuals, or from left-out times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from sumwise.collective.counts import CountsFit
from sumwise.flows.flow_problem import FlowProblem
from sumwise.flows.move_chain import MoveChain, chain_of
from sumwise.flows.movement import Movement
from sumwise.progress import track

# Costs of leaving, and scales in units of the distance between neighbours: from hardly any moves to wide ones. The
# range was set after settings within it had been scored on banded birds (benchmarks/bands.py).
STAYS, SCALES = (2.0, 4.0, 6.0, 8.0), (0.35, 0.7, 1.5, 3.0)
LEAST_WEIGHT = 0.02  # of a type; the flows of each take as long as a fit
HELD_OUT_EVERY = 4  # each fourth time is left out


@dataclass
class Types:
    """Types of movement with the share of individuals of each, and what decided."""

    movements: list[Movement]
    weights: np.ndarray
    scores: pd.DataFrame | None


def candidates(problem: FlowProblem) -> list[Movement]:
    """A grid of movements, from hardly any to wide."""
    unit = problem.places.unit
    return [Movement(stay, scale * unit) for stay in STAYS for scale in SCALES]


def left_out(problem: FlowProblem) -> list[int]:
    """The times that are left out to see how well they are predicted."""
    times = [t for t in range(len(problem.counts)) if not np.isnan(problem.counts[t]).all()]
    middle = times if problem.cyclic else times[1:-1]
    return middle[HELD_OUT_EVERY // 2 :: HELD_OUT_EVERY] or middle[:1]


def from_left_out_times(problems: list[FlowProblem], grid: list[Movement]) -> Types:
    """The movement with the least moving among those that predict left-out times as well as the best (one-SE rule).

    For relative abundance, whose likelihood means little since neither noise nor number is known. Counts say little
    about individuals that swap places, so that many movements predict alike; the rule prefers the one that needs the
    fewest moves to explain the counts.
    """
    rows = []
    rough = [replace(p, tol=10 * p.tol) for p in problems]  # they are only compared
    for movement in track(grid, "Movements"):  # each anew: rough fits would lean towards the one before
        fits = [(p, p.solve(movement, left_out(p))) for p in rough]
        errors = np.array([share_divergence(p.counts[t], p.inside(f)[t]) for p, f in fits for t in left_out(p)])
        spread = errors.std(ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else 0.0
        stays = float(np.mean([_share_staying(p, f) for p, f in fits]))
        rows.append((movement.stay, movement.scale, float(errors.mean()), float(spread), stays))
    scores = pd.DataFrame(rows, columns=["stay", "scale", "error", "standard error", "staying"])
    error, spread, staying = (scores[c].to_numpy(dtype=float) for c in ("error", "standard error", "staying"))
    best = int(np.argmin(error))
    scores["plausible"] = error <= error[best] + spread[best]
    chosen = int(np.argmax(np.where(scores["plausible"], staying, -np.inf)))
    scores["chosen"] = np.arange(len(scores)) == chosen
    return Types([grid[chosen]], np.ones(1), scores)


def share_divergence(given: np.ndarray, made: np.ndarray) -> float:
    """Kullback-Leibler divergence of observed shares from predicted ones, over the places that were seen."""
    seen = ~np.isnan(given)
    given, made = np.maximum(given[seen], 0.0), np.maximum(made[seen], 0.0)
    p, q = given / max(given.sum(), 1e-300), made / max(made.sum(), 1e-300)
    small = 1e-3 / len(p)
    return float((p * np.log((p + small) / (q + small))).sum())


def _share_staying(problem: FlowProblem, fit: CountsFit) -> float:
    flows = problem.flows(fit)
    return float(np.mean([f.diagonal().sum() / max(f.sum(), 1e-300) for f in flows]))


def from_tracks(problems: list[FlowProblem], grid: list[Movement], tracks: Any, returning: bool = False) -> Types:
    """A mixture of movements whose weights make the tracks most likely: individuals differ in how they move.

    Every type explains the counts by itself; an individual keeps its type. Weights have a flat Dirichlet prior of one
    track, so that a few tracks don't rule types out. `returning`: given that individuals come back after a year.
    """
    fits = [[p.solve(m) for p in problems] for m in track(grid, "Movements")]
    chains = [chain_of(mean_tables([p.flows(f) for p, f in zip(problems, each)])) for each in fits]
    likelihood = np.column_stack([_likelihood(c, tracks, returning) for c in chains])
    weights = mixture_weights(likelihood)
    kept = np.flatnonzero(weights >= min(LEAST_WEIGHT, weights.max()))
    share = weights[kept] / weights[kept].sum()
    scores = pd.DataFrame([(m.stay, m.scale, w) for m, w in zip(grid, weights)], columns=["stay", "scale", "weight"])
    return Types([grid[k] for k in kept], share, scores)


def _likelihood(chain: MoveChain, tracks: Any, returning: bool) -> np.ndarray:
    """Probability of every track's second place."""
    if not returning:
        return chain.track_probabilities(tracks)
    joint, total = chain.returning_probabilities(tracks)
    return np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)


def mean_tables(each: list[list[Any]]) -> list[Any]:
    """Tables of moves (L, L) of every step, the mean over seasons."""
    return each[0] if len(each) == 1 else [sum(tables) / len(each) for tables in zip(*each)]


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
