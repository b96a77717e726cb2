"""map_counts: the most likely tables of a population, by any of the methods."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.collective.counts import Counts, CountsFit
from sumwise.collective.energy import Energy
from sumwise.collective.kernels.count_problem import Solution
from sumwise.collective.kernels.dual_counts import Watch, maximise_dual
from sumwise.collective.kernels.edges import DenseEdge
from sumwise.collective.kernels.exact_counts import exact_tables
from sumwise.collective.kernels.gaussian_counts import gaussian_edge_tables, gaussian_problem
from sumwise.collective.kernels.interior_counts import interior_counts, rescue
from sumwise.collective.kernels.loopy_bp import loopy_counts
from sumwise.collective.kernels.nonlinear_bp import feasible_nlbp, naive_nlbp
from sumwise.collective.kernels.proximal_counts import Run, accelerated_rda, mirror_descent, rda, tuned_rda
from sumwise.collective.loopy_model import LoopyModel
from sumwise.collective.observations import Observed, observe
from sumwise.errors import DataError
from sumwise.fit import warn_not_converged

GRADIENT = {
    "nlbp": feasible_nlbp,
    "nlbp-naive": naive_nlbp,
    "rda": rda,
    "rda-tuned": tuned_rda,
    "accelerated-rda": accelerated_rda,
    "mirror": mirror_descent,
}
METHODS = ("dual", *GRADIENT, "nlbp-loopy", "generic", "gaussian", "exact")
MOST_STEPS = {"dual": 1000, "gaussian": 1000, "nlbp-loopy": 5000}  # by default; 2000 of the other methods


def map_counts(
    model: Any,
    tables: Any,
    n: float | None = None,
    method: str = "dual",
    *,
    tol: float = 1e-6,
    max_gap: float = 0.0,
    max_iter: int | None = None,
    start: CountsFit | None = None,
    energy: Energy | list[Energy] | None = None,
    smoothing: float = 0.0,
    damping: float | None = None,
) -> CountsFit:
    """Find the most likely tables of a population, given noisy counts.

    Minimises eq. (2.7) of Sun (2019), the negative log-posterior of the tables with Stirling's formula for the
    factorials, over real-valued tables with agreeing margins.

    Parameters
    ----------
    model : TreeModel, GraphModel or LoopyModel
    tables : Tables or None
        What was observed of single attributes, edges or subsets of cliques, each table with its noise. NaN cells were
        not observed (bounds on them are respected), and several tables may cover the same cells.
    n : float, optional
        Size of the population; default ``tables.n``.
    method : str, default "dual"
        - ``"dual"``: Newton's method on the multipliers of the counts, and on the tables themselves (interior points)
          where tight noise contradicts the moves; proves its gap. Any noise of `sumwise.noise` with a
          concave log-density (the negative binomial has none).
        - ``"nlbp"``, ``"nlbp-naive"``: non-linear belief propagation, with and without feasible steps.
        - ``"nlbp-loopy"``: non-linear belief propagation on a `LoopyModel`, a graph with cycles: a stationary point of
          the Bethe approximation, without a gap; stops when no count would move by more than `tol` times n.
        - ``"rda"``, ``"rda-tuned"``, ``"accelerated-rda"``, ``"mirror"``: dual averaging and mirror descent.
        - ``"generic"``: an interior-point method on all cells, as a generic convex solver would take them.
        - ``"gaussian"``: the Gaussian approximation of the model; its counts may be negative.
        - ``"exact"``: the mode of the integer tables, and their mean in ``fit.mean``; tiny populations.
    tol : float > 0, default 1e-6
        Stop when the proven gap is below `tol` times the objective (or times its drop since the start, if less).
    max_gap : float >= 0, default 0.0
        ``"dual"`` also stops when the gap is at most this, in units of the objective: no need to know better than that.
    max_iter : int >= 1, optional
        Default: 1000 Newton steps, 5000 rounds of messages on a `LoopyModel`, 2000 steps of the others.
    start : CountsFit, optional
        An earlier fit of the dual with tables of the same shapes, for a warm start.
    energy : Energy or list of Energy, optional
        Terms of your own; for ``"nlbp"``, ``"nlbp-naive"``, dual averaging and ``"mirror"``. A noise of your own (an
        object with ``log_density`` and ``gradient``) goes the same way. Unless an energy is given as convex, and a
        noise has an attribute ``log_concave`` that is true, the answer is a stationary point and its gap NaN.
    smoothing : float >= 0, default 0.0
        Those methods take Laplace and geometric noise by a subgradient; above zero, by Nesterov's smoothing.
    damping : float, optional
        Fixed share of the way that ``"nlbp"`` moves in every step (the damping of Algorithm 2), or that the messages of
        ``"nlbp-loopy"`` do, above 0 and at most 1. Default: chosen at every step so that the objective falls, or
        lowered where messages make no progress.

    Returns
    -------
    CountsFit

    See Also
    --------
    count_intervals : Intervals of sums of flows.
    sample_counts : Draws of whole tables.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.collective import TreeModel, map_counts
    >>> from sumwise.noise import Poisson
    >>> domain = Domain({"t0": 3, "t1": 3})
    >>> move = np.log([[0.8, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]])
    >>> model = TreeModel(domain, [("t0", "t1")], {("t0", "t1"): move})
    >>> seen = Tables([Table("t0", [50, 30, 20], noise=Poisson()), Table("t1", [40, 45, 15], noise=Poisson())], domain)
    >>> fit = map_counts(model, seen, n=100)
    >>> fit.edges["t0", "t1"].round(1)
    array([[32.2,  8.4,  3. ],
           [ 3.2, 26.8,  2.4],
           [ 2.9,  6.1, 15. ]])
    >>> fit.gap < 1e-3
    True
    """
    checks.choice(method, "method", METHODS)
    checks.positive(tol, "tol")
    checks.at_least(max_gap, "max_gap", 0, whole_number=False)
    checks.at_least(smoothing, "smoothing", 0, whole_number=False)
    if damping is not None and (method not in ("nlbp", "nlbp-loopy") or not 0 < damping <= 1):
        raise DataError(
            f"damping is {damping!r} with method {method!r}.", hint="give 0 < damping <= 1 with 'nlbp' or 'nlbp-loopy'."
        )
    if isinstance(model, LoopyModel) != (method == "nlbp-loopy"):
        raise DataError(
            f"Method {method!r} doesn't take a {type(model).__name__}.",
            hint="a LoopyModel goes with method='nlbp-loopy', other models with the other methods.",
        )
    steps = MOST_STEPS.get(method, 2000) if max_iter is None else max_iter
    seen = observe(model, tables, n, energy)
    if isinstance(model, LoopyModel):
        return _by_messages(model, seen, tol, steps, damping)
    if method in GRADIENT:
        _check_size(seen)
        return _fit(seen, _by_gradient(seen, method, tol, steps, smoothing, damping), method, tol)
    if seen.extras:
        raise DataError(
            f"Method {method!r} takes the noise models of sumwise only; there is a noise or energy of your own.",
            hint="use method='nlbp', 'mirror' or 'accelerated-rda'.",
        )
    if method == "exact":
        return _by_enumeration(seen)
    if method == "dual":
        found = _by_dual(seen, tol, max_gap, steps, start)
    elif method == "gaussian":
        found = _by_gaussian(seen, tol, steps)
    else:
        found = _by_interior_points(seen, tol, steps)
    return _fit(seen, found, method, tol)


def _check_size(seen: Observed) -> None:
    """Refuse tables of moves that memory doesn't hold: all methods but the dual make them all."""
    shapes = [op.shape for _, _, op in seen.problem.forest.edges if type(op) is DenseEdge]
    hint = "merge levels, or use method='dual', which makes no tables of moves."
    checks.allocation("This method", *shapes, hint=hint)


def _by_dual(seen: Observed, tol, max_gap, max_iter, start) -> Solution:
    first = None if start is None else start.multipliers
    if first is not None and len(first) != seen.problem.observations.size:
        raise DataError(f"start has {len(first)} multipliers; the observations has {seen.problem.observations.size}.")
    result = maximise_dual(seen.problem, tol, max_iter, first, max_gap=max_gap, other=rescue)
    if result.infeasible:  # proven
        observations = seen.problem.observations
        off = np.abs(result.cells[observations.index] - observations.y)
        _, _, linear = observations.slices()
        off[: linear.start] = 0.0
        off[linear][np.isfinite(observations.low) & np.isfinite(observations.high)] = 0.0
        table = seen.names[observations.source[int(np.argmax(off))]]
        raise DataError(
            f"No tables of the model meet the exact observations; the table over {table} is off by {off.max():.6g}.",
            hint="correct it, allow more moves in the potentials, or state its noise.",
        )
    return result


def _by_interior_points(seen: Observed, tol, max_iter) -> Solution:
    _check_size(seen)
    found = interior_counts(seen.problem, Watch(seen.problem, tol, 0.0).enough, max_iter)
    if found is None:
        raise DataError(
            f"The interior-point method found no tables that meet the observations in {max_iter} steps.",
            hint="use method='dual', or raise max_iter.",
        )
    return found


def _by_gaussian(seen, tol, max_iter) -> Solution:
    problem = gaussian_problem(seen.problem)
    result = maximise_dual(problem, tol, max_iter)
    return replace(result, beliefs=None, tables=gaussian_edge_tables(problem, result.multipliers), multipliers=None)


def _by_messages(model, seen, tol, max_iter, damping) -> CountsFit:
    """Messages on a graph with cycles; the answer has no gap."""
    if len(seen.problem.observations.low):
        raise DataError(
            "Method 'nlbp-loopy' takes noise with a smooth density: Poisson, Gaussian, or one of your own.",
            hint="state a Gaussian noise of the same variance, or use a GraphModel and method='dual'.",
        )
    total = seen.problem.total
    problem = model.problem(seen.layout, seen.problem.base, seen.loss, total)
    found = loopy_counts(problem, tol, max_iter, damping)
    if not found.converged:
        warn_not_converged(found.n_iter, found.distance, tol, stacklevel=4, what="a stationary point away by")
    return _recorded(model.counts(seen.layout, found, total), found, "nlbp-loopy")


def _by_gradient(seen, method, tol, max_iter, smoothing, damping) -> Solution:
    if not seen.problem.observations.soft:
        raise DataError(
            f"Method {method!r} follows gradients, which exact counts and bounds don't have.",
            hint="use method='dual', or state a small Gaussian noise.",
        )
    run = Run(
        seen.problem, lambda cells: seen.loss(cells, smoothing), tol, max_iter, convex=seen.convex, damping=damping
    )
    found = GRADIENT[method](run)
    if found.concave:
        warnings.warn(
            "The noise or energy is not log-concave along the way: the answer is a stationary point at best, "
            "without a gap.",
            UserWarning,
            stacklevel=3,
        )
    return found


def _fit(seen: Observed, found: Solution, method: str, tol: float) -> CountsFit:
    """What was found as a fit; a warning says how far the counts are from proven where they are not."""
    total = seen.problem.total
    if not found.converged:
        unproven = np.isnan(found.gap)
        what = "a stationary point away by" if unproven else "gap"
        reached, wanted = found.distance if unproven else found.gap, tol * abs(found.objective)
        if found.violation > tol * total:
            what, reached, wanted = "an exact count off by", found.violation, tol * total
        warn_not_converged(found.n_iter, reached, wanted, stacklevel=4, what=what)
    if found.beliefs is not None:
        return _recorded(seen.layout.counts_of(found.beliefs, total), found, method)
    return _recorded(seen.layout.counts(found.cells, found.tables.__getitem__, total), found, method)


def _by_enumeration(seen: Observed) -> CountsFit:
    problem, layout = seen.problem, seen.layout
    (cells, tables), (mean_cells, mean_tables), log_evidence = exact_tables(problem, seen.log_likelihood)
    counts = layout.counts(cells, tables.__getitem__, problem.total)
    mean = layout.counts(mean_cells, mean_tables.__getitem__, problem.total)
    objective = problem.regulariser(cells, tables) + problem.observations.loss(cells)[0]
    history = {"log_evidence": [log_evidence]}
    return fit_of(counts, objective=objective, n_iter=1, converged=True, history=history, method="exact", mean=mean)


def _recorded(counts: Counts, found: Solution, method: str) -> CountsFit:
    return fit_of(
        counts,
        objective=float(found.objective),
        dual=found.dual,
        gap=found.gap,
        n_iter=found.n_iter,
        converged=found.converged,
        violation=found.violation,
        multipliers=found.multipliers,
        history={k: np.asarray(v) for k, v in found.history.items()},
        method=method,
    )


def fit_of(counts: Counts, **record: Any) -> CountsFit:
    """A fit with these counts."""
    return CountsFit(
        answer=counts.nodes, nodes=counts.nodes, edges=counts.edges, cliques=counts.cliques, n=counts.n, **record
    )
