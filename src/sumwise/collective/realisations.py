"""Realisations: what was seen of several populations that follow one individual model, checked before it is learned."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.domain import Domain
from sumwise.errors import DataError
from sumwise.noise import Exact, Poisson
from sumwise.table import Table, title
from sumwise.tables import Tables

SIGMAS = 6.0  # a week's total that is further off than this is no accident


class Realisations:
    """Several `Tables` over one chain of time steps, in the domain's order; or what is left of them after a fit."""

    def __init__(self, domain: Domain, sizes: Any, tables: Sequence[Tables] = ()):
        self.domain = domain
        self.sizes = [float(n) for n in sizes]
        self.tables = tables
        self.weeks = tuple(domain)
        self.edges = tuple(pairwise(self.weeks))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def n_states(self) -> int:
        """The number of states, where all weeks have the same."""
        sizes = set(self.domain.shape)
        if len(sizes) > 1:
            raise DataError(
                f"The weeks have {', '.join(map(str, sorted(sizes)))} states; this model needs the same in all.",
                hint="give every week the same cells.",
            )
        return self.domain.shape[0]


def read_realisations(given: Any) -> Realisations:
    """Check `Tables` or a list of them, and return `Realisations`.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.collective.realisations import read_realisations
    >>> years = [synthetic.birds(3, 4, random_state=year).tables for year in range(2)]
    >>> len(read_realisations(years)), read_realisations(years).edges[0]
    (2, ('t0', 't1'))
    """
    listed = [given] if isinstance(given, Tables) else list(given) if isinstance(given, (list, tuple)) else None
    if not listed or not all(isinstance(t, Tables) for t in listed):
        kind = type(given).__name__ if listed is None else "list without Tables"
        raise DataError(f"The data are a {kind}.", hint="give Tables, or a list of them, one per realisation.")
    _check_domains(listed)
    for r, tables in enumerate(listed):
        where = f"Realisation {r}: " if len(listed) > 1 else ""
        if tables.n is None:
            raise DataError(f"{where}The size of the population is not known.", hint="give Tables(..., n=...).")
        _check_seen(tables, where)
        for table in tables:
            _check_total(table, float(tables.n), where)  # type: ignore[arg-type]  # checked above
    return Realisations(listed[0].domain, [t.n for t in listed], listed)


def _check_domains(listed: list[Tables]) -> None:
    first = listed[0].domain
    if len(first) < 2:
        raise DataError(
            f"There is {len(first)} week ({', '.join(first)}); moves need at least two.",
            hint="the domain has one attribute per week, in order.",
        )
    for r, tables in enumerate(listed):
        if tables.domain != first:
            here, there = (dict(zip(d, d.shape)) for d in (tables.domain, first))
            differ = [a for a in {**there, **here} if here.get(a) != there.get(a)]
            detail = f"First difference: {differ[0]!r}." if differ else "The levels or the order of the weeks differ."
            raise DataError(
                f"Realisation {r} has another domain than realisation 0. {detail}",
                hint="all realisations need the same weeks and cells.",
            )


def _check_seen(tables: Tables, where: str) -> None:
    """Every cell must have been observed in some week."""
    sizes = set(tables.domain.shape)
    if len(sizes) > 1:
        return  # weeks with different cells: a cell of one week isn't that of another
    seen = np.zeros(tables.domain.shape[0], dtype=bool)
    for table in tables:
        known = ~np.isnan(table.counts)
        if table.bounds is not None:
            known |= np.isfinite(table.bounds[1])
        for axis in range(known.ndim):
            seen |= known.any(axis=tuple(k for k in range(known.ndim) if k != axis))
    hint = "drop such cells, or fill them in before the fit."
    checks.nowhere(~seen, f"{where}{{}} cells were observed in no week", lambda k: f"cell {k}", hint)


def _check_total(table: Table, n: float, where: str) -> None:
    """A week's total must be that of the population, up to its noise."""
    if np.isnan(table.counts).any() or isinstance(table.noise, Exact) or not hasattr(table.noise, "variance"):
        return  # exact totals are compared by the solver; a noise of the user's own says nothing of its size
    total = float(table.counts.sum())
    rate = np.broadcast_to(table.noise.rate if isinstance(table.noise, Poisson) else 1.0, table.shape)
    variance = np.broadcast_to(table.noise.variance(np.maximum(table.counts, 0.0) / rate), table.shape)
    slack = SIGMAS * np.sqrt(float(variance.sum()) + 1.0)
    if not n * rate.min() - slack <= total <= n * rate.max() + slack:
        ends = dict.fromkeys(f"{n * r:.6g}" for r in (rate.min(), rate.max()))
        raise DataError(
            f"{where}The table over {title(table.attributes)} sums to {total:.6g}; a population of {n:g} gives "
            f"{' to '.join(ends)}, with a standard deviation of {slack / SIGMAS:.3g}.",
            hint="totals must not differ between weeks: rescale or smooth the counts first, or correct n.",
        )
