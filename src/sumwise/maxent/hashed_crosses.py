"""Hashed crosses as functions of x: which attributes are free, and which features are computed from them.

A cross of an encoding is no attribute of its own: its cell is a fixed function of the levels of its parts (Gilotte et
al. 2022, section 4.3, phi_H(x) = H phi(x)). Where a part is also in a table, or in another cross, the distribution
is over the parts, and a table over the cross has a parameter per hashed cell that applies to all cells of the parts
that are hashed there. A cross that shares no part with anything is an attribute like any other: given its cell, the
parts are distributed the same whatever the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from sumwise.domain import Domain
from sumwise.encoding import Encoding
from sumwise.encoding.rules import Cross, cross_cell
from sumwise.errors import DataError
from sumwise.maxent.kernels.loglinear import Crossed, attributes_of
from sumwise.maxent.kernels.reconcile import subsets
from sumwise.table import title
from sumwise.tables import Tables

MOST_CELLS = 2**22  # joint cells of the attributes that a table over crosses depends on


def functions_of_x(domain: Domain, encoding: Encoding | None) -> dict[str, Cross]:
    """The crosses among the attributes of a domain that share a part with another one, or have it in the domain.

    Examples
    --------
    >>> from sumwise import Domain
    >>> from sumwise.encoding import Encoding
    >>> from sumwise.encoding.rules import Cross, Cuts
    >>> from sumwise.maxent.hashed_crosses import functions_of_x
    >>> encoding = Encoding({"a": Cuts("a", (0,)), "b": Cuts("b", (0,)), "ab": Cross(("a", "b"), 3)})
    >>> list(functions_of_x(encoding.domain, encoding)), list(functions_of_x(Domain({"ab": 3}), encoding))
    (['ab'], [])
    """
    ruled = {} if encoding is None else {a: encoding[a] for a in domain.attributes if a in encoding}
    crosses = {a: rule for a, rule in ruled.items() if isinstance(rule, Cross)}
    used = [p for rule in crosses.values() for p in rule.of]
    return {a: rule for a, rule in crosses.items() if any(p in domain or used.count(p) > 1 for p in rule.of)}


def arranged_domain(domain: Domain, encoding: Encoding | None) -> Domain:
    """The attributes that are free, parts of crosses that no table has included, then crosses that depend on them."""
    crosses = functions_of_x(domain, encoding)
    if encoding is None or not crosses:
        return domain
    free = [a for a in domain.attributes if a not in crosses]
    parts = dict.fromkeys(p for rule in crosses.values() for p in rule.of if p not in domain)
    given = {a: domain.levels(a) for a in free} | {p: tuple(encoding[p].levels) for p in parts}
    return Domain(given | {a: domain.levels(a) for a in crosses})


def arranged(tables: Tables) -> Tables:
    """The same tables on `arranged_domain`."""
    domain = arranged_domain(tables.domain, tables.encoding)
    return tables if domain is tables.domain else replace(tables, domain=domain)


def crossed_features(domain: Domain, encoding: Encoding | None) -> tuple[Crossed, ...]:
    """What the crosses of an arranged domain are functions of; refuses parts of too many joint levels."""
    out = []
    for name, rule in functions_of_x(domain, encoding).items():
        places = domain.axes(rule.of)
        of = tuple(sorted(places))
        shape = [domain.shape[a] for a in of]
        _check_size(math.prod(shape), repr(name), rule.of)
        at = dict(zip(of, np.indices(shape).reshape(len(of), -1)))
        values = cross_cell([at[a] for a in places], rule.cells, rule.salt)
        out.append(Crossed(of, values.reshape(shape), rule.cells))
    return tuple(out)


def _check_size(cells: int, name: str, parts: Sequence[str]) -> None:
    if cells > MOST_CELLS:
        raise DataError(
            f"{name} depends on {title(parts)}, which have {cells:,} joint cells; up to {MOST_CELLS:,} can be summed "
            "over.",
            hint="leave those attributes out of the tables, so that the cross is an attribute of its own, or encode "
            "them with fewer levels.",
        )


def homes_of(terms: Iterable[Sequence[int]], domain: Domain, crossed: Sequence[Crossed], margins: bool = True) -> set:
    """The sets of attributes that tables over crosses depend on, and with `margins` those of tables within them."""
    d, found = len(domain) - len(crossed), set()
    for term in terms:
        for s in subsets(sorted(term)) if margins else (tuple(sorted(term)),):
            if s and s[-1] >= d:
                found.add(attributes_of(s, d, crossed))
    for home in found:
        names = [domain.attributes[a] for a in home]
        _check_size(math.prod(domain[a] for a in names), "A table over crosses", names)
    return found
