"""Provenance: where counts come from, as far as that decides how much one person can change them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sumwise import checks
from sumwise.errors import DataError

__all__ = ["Promise", "Provenance"]


@dataclass(frozen=True, slots=True)
class Promise:
    """What releases promise to the people behind them, all their mechanisms together.

    Parameters
    ----------
    mechanisms : tuple of str
    epsilon, delta : float
        In all: those of several releases add up.
    neighbours : str
        Which data sets can't be distinguished.
    unit : str
        The unit of privacy: a row, or a person.

    Examples
    --------
    >>> from sumwise.provenance import Promise
    >>> one = {"mechanism": "geometric", "epsilon": 0.5, "delta": 0.0, "neighbours": "up to 1 row of one person"}
    >>> print(Promise.of([one, one]))
    Differential privacy: epsilon 1, delta 0, by geometric noise; the unit is a person. Neighbouring data: ...
    """

    mechanisms: tuple[str, ...]
    epsilon: float
    delta: float
    neighbours: str
    unit: str

    @classmethod
    def of(cls, releases: Iterable[Mapping[str, Any]]) -> Promise | None:
        """The promise of all releases together; None where counts were not released, or one doesn't say its loss.

        Where releases protect different neighbours (one and three rows of a person), all of them are named: together
        they promise only what each of them does.
        """
        parts = list(releases)
        if not any("of" not in r for r in parts) or not all("epsilon" in r for r in parts):
            return None
        names = dict.fromkeys(str(r.get("mechanism", "unnamed")) for r in parts)
        return cls(
            tuple(names),
            math.fsum(r["epsilon"] for r in parts),
            math.fsum(r.get("delta", 0.0) for r in parts),
            "; and ".join(dict.fromkeys(str(r.get("neighbours", "not stated")) for r in parts)),
            "; and ".join(dict.fromkeys(str(r.get("unit of privacy", "a person")) for r in parts)),
        )

    def describe(self) -> dict[str, Any]:
        """The facts, in a form that JSON can hold."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    def __str__(self) -> str:
        return (
            f"Differential privacy: epsilon {self.epsilon:g}, delta {self.delta:g}, by {' and '.join(self.mechanisms)} "
            f"noise; the unit is {self.unit}. Neighbouring data: {self.neighbours}."
        )


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the counts of `Tables` come from; None is "not stated".

    It travels with the tables through every operation, file and engine, and `sumwise.privacy.release` acts on it.

    Parameters
    ----------
    weighted : bool, optional
        Whether rows had weights.
    max_weight : float >= 0, optional
        The largest weight that a row was counted with: larger ones were clipped.
    rows_per_person : int >= 1, optional
        The most rows of one person that were counted: others were left out.
    learned : sequence of str, optional
        Attributes (and the label) whose levels, classes or cut points were read from the rows, without noise.
    withheld : bool, default False
        Whether small counts were withheld.
    releases : sequence of mappings, default ()
        Noise and privacy guarantee, one entry per release.
    sources : sequence of str, default ()
        Digests of the files that rows were read from, so that one ledger counts what is released of them. Tables that
        may be published (released, or with withheld cells) have none.

    Examples
    --------
    >>> from sumwise import Tables
    >>> tables = Tables.from_frame({"a": [0, 1, 1], "w": [1, 5, 2]}, ["a"], order=1, weight="w")
    >>> tables.provenance.weighted, tables.provenance.learned
    (True, ('a',))
    """

    weighted: bool | None = None
    max_weight: float | None = None
    rows_per_person: int | None = None
    learned: tuple[str, ...] | None = None
    withheld: bool = False
    releases: tuple[Mapping[str, Any], ...] = ()
    sources: tuple[str, ...] = ()

    def __post_init__(self):
        if self.weighted not in (None, True, False) or self.withheld not in (True, False):
            raise DataError("weighted and withheld are True or False.", hint="weighted may be None: not stated.")
        if self.max_weight is not None:
            checks.at_least(self.max_weight, "max_weight", 0, whole_number=False)
        if self.rows_per_person is not None:
            checks.at_least(self.rows_per_person, "rows_per_person", 1)
        if self.learned is not None:
            names = tuple(checks.listing(self.learned, "learned", "give names of attributes."))
            if not all(isinstance(name, Hashable) for name in names):
                raise DataError(f"learned is {self.learned!r}.", hint="give names of attributes.")
            object.__setattr__(self, "learned", names)
        releases = tuple(dict(r) for r in checks.listing(self.releases, "releases", "give a list of releases."))
        object.__setattr__(self, "releases", releases)
        sources = tuple(checks.listing(self.sources, "sources", "give a list of digests."))
        if not all(isinstance(source, str) for source in sources):
            raise DataError(f"sources is {self.sources!r}.", hint="give a list of digests.")
        object.__setattr__(self, "sources", sources)

    def with_release(self, **facts: Any) -> Provenance:
        """The provenance of tables to which noise was added."""
        return replace(self, releases=(*self.releases, facts), sources=())

    @property
    def promised(self) -> bool:
        """Whether counts were released: noise on levels and cut points alone promises nothing for them.

        Examples
        --------
        >>> from sumwise.provenance import Provenance
        >>> Provenance(releases=[{"of": "levels and cut points", "epsilon": 0.1}]).promised
        False
        """
        return any("of" not in r for r in self.releases)

    @property
    def promise(self) -> Promise | None:
        """What all releases promise together; None where counts were not released."""
        return Promise.of(self.releases)

    def of(self, attributes: Iterable[str]) -> Provenance:
        """The provenance of tables over some of the attributes (and the label, if named)."""
        if self.learned is None:
            return self
        remaining = set(attributes)
        return replace(self, learned=tuple(a for a in self.learned if a in remaining))

    @classmethod
    def combined(cls, parts: Iterable[Provenance]) -> Provenance:
        """The provenance of parts that were added: rows of one person may be in each of them.

        Where parts don't bound the rows of a person, how many there are in all is not stated; a release asks for it.
        Rows without weights beside rows with weights weigh 1. What was promised for the counts of some parts is not
        promised for sums with parts that have no release.

        Examples
        --------
        >>> from sumwise.provenance import Provenance
        >>> Provenance.combined([Provenance(weighted=False, rows_per_person=2)] * 3).rows_per_person
        6
        """
        parts = list(parts)
        flags = [p.weighted for p in parts]
        weighted = True if True in flags else None if None in flags else False
        rows = [p.rows_per_person for p in parts]
        weights = [1.0 if p.weighted is False else p.max_weight for p in parts] if weighted else [None]
        heaviest = None if None in weights else max(w for w in weights if w is not None)
        if len(parts) > 1 and None in rows and not (weighted and heaviest is None):
            weighted = None  # one row a person in each part is not one in all: a release asks for bounds
        learned = [p.learned for p in parts if p.learned is not None]
        promised = [p.promised for p in parts]
        withheld = any(p.withheld for p in parts)
        return cls(
            weighted,
            heaviest,
            None if None in rows else sum(r for r in rows if r is not None),
            tuple(dict.fromkeys(a for names in learned for a in names)) if learned else None,
            withheld,
            tuple(r for p in parts for r in p.releases if all(promised) or not any(promised) or "of" in r),
            () if withheld else tuple(dict.fromkeys(d for p in parts for d in p.sources)),
        )

    def describe(self) -> dict[str, Any]:
        """What is stated, in a form that JSON can hold."""
        facts = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        return facts if self.promise is None else facts | {"promise": self.promise.describe()}


def _plain(value: Any) -> Any:
    return [dict(v) if isinstance(v, Mapping) else v for v in value] if isinstance(value, tuple) else value
