"""How movement is learned: from left-out times, from the likelihood of the counts, or from tracks of individuals.

Every function takes one `FlowProblem` per season; seasons share the movement and have flows of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import minimize

from sumwise.collective.counts import CountsFit
from sumwise.collective.flow_problem import FlowProblem, StepMoves
from sumwise.collective.move_chain import MoveChain, chain_of
from sumwise.collective.movement import Movement
from sumwise.progress import track

# Costs of leaving, and scales in units of the distance between neighbours. They span what birds and commuters were
# found to do: the range was set after settings within it had been scored on banded birds (see benchmarks/bands.py).
STAYS = (2.0, 4.0, 6.0, 8.0)
SCALES = (0.35, 0.7, 1.5, 3.0)
HELD_OUT_EVERY = 4  # each fourth time is left out
LEAST_WEIGHT = 0.02  # types of movement below it are dropped
ADAPTIVE_SCALES = (0.5, 1.0, 2.0, 4.0)  # in the same unit, where moves adapt to the flows
CLEARLY_WORSE = (3.0, 0.25)  # standard errors, and share of the error: worse by both is no candidate; not tuned
ROUNDS = 8  # of adapting
MEMORIES = (0.0, 1.0, 2.0, 4.0)  # of direction, tried at the chosen stay and scale
COMPARISON_GAP = (
    1e-3  # gap of flows that are only compared; left-out weeks of the blackbirds are predicted alike to 3 digits
)
TINY_FLOW = 1e-6  # of an individual, so that no move becomes impossible


@dataclass
class Learned:
    """Types of movement with their weights, flows under each by season, and the scores that decided."""

    movements: list[Movement]
    weights: np.ndarray
    fits: list[list[CountsFit]]  # by type, then by season
    scores: pd.DataFrame | None = None
    log_likelihood: float | None = None  # of the tracks, per track
    adapted: list[StepMoves] | None = None  # by season, where moves adapted to the flows
    errors: np.ndarray | None = None  # of every left-out time, by the movement that predicts them best


def candidates(problem: FlowProblem) -> list[Movement]:
    """A grid of movements, from hardly any to wide."""
    unit = problem.places.unit
    return [Movement(stay, scale * unit) for stay in STAYS for scale in SCALES]


def under(problems: list[FlowProblem], movement: Movement) -> Learned:
    """The flows under a given movement."""
    return Learned([movement], np.ones(1), [[p.solve(movement) for p in problems]])


def left_out(problem: FlowProblem) -> list[int]:
    """The times that are left out to see how well they are predicted."""
    times = [t for t in range(len(problem.counts)) if not np.isnan(problem.counts[t]).all()]
    middle = times if problem.cyclic else times[1:-1]
    return middle[HELD_OUT_EVERY // 2 :: HELD_OUT_EVERY] or middle[:1]


def from_left_out_times(problems: list[FlowProblem], grid: list[Movement]) -> Learned:
    """The movement with the least moving among those that predict left-out times as well as the best (one-SE rule).

    Counts say little about individuals that swap places, so that many movements predict alike; the rule prefers the
    one that needs the fewest moves to explain the counts. In a second-order model, stay and scale are chosen without
    memory, and then memory by the least error.
    """
    if problems[0].order == 2 and all(m.memory == 0 for m in grid):
        plain = from_left_out_times([replace(p, order=1) for p in problems], grid).movements[0]
        tried = [replace(plain, memory=m) for m in MEMORIES]
        errors = [
            np.mean([divergence(p, p.solve(m, left_out(p)), t) for p in problems for t in left_out(p)]) for m in tried
        ]
        scores = pd.DataFrame([(m.stay, m.scale, m.memory, e) for m, e in zip(tried, errors)])
        scores.columns = ["stay", "scale", "memory", "error"]
        scores["chosen"] = np.arange(len(tried)) == int(np.argmin(errors))
        return replace(under(problems, tried[int(np.argmin(errors))]), scores=scores)
    rows, each = [], []
    rough = [replace(p, tol=max(p.tol, COMPARISON_GAP)) for p in problems]
    for movement in track(grid, "Movements"):  # each anew: rough fits would lean towards the one before
        fits = [(p, p.solve(movement, left_out(p))) for p in rough]
        errors = np.array([divergence(p, f, t) for p, f in fits for t in left_out(p)])
        stays = float(np.mean([_share_staying(p, f) for p, f in fits]))
        rows.append((movement.stay, movement.scale, *_mean_error(errors), stays))
        each.append(errors)
    scores = pd.DataFrame(rows, columns=["stay", "scale", "error", "standard error", "staying"])
    error, spread, staying = (scores[c].to_numpy(dtype=float) for c in ("error", "standard error", "staying"))
    best = int(np.argmin(error))
    plausible = error <= error[best] + spread[best]
    chosen = int(np.argmax(np.where(plausible, staying, -np.inf)))
    scores["plausible"] = plausible
    scores["chosen"] = np.arange(len(scores)) == chosen
    return replace(under(problems, grid[chosen]), scores=scores, errors=each[best])


def _mean_error(errors: np.ndarray) -> tuple[float, float]:
    spread = errors.std(ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else 0.0
    return float(errors.mean()), float(spread)


def divergence(problem: FlowProblem, fit: CountsFit, t: int) -> float:
    """Kullback-Leibler divergence of the observed shares of a left-out time from the estimated ones."""
    return share_divergence(problem.counts[t], problem.inside(fit)[t])


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


def from_likelihood(problems: list[FlowProblem], max_evaluations: int = 150) -> Learned:
    """The movement under which the counts are most likely (the profile of the certified objective)."""
    unit, sized = problems[0].places.unit, problems[0].places.area is not None
    rough = [replace(p, tol=max(p.tol, 1e-4)) for p in problems]

    def movement(x: np.ndarray) -> Movement:
        return Movement(float(x[0]), unit * float(np.exp(np.clip(x[1], -8, 8))), float(x[2]) if sized else 0.0)

    def cost(x: np.ndarray) -> float:
        made = movement(x)
        return sum(p.solve(made).objective / p.n for p in rough)

    first = np.array([0.5, 0.0, 0.0][: 2 + sized])
    corners = np.vstack([first, *(first + 0.5 * np.eye(len(first))[k] for k in range(len(first)))])
    options = {"maxfev": max_evaluations, "initial_simplex": corners, "xatol": 0.01, "fatol": 1e-6}
    found = minimize(cost, first, method="Nelder-Mead", options=options)
    return under(problems, movement(found.x))


def from_adapting(problems: list[FlowProblem]) -> Learned:
    """Moves by distance that adapt to the flows of the round before, from the scale that predicts left-out times best.

    A fixed movement pulls the counts towards itself; moves that follow the flows agree with the counts, and stay as
    near to the distance as those allow.
    """
    return _adapted(problems, _adaptive_scores(problems))


def _adapted(problems: list[FlowProblem], scores: pd.DataFrame) -> Learned:
    chosen = int(scores["error"].argmin()) if len(problems[0].counts) > 2 else 1
    scores["chosen"] = np.arange(len(scores)) == chosen
    movement = Movement(0.0, float(scores["scale"].to_numpy(dtype=float)[chosen]))
    made = [adapt(p, movement) for p in problems]
    found = Learned([movement], np.ones(1), [[fit for _, fit in made]], scores)
    return replace(found, adapted=[steps for steps, _ in made])


def _adaptive_scores(problems: list[FlowProblem], against: np.ndarray | None = None) -> pd.DataFrame:
    """How well left-out times are predicted from every scale; none after one that is clearly worse than `against`."""
    unit, rough = problems[0].places.unit, [replace(p, tol=max(p.tol, COMPARISON_GAP)) for p in problems]
    rows = []
    for scale in track([k * unit for k in ADAPTIVE_SCALES], "Movements"):
        fits = [(p, adapt(p, Movement(0.0, scale), left_out(p))[1]) for p in rough if len(p.counts) > 2]
        errors = np.array([divergence(p, f, t) for p, f in fits for t in left_out(p)])
        rows.append((0.0, scale, *(_mean_error(errors) if len(errors) else (0.0, 0.0))))
        if against is not None and len(errors) > 1:
            worse, spread = _mean_error(errors - against)
            if worse > max(CLEARLY_WORSE[0] * spread, CLEARLY_WORSE[1] * float(against.mean())):
                break
    return pd.DataFrame(rows, columns=["stay", "scale", "error", "standard error"])


def from_either(problems: list[FlowProblem], grid: list[Movement]) -> Learned:
    """Movement by distance, or moves that adapt to the flows: whichever predicts left-out times better."""
    by_distance = from_left_out_times(problems, grid)
    assert by_distance.errors is not None
    scores = _adaptive_scores(problems, by_distance.errors)
    better = float(np.min(scores["error"])) < float(by_distance.errors.mean())
    return _adapted(problems, scores) if better else by_distance


def adapt(problem: FlowProblem, movement: Movement, without: Any = ()) -> tuple[StepMoves, CountsFit]:
    """Moves of every step that follow the flows, starting from a movement; and the flows under them."""
    first = movement.log_moves(problem.places, problem.far)
    there = np.maximum(np.nanmean(problem.counts, axis=0), 0.0) + 0.5
    moves = StepMoves([first] * (len(problem.names) - 1), np.log(there / there.sum()))
    rough = replace(problem, tol=max(problem.tol, COMPARISON_GAP))
    fit = None
    for _ in range(ROUNDS - 1):
        fit = rough.solve(moves, without, fit)
        start = problem.inside(fit)[0] + TINY_FLOW
        logs = [_follow(old, flows) for old, flows in zip(moves.logs, problem.flows(fit))]
        moves = StepMoves(logs, np.log(start / start.sum()))
    return moves, problem.solve(moves, without, fit)


def _follow(logs: Any, flows: Any) -> Any:
    """Log-probabilities of moves as the flows have them; no possible move becomes impossible."""
    if sparse.issparse(logs):
        old: Any = sparse.coo_array(logs)
        seen = np.asarray(sparse.csr_array(flows)[old.row, old.col], dtype=float).ravel()
        some = np.maximum(seen, 0.0) + TINY_FLOW * np.exp(old.data)
        total = np.bincount(old.row, some, old.shape[0])
        return sparse.csr_array((np.log(some / total[old.row]), (old.row, old.col)), shape=old.shape)
    some = np.maximum(flows, 0.0) + TINY_FLOW * np.exp(logs)
    with np.errstate(divide="ignore"):
        return np.log(np.where(np.isfinite(logs), some, 0.0) / some.sum(axis=1, keepdims=True))


def from_tracks(problems: list[FlowProblem], grid: list[Movement], tracks: Any, returning: bool = False) -> Learned:
    """A mixture of movements whose weights make the tracks most likely: individuals differ in how they move.

    Every type explains the counts by itself; an individual keeps its type. Weights have a flat Dirichlet prior of one
    track, so that a few tracks don't rule types out. `returning`: given that individuals come back after a year.
    """
    fits = [[p.solve(m) for p in problems] for m in track(grid, "Movements")]
    chains = [chain_of(mean_flows(problems, f), mean_pairs(problems, f), problems[0].pair_moves()) for f in fits]
    likelihood = np.column_stack([_likelihood(c, tracks, returning) for c in chains])
    weights = mixture_weights(likelihood)
    kept = np.flatnonzero(weights >= min(LEAST_WEIGHT, weights.max()))
    share = weights[kept] / weights[kept].sum()
    value = float(np.log(np.maximum(likelihood[:, kept] @ share, 1e-300)).mean())
    scores = pd.DataFrame([(m.stay, m.scale, w) for m, w in zip(grid, weights)], columns=["stay", "scale", "weight"])
    return Learned([grid[k] for k in kept], share, [fits[k] for k in kept], scores, value)


def _likelihood(chain: MoveChain, tracks: Any, returning: bool) -> np.ndarray:
    """Probability of every track's second place."""
    if not returning:
        return chain.track_probabilities(tracks)
    joint, whole = chain.returning_probabilities(tracks)
    return np.divide(joint, whole, out=np.zeros_like(joint), where=whole > 0)


def mean_flows(problems: list[FlowProblem], fits: list[CountsFit]) -> list[Any]:
    """Tables of moves (L, L) of every step, the mean over seasons."""
    return _mean([p.flows(f) for p, f in zip(problems, fits)])


def mean_pairs(problems: list[FlowProblem], fits: list[CountsFit]) -> list[Any] | None:
    """Tables of pairs of moves (E, E), the mean over seasons; None without memory."""
    return None if problems[0].order == 1 else _mean([p.pairs(f) for p, f in zip(problems, fits)])


def _mean(each: list[list[Any]]) -> list[Any]:
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
