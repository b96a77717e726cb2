"""Tables: several tables on one domain, observed of one population."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.display import facts_text, finding_html, shortened
from sumwise.domain import Domain
from sumwise.errors import DataError, UnknownName
from sumwise.noise import Exact
from sumwise.provenance import Provenance
from sumwise.table import Table, attribute_names, title

__all__ = ["Table", "Tables"]

RTOL = checks.TOTALS_RTOL


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tables:
    """Several tables on one domain, observed of one population.

    Parameters
    ----------
    tables : sequence of Table
        Two tables may cover the same attributes (independent observations).
    domain : Domain
        All attributes, also those that no table covers.
    n : float >= 0, optional
        Size of the population; default: the total of the exact, fully observed tables, which must agree.
    label : str, optional
        What the label sums count.
    classes : sequence, optional
        The names of the K classes; default 0, 1, ...
    encoding : Encoding, optional
        How raw columns became levels; applied again to individuals at prediction.
    provenance : Provenance, optional
        Whether rows had weights, how many a person had, whether levels were read from them, and which noise was
        added: what `sumwise.privacy.release` needs to know. Default: nothing is stated. Equality ignores it.

    See Also
    --------
    Table : One of them.
    sumwise.aggregate.aggregate : Count a file of rows into tables.
    sumwise.privacy.release : Release tables with noise.
    sumwise.maxent.MaxEntClassifier : Learn a classifier from tables.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise import Tables
    >>> df = pd.DataFrame({"a": [0, 1, 1], "b": ["x", "x", "y"], "c": [1, 0, 1], "click": [1, 0, 1]})
    >>> tables = Tables.from_frame(df, ["a", "b", "c"], label="click", order=2)
    >>> tables
    Tables(tables=3, attributes=[a, b, c], n=3, label=click)
    >>> tables["b", "a"].counts
    array([[1., 1.],
           [0., 1.]])
    """

    tables: tuple[Table, ...]
    domain: Domain
    n: float | None = None
    label: str | None = None
    classes: tuple[Any, ...] | None = None
    encoding: Any = None
    provenance: Provenance = field(default_factory=Provenance)

    if TYPE_CHECKING:

        def __init__(
            self,
            tables: Sequence[Table],
            domain: Domain,
            n: float | None = None,
            label: str | None = None,
            classes: Sequence[Any] | None = None,
            encoding: Any = None,
            provenance: Provenance = ...,
        ) -> None: ...

    def __post_init__(self):
        if isinstance(self.tables, Table):
            raise DataError("Tables are built from a single Table.", hint="give a list: Tables([table], domain).")
        tables = tuple(checks.listing(self.tables, "tables", "give a list of Table objects."))
        if not tables:
            raise DataError("There are no tables.", hint="give at least one.")
        if not isinstance(self.domain, Domain):
            raise DataError(f"The domain is of type {type(self.domain).__name__}.", hint="give a Domain.")
        for i, t in enumerate(tables):
            _check_on_domain(t, i, self.domain)
        if checks.name_of_column(self.label, "label") in self.domain:
            raise DataError(f"{self.label!r} is the label and an attribute.", hint="name it once.")
        if self.encoding is not None and not callable(getattr(self.encoding, "transform", None)):
            raise DataError(f"The encoding is of type {type(self.encoding).__name__}.", hint="give an Encoding.")
        if not isinstance(self.provenance, Provenance):
            raise DataError(f"The provenance is of type {type(self.provenance).__name__}.", hint="give a Provenance.")
        _check_label_totals(tables)
        object.__setattr__(self, "tables", tables)
        object.__setattr__(self, "n", _population(tables, self.n))
        object.__setattr__(self, "classes", _classes(tables, self.classes))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        attributes: Sequence[str],
        label: str | None = None,
        order: int = 2,
        weight: str | None = None,
        domain: Domain | None = None,
        missing: str = "raise",
    ) -> Tables:
        """Count every subset of `order` attributes of a data frame, exactly.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame
        attributes : list of str
        label : str, optional
            A column of 0 and 1 gives label sums of the shape of the counts; any other column gives one class per
            distinct value.
        order : int, default 2
        weight : str, optional
            The column of row weights.
        domain : Domain, optional
            The levels to count over; default: those in the frame. A level outside it is an error.
        missing : {"raise", "level"}
            What a missing value is: an error, or a level of its own, ``None``, which missing values of individuals have
            at prediction, too. With ``domain`` it is one where the domain lists ``None``.

        Examples
        --------
        >>> from sumwise import Tables
        >>> Tables.from_frame({"a": ["x", None, "x"]}, ["a"], order=1, missing="level").domain.levels("a")
        ('x', None)
        """
        from sumwise.schema.building.tables import tables_from_frame

        return tables_from_frame(cls, frame, attributes, label, order, weight, domain, missing)

    @classmethod
    def combine(cls, parts: Sequence[Tables], *, forget: Sequence[Tables] = (), how: str = "add") -> Tables:
        """Put tables of several parts together, with their noise: days that are added, or forgotten again.

        Parameters
        ----------
        parts : sequence of Tables
            Over the same domain and label.
        forget : sequence of Tables
            Parts that were added before, to take away: their counts and their very noise.
        how : {"add", "merge"}
            ``"add"``: parts of different rows; counts add up, and so do the variances of their noise. ``"merge"``:
            tables of the same rows, such as two releases; those with Gaussian noise over the same attributes are
            averaged by precision, all others stand side by side.

        Examples
        --------
        >>> from sumwise import Domain, Table, Tables
        >>> from sumwise.noise import Gaussian
        >>> days = [Tables([Table("a", [n, 9.0], noise=Gaussian(3.0))], Domain({"a": 2})) for n in (5.0, 7.0, 8.0)]
        >>> week = Tables.combine(days[:2])
        >>> later = Tables.combine([week, days[2]], forget=[days[0]])
        >>> later["a"].counts, round(later["a"].noise.scale, 3)
        (array([15., 18.]), 4.243)
        """
        from sumwise.combining import combined

        return combined(cls, checks.listing(parts, "parts", "give a list of Tables."), forget, how)

    def on(self, *attributes: str) -> list[Table]:
        """Return all tables over exactly these attributes, each in the order asked for."""
        for a in attributes:
            checks.known(a, self.domain, "attribute")
        wanted = sorted(attributes)
        return [t.transpose(attributes) for t in self.tables if sorted(t.attributes) == wanted]

    def with_tables(self, tables: Sequence[Table]) -> Tables:
        """Return other tables on the same domain, with the same label, classes, encoding, provenance and n."""
        return replace(self, tables=tables)  # type: ignore[arg-type]

    def describe(self) -> dict[str, Any]:
        """Return the facts: how many tables of which order, cells, noise, population, label."""
        orders = sorted({len(t.attributes) for t in self.tables})
        return {
            "tables": len(self.tables),
            "attributes": list(self.domain.attributes),
            "orders": orders,
            "cells": int(sum(t.n_cells for t in self.tables)),
            "n": self.n,
            "label": self.label,
            "classes": None if self.classes is None else list(self.classes),
            "noise": sorted({type(t.noise).__name__ for t in self.tables}),
            "encoded": self.encoding is not None,
            "provenance": self.provenance.describe(),
        }

    def __getitem__(self, key: Any) -> Table:
        if isinstance(key, (int, np.integer)):
            return self.tables[key]
        wanted = attribute_names(key)
        matching = self.on(*wanted)
        if not matching:
            listed = shortened([" x ".join(t.attributes) for t in self.tables])
            raise UnknownName(f"There is no table over {title(wanted)}.", hint=f"there are {listed}.")
        if len(matching) > 1:
            names = ", ".join(repr(a) for a in wanted)
            raise DataError(f"There are {len(matching)} tables over {title(wanted)}.", hint=f"use tables.on({names}).")
        return matching[0]

    def __contains__(self, key: object) -> bool:
        wanted = sorted((key,)) if isinstance(key, str) else sorted(key) if isinstance(key, tuple) else None
        return any(sorted(t.attributes) == wanted for t in self.tables)

    def __iter__(self) -> Iterator[Table]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tables):
            return NotImplemented
        same = all(getattr(self, n) == getattr(other, n) for n in ("domain", "n", "label", "classes", "encoding"))
        return same and self.tables == other.tables

    __hash__ = None  # type: ignore[assignment]

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the figure that suits these data and return its axes; see `sumwise.plots.plot_containers`."""
        from importlib import import_module

        return import_module("sumwise.plots").plot_containers(self, ax, **options)

    def __repr__(self) -> str:
        return facts_text("Tables", self._facts())

    def _repr_html_(self) -> str:
        import pandas as pd

        orders = sorted({len(t.attributes) for t in self.tables})
        sizes = f"{orders[0]} to {orders[-1]}" if len(orders) > 1 else f"{orders[0]}" if orders else "0"
        people = "" if self.n is None else f" of {self.n:,.0f} people"
        words = f"{len(self)} tables{people}, each over {sizes} of {len(self.domain)} attributes."
        labelled = [t for t in self.tables if t.label_sums is not None and np.ndim(t.label_sums) == np.ndim(t.counts)]
        if self.label is not None and labelled:
            first = labelled[0]
            ones, people = float(np.nansum(np.asarray(first.label_sums))), float(np.nansum(np.asarray(first.counts)))
            words += f" The label {self.label!r} is 1 for {ones / people:.1%} of them." if people else ""
        rows = [(" x ".join(t.attributes), int(np.prod(t.shape)), t.total, repr(t.noise)) for t in self.tables]
        return finding_html(words, pd.DataFrame(rows, columns=["table", "cells", "people", "noise"]))

    def _facts(self) -> dict[str, Any]:
        facts = {"tables": len(self), "attributes": self.domain.attributes, "n": self.n}
        return facts if self.label is None else {**facts, "label": self.label}


def _check_on_domain(table: Any, i: int, domain: Domain) -> None:
    if not isinstance(table, Table):
        raise DataError(f"Entry {i} of tables is of type {type(table).__name__}.", hint="give Table objects.")
    for a in table.attributes:
        checks.known(a, domain, "attribute")
    wanted = tuple(domain[a] for a in table.attributes)
    if table.shape != wanted:
        raise DataError(
            f"The table over {title(table.attributes)} has shape {table.shape}; its domain has {wanted}.",
            hint="give one cell per level, in the order of the domain.",
        )


def _population(tables: tuple[Table, ...], value: Any) -> float | None:
    exact = [t for t in tables if isinstance(t.noise, Exact) and t.complete]
    if value is not None:
        value = float(checks.at_least(value, "n", 0, whole_number=False))
    reference = value if value is not None else (exact[0].total if exact else None)
    for t in exact:
        if reference is not None and abs(t.total - reference) > RTOL * max(t.total, reference):
            source = "n" if value is not None else f"the table over {title(exact[0].attributes)}"
            raise DataError(
                f"Exact tables disagree on the total: {title(t.attributes)} has {t.total:.10g}, {source} has "
                f"{reference:.10g}.",
                hint="count all tables on the same rows, or state their noise.",
            )
    return reference


def _check_label_totals(tables: tuple[Table, ...]) -> None:
    """Check that exact tables, which count the same rows, agree on how many have the label."""
    first: tuple[np.ndarray, Table] | None = None
    for t in tables:
        if t.n_classes is None or not isinstance(t.noise, Exact):
            continue
        sums = t.label_totals
        if np.isnan(sums).any():
            continue
        if first is None:
            first = sums, t
        elif len(sums) == len(first[0]) and (np.abs(sums - first[0]) > RTOL * np.maximum(sums, first[0])).any():
            k = int(np.argmax(np.abs(sums - first[0])))
            raise DataError(
                f"Exact tables disagree on the total of the label: {title(t.attributes)} has {sums[k]:.10g}, "
                f"{title(first[1].attributes)} has {first[0][k]:.10g}.",
                hint="sum the label over the same rows for all tables, or state their noise.",
            )


def _classes(tables: tuple[Table, ...], value: Any) -> tuple[Any, ...] | None:
    counts = {t.n_classes for t in tables if t.n_classes is not None}
    if len(counts) > 1:
        raise DataError(f"Tables have label sums of {sorted(counts)} classes.", hint="use one label for all.")
    if not counts:
        if value is not None:
            raise DataError("classes are named, but no table has label sums.")
        return None
    k = counts.pop()
    classes = tuple(range(k)) if value is None else tuple(checks.plain(c) for c in value)
    if len(classes) != k:
        raise DataError(f"There are {len(classes)} class names for {k} classes.")
    if any(isinstance(c, (tuple, list, dict)) for c in classes):
        raise DataError(f"classes are {list(classes)!r}.", hint="name a class by a number or a text.")
    return checks.unique(classes, "classes")
