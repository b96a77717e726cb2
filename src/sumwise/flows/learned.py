"""What a flow model learned: movement, expected counts and flows, and the posterior that they are means of."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from sumwise.errors import ModelWarning
from sumwise.fit import Fit
from sumwise.flows.flow_problem import FlowProblem
from sumwise.flows.movement import Movement
from sumwise.flows.movement_search import Types
from sumwise.flows.posterior import MOST_WORK, FlowPosterior, work_of

MOST = 0.9  # probability from which models with one type, or with two, stand for all


@dataclass
class Learned:
    """Types of movement with their weights, counts and flows under each by season, and what they come from."""

    movements: list[Movement]
    weights: np.ndarray
    answers: list[list[tuple[np.ndarray, list[Any]]]]  # by type, then by season: counts (T, L), flows per step
    fit: Fit
    posterior: list[dict[str, Any]] | None = None  # by type, what restores it; None: there is none
    scores: pd.DataFrame | None = None

    def season(self, k: int) -> Learned:
        """The part of one season."""
        kept = self.posterior
        if kept is not None:
            kept = [{**state, "around": state["around"][k : k + 1]} for state in kept]
        return replace(self, answers=[[each[k]] for each in self.answers], posterior=kept)


def is_large(problems: list[FlowProblem]) -> bool:
    """Whether there are more places than a filter with all their covariances can take."""
    return work_of(problems) > MOST_WORK


def of_posterior(problems: list[FlowProblem], given: list[Movement] | None, size_known: bool) -> Learned:
    """Movement averaged over models, or over those that are given, by their evidence."""
    posterior = FlowPosterior.of(problems, given, size_known)
    best = posterior.candidates[int(np.argmax(posterior.probabilities))]
    rows = [(c.model.kind, float(w)) for c, w in zip(posterior.candidates, posterior.probabilities)]
    shares, movements, answers = _types(posterior, problems)
    history = {"objective": np.array(best.history)}
    steps = sum(c.evaluations for c in posterior.candidates)
    fit = Fit(None, best.history[-1], float("nan"), steps, all(c.converged for c in posterior.candidates), history)
    probabilities: dict[str, float] = {}
    for kind, probability in rows:  # a model may have several modes
        probabilities[kind] = probabilities.get(kind, 0.0) + probability
    scores = pd.DataFrame(list(probabilities.items()), columns=["movement", "probability"])
    return Learned(movements, shares, answers, fit, [posterior.state()], scores)


def _types(posterior: FlowPosterior, problems: list[FlowProblem]) -> tuple[np.ndarray, list[Movement], list]:
    """Shares of types of individuals, their movement, and counts and flows of a population of each.

    Where models with one type and with two are both probable, there are three: the individuals of models with one
    type, and the two types.
    """
    each = [posterior.flows_by_type(k, agreeing=True) for k in range(len(problems))]
    shares = np.array([share for share, _ in each[0]])
    kinds = np.array([c.model.n_types for c in posterior.candidates])
    movements: list[Movement] = []
    for n in sorted({kinds[k] for k, _ in posterior.points}):
        at = np.where(kinds == n, posterior.probabilities, -1.0)
        best = posterior.candidates[int(np.argmax(at))]
        movements += best.model.movements(best.mode)
    parts = [[part for _, part in season] for season in each]
    if len(shares) == 3 and shares[0] > MOST:  # hardly any: they are part of the mean of the others
        parts = [[_added(season, np.ones(3))] for season in parts]
        shares, movements = np.ones(1), movements[:1]
    elif len(shares) == 3 and shares[0] < 1.0 - MOST:
        shares, movements = shares[1:] / shares[1:].sum(), movements[1:]
        parts = [[_added([one, season[0]], [1.0, w]) for one, w in zip(season[1:], shares)] for season in parts]
    answers = [
        [_cut((counts / share, [f / share for f in flows]), problems[k]) for k, (counts, flows) in enumerate(kind)]
        for share, kind in zip(shares, zip(*parts))
    ]
    return shares, movements, answers


def _added(parts: Any, weights: Any) -> tuple[np.ndarray, list[np.ndarray]]:
    """Counts and flows of the parts, weighted and added up."""
    counts, flows = zip(*parts)
    return np.tensordot(weights, counts, axes=1), [np.tensordot(weights, tables, axes=1) for tables in zip(*flows)]


def of_types(problems: list[FlowProblem], types: Types) -> Learned:
    """Every type's expected flows; the most likely ones where there are too many places for that."""
    answers, states, fits = [], [], []
    for movement in types.movements:
        if is_large(problems):
            made = [p.solve(movement) for p in problems]
            answers.append([(p.inside(f), p.flows(f)) for p, f in zip(problems, made)])
            fits.append(made)
            continue
        posterior = FlowPosterior.known(problems, movement)
        answers.append([_cut(posterior.flows(k), p) for k, p in enumerate(problems)])
        states.append(posterior.state())
    if fits:
        n = problems[0].counts.shape[1]
        warnings.warn(
            f"The flows are the most likely ones, not their mean: {n:,} places are too many for a posterior of all "
            "their covariances. The most likely flows tend to understate how many move. Hint: group the places of a "
            "region, and fit their counts.",
            ModelWarning,
            stacklevel=4,
        )
        first = fits[int(np.argmax(types.weights))]
        objective, gap = (float(sum(getattr(f, a) for f in first)) for a in ("objective", "gap"))
        fit = Fit(None, objective, gap, max(f.n_iter for f in first), all(f.converged for f in first), first[0].history)
    else:
        fit = Fit(None, float("nan"), float("nan"), 1, True, {"objective": np.zeros(0)})
    return Learned(types.movements, types.weights, answers, fit, states or None, types.scores)


def _cut(found: tuple[np.ndarray, list[np.ndarray]], problem: FlowProblem) -> tuple[np.ndarray, list[Any]]:
    """Counts and flows; sparse where moves have a reach."""
    counts, flows = found
    return counts, [sparse.csr_array(f) for f in flows] if sparse.issparse(problem.far) else flows
