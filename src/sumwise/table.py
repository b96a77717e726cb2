"""Table: counts (and label sums) over attributes, with their noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.display import facts_html, facts_text
from sumwise.errors import DataError
from sumwise.noise import Exact, Gaussian, Noise, Poisson, Summed, check_fits

__all__ = ["Table"]

RTOL = checks.TOTALS_RTOL


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table:
    """Counts over one or more attributes, perhaps with label sums, and how they were observed.

    Parameters
    ----------
    attributes : str or sequence of str
        One per axis of `counts`.
    counts : array
        One axis per attribute. NaN is a cell that was not observed.
    label_sums : array, optional
        The sum of a 0/1 label per cell (shape of `counts`), or of each of K classes (one more axis).
    noise : Noise, default Exact()
        p(observed | true) of the counts, and of the label sums unless `label_noise` is given.
    bounds : pair of arrays, optional
        For cells that were withheld (NaN): the lowest and highest count that they may have.
    label_noise : Noise, optional
        p(observed | true) of the label sums where it differs: a release by class has less noise on the sum of each
        class than on the counts, which are their sum; see `by_class`. Default: `noise`.

    See Also
    --------
    Tables : Several tables over one population.

    Examples
    --------
    >>> from sumwise import Table
    >>> from sumwise.noise import Gaussian
    >>> Table(("sex", "vote"), [[30, 20], [25, 25]])
    Table(attributes=[sex, vote], shape=[2, 2], total=100, noise=Exact())
    >>> Table("sex", [51.5, 48.75], noise=Gaussian(1.0)).total
    100.25
    """

    attributes: tuple[str, ...]
    counts: np.ndarray
    label_sums: np.ndarray | None = None
    noise: Noise = field(default_factory=Exact)
    bounds: tuple[np.ndarray, np.ndarray] | None = None
    label_noise: Noise | None = None

    if TYPE_CHECKING:  # callers may give more kinds than are stored

        def __init__(
            self,
            attributes: str | Sequence[str],
            counts: Any,
            label_sums: Any = None,
            noise: Any = ...,
            bounds: Any = None,
            label_noise: Any = None,
        ) -> None: ...

    def __post_init__(self):
        object.__setattr__(self, "attributes", attribute_names(self.attributes))
        read = checks.counts if isinstance(self.noise, (Exact, Poisson)) else checks.finite
        what = f"The counts of {title(self.attributes)}"
        counts = read(self.counts, what, ndim=len(self.attributes), allow_nan=True)
        if not counts.size:
            raise DataError(f"{what} have shape {counts.shape}: there is no cell.")
        check_fits(self.noise, counts.shape)
        if self.label_noise is not None:
            check_fits(self.label_noise, counts.shape)
            if self.label_sums is None or isinstance(self.noise, Exact) != isinstance(self.label_noise, Exact):
                raise DataError(
                    f"{what} have a noise of their label sums, {self.label_noise!r}, that can't be.",
                    hint="it needs label sums, and counts and label sums are exact together or not at all.",
                )
        object.__setattr__(self, "counts", checks.frozen(counts))
        object.__setattr__(self, "label_sums", _label_sums(self.label_sums, self))
        object.__setattr__(self, "bounds", _cell_bounds(self.bounds, counts))

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each attribute."""
        return self.counts.shape

    @property
    def total(self) -> float:
        """The sum of the observed cells."""
        return float(np.nansum(self.counts))

    @property
    def noise_of_sums(self) -> Noise:
        """The noise of the label sums: `label_noise`, or `noise` where none of their own is given."""
        return self.noise if self.label_noise is None else self.label_noise

    @property
    def by_class(self) -> bool:
        """Whether the noise of a count is the sum of that of its classes, so that counts and label sums share noise.

        So it is where `noise` is what `label_noise` adds up to over the classes; otherwise the two are independent.

        Examples
        --------
        >>> from sumwise import Table
        >>> from sumwise.noise import Geometric, Summed
        >>> Table("a", [5, 7], [2, 3], Summed(Geometric(2.0), 2), label_noise=Geometric(2.0)).by_class
        True
        """
        one, both, k = self.label_noise, self.noise, self.n_classes
        if isinstance(both, Summed):
            return both.times == k and both.noise == one
        if not (isinstance(one, Gaussian) and isinstance(both, Gaussian)):
            return False
        return bool(np.allclose(np.square(both.scale), (k or 0) * np.square(one.scale), rtol=1e-9, atol=0.0))

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    @property
    def complete(self) -> bool:
        """Whether every count was observed."""
        return not np.isnan(self.counts).any()

    @property
    def label_totals(self) -> np.ndarray:
        """Sums over all cells of the 0/1 label (1,), or of each of K classes (K,); empty without a label."""
        if self.label_sums is None:
            return np.zeros(0)
        return self.label_sums.reshape(self.n_cells, -1).sum(axis=0)

    def filled(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Cells (positions in C order, ascending) that aren't 0, their counts and label sums.

        Examples
        --------
        >>> from sumwise import Table
        >>> Table("a", [0, 4, 2], [0, 1, 0]).filled()
        (array([1, 2]), array([4., 2.]), array([1., 0.]))
        """
        sums = self.label_sums
        sums = None if sums is None else sums.reshape(self.n_cells, *sums.shape[self.counts.ndim :])
        any_sum = False if sums is None else (sums != 0).reshape(self.n_cells, -1).any(axis=1)
        cells = np.flatnonzero((self.counts.ravel() != 0) | any_sum)
        return cells, self.counts.ravel()[cells], None if sums is None else sums[cells]

    @property
    def n_classes(self) -> int | None:
        """2 for sums of a 0/1 label, K for K classes, None without a label."""
        if self.label_sums is None:
            return None
        return 2 if self.label_sums.ndim == self.counts.ndim else self.label_sums.shape[-1]

    def transpose(self, attributes: Sequence[str]) -> Table:
        """Return the same table with its axes in another order."""
        wanted = attribute_names(attributes)
        if sorted(wanted) != sorted(self.attributes):
            raise DataError(f"A table over {title(self.attributes)} can't be put in the order {title(wanted)}.")
        if wanted == self.attributes:
            return self
        order = [self.attributes.index(a) for a in wanted]

        def turn(array: np.ndarray):
            return np.transpose(array, order + list(range(len(order), array.ndim)))

        sums = None if self.label_sums is None else turn(self.label_sums)
        bounds = None if self.bounds is None else (turn(self.bounds[0]), turn(self.bounds[1]))
        label_noise = None if self.label_noise is None else _map_noise(self.label_noise, turn)
        return Table(wanted, turn(self.counts), sums, _map_noise(self.noise, turn), bounds, label_noise)

    def project(self, attributes: str | Sequence[str]) -> Table:
        """Return the table summed onto some of its attributes.

        Sums of exact counts are exact, sums of Gaussian noise are Gaussian, and sums of Poisson counts of one rate
        are Poisson; other noise has no such sum and is refused.
        """
        wanted = attribute_names(attributes)
        for a in wanted:
            checks.known(a, self.attributes, "attribute")
        drop = tuple(i for i, a in enumerate(self.attributes) if a not in wanted)
        remaining = tuple(a for a in self.attributes if a in wanted)
        if not drop:
            return self.transpose(wanted)
        sums = None if self.label_sums is None else self.label_sums.sum(axis=drop)
        noise = _summed_noise(self.noise, self.shape, drop)
        label_noise = None if self.label_noise is None else _summed_noise(self.label_noise, self.shape, drop)
        return Table(remaining, self.counts.sum(axis=drop), sums, noise, label_noise=label_noise).transpose(wanted)

    def describe(self) -> dict[str, Any]:
        """Return the facts: attributes, shape, total, noise, and how many cells are empty or unobserved."""
        return {
            "attributes": list(self.attributes),
            "shape": list(self.shape),
            "total": self.total,
            "zero cells": int((self.counts == 0).sum()),
            "unobserved cells": int(np.isnan(self.counts).sum()),
            "classes": self.n_classes,
            "noise": repr(self.noise),
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        mine, theirs = ((t.counts, t.label_sums, *(t.bounds or (None, None))) for t in (self, other))
        arrays = all(
            (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b, equal_nan=True))
            for a, b in zip(mine, theirs)
        )
        noises = bool(self.noise == other.noise) and bool(self.noise_of_sums == other.noise_of_sums)
        return arrays and noises and self.attributes == other.attributes

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self):  # a copy is as frozen as the original
        return Table, tuple(getattr(self, f.name) for f in fields(self))

    def __repr__(self) -> str:
        return facts_text(type(self).__name__, self._facts())

    def _repr_html_(self) -> str:
        return facts_html(type(self).__name__, {**self._facts(), "classes": self.n_classes})

    def _facts(self) -> dict[str, Any]:
        return {"attributes": self.attributes, "shape": self.shape, "total": self.total, "noise": self.noise}


def attribute_names(value: Any) -> tuple[str, ...]:
    """Return one or several attribute names as a tuple of distinct ones."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, (tuple, list)) or not names or not all(isinstance(a, str) for a in names):
        raise DataError(f"The attributes are {value!r}.", hint="give a name, or a sequence of names.")
    return checks.unique(tuple(names), "attributes")


def title(attributes: Sequence[str]) -> str:
    """Return how messages call a table: `'a' x 'b'`."""
    return " x ".join(repr(a) for a in attributes)


def _label_sums(value: Any, table: Table) -> np.ndarray | None:
    if value is None:
        return None
    counts, what = table.counts, f"The label sums of {title(table.attributes)}"
    read = checks.counts if isinstance(table.noise, (Exact, Poisson)) else checks.finite
    sums = read(value, what, allow_nan=True)
    if sums.shape != counts.shape and sums.shape[:-1] != counts.shape:
        raise DataError(
            f"{what} have shape {sums.shape}; the counts have {counts.shape}.",
            hint="label sums have the shape of the counts, or one more axis for K classes.",
        )
    if sums.ndim > counts.ndim and sums.shape[-1] < 2:
        raise DataError(f"{what} have {sums.shape[-1]} classes; there must be at least 2.")
    if isinstance(table.noise, Exact):
        check_exact_sums(counts, sums, what)
    return checks.frozen(sums)


def check_exact_sums(counts: np.ndarray, sums: np.ndarray, name: str, cell: Any = lambda at: at) -> None:
    """Refuse label sums above exact counts, or of all classes other than them; cell(index) names an entry's cell."""
    binary = sums.ndim == counts.ndim
    totals = sums if binary else sums.sum(axis=-1)
    bad = totals - counts > RTOL * np.maximum(counts, 1.0) if binary else np.abs(totals - counts) > RTOL * (1 + counts)
    checks.nowhere(
        bad,
        f"{name} {'exceed the counts' if binary else 'over all classes differ from the counts'} in {{}} cells",
        lambda *at: f"cell {tuple(map(int, cell(at)))} has {totals[at]:.10g} against {counts[at]:.10g}",
        "correct them, or state the noise of the table.",
    )


def _cell_bounds(value: Any, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    if value is None:
        return None
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise DataError("bounds must be a pair of arrays (low, high).")
    low, high = (_bound(b) for b in value)
    if low.shape != counts.shape or high.shape != counts.shape:
        raise DataError(f"bounds have shapes {low.shape} and {high.shape}; the counts have {counts.shape}.")
    withheld = np.isnan(counts)
    bad = withheld & ~(low <= high)
    if bad.any() or (withheld & ~(low >= 0)).any():
        raise DataError("bounds of withheld cells must satisfy 0 <= low <= high.", hint="high may be infinite.")
    low[~withheld], high[~withheld] = counts[~withheld], counts[~withheld]
    return checks.frozen(low), checks.frozen(high)


def _bound(value: Any) -> np.ndarray:
    try:
        array = np.asarray(value)
        if array.dtype.kind in "iuf":
            return array.astype(float)
    except ValueError:
        pass
    raise DataError("bounds must contain numbers.", hint="give a pair of arrays shaped like the counts.")


def _map_noise(noise: Any, turn: Any) -> Any:
    """Return the noise with its per-cell parameter rearranged like the counts."""
    for name in ("rate", "scale"):
        if np.ndim(value := getattr(noise, name, 0.0)):
            return type(noise)(turn(value))
    return noise


def _summed_noise(noise: Any, shape: tuple[int, ...], drop: tuple[int, ...]) -> Any:
    if isinstance(noise, Exact):
        return noise
    if isinstance(noise, Gaussian):
        scale = np.sqrt((np.broadcast_to(noise.scale, shape) ** 2).sum(axis=drop))
        return Gaussian(scale if scale.size > 1 and np.ndim(noise.scale) else float(scale.flat[0]))
    if isinstance(noise, Poisson) and np.ptp(np.asarray(noise.rate)) == 0:
        return Poisson(float(np.asarray(noise.rate).flat[0]))
    raise DataError(
        f"Sums of cells with {noise!r} have no noise model of that kind.",
        hint="keep the table whole, or release the smaller table itself.",
    )
