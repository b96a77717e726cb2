"""What tree models and graph models have in common: inference about one individual and about a population."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks
from sumwise.collective.counts import Counts, LazyTables
from sumwise.collective.kernels.belief_propagation import propagate
from sumwise.collective.kernels.cgm_distribution import assign_individuals, log_probability, sample_tables
from sumwise.collective.kernels.edges import namespace, to_host
from sumwise.collective.layout import Layout
from sumwise.display import record_html
from sumwise.domain import Domain
from sumwise.errors import DataError


class PopulationModel:
    """Base of `TreeModel` and `GraphModel`; a subclass says how its tables are laid out."""

    domain: Domain

    _repr_html_ = record_html

    _layouts: dict[frozenset, Layout]

    def layout(self, tables: Any = ()) -> Layout:
        """Return the forest in which every set of attributes in `tables` is a node."""
        wanted = self._nodes_for(tables)
        if wanted not in self._layouts:
            self._layouts[wanted] = self._build(wanted)
        return self._layouts[wanted]

    def _nodes_for(self, tables: Any) -> frozenset:
        raise NotImplementedError

    def _build(self, wanted: frozenset) -> Layout:
        raise NotImplementedError

    @property
    def batch(self) -> int | None:
        """The number of models in the batch, or None."""
        sizes = {b.shape[0] for b in self.layout().base if b.ndim == 2}
        operators: list[Any] = [op for _, _, op in self.layout().edges]
        sizes |= {op.theta.shape[0] for op in operators if np.ndim(getattr(op, "theta", 0.0)) == 3}
        return max(sizes) if sizes else None

    def _one(self, what: str) -> Layout:
        if self.batch is not None:
            raise DataError(f"{what} works on one model at a time; this is a batch of {self.batch}.")
        return self.layout()

    def _beliefs(self):
        layout = self.layout()
        base = layout.base
        if self.batch is not None:  # one shape for all, so that messages add up
            base = [namespace(b).broadcast_to(b, (self.batch, b.shape[-1])) for b in base]
        return layout, propagate(layout.forest, base)

    def log_partition(self) -> Any:
        """Return log Z: a float, or one per model of a batch."""
        total = sum(self._beliefs()[1].log_z)
        value = np.asarray(to_host(total)) if np.ndim(total) or not isinstance(total, float) else total
        return float(value) if np.ndim(value) == 0 else value

    def marginals(self, n: float = 1.0) -> Counts:
        """Return the expected tables of a population of `n`; with n = 1 these are probabilities."""
        n = checks.at_least(n, "n", 0, whole_number=False)
        layout, beliefs = self._beliefs()
        return layout.counts_of(beliefs, n)

    def sample_tables(self, n: int, random_state: Any = None) -> Counts:
        """Draw the tables of a population of `n` from the CGM distribution, without simulating individuals."""
        layout, cells, tables = self._draw(n, checks.generator(random_state))[:3]
        return layout.counts(cells, tables.__getitem__, n)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw `n` individuals: codes of their states, (n, number of attributes), in the domain's order."""
        rng = checks.generator(random_state)
        layout, cells, tables, problem = self._draw(n, rng)
        states = assign_individuals(problem, cells, tables, rng)
        out = np.zeros((int(n), len(self.domain)), dtype=np.int64)
        for k, attribute in enumerate(self.domain):
            node = next(i for i, label in enumerate(layout.labels) if label == (attribute,))
            out[:, k] = states[:, node]
        return out

    def _draw(self, n, rng):
        n = checks.at_least(n, "n", 1)
        layout = self._one("sampling")
        problem = layout.problem(total=n)
        beliefs = problem.infer(np.zeros(problem.n_cells))[0]
        beliefs.nodes = [to_host(b) for b in beliefs.nodes]
        beliefs.inner = [to_host(b) for b in beliefs.inner]
        if layout.device is not None:
            raise DataError("Sampling works on the CPU.", hint="build the model without device.")
        return layout, *sample_tables(problem, beliefs, rng), problem

    def log_probability(self, counts: Any, form: str = "potentials") -> float:
        """Return the log-probability of integer tables under the CGM distribution.

        Parameters
        ----------
        counts : Counts, CountsFit, or mapping of attributes to table
            Whole numbers; ``-inf`` where they lie outside the polytope or on forbidden states. Tables of nodes that
            don't sum to ``counts.n`` are an error.
        form : {"potentials", "marginals"}, default "potentials"
            Eq. (2.6) of Sun (2019), or eq. (2.4); they agree.
        """
        checks.choice(form, "form", ("potentials", "marginals"))
        layout = self._one("log_probability")
        counts = as_counts(counts, self)
        _check_size(counts)
        cells, tables = layout.flatten(counts)
        problem = layout.problem(total=counts.n)
        whole = all((np.asarray(t) == np.floor(t)).all() and (np.asarray(t) >= 0).all() for t in (cells, *tables))
        if not whole or problem.violation(cells, tables) > 0 or (cells[problem.base == -np.inf] > 0).any():
            return -np.inf
        beliefs, mu, log_z = problem.infer(np.zeros(problem.n_cells))
        marginals = None
        if form == "marginals":
            marginals = (mu / problem.total, [t / problem.total for t in problem.edge_tables(beliefs)])
        return float(log_probability(problem, cells, tables, log_z, marginals))

    def check_counts(self, counts: Any, tol: float = 1e-9) -> None:
        """Check that tables lie in the local polytope: non-negative, equal margins, one total (eq. 2.5).

        Parameters
        ----------
        counts : Counts, CountsFit, or mapping of attributes to table
        tol : float > 0, default 1e-9
            Allowed difference, relative to the total.
        """
        counts = as_counts(counts, self)
        layout = self._one("check_counts")
        cells, tables = layout.flatten(counts)
        offsets = layout.forest.offsets
        slack = tol * max(counts.n, 1.0)
        for i, label in enumerate(layout.labels):
            node = cells[offsets[i] : offsets[i + 1]]
            over = " x ".join(label)
            if node.min() < -slack:
                raise DataError(f"The table over {over} has {node.min():.6g} in cell {int(node.argmin())}.")
            if abs(node.sum() - counts.n) > slack:
                raise DataError(f"The table over {over} sums to {node.sum():.10g}; the population is {counts.n:.10g}.")
        for (first, second, operator), table in zip(layout.forest.edges, tables):
            for node, margin in zip((first, second), operator.margins(table)):
                off = margin - cells[offsets[node] : offsets[node + 1]]
                if np.abs(off).max() > slack or table.min() < -slack:
                    pair = " x ".join(dict.fromkeys(layout.labels[first] + layout.labels[second]))
                    raise DataError(
                        f"The table over {pair} has a margin over {' x '.join(layout.labels[node])} that is off by "
                        f"{np.abs(off).max():.6g} in cell {int(np.abs(off).argmax())}.",
                        hint="margins of neighbouring tables must agree.",
                    )

    def objective(self, counts: Any, tables: Any = None) -> float:
        """Return the Stirling objective of eq. (2.7) at `counts`, with the observations in `tables`, if any."""
        from sumwise.collective.observations import observe

        counts = as_counts(counts, self)
        _check_size(counts)
        seen = observe(self, tables, counts.n)
        cells, edge_tables = seen.layout.flatten(counts)
        return seen.problem.regulariser(cells, edge_tables) + seen.loss(cells)[0]


def _check_size(counts: Any, rtol: float = 1e-6) -> None:
    """Refuse counts whose nodes are of another number of individuals than they say."""
    for name, table in counts.nodes.items():
        total = float(np.sum(table))
        if abs(total - counts.n) > rtol * max(abs(total), abs(counts.n)):
            raise DataError(
                f"The counts of {name!r} sum to {total:.10g}; the population has n = {counts.n:.10g}.",
                hint="leave n out to take it from the tables, or correct it.",
            )


def as_counts(counts: Any, model: PopulationModel) -> Counts:
    """Anything with nodes and edges, or a mapping of attributes to tables, as `Counts`."""
    if hasattr(counts, "nodes") and hasattr(counts, "edges"):
        return counts
    given = {(k,) if isinstance(k, str) else tuple(k): v for k, v in dict(counts).items()}
    wide = {k: (lambda v=v: v) for k, v in given.items() if len(k) > 1}
    pairs = LazyTables({k: v for k, v in wide.items() if len(k) == 2})
    made = Counts({}, pairs, 0.0, LazyTables(wide))
    nodes = {}
    for a in model.domain:
        nodes[a] = np.asarray(given[(a,)] if (a,) in given else made.table(a), dtype=float)
    n = float(next(iter(nodes.values())).sum())
    return Counts(nodes, pairs, n, LazyTables(wide))
