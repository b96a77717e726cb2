"""map_counts_batch: the most likely flows of many populations at once, on one device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.collective.counts import CountsFit
from sumwise.collective.kernels.batched_dual import gather_batch, maximise_batch
from sumwise.collective.kernels.belief_propagation import Beliefs
from sumwise.collective.kernels.edges import DenseEdge
from sumwise.collective.map_counts import fit_of, map_counts
from sumwise.collective.observations import Observed, observe
from sumwise.collective.tree_model import TreeModel
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.memory import check_fits

ARRAYS = 40  # of batch x times x states, held at once


def map_counts_batch(
    models: Any, tables: Any, n: Any = None, *, tol: float = 1e-6, max_iter: int = 100, device: str = "cpu"
) -> list[CountsFit]:
    """Find the most likely counts of many populations in one call: bootstraps, species, or years.

    What `map_counts` does by its dual, for chains of the same shape side by side on a device (torch, double precision):
    data stay there from the first step to the last. Every answer has its own proven gap. A population that the batch
    doesn't certify within `max_iter` steps is solved by `map_counts` on the CPU, which has ways for hard problems;
    ``history["solved alone"]`` says so.

    Parameters
    ----------
    models : TreeModel, or one for every population
        Chains over times with the same number of states, with dense tables of moves.
    tables : list of Tables
        What was observed of each population, of single times, with any noise but `Exact`.
    n : float or list of float, optional
        Sizes; default: those of the tables.
    tol : float > 0, default 1e-6
        As for `map_counts`.
    max_iter : int >= 1, default 100
        Newton steps.
    device : str, default "cpu"
        ``"cuda"`` for a GPU.

    Returns
    -------
    list of CountsFit

    See Also
    --------
    map_counts : One problem.

    Examples
    --------
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.collective import TreeModel, map_counts_batch
    >>> from sumwise.noise import Poisson
    >>> domain = Domain({"t0": 2, "t1": 2})
    >>> model = TreeModel(domain, [("t0", "t1")], {("t0", "t1"): [[0.0, -1.0], [-1.0, 0.0]]})
    >>> seen = [Tables([Table("t0", y, noise=Poisson())], domain, n=10) for y in ([8, 2], [5, 5])]
    >>> [fit.edges["t0", "t1"].round(2).tolist() for fit in map_counts_batch(model, seen)]
    [[[4.79, 1.76], [0.93, 2.52]], [[3.66, 1.34], [1.34, 3.66]]]
    """
    checks.positive(tol, "tol", ndim=0)
    checks.at_least(max_iter, "max_iter", 1)
    listed = list(checks.listing(tables, "tables", "give a list with the Tables of every population."))
    if not listed:
        raise DataError("There are no tables.", hint="give a list with the Tables of every population.")
    given = [models] * len(listed) if isinstance(models, TreeModel) else list(checks.listing(models, "models"))
    sizes = list(np.broadcast_to(np.array(n, dtype=object), len(listed)))
    if len(given) != len(listed):
        raise DataError(f"There are {len(given)} models for the tables of {len(listed)} populations.")
    seen = [observe(m, t, size) for m, t, size in zip(given, listed, sizes)]
    _check(seen)
    times, states = len(seen[0].problem.forest.sizes), seen[0].problem.forest.sizes[0]
    if device == "cpu":
        what = f"{len(seen)} populations at {times} times in {states:,} states"
        check_fits(8 * ARRAYS * len(seen) * times * states, "map_counts_batch", what, "fit fewer at once.")
    require("torch", extra="torch")
    point, done, steps = maximise_batch(gather_batch([s.problem for s in seen], device), tol, max_iter)
    names = ("g", "dual", "gap", "log_z", "nodes", "inner", "cavity")
    found = {name: getattr(point, name).cpu().numpy() for name in names}
    certified, taken = done.cpu().numpy(), steps.cpu().numpy().astype(int)
    return [
        _fit(s, found, b, int(taken[b]))
        if certified[b]
        else replace(map_counts(given[b], listed[b], sizes[b], tol=tol), history={"solved alone": [True]})
        for b, s in enumerate(seen)
    ]


def _check(seen: list[Observed]) -> None:
    """Chains of one shape, with noise that sweeps can take."""
    shape = seen[0].problem.forest.sizes
    for b, s in enumerate(seen):
        problem = s.problem
        if s.extras or not s.problem.observations.soft:
            raise DataError(
                f"Population {b} has exact counts, bounds, or a noise of your own.",
                hint="state a small Gaussian noise, or fit it with map_counts.",
            )
        several = len(problem.forest.sizes) > 1 and len(set(problem.forest.sizes)) == 1
        chain = several and problem.paths is not None and len(problem.paths) == 1
        if not chain or not all(type(op) is DenseEdge for _, _, op in problem.forest.edges):
            raise DataError(
                f"Population {b} is not a chain of several times with the same states and dense tables of moves, each "
                "time observed at most once.",
                hint="fit it with map_counts.",
            )
        if problem.forest.sizes != shape or problem.paths != seen[0].problem.paths:
            raise DataError(
                f"Population {b} has {len(problem.forest.sizes)} times and {max(problem.forest.sizes)} states; the "
                f"first one has {len(shape)} and {max(shape)}.",
                hint="fit populations of one shape together.",
            )


def _fit(seen: Observed, found: dict, b: int, steps: int) -> CountsFit:
    """The answer of one population, its tables of moves made when they are asked for."""
    problem, observations = seen.problem, seen.problem.observations
    order, links = problem.paths[0]  # type: ignore[index]  # checked
    place = np.argsort(order)
    inner: list[Any] = [None] * len(links)
    cavity: list[Any] = [None] * len(links)
    for j, k in enumerate(links):
        inner[k], cavity[k] = found["inner"][b, j], found["cavity"][b, j]
    beliefs = Beliefs(list(found["nodes"][b][place]), [found["log_z"][b]], inner, cavity, [], [])
    counts = seen.layout.counts_of(beliefs, problem.total)
    dual, gap = float(found["dual"][b]), float(found["gap"][b])
    return fit_of(
        counts,
        objective=dual + gap,
        gap=gap,
        n_iter=steps,
        converged=True,
        history={"solved alone": [False]},
        dual=dual,
        multipliers=found["g"][b][place].ravel()[observations.index],
    )
