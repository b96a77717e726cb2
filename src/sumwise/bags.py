"""Bags: ragged samples with weights and ids, stored as one matrix and offsets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.display import facts_text, finding_html
from sumwise.errors import DataError

if TYPE_CHECKING:
    from sumwise.bag_columns import EditableBags

__all__ = ["Bags"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bags:
    """Samples in bags: bag `i` has the rows ``values[offsets[i]:offsets[i + 1]]``.

    Build it with `from_arrays` or `from_frame`; the constructor takes the stored form and does not copy `values`.

    Parameters
    ----------
    values : array of shape (n_rows, n_features)
        All rows, bag after bag; float64, or float32 where given so. NaN is a missing value.
    offsets : integer array of shape (n_bags + 1,)
        Where each bag begins; the last entry is n_rows.
    weights : array of shape (n_rows,), optional
        How many individuals a row stands for; default 1 (kept without memory).
    ids : sequence, optional
        A distinct id per bag; default 0, 1, ...
    features : sequence of str, optional
        Column names.
    levels : dict, optional
        For a column that holds codes of a categorical variable: its levels, by feature name.

    See Also
    --------
    sumwise.aggregate.aggregate_bags : Bags from a file of rows.
    sumwise.proportions.CardinalityClassifier : Individuals from class counts per bag.
    sumwise.distribution.BagKernelRidge : A response per bag.
    Margins : Totals of groups and outcomes per unit.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> bags = Bags.from_arrays([np.zeros((3, 2)), np.ones((5, 2))], ids=["a", "b"])
    >>> bags
    Bags(bags=2, rows=8, features=[x0, x1], sizes=3 to 5)
    >>> bags[1].shape, bags[[1]].ids, bags.sizes
    ((5, 2), array(['b'], dtype='<U1'), array([3, 5]))
    """

    values: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray = None  # type: ignore[assignment]
    ids: np.ndarray = None  # type: ignore[assignment]
    features: tuple = None  # type: ignore[assignment]
    levels: dict = None  # type: ignore[assignment]

    if TYPE_CHECKING:  # callers may give more kinds than are stored

        def __init__(
            self,
            values: Any,
            offsets: Any,
            weights: Any = None,
            ids: Any = None,
            features: Sequence[Any] | None = None,
            levels: Mapping[Any, Any] | None = None,
        ) -> None: ...

    def __post_init__(self):
        values = _matrix(self.values)
        n_rows = len(values)
        offsets = _plain_array(self.offsets, "offsets")
        if offsets.ndim != 1 or len(offsets) < 2 or offsets.dtype.kind not in "iu":
            raise DataError(
                f"offsets has dtype {offsets.dtype} and shape {offsets.shape}.",
                hint="give whole numbers 0 = o_0 <= o_1 <= ... <= o_B = n_rows for B >= 1 bags.",
            )
        offsets = offsets.astype(np.int64)
        if offsets[0] != 0 or offsets[-1] != n_rows or (np.diff(offsets) < 0).any():
            raise DataError(
                f"offsets run from {offsets[0]} to {offsets[-1]} over {n_rows} rows"
                f"{' and decrease' if (np.diff(offsets) < 0).any() else ''}.",
                hint="they start at 0, never decrease, and end at the number of rows.",
            )
        ids = checks.identifiers(self.ids, len(offsets) - 1, "ids")
        features = checks.names(self.features, values.shape[1], "features", "x")
        weights = _row_weights(self.weights, offsets, ids)
        _derived(values, offsets, weights, ids, features, _checked_levels(self.levels, features, values), self)

    @classmethod
    def from_arrays(
        cls,
        arrays: Sequence[Any],
        weights: Sequence[Any] | None = None,
        ids: Sequence[Any] | None = None,
        features: Sequence[str] | None = None,
        empty: str = "raise",
    ) -> Bags:
        """Build bags from one (n_i, d) array per bag; an (n_i,) array is one column, and frames name the features.

        `weights`, when given, is one array of length n_i per bag. An empty bag is refused unless ``empty="keep"``.

        Examples
        --------
        >>> from sumwise import Bags
        >>> Bags.from_arrays([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]], weights=[[2.0], [1.0, 1.0]]).weights
        array([2., 1., 1.])
        """
        from sumwise.schema.building.bags import bags_from_arrays

        return bags_from_arrays(cls, arrays, weights, ids, features, empty)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        bag: str,
        features: Sequence[Any] | None = None,
        weight: str | None = None,
        categorical: Sequence[Any] = (),
    ) -> Bags:
        """Build bags from one row per individual, in the order in which bags first appear.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame
        bag : str
            The column that says which bag a row belongs to; rows need not be sorted. `values` holds the rows of a
            bag together, so their order is that of the frame only where it was sorted so: predict on the frame, not
            on the bags, to keep its order.
        features : list of str, optional
            Default: all other columns. Columns of text, categories or booleans are stored as codes, with `levels`;
            estimators make one indicator of each level. Text in which every entry is a number is read as numbers
            (codes such as 007 are none), and numbers mixed with text are refused. A missing value is NaN.
        weight : str, optional
            The column of row weights.
        categorical : list of str, optional
            Features whose numbers are codes, too.

        Examples
        --------
        >>> import pandas as pd
        >>> from sumwise import Bags
        >>> df = pd.DataFrame({"puma": ["s", "r", "s"], "age": [31, 40, 25], "sex": ["f", "m", "f"]})
        >>> bags = Bags.from_frame(df, bag="puma", features=["age", "sex"])
        >>> bags.ids, bags.levels
        (array(['s', 'r'], dtype='<U1'), {'sex': ('f', 'm')})
        >>> bags[0]
        array([[31.,  0.],
               [25.,  0.]])
        """
        from sumwise.schema.building.bags import bags_from_frame

        return bags_from_frame(cls, frame, bag, features, weight, categorical)

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each bag, (n_bags,)."""
        return np.diff(self.offsets)

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return len(self.offsets) - 1

    @property
    def n_rows(self) -> int:
        """Number of rows over all bags."""
        return self.values.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.values.shape[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """(n_bags, n_features), which equals (n_bags,) too: a sample is a bag, and tools ask for its columns."""
        return _Shape((self.n_bags, self.n_features))

    @property
    def iloc(self) -> Any:
        """Bags and columns by position, for scikit-learn's inspection: ``bags.iloc[:, 0]`` is a column."""
        from sumwise.bag_columns import Positions

        return Positions(self)

    @property
    def loc(self) -> Any:
        """Bags and columns by masks, as scikit-learn asks for them: ``bags.loc[mask]``."""
        from sumwise.bag_columns import Masks

        return Masks(self)

    def take(self, indices: Any, axis: int = 0) -> Bags:
        """Return some bags, or with ``axis=1`` the same bags with some of their columns, by position."""
        if axis == 0:
            return self[np.asarray(indices)].copy()
        return self.iloc[:, np.atleast_1d(indices)]

    def copy(self) -> EditableBags:
        """Return a copy whose columns can be replaced: ``copy.iloc[:, j] = 3.0`` shifts one to a mean of 3."""
        from sumwise.bag_columns import EditableBags

        return EditableBags.of(self)

    @property
    def weighted(self) -> bool:
        """Whether rows carry weights of their own."""
        return self.weights.strides != (0,)

    @property
    def given_weights(self) -> np.ndarray | None:
        """Weights of the rows, (n_rows,); None where each counts one."""
        return self.weights if self.weighted else None

    @property
    def total_weights(self) -> np.ndarray:
        """Sum of the weights of each bag, (n_bags,): its number of rows, where these have no weights."""
        return self.sums(self.weights) if self.weighted else self.sizes.astype(float)

    @property
    def effective_sizes(self) -> np.ndarray:
        """Number of equally weighted rows that each bag is worth, (n_bags,): (sum w)^2 / sum w^2 (Kish 1965)."""
        squares = self.sums(self.weights**2)
        return np.divide(self.total_weights**2, squares, out=np.zeros(self.n_bags), where=squares > 0)

    @property
    def bag_index(self) -> np.ndarray:
        """Which bag each row belongs to, (n_rows,)."""
        return np.repeat(np.arange(self.n_bags), self.sizes)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sum over each bag of what every row has, (n_rows, ...) to (n_bags, ...); 0 for an empty bag."""
        out, nonempty = np.zeros((self.n_bags, *values.shape[1:])), self.sizes > 0
        out[nonempty] = np.add.reduceat(values, self.offsets[:-1][nonempty], axis=0)
        return out

    def regrouped(self, rows: np.ndarray, offsets: np.ndarray) -> Bags:
        """Return other bags of the same rows, chosen by position: bag `i` holds ``rows[offsets[i]:offsets[i + 1]]``."""
        weights = self.weights[rows] if self.weighted else None
        return Bags(self.values[rows], offsets, weights, None, self.features, self.levels)

    def subset(self, mask: Any) -> Bags:
        """Return the same bags with only the rows where `mask` holds; some bags may become empty."""
        chosen = _plain_array(mask, "mask")
        if chosen.dtype != bool or chosen.shape != (self.n_rows,):
            raise DataError(
                f"The mask has dtype {chosen.dtype} and shape {chosen.shape}.",
                hint=f"give one True or False per row: shape ({self.n_rows},).",
            )
        chosen_before = np.concatenate([[0], np.cumsum(chosen)])[self.offsets]
        weights = self.weights[chosen] if self.weighted else None
        return _derived(self.values[chosen], chosen_before, weights, self.ids, self.features, self.levels)

    def align(self, values: Any, name: str = "counts") -> np.ndarray:
        """Return what there is for each bag, in the order of the bags.

        A pandas Series or frame whose index holds the ids is put into the order of the bags (`groupby` sorts, bags are
        in order of appearance); one that has a plain index 0, 1, ... beside other ids, and anything without an index,
        is taken as it comes. Where the index and the ids overlap but don't match, nobody knows: that is an error.

        Parameters
        ----------
        values : array, pandas Series or frame with one entry or row per bag
        name : str
            What it is, for messages.

        Examples
        --------
        >>> import pandas as pd
        >>> from sumwise import Bags
        >>> people = pd.DataFrame({"area": ["s", "r", "s"], "age": [31, 40, 25], "votes": [1, 0, 1]})
        >>> bags = Bags.from_frame(people, bag="area", features=["age"])
        >>> bags.align(people.groupby("area")["votes"].sum())
        array([2, 0])
        """
        if not (hasattr(values, "index") and hasattr(values, "iloc")):
            return np.asarray(values)
        order = _order_of_index(values.index, self.ids, name)
        return np.asarray(values if order is None else values.iloc[order])

    def drop_empty(self) -> Bags:
        """Return the bags that have at least one row."""
        return self[self.sizes > 0]

    def with_values(
        self, values: Any, features: Sequence[Any] | None = None, levels: dict[Any, Any] | None = None
    ) -> Bags:
        """Return the same bags, weights and ids with other values of the rows (after a transformation)."""
        subset = Bags(
            values, self.offsets, self.given_weights, None, features, levels
        )  # ids were checked, and may repeat
        return _derived(subset.values, subset.offsets, self.given_weights, self.ids, subset.features, subset.levels)

    def describe(self) -> dict[str, Any]:
        """Return the facts: how many bags and rows, sizes, weights, and features."""
        sizes = self.sizes
        return {
            "bags": self.n_bags,
            "rows": self.n_rows,
            "features": list(self.features),
            "categorical": {f: len(v) for f, v in self.levels.items()},
            "smallest bag": int(sizes.min(initial=self.n_rows)),
            "median bag": float(np.median(sizes)) if self.n_bags else 0.0,
            "largest bag": int(sizes.max(initial=0)),
            "empty bags": int((sizes == 0).sum()),
            "missing values": int(np.isnan(self.values).sum()),
            "weighted": self.weighted,
            "total weight": float(self.weights.sum()),
        }

    def __len__(self) -> int:
        return self.n_bags

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self.values[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:]))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise _not_a_matrix(self.n_bags)

    def __getitem__(self, index: Any) -> Any:
        chosen = checks.unit_index(index, self.n_bags)
        if isinstance(chosen, int):
            return self.values[self.offsets[chosen] : self.offsets[chosen + 1]]
        chosen = np.arange(self.n_bags)[chosen]
        offsets = np.concatenate([[0], np.cumsum(self.sizes[chosen])])
        if len(chosen) and np.array_equal(chosen, np.arange(chosen[0], chosen[0] + len(chosen))):
            rows = slice(self.offsets[chosen[0]], self.offsets[chosen[-1] + 1])  # side by side, so a view
        else:
            rows = rows_of(self.offsets, chosen)
        weights = self.weights[rows] if self.weighted else None
        return _derived(self.values[rows], offsets, weights, self.ids[chosen], self.features, self.levels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bags):
            return NotImplemented
        same = all(np.array_equal(getattr(self, n), getattr(other, n)) for n in ("offsets", "weights", "ids"))
        same = same and np.array_equal(self.values, other.values, equal_nan=True)
        return same and self.features == other.features and self.levels == other.levels

    __hash__ = None  # type: ignore[assignment]

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the figure that suits these data and return its axes; see `sumwise.plots.plot_containers`."""
        from importlib import import_module

        return import_module("sumwise.plots").plot_containers(self, ax, **options)

    def __repr__(self) -> str:
        return facts_text("Bags", self._facts())

    def _repr_html_(self) -> str:
        import pandas as pd

        words = f"{self.n_rows:,} rows{' with weights' if self.weighted else ''} in {self.n_bags:,} bags"
        words += f" of {self._facts()['sizes']}, {len(self.features)} features each."
        if not self.n_rows:
            return finding_html(words)
        facts = {"feature": [str(f) for f in self.features], "mean": np.nanmean(self.values, axis=0)}
        facts |= {"smallest": np.nanmin(self.values, axis=0), "largest": np.nanmax(self.values, axis=0)}
        return finding_html(words, pd.DataFrame(facts))

    def _facts(self) -> dict[str, Any]:
        sizes = self.sizes
        spread = f"{sizes.min()} to {sizes.max()}" if self.n_bags else "none"
        return {"bags": self.n_bags, "rows": self.n_rows, "features": self.features, "sizes": spread}

    @classmethod
    def _restored(cls, **fields: Any) -> Bags:
        """Build bags from a file, checked; unlike the constructor, also a part with repeated ids or no bags."""
        ids = fields.get("ids")
        if not isinstance(ids, np.ndarray) or 0 < len(ids) == len(set(ids.tolist())):
            return cls(**fields)
        checked = {**fields, "ids": None}
        if not len(ids):  # names and levels can only be checked on a row
            zeros = np.zeros((1, *np.asarray(fields.get("values")).shape[1:]))
            checked |= {"values": zeros, "offsets": [0, 1], "weights": None}
        combined = cls(**checked)
        checks.same_length(ids=ids, bags=range(len(np.atleast_1d(fields["offsets"])) - 1))
        part = combined if len(ids) else combined[[]]
        return _derived(part.values, part.offsets, part.given_weights, ids, part.features, part.levels)

    def __reduce__(self):  # copies keep ones without memory, and repeated ids
        return _derived, (self.values, self.offsets, self.given_weights, self.ids, self.features, self.levels)


def as_bags(value: Any) -> Bags:
    """Return bags; anything else is refused, with how to build them."""
    if not isinstance(value, Bags):
        raise DataError(
            f"bags is of type {type(value).__name__}.", hint="build it with Bags.from_arrays or Bags.from_frame."
        )
    return value


def rows_of(offsets: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the positions of the rows of some bags, one bag after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.bags import rows_of
    >>> rows_of(np.array([0, 2, 5]), np.array([1, 0]))
    array([2, 3, 4, 0, 1])
    """
    sizes = np.diff(offsets)[chosen]
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(offsets[chosen] - (ends - sizes), sizes)


class _Shape(tuple[int, ...]):
    """The shape of bags. One axis of units is the contract of containers; scikit-learn's inspection needs a second."""

    def __eq__(self, other: object) -> bool:
        return other in (tuple(self), tuple(self[:1]))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self[:1]))


def _not_a_matrix(n_bags: int) -> DataError:
    return DataError(
        f"{n_bags:,} bags of rows are not one matrix, which this function needs.",
        hint="make_pipeline(QuantileEmbedding(), ...) has one row per bag; all rows: bags.values.",
    )


def _derived(
    values: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray | None,
    ids: np.ndarray,
    features: tuple[Any, ...],
    levels: dict[Any, Any],
    into: Bags | None = None,
) -> Bags:
    """Return bags made of parts that were checked before; ids may repeat, as in a bootstrap."""
    part = object.__new__(Bags) if into is None else into
    counted = np.broadcast_to(np.float64(1.0), len(values)) if weights is None else checks.frozen(weights)
    fields = (checks.frozen(values), checks.frozen(offsets), counted, checks.frozen(ids), features, levels)
    for name, value in zip(Bags.__slots__, fields):
        object.__setattr__(part, name, value)
    return part


def _matrix(x: Any) -> np.ndarray:
    if isinstance(x, np.ndarray) and x.ndim == 2 and x.dtype in (np.float64, np.float32):
        if np.isinf(x).any():
            checks.finite(x, "values", allow_nan=True)  # it knows how to say where
        return x
    return checks.finite(checks.dense(x), "values", ndim=2, allow_bool=True, allow_nan=True, keep_float32=True)


def _plain_array(value: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError as error:
        raise DataError(f"{name} can't be read as an array: {error}.") from None


def _row_weights(value: Any, offsets: np.ndarray, ids: np.ndarray) -> np.ndarray | None:
    n_rows = int(offsets[-1])
    if value is None:
        return None
    weights = checks.counts(value, "weights", ndim=1)
    if len(weights) != n_rows:
        raise DataError(f"There are {len(weights)} weights for {n_rows} rows.")
    if (weights == 1.0).all():  # the same as none
        return None
    above = np.concatenate([[0], np.cumsum(weights > 0)])  # sums of the weights themselves would lose small ones
    zero = (np.diff(above[offsets]) == 0) & (np.diff(offsets) > 0)
    hint = "drop such bags, or give a row a weight above zero."
    checks.nowhere(zero, "All weights are zero in {} bags", lambda i: f"bag {checks.plain(ids[i])!r}", hint)
    return weights


def _checked_levels(value: dict[Any, Any] | None, features: tuple[Any, ...], values: np.ndarray) -> dict[Any, Any]:
    out = {}
    for name, levels in ({} if value is None else checks.mapping(value, "levels")).items():
        checks.known(name, features, "feature")
        out[name] = checks.unique(checks.listing(levels, f"The levels of {name!r}"), f"The levels of {name!r}")
        codes = values[:, features.index(name)]
        bad = (codes < 0) | (codes >= len(out[name])) | (np.floor(codes) < codes)  # NaN is a missing value
        if bad.any():
            raise DataError(
                f"Feature {name!r} contains {codes[np.argmax(bad)]:.6g} at row {int(np.argmax(bad))}, no code of its "
                f"{len(out[name])} levels."
            )
    return out


def _order_of_index(index: Any, ids: np.ndarray, name: str) -> np.ndarray | None:
    """Where the bags' ids are in an index; None where entries are in the order of the bags already."""
    labels, wanted = index.tolist(), ids.tolist()
    if len(labels) != len(wanted) or labels == wanted:
        return None  # another check says how many there should be
    integers = all(isinstance(x, int) and not isinstance(x, bool) for x in labels)
    if integers and index.name is None and not set(labels) & set(wanted):
        return None  # positions, not ids
    ambiguous = integers and index.name is None and labels == list(range(len(labels)))
    absent = [x for x in wanted if x not in set(labels)]
    if absent or len(set(labels)) < len(labels) or ambiguous:
        why = "counts from 0 where ids do too, in another order" if ambiguous else "contains other labels"
        if absent:
            why = f"lacks {len(absent)} of {len(wanted)} ids, first {absent[0]!r}"
        raise DataError(
            f"{name} has an index that {why}.",
            hint=f"index {name} by the bags' ids, or give it in their order without an index: .to_numpy(). For "
            f"cross-validation, put it into their order first: bags.align({name}).",
        )
    place = {label: i for i, label in enumerate(labels)}
    return np.array([place[x] for x in wanted], dtype=np.int64)
