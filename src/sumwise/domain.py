"""Domain: named discrete attributes and their levels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.display import facts_html
from sumwise.errors import DataError

__all__ = ["Domain"]


class LearnedLevels(tuple[Any, ...]):
    """Levels that were read from rows: wherever they are passed on, a private release knows that they are not public.

    Examples
    --------
    >>> from sumwise import Domain
    >>> from sumwise.domain import LearnedLevels
    >>> read = Domain.from_frame({"city": ["Bern", "Rome"]})
    >>> isinstance(read.levels("city"), LearnedLevels), Domain(dict(read.spec)).learned
    (True, ('city',))
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Domain:
    """Named discrete attributes, each with its levels, in a fixed order.

    Parameters
    ----------
    spec : mapping
        Attribute name to either a number of levels (they are then called 0, 1, ...) or the levels themselves
        (text, numbers, booleans or None).
    learned : sequence of str, default ()
        Attributes whose levels were read from rows. `sumwise.privacy.release` refuses these unless they are declared
        public. Equality ignores it.

    See Also
    --------
    Tables : Tables over attributes of one domain.
    sumwise.encoding.Encoding : How raw columns become levels.

    Examples
    --------
    >>> from sumwise import Domain
    >>> domain = Domain({"age": 10, "sex": ["f", "m"]})
    >>> domain
    Domain(age: 10, sex: 2)
    >>> domain.shape, domain["sex"], domain.levels("sex")
    ((10, 2), 2, ('f', 'm'))
    >>> domain.project(["sex"]).size()
    2
    >>> domain.encode("sex", ["m", "f"])
    array([1, 0])
    """

    spec: dict[str, int | tuple[Any, ...]]
    learned: tuple[str, ...] = ()

    if TYPE_CHECKING:  # callers may give more kinds than are stored

        def __init__(self, spec: Mapping[str, Any], learned: Iterable[str] = ()) -> None: ...

    def __post_init__(self):
        if not isinstance(self.spec, Mapping):
            raise DataError(
                f"A domain is built from a {type(self.spec).__name__}.", hint="give a dict: {'age': 10, 'sex': 2}."
            )
        if not self.spec:
            raise DataError("A domain needs at least one attribute.")
        for name in self.spec:
            if not isinstance(name, str):
                raise DataError(f"Attribute {name!r} is not text.", hint="attributes are named by text.")
        spec = {name: _levels(name, levels) for name, levels in self.spec.items()}
        for name in checks.listing(self.learned, "learned", "give attributes."):
            checks.known(name, spec, "attribute")
            levels = spec[name]
            if isinstance(levels, int):
                raise DataError(f"Attribute {name!r} was learned and has no levels.", hint="list them.")
            spec[name] = LearnedLevels(levels)
        object.__setattr__(self, "spec", spec)
        object.__setattr__(self, "learned", tuple(n for n, levels in spec.items() if isinstance(levels, LearnedLevels)))

    @classmethod
    def from_frame(cls, frame: Any, columns: Sequence[str] | None = None) -> Domain:
        """Read the levels off a data frame: categories in their order, else the sorted distinct values."""
        from sumwise import frames

        table = frames.to_pandas(frame, columns)
        checks.unique([str(c) for c in table.columns], "The attributes")  # 1 and "1" would be one
        spec = {str(c): frames.codes_and_levels(table[c], c)[1] for c in table.columns}
        return cls(spec, learned=tuple(spec))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attribute names, in order."""
        return tuple(self.spec)

    @property
    def sizes(self) -> dict[str, int]:
        """Attribute name to number of levels."""
        return {name: s if isinstance(s, int) else len(s) for name, s in self.spec.items()}

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each attribute, in order."""
        return tuple(self.sizes.values())

    def levels(self, attribute: str) -> tuple[Any, ...]:
        """Return the levels of one attribute, in order."""
        checks.known(attribute, self.spec, "attribute")
        levels = self.spec[attribute]
        return tuple(range(levels)) if isinstance(levels, int) else levels

    def size(self, attributes: str | Iterable[str] | None = None) -> int:
        """Return the number of cells of the full table over `attributes` (default: all)."""
        return math.prod(self.shape if attributes is None else (self[a] for a in _listed(attributes)))

    def axes(self, attributes: str | Iterable[str]) -> tuple[int, ...]:
        """Return the positions of `attributes` in this domain."""
        place = {name: i for i, name in enumerate(self.spec)}
        for a in (attributes := _listed(attributes)):
            checks.known(a, self.spec, "attribute")
        return tuple(place[a] for a in attributes)

    def project(self, attributes: str | Iterable[str]) -> Domain:
        """Return the domain of some of the attributes, in the order asked for."""
        wanted = checks.unique(_listed(attributes), "attributes")
        for a in wanted:
            checks.known(a, self.spec, "attribute")
        return Domain({a: self.spec[a] for a in wanted})

    def encode(self, attribute: str, values: Any) -> np.ndarray:
        """Return the integer codes of `values`; a level that the domain lacks is an error."""
        import pandas as pd

        from sumwise import frames

        listed = checks.listing(values, f"The values of {attribute!r}")
        try:
            return frames.codes_and_levels(pd.Series(listed), attribute, self.levels(attribute))[0]
        except OverflowError:  # pandas 2.2
            raise DataError(
                f"The values of {attribute!r} hold whole numbers beyond any double.", hint="give them as text."
            ) from None

    def describe(self) -> dict[str, Any]:
        """Return the facts: attributes, their sizes, the number of cells."""
        return {"attributes": list(self.attributes), "sizes": self.sizes, "cells": self.size()}

    def __getitem__(self, attribute: str) -> int:
        checks.known(attribute, self.spec, "attribute")
        levels = self.spec[attribute]
        return levels if isinstance(levels, int) else len(levels)

    def __contains__(self, attribute: object) -> bool:
        return isinstance(attribute, str) and attribute in self.spec

    def __iter__(self) -> Iterator[str]:
        return iter(self.spec)

    def __len__(self) -> int:
        return len(self.spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domain):
            return NotImplemented
        return self.attributes == other.attributes and all(self.levels(a) == other.levels(a) for a in self)

    def __hash__(self) -> int:
        return hash((self.attributes, self.shape))

    def __repr__(self) -> str:
        shown = [f"{name}: {n}" for name, n in self.sizes.items()]
        return f"Domain({', '.join(shown[:12])}{f', ... {len(shown)} in all' if len(shown) > 12 else ''})"

    def _repr_html_(self) -> str:
        facts = {name: f"{n} levels" for name, n in list(self.sizes.items())[:50]}
        return facts_html(f"Domain of {len(self)} attributes", facts)


def _listed(attributes: str | Iterable[str]) -> list[Any]:
    return [attributes] if isinstance(attributes, str) else checks.listing(attributes, "attributes")


def _levels(name: str, spec: Any) -> int | tuple[Any, ...]:
    if isinstance(spec, (int, np.integer)) and not isinstance(spec, bool):
        if spec < 1:
            raise DataError(f"Attribute {name!r} has {spec} levels; it needs at least one.")
        return int(spec)
    if isinstance(spec, (str, bytes)) or not isinstance(spec, Iterable):
        raise DataError(
            f"Attribute {name!r} has the levels {spec!r}.", hint="give a number of levels or a list of them."
        )
    hint = "give a number of levels or a list of them."
    levels = tuple(checks.listing(spec, f"The levels of attribute {name!r}", hint))
    if not levels:
        raise DataError(f"Attribute {name!r} has no levels; it needs at least one.")
    for x in levels:
        if not isinstance(x, (str, int, float, bool, type(None))) or x != x:
            raise DataError(
                f"Attribute {name!r} has the level {x!r}.", hint="levels are text, numbers, booleans or None."
            )
    levels = checks.unique(levels, f"Attribute {name!r}")
    return LearnedLevels(levels) if isinstance(spec, LearnedLevels) else levels
