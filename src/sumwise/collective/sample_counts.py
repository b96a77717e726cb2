"""sample_counts: tables of a population drawn from their posterior, given noisy counts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.collective.counts_sample import CountsSample
from sumwise.collective.kernels.dual_counts import maximise_dual
from sumwise.collective.kernels.exchange_cycles import stuck_cells
from sumwise.collective.kernels.table_chain import CycleChain, NoStart, PathChain
from sumwise.collective.linear_functions import read_functions
from sumwise.collective.observations import Observed, observe
from sumwise.collective.tree_model import TreeModel
from sumwise.collective.trellis import Walk, walk_of
from sumwise.errors import DataError, NotConverged
from sumwise.inference.kernels.chain_diagnostics import effective_size, split_r_hat
from sumwise.noise import Exact
from sumwise.progress import Progress
from sumwise.table import title

SAMPLERS = ("auto", "paths", "cycles")
MOST_STATES = 20_000_000  # individuals times attributes that "paths" keeps in memory
WORST_R_HAT = 1.1
COLUMNS = 512  # counts whose effective sizes are found at once
BATCHES = 20  # means of so many runs of draws say how sure a mean is
MOST_MOVERS = {"paths": 1, "cycles": 3}  # individuals that one move of a sampler exchanges at most


def sample_counts(
    model: Any,
    tables: Any,
    n: int | None = None,
    draws: int = 1000,
    *,
    functions: Any = None,
    method: str = "auto",
    n_chains: int = 2,
    thin: int = 1,
    burn_in: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> CountsSample:
    """Draw the tables of a population from their posterior, given noisy counts.

    Tables are whole numbers with agreeing margins, and their distribution is the exact one (Sun 2019, eq. 2.6, times
    the noise), not `map_counts`'s approximation of it. Markov chains start near the most likely counts.

    Parameters
    ----------
    model : TreeModel or GraphModel
    tables : Tables or None
        As for `map_counts`; noise models of `sumwise.noise` only.
    n : int, optional
        Size of the population; default ``tables.n``.
    draws : int, default 1000
        Draws kept of every chain.
    functions : mapping, optional
        Linear functions of the tables to record draw by draw: ``{name: {attributes: weights}}``, each weight array
        shaped like its table. A flow between two regions is ``{"flow": {("t3", "t4"): np.outer(south, north)}}``.
    method : {"auto", "paths", "cycles"}, default "auto"
        - ``"paths"`` gives one individual after the other a new path (Metropolis-Hastings); its time grows with `n`.
        - ``"cycles"`` is the Gibbs sampler of Sheldon and Dietterich (2011): how many individuals move along a cycle
          is drawn exactly from its discrete log-concave distribution; its time doesn't depend on `n`.
        - ``"auto"`` takes cycles for exact counts and for populations too large to keep in memory, else paths.
    n_chains : int, default 2
    thin : int, default 1
        Sweeps per draw.
    burn_in : int >= 0, optional
        Sweeps before the first draw; default a fifth of the draws, at least 50.
    random_state : int, numpy.random.Generator or None
    verbose : int, default 0

    Returns
    -------
    CountsSample
        Means, standard deviations and effective sample sizes of all tables; draws of the nodes and functions.

    See Also
    --------
    count_intervals : A normal approximation, much quicker.

    Notes
    -----
    Chains that disagree (split R-hat above 1.1 for a node's cell or a function) raise a `NotConverged` warning. Where
    potentials forbid moves *and* counts are exact, cycles of up to three individuals may not reach every table; an edge
    between exact counts at which that is seen is refused.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.collective import TreeModel, sample_counts
    >>> from sumwise.noise import Poisson
    >>> domain = Domain({"t0": 2, "t1": 2})
    >>> model = TreeModel(domain, [("t0", "t1")], {("t0", "t1"): [[0.0, -1.0], [-1.0, 0.0]]})
    >>> seen = Tables([Table("t0", [80, 20], noise=Poisson())], domain, n=100)
    >>> leave = {"leave": {("t0", "t1"): [[0, 1], [0, 0]]}}
    >>> sample = sample_counts(model, seen, functions=leave, random_state=0)
    >>> sample.mean.nodes["t0"].round()
    array([66., 34.])
    >>> sample.interval(0.9).to_frame().round()
      function  count   low  high
    0    leave   18.0  12.0  24.0
    """
    checks.choice(method, "method", SAMPLERS)
    for value, name, least in ((draws, "draws", 4), (n_chains, "n_chains", 1), (thin, "thin", 1)):
        checks.at_least(value, name, least)
    if burn_in is not None:
        checks.at_least(burn_in, "burn_in", 0)
    asked = read_functions(functions, model)
    seen = observe(model, tables, n)
    total = _population(seen)
    _check_kinds(seen, model)
    hint = "give fewer draws and a larger thin, or fewer chains; or merge levels."
    checks.allocation("sample_counts", (n_chains, draws, sum(seen.problem.forest.sizes)), hint=hint)
    walk = walk_of(seen, model, maximise_dual(seen.problem, 1e-6, 200).multipliers)
    chosen = _method(method, seen, total, walk)
    before = max(50, draws // 5) if burn_in is None else burn_in
    weights = {name: _joined(walk, parts) for name, parts in asked.items()}
    with Progress("Sampling", n_chains * (before + draws), verbose) as progress:
        runs = []
        for rng in checks.generator(random_state).spawn(n_chains):
            chain = _begun(PathChain if chosen == "paths" else CycleChain, walk, total, rng)
            for _ in range(before):
                chain.sweep()
                progress.step()
            runs.append(_run(chain, weights, draws, thin, progress))
    _refuse_stuck(seen, walk, runs, MOST_MOVERS[chosen])
    return _sample(walk, runs, total, chosen)


@dataclass
class _Run:
    """What one chain leaves."""

    nodes: np.ndarray  # (draws, C)
    functions: dict[str, np.ndarray]
    mean: np.ndarray  # (C + E,)
    square: np.ndarray
    batches: np.ndarray  # mean square of the batch means, about the mean
    length: int  # draws per batch
    chain: Any


def _begun(kind: Any, walk: Walk, total: int, rng: np.random.Generator) -> Any:
    """A chain at tables that the observations allow."""
    try:
        chain = kind(walk.trellis, total, rng)
    except NoStart as error:
        raise DataError(
            f"No whole tables were found that the observations allow; {error.missed} counts are still impossible.",
            hint="state a small noise in place of exact counts.",
        ) from error
    chain.settle()
    return chain


def _run(chain: Any, weights: dict, draws: int, thin: int, progress: Progress) -> _Run:
    """Draws of one chain; sums go on as it does, since the draws of all edges would fill the memory."""
    n_cells, total = len(chain.trellis.base), chain.total
    nodes = np.empty((draws, n_cells), dtype=np.int32 if total < 2**31 else np.int64)
    functions = {name: np.empty(draws) for name in weights}
    length = max(1, draws // BATCHES)
    mean, square, batch = np.zeros((3, len(chain.counts)))
    batches = []
    for k in range(draws):
        chain.sweep(thin)
        nodes[k] = chain.counts[:n_cells]
        for name, (index, weight) in weights.items():
            functions[name][k] = weight @ chain.counts[index]
        change = chain.counts - mean  # Welford: no cancellation for large counts
        mean += change / (k + 1)
        square += change * (chain.counts - mean)
        batch += chain.counts
        if (k + 1) % length == 0:
            batches.append((batch / length).astype(np.float32 if total < 10**5 else float))
            batch[:] = 0.0
        progress.step()
    spread = np.var(np.stack(batches), axis=0, ddof=1) if len(batches) > 1 else np.full(len(mean), np.nan)
    return _Run(nodes, functions, mean, square / draws, spread, length, chain)


def _population(seen: Observed) -> int:
    total = seen.problem.total
    if total != np.floor(total):
        raise DataError(f"n is {total:g}; whole individuals are sampled.", hint="round n.")
    return int(total)


def _check_kinds(seen: Observed, model: Any) -> None:
    if seen.extras:
        raise DataError("sample_counts takes the noise models of sumwise only; there is a noise of your own.")
    if seen.problem.device is not None:
        raise DataError("Sampling works on the CPU.", hint="build the model without device.")
    if _hard(seen) and not isinstance(model, TreeModel):
        raise DataError(
            "Exact counts and bounds can't be sampled in a GraphModel.",
            hint="state a small Gaussian noise, or use a TreeModel.",
        )
    exact = [(t, c) for _, _, t in seen.tables for c in [t.counts[~np.isnan(t.counts)]] if isinstance(t.noise, Exact)]
    for table, counts in exact:
        if (counts != np.floor(counts)).any():
            raise DataError(
                f"The exact table over {title(table.attributes)} contains fractions; whole individuals are sampled.",
                hint="round the counts, or state their noise.",
            )


def _refuse_stuck(seen: Observed, walk: Walk, runs: list[_Run], most: int) -> None:
    """Raise where exact counts at both ends of a chain leave tables that no move of a sampler can reach."""
    exact = {t.attributes[0] for _, _, t in seen.tables if _whole_exact(t)}
    for path, edges in _between(list(walk.layout.pairs), exact):
        tail, head, at, base = [], [], [], 0
        for (first, _), e in zip(path, edges):
            ends = walk.moves[walk.layout.pairs[e]]
            here, there = ends if e[0] == first else ends[::-1]
            width = len(walk.layout.base[walk.layout.place[frozenset((first,))]])
            tail.append(base + here)
            head.append(base + width + there)
            at.append(walk.entries[walk.layout.pairs[e]])
            base += width
        places = np.concatenate(at)
        unchanged = np.all([r.square[places] == 0 for r in runs], axis=0)
        arcs = np.concatenate(tail), np.concatenate(head)
        if unchanged.any() and stuck_cells(*arcs, runs[0].chain.counts[places], unchanged, most):
            raise DataError(
                f"The exact counts of {path[0][0]!r} and {path[-1][1]!r} allow tables of moves that the sampler can't "
                f"reach: more than {most} individuals would have to move at once.",
                hint=("use method='cycles', or " if most == 1 else "")
                + "state a small Gaussian noise, or allow more moves in the potentials.",
            )


def _whole_exact(table: Any) -> bool:
    return len(table.attributes) == 1 and isinstance(table.noise, Exact) and not np.isnan(table.counts).any()


def _between(edges: list, exact: set) -> Iterator[tuple[list, list]]:
    """Paths between two attributes with exact counts, through others without branches: steps, and their edges."""
    joined: dict[str, list] = {}
    for e in edges:
        for a, b in (e, e[::-1]):
            joined.setdefault(a, []).append((b, e))
    done = set()
    for start in sorted(exact):
        for step in joined.get(start, []):
            path, used, (node, e) = [(start, step[0])], [step[1]], step
            while node not in exact and len(joined[node]) == 2:
                node, e = next(p for p in joined[node] if p[1] != e)
                path.append((path[-1][1], node))
                used.append(e)
            if node in exact and frozenset(used) not in done:
                done.add(frozenset(used))
                yield path, used


def _hard(seen: Observed) -> bool:
    return not seen.problem.observations.soft or any(isinstance(t.noise, Exact) for _, _, t in seen.tables)


def _method(asked: str, seen: Observed, total: int, walk: Walk) -> str:
    states = total * len(walk.trellis.up)
    if asked == "paths" and states > MOST_STATES:
        raise DataError(
            f"Method 'paths' would keep {states:,} states in memory; the limit is {MOST_STATES:,}.",
            hint="use method='cycles'.",
        )
    if asked != "auto":
        return asked
    return "cycles" if _hard(seen) or states > MOST_STATES else "paths"


def _joined(walk: Walk, parts: dict) -> tuple[np.ndarray, np.ndarray]:
    """Positions and weights of all parts of a linear function."""
    found = [walk.weights(attributes, weights) for attributes, weights in parts.items()]
    return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])


def _sample(walk: Walk, runs: list[_Run], total: int, method: str) -> CountsSample:
    draws, n_chains = len(runs[0].nodes), len(runs)
    mean = np.mean([r.mean for r in runs], axis=0)
    within = np.mean([r.square for r in runs], axis=0)
    variance = within + np.var([r.mean for r in runs], axis=0)
    spread = np.mean([r.batches for r in runs], axis=0)  # of means of `length` draws
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(variance > 0, variance / (spread / (draws * n_chains / runs[0].length) / 1.0), draws * n_chains)
    size = np.minimum(np.nan_to_num(size, nan=draws * n_chains, posinf=draws * n_chains), draws * n_chains)
    chains = np.stack([r.nodes for r in runs])
    n_cells = chains.shape[-1]
    r_hat = np.empty(n_cells)
    for a in range(0, n_cells, COLUMNS):  # in parts: the transforms take several times the memory of the draws
        here = slice(a, min(a + COLUMNS, n_cells))
        part = chains[..., here].astype(float)
        size[here], r_hat[here] = effective_size(part), split_r_hat(part)
    functions = {name: np.stack([r.functions[name] for r in runs]) for name in runs[0].functions}
    agreement: dict[str, Any] = dict(walk.counts(np.concatenate([r_hat, np.ones(len(mean) - n_cells)]), 1.0).nodes)
    agreement |= {name: float(split_r_hat(v)) for name, v in functions.items()}
    _warn(agreement, draws)
    means = walk.counts(mean, total)
    starts = {a: walk.layout.node_of((a,)) for a in means.nodes}
    at = {a: slice(*walk.trellis.node_start[[i, i + 1]]) for a, i in starts.items() if i is not None}
    accepted = sum(r.chain.accepted for r in runs) / np.maximum(sum(r.chain.tried for r in runs), 1)
    return CountsSample(
        mean=means,
        sd=walk.counts(np.sqrt(variance), total),
        effective_size=walk.counts(size, total),
        nodes={a: chains[..., here] for a, here in at.items()},
        functions=functions,
        r_hat=agreement,
        accepted=dict(zip(("path", "part", "state", "exchange"), accepted.tolist())),
        n=float(total),
        method=method,
    )


def _warn(agreement: dict[str, Any], draws: int) -> None:
    name, worst = max(((k, float(np.max(v))) for k, v in agreement.items()), key=lambda pair: pair[1])
    if worst > WORST_R_HAT:
        warnings.warn(
            f"The chains disagree after {draws} draws: R-hat is {worst:.2f} for {name!r}. Hint: raise draws or thin.",
            NotConverged,
            stacklevel=4,
        )
