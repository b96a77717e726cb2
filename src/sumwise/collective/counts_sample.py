"""CountsSample: draws of a population's tables, and how far they can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.collective.counts import Counts
from sumwise.display import facts_text, finding_html
from sumwise.draws import Draws
from sumwise.errors import DataError
from sumwise.estimate import Estimate


@dataclass(frozen=True, repr=False)
class CountsSample:
    """Draws from the posterior of a population's tables: what `sample_counts` returns.

    Parameters
    ----------
    mean, sd : Counts
        Posterior means and standard deviations of all tables.
    effective_size : Counts
        Effective number of independent draws behind every mean (by batches for edges and cliques).
    nodes : mapping of str to (n_chains, draws, L) array
        The draws of every node.
    functions : mapping of str to (n_chains, draws) array
        The draws of the linear functions that were asked for.
    r_hat : mapping of str to array
        Split R-hat of every node's cells and of the functions; 1 where chains agree.
    accepted : mapping of str to float
        Share of the moves that changed something, by kind.
    n : float
    method : str

    Examples
    --------
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.collective import TreeModel, sample_counts
    >>> from sumwise.noise import Gaussian
    >>> domain = Domain({"a": 3})
    >>> seen = Tables([Table("a", [30.0, 50.0, 20.0], noise=Gaussian(3.0))], domain, n=100)
    >>> sample = sample_counts(TreeModel(domain, []), seen, functions={"last": {"a": [0, 0, 1]}}, random_state=0)
    >>> sample.nodes["a"].shape
    (2, 1000, 3)
    >>> bool(sample.effective_size.nodes["a"].min() > 200)
    True
    """

    mean: Counts
    sd: Counts
    effective_size: Counts
    nodes: Mapping[str, np.ndarray]
    functions: Mapping[str, np.ndarray] = field(default_factory=dict)
    r_hat: Mapping[str, Any] = field(default_factory=dict)
    accepted: Mapping[str, float] = field(default_factory=dict)
    n: float = 1.0
    method: str = "paths"

    def interval(self, level: float = 0.95) -> Estimate:
        """Return means and central intervals of the functions, by the quantiles of their draws."""
        level = checks.fraction(level, "level")
        if not self.functions:
            raise DataError("No functions were recorded.", hint="give functions to sample_counts; or node_interval.")
        drawn = np.column_stack([values.ravel() for values in self.functions.values()])
        return Draws(drawn, [list(self.functions)], ["function"], "count").estimate(level)

    def node_interval(self, attribute: str, level: float = 0.95) -> Estimate:
        """Return means and central intervals of one node's counts."""
        level = checks.fraction(level, "level")
        checks.known(attribute, self.nodes, "attribute")
        drawn = self.nodes[attribute].reshape(-1, self.nodes[attribute].shape[-1])
        return Draws(drawn, [range(drawn.shape[1])], [attribute], "count").estimate(level)

    def _repr_html_(self) -> str:
        chains, draws = next(iter(self.nodes.values())).shape[:2]
        least = float(np.min([v.min() for v in self.effective_size.nodes.values()]))
        words = f"{draws:,} draws of the counts of {self.n:,.0f} individuals from {chains} chains by {self.method}."
        return finding_html(f"{words} The least certain count rests on {least:,.0f} effective draws.")

    def __repr__(self) -> str:
        sizes = [v.min() for v in self.effective_size.nodes.values()]
        draws = next(iter(self.nodes.values())).shape[:2]
        facts = {"method": self.method, "n": self.n, "chains": draws[0], "draws": draws[1]}
        return facts_text("CountsSample", {**facts, "least effective size of a node": float(np.min(sizes))})
