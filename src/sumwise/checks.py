"""Every input check, with its message: what is wrong, where it is first, how often, and what to do.

Each function returns its input in the form that the caller stores, or raises `DataError`.
Nothing is repaired on the way.
"""

from __future__ import annotations

import datetime
import decimal
import difflib
import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sumwise.errors import DataError, UnknownName

__all__ = [
    "allocation",
    "at_least",
    "choice",
    "counts",
    "dense",
    "finite",
    "fraction",
    "free_memory",
    "frozen",
    "generator",
    "identifiers",
    "known",
    "listing",
    "mapping",
    "name_of_column",
    "names",
    "nowhere",
    "ordinary_file",
    "positive",
    "same_length",
    "same_totals",
    "unique",
    "unit_index",
    "whole",
]

LARGEST_EXACT = 2**53  # above it, a double no longer keeps neighbouring integers apart
LARGEST_COUNT = 1e300  # sums of them stay finite
TOTALS_RTOL = 1e-9


def finite(
    x: Any,
    name: str,
    *,
    ndim: int | None = None,
    labels: Sequence[Sequence | np.ndarray | None] | None = None,
    allow_nan: bool = False,
    allow_bool: bool = False,
    keep_float32: bool = False,
) -> np.ndarray:
    """Return `x` as a new float array without NaN or infinities.

    `labels` names the positions along each axis, for the message. `allow_nan` lets NaN (unobserved) pass.

    Examples
    --------
    >>> from sumwise import checks
    >>> checks.finite([[1, 2]], "x", ndim=2)
    array([[1., 2.]])
    >>> checks.finite([1.0, float("nan")], "x")
    Traceback (most recent call last):
    sumwise.errors.DataError: x is NaN or infinite in 1 of 2 places. First: position 1 has nan. Hint: ...
    """
    array = _as_floats(x, name, labels, allow_bool, keep_float32)
    if ndim is not None and array.ndim != ndim:
        raise DataError(f"{name} has {array.ndim} dimensions (shape {array.shape}); it needs {ndim}.")
    bad = np.isinf(array) if allow_nan else ~np.isfinite(array)
    if bad.any():
        what = "infinite" if allow_nan else "NaN or infinite"
        hint = "use NaN for a cell that was not observed." if allow_nan else "drop or fill such entries first."
        raise DataError(f"{name} is {what} {_where(array, bad, labels)}.", hint=hint)
    return array


def counts(x: Any, name: str, **options: Any) -> np.ndarray:
    """Return `x` as finite numbers that are not negative; they may be fractional.

    Examples
    --------
    >>> from sumwise import checks
    >>> checks.counts([3, -1], "votes")
    Traceback (most recent call last):
    sumwise.errors.DataError: votes is negative in 1 of 2 places. First: position 1 has -1. Hint: counts start at 0.
    """
    array = finite(x, name, **options)
    bad = array < 0
    if bad.any():
        raise DataError(f"{name} is negative {_where(array, bad, options.get('labels'))}.", hint="counts start at 0.")
    bad = array > LARGEST_COUNT
    if bad.any():
        place = _where(array, bad, options.get("labels"))
        raise DataError(f"{name} is too large to be summed {place}.", hint="count in larger units.")
    return array


def whole(x: Any, name: str, **options: Any) -> np.ndarray:
    """Return `x` as finite, non-negative whole numbers (still stored as floats).

    Examples
    --------
    >>> from sumwise import checks
    >>> checks.whole([3, 0], "votes")
    array([3., 0.])
    """
    array = counts(x, name, **options)
    bad = array != np.floor(array)
    if bad.any():
        place = _where(array, bad, options.get("labels"))
        raise DataError(f"{name} is not a whole number {place}.", hint="round the counts, or state their noise.")
    return array


def positive(x: Any, name: str, hint: str | None = None, **options: Any) -> np.ndarray:
    """Return `x` as finite numbers above zero; `hint` says what to do where they aren't.

    Examples
    --------
    >>> from sumwise import checks
    >>> checks.positive([3, 0], "scale")
    Traceback (most recent call last):
    sumwise.errors.DataError: scale is not above zero in 1 of 2 places. First: position 1 has 0.
    """
    array = finite(x, name, **options)
    bad = array <= 0
    if bad.any():
        raise DataError(f"{name} is not above zero {_where(array, bad, options.get('labels'))}.", hint=hint)
    return array


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a view of `array` that can't be written to.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import checks
    >>> checks.frozen(np.zeros(2)).flags.writeable
    False
    """
    view = array.view()
    view.flags.writeable = False
    return view


def listing(value: Any, what: str, hint: str = "give a list.") -> list:
    """Return a sequence as a list; a text, a mapping, a set, a frame or a single value is not a sequence.

    Examples
    --------
    >>> from sumwise.checks import listing
    >>> listing(("a", "b"), "features")
    ['a', 'b']
    """
    flat = getattr(value, "ndim", 1) == 1 and not hasattr(value, "columns")
    if isinstance(value, (str, bytes, Mapping, set, frozenset)) or not flat or not isinstance(value, Iterable):
        shown = repr(value) if isinstance(value, (str, bytes, int, float, type(None))) else f"a {type(value).__name__}"
        raise DataError(f"{what} is {shown}.", hint=hint)
    return [plain(x) for x in value]


def mapping(value: Any, what: str) -> dict:
    """Return a mapping as a dict.

    Examples
    --------
    >>> from sumwise.checks import mapping
    >>> mapping({"a": 1}, "levels")
    {'a': 1}
    """
    if not isinstance(value, Mapping):
        raise DataError(f"{what} is of type {type(value).__name__}.", hint="give a dict.")
    return dict(value)


def name_of_column(value: Any, what: str) -> Any:
    """Return the name of a column, or None; anything but text, a whole number or a tuple of them is refused.

    Examples
    --------
    >>> from sumwise.checks import name_of_column
    >>> name_of_column("puma", "bag")
    'puma'
    """
    value = plain(value)
    if value is not None and (isinstance(value, bool) or not isinstance(value, (str, int, tuple))):
        raise DataError(f"{what} is of type {type(value).__name__}.", hint="give the name of a column.")
    return value


def same_length(**sized: Any) -> int:
    """Check that all named arguments have one length, and return it.

    Examples
    --------
    >>> from sumwise import checks
    >>> checks.same_length(rows=[1, 2], weights=None, cols=[3, 4])
    2
    """
    lengths = {}
    for name, x in sized.items():
        try:
            lengths |= {} if x is None else {name: len(x)}
        except TypeError:
            raise DataError(f"{name} is of type {type(x).__name__}.", hint="give one entry per unit.") from None
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise DataError(f"Lengths differ: {shown}.", hint="give one entry per unit, in the same order.")
    return next(iter(lengths.values()))


def nowhere(bad: Any, what: str, first: Callable[..., str], hint: str | None = None) -> None:
    """Check that nothing is bad; else say how often it is (the last ``{}`` in `what`) and where it is first.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import checks
    >>> checks.nowhere(np.array([False, True]), "{} bags are empty", lambda i: f"bag {i}", "leave them out.")
    Traceback (most recent call last):
    sumwise.errors.DataError: 1 of 2 bags are empty. First: bag 1. Hint: leave them out.
    """
    if bad.any():
        at = (int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
        before, place, after = what.rpartition("{}")  # the last: names that come before may hold braces
        often = f"{int(bad.sum()):,} of {bad.size:,}" if place else ""
        raise DataError(f"{before}{often}{after}. First: {first(*at)}.", hint=hint)


def same_totals(rows: np.ndarray, cols: np.ndarray, units: Sequence | np.ndarray) -> None:
    """Check that row and column totals of every unit agree within a relative 1e-9.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import checks
    >>> checks.same_totals(np.array([[2, 3]]), np.array([[4, 0]]), ["b"])
    Traceback (most recent call last):
    sumwise.errors.DataError: Row and column totals differ in 1 of 1 units. First: unit 'b' has 5 by rows, 4 ...
    """
    by_rows, by_cols = rows.sum(axis=1), cols.sum(axis=1)
    bad = np.abs(by_rows - by_cols) > TOTALS_RTOL * np.maximum(by_rows, by_cols)
    nowhere(
        bad,
        "Row and column totals differ in {} units",
        lambda i: f"unit {plain(units[i])!r} has {by_rows[i]:.10g} by rows, {by_cols[i]:.10g} by columns",
        "drop such units, add a 'not counted' column, or use Margins.from_frame(..., mismatch='rescale' or 'no_vote').",
    )


def names(value: Iterable | None, n: int, what: str, default: str) -> tuple:
    """Return `n` distinct names (str or int), or `default0`, `default1`, ... where none are given.

    Examples
    --------
    >>> from sumwise import checks
    >>> checks.names(None, 2, "features", "x")
    ('x0', 'x1')
    """
    if value is None:
        return tuple(f"{default}{i}" for i in range(n))
    out = tuple(listing(value, what, f"give a list of {n} names."))
    if len(out) != n:
        raise DataError(f"{what} has {len(out)} names for {n} columns.")
    for x in out:
        if not isinstance(x, (str, int)) or isinstance(x, bool):
            raise DataError(f"{what} contains {x!r}, which is not a name.", hint="names are text or whole numbers.")
    unique([str(x) for x in out], what)  # 1 and "1" are one name in every file and message
    return out


def ordinary_file(path: Any) -> None:
    """Refuse a pipe or a device, which might never end; a file, a folder or nothing at all passes.

    Examples
    --------
    >>> from sumwise import checks
    >>> checks.ordinary_file("/dev/null")
    Traceback (most recent call last):
    sumwise.errors.DataError: '/dev/null' is a pipe or a device. Hint: copy what it gives to a file.
    """
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise DataError(f"{os.fspath(path)!r} is a pipe or a device.", hint="copy what it gives to a file.")


def unique(items: Sequence, what: str) -> tuple:
    """Return `items` as a tuple, all distinct and fit to be names.

    Examples
    --------
    >>> from sumwise import checks
    >>> checks.unique(["a", "b", "a"], "units")
    Traceback (most recent call last):
    sumwise.errors.DataError: units contains 1 duplicates. First: 'a'. Hint: make them distinct.
    """
    for x in items:
        if not isinstance(x, Hashable) or type(x).__name__ == "NAType":
            raise DataError(f"{what} contains a {type(x).__name__}, which is not a name.")
    earlier: set = set()
    twice = [x for x in items if x in earlier or earlier.add(x)]
    if twice:
        shown = ", ".join(repr(x) for x in dict.fromkeys(twice[:3]))
        raise DataError(f"{what} contains {len(set(twice))} duplicates. First: {shown}.", hint="make them distinct.")
    return tuple(items)


def identifiers(value: Any, n: int, what: str) -> np.ndarray:
    """Return `n` distinct ids as a read-only array, or 0, 1, ... where none are given.

    Examples
    --------
    >>> from sumwise import checks
    >>> checks.identifiers(["a", "b"], 2, "units").tolist()
    ['a', 'b']
    """
    if value is None:
        return frozen(np.arange(n))
    array = _as_ids(listing(value, what, f"give a sequence of {n} ids."), what)
    if len(array) != n:
        raise DataError(f"{what} has {len(array)} entries for {n} units.")
    nothing = ("NoneType", "NAType", "NaTType")
    missing = np.array([type(x).__name__ in nothing or x != x for x in array.tolist()], dtype=bool)
    nowhere(missing, f"{what} is missing at {{}} places", lambda i: f"position {i}")
    unique(array.tolist(), what)
    return frozen(array)


def bag_weights(bags: Any, value: Any) -> np.ndarray:
    """How much each bag counts, (n_bags,): as given, or 1.

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.checks import bag_weights
    >>> bag_weights(Bags.from_arrays([[1.0], [2.0]]), [2, 0.5])
    array([2. , 0.5])
    """
    if value is None:
        return np.ones(len(bags))
    weights = counts(bags.align(value, "sample_weight"), "sample_weight", ndim=1, labels=[bags.ids])
    same_length(bags=bags, sample_weight=weights)
    if not weights.any():
        raise DataError("All bags have sample_weight 0.", hint="give at least one bag some weight.")
    return weights


def unit_index(index: Any, n: int) -> int | slice | np.ndarray:
    """Return an index over `n` units as one position, a slice, or a flat array of positions.

    A position beyond the last unit is an `IndexError`, as in NumPy; anything that doesn't choose units (a second
    axis, fractions, a mask of another length) is refused. ``[index, ...]`` is how scikit-learn asks.

    Examples
    --------
    >>> from sumwise.checks import unit_index
    >>> unit_index([True, False, True], 3), unit_index(-1, 3)
    (array([0, 2]), 2)
    """
    if isinstance(index, tuple):
        if not index or not all(x is Ellipsis or (isinstance(x, slice) and x == slice(None)) for x in index[1:]):
            raise _no_index(index)
        index = index[0]
    if isinstance(index, (int, np.integer)) and not isinstance(index, bool) and -n <= index < n:
        return int(index) % n
    if index is Ellipsis:
        return slice(None)
    try:
        if isinstance(index, slice):
            index.indices(n)
            return index
        array = np.asarray(index)
    except (TypeError, ValueError):
        raise _no_index(index) from None
    return _positions(array, n, index)


def _positions(array: np.ndarray, n: int, index: Any) -> int | np.ndarray:
    if array.dtype.kind == "b" and array.shape == (n,):
        return np.flatnonzero(array)
    if array.ndim == 1 and not array.size:
        return np.zeros(0, dtype=np.int64)
    if array.ndim > 1 or array.dtype.kind not in "iu":
        raise _no_index(index)
    outside = (array < -n) | (array >= n)
    if outside.any():
        raise IndexError(f"There are {n} units; there is no unit at position {array[outside].flat[0]}.")
    positions = array.astype(np.int64) % n
    return positions if array.ndim else int(positions)


def _no_index(index: Any) -> DataError:
    simple = isinstance(index, (str, int, float, bool, tuple, type(None)))
    return DataError(
        f"Units can't be chosen by {index!r}." if simple else f"Units can't be chosen by a {type(index).__name__}.",
        hint="give a position, a list of them, a slice, or one True or False per unit.",
    )


def known(name: Hashable, options: Iterable[Hashable], what: str) -> None:
    """Check that `name` is one of `options`; else raise `UnknownName` with the nearest ones.

    Examples
    --------
    >>> from sumwise import checks
    >>> checks.known("sax", ["age", "sex"], "attribute")
    Traceback (most recent call last):
    sumwise.errors.UnknownName: There is no attribute 'sax'. Hint: did you mean 'sex'?
    """
    options = list(options)
    if isinstance(name, Hashable) and name in options:
        return
    close = difflib.get_close_matches(str(name), [str(o) for o in options], n=3)
    listed = ", ".join(repr(o) for o in (close or options[:8]))
    more = f" and {len(options) - 8} more" if not close and len(options) > 8 else ""
    raise UnknownName(
        f"There is no {what} {name!r}.", hint=f"did you mean {listed}?" if close else f"there are {listed}{more}."
    )


def choice(value: Any, name: str, options: Sequence) -> Any:
    """Return `value` if it is one of `options`.

    Examples
    --------
    >>> from sumwise import checks
    >>> checks.choice("dual", "method", ("dual", "nlbp"))
    'dual'
    """
    if not any(value is o or (type(value) is type(o) and value == o) for o in options):
        close = difflib.get_close_matches(str(value), [str(o) for o in options], n=1)
        nearest = f"did you mean {close[0]!r}? It" if close else "it"
        raise DataError(f"{name} is {value!r}.", hint=f"{nearest} takes {', '.join(repr(o) for o in options)}.")
    return value


def at_least(value: Any, name: str, low: float, *, whole_number: bool = True) -> Any:
    """Return a single number that is at least `low`.

    Examples
    --------
    >>> from sumwise import checks
    >>> checks.at_least(0, "max_iter", 1)
    Traceback (most recent call last):
    sumwise.errors.DataError: max_iter is 0; it must be a whole number of at least 1.
    """
    kind = (int, np.integer) if whole_number else (int, float, np.integer, np.floating)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, kind) or not np.isfinite(value) or value < low:
        wanted = "a whole number" if whole_number else "a number"
        raise DataError(f"{name} is {value!r}; it must be {wanted} of at least {low:g}.")
    return value


def fraction(value: Any, name: str) -> float:
    """Return a single number strictly between 0 and 1.

    Examples
    --------
    >>> from sumwise import checks
    >>> checks.fraction(0.95, "level")
    0.95
    """
    number = isinstance(value, (float, np.floating, int)) and not isinstance(value, bool)
    if not number or not 0 < value < 1:
        raise DataError(f"{name} is {value!r}; it must lie between 0 and 1.", hint="0.95 means 95%.")
    return float(value)


def generator(random_state: Any = None) -> np.random.Generator:
    """Return the `numpy.random.Generator` of a seed, a Generator (as it is) or None (fresh).

    Examples
    --------
    >>> from sumwise import checks
    >>> int(checks.generator(0).integers(10)) == int(checks.generator(0).integers(10))
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31, size=4).tolist())
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise DataError(
        f"random_state is {random_state!r}.", hint="give a whole number from 0, a numpy.random.Generator, or None."
    )


def plain(x: Any) -> Any:
    """Return a NumPy scalar as the Python object it stands for."""
    return x.item() if isinstance(x, np.generic) else x


def _as_floats(x: Any, name: str, labels: Any, allow_bool: bool, keep_float32: bool) -> np.ndarray:
    try:
        array = np.asarray(x)
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{name} can't be read as an array: {error}.", hint="rows must have equal lengths.") from None
    if np.ma.isMaskedArray(x) and np.ma.getmaskarray(x).any():
        raise DataError(f"{name} is a masked array with masked entries.", hint="fill or drop them first.")
    kind = array.dtype.kind
    if kind == "O":
        return _from_objects(array, name, labels, allow_bool)
    if kind not in ("iufb" if allow_bool else "iuf"):
        raise DataError(f"{name} has dtype {array.dtype}; it must contain numbers.", hint="convert the column first.")
    if kind in "iu" and array.size and max(int(array.max()), -int(array.min())) > LARGEST_EXACT:
        _too_large(array, name, labels)
    wanted = np.float32 if keep_float32 and array.dtype == np.float32 else np.float64
    with np.errstate(over="ignore"):
        return array.astype(wanted, order="C", copy=True)


def _from_objects(array: np.ndarray, name: str, labels: Any, allow_bool: bool) -> np.ndarray:
    flat = array.ravel()
    accepted = (int, float, np.integer, np.floating, decimal.Decimal)
    for position, x in enumerate(flat):
        boolean = isinstance(x, (bool, np.bool_))
        if (boolean and not allow_bool) or not (boolean or isinstance(x, accepted)):
            mask = np.zeros(flat.shape, dtype=bool)
            mask[position] = True
            place = _place(np.unravel_index(position, array.shape), labels)
            what = "missing" if x is None or type(x).__name__ in ("NAType", "NaTType") else f"{x!r}, no number"
            raise DataError(f"{name} contains {what}, first at {place}.", hint="convert, drop or fill such entries.")
        if _beyond_exact(x):
            _too_large(array, name, labels)
    return array.astype(np.float64)


def _too_large(array: np.ndarray, name: str, labels: Any) -> None:
    flat = np.array([_beyond_exact(x) for x in array.ravel()])
    place = _place(np.unravel_index(int(np.argmax(flat)), array.shape), labels)
    raise DataError(
        f"{name} contains {int(flat.sum())} whole numbers above 2**53, first at {place}: they can't be kept exactly.",
        hint="count in thousands, or give floats if rounding is meant.",
    )


def _beyond_exact(x: Any) -> bool:
    if isinstance(x, decimal.Decimal):
        return x.is_finite() and abs(x) > LARGEST_EXACT
    return isinstance(x, (int, np.integer)) and abs(int(x)) > LARGEST_EXACT


def _as_ids(listed: list, what: str) -> np.ndarray:
    for x in listed:
        if not isinstance(x, Hashable):
            raise DataError(f"{what} contains {x!r}, which can't be an id.", hint="ids are text, numbers or dates.")
    if len({type(x) for x in listed}) == 1 and isinstance(listed[0], (str, int, float)):
        try:
            return np.asarray(listed)
        except OverflowError:
            pass  # whole numbers beyond 64 bits stay what they are, like mixed ids
    if listed and all(type(x) is datetime.date for x in listed):
        return np.array(listed, dtype="datetime64[D]")
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def _where(array: np.ndarray, bad: np.ndarray, labels: Any) -> str:
    n = int(bad.sum())
    index = np.unravel_index(int(np.argmax(bad)), bad.shape) if bad.ndim else ()
    return f"in {n} of {bad.size} places. First: {_place(index, labels)} has {array[index]:.10g}"


def _place(index: Sequence, labels: Any) -> str:
    if not len(index):
        return "the value"
    shown = []
    for axis, i in enumerate(index):
        known_labels = labels[axis] if labels is not None and axis < len(labels) else None
        shown.append(f"{int(i)}" if known_labels is None else f"{plain(known_labels[int(i)])!r}")
    return f"position ({', '.join(shown)})" if len(shown) > 1 else f"position {shown[0]}"


def dense(value: Any) -> Any:
    """Return a sparse matrix of SciPy's as an array; anything else as it is.

    Examples
    --------
    >>> from scipy import sparse
    >>> from sumwise.checks import dense
    >>> dense(sparse.eye_array(2))
    array([[1., 0.],
           [0., 1.]])
    """
    if not (hasattr(value, "toarray") and hasattr(value, "nnz")):
        return value
    allocation("The sparse matrix as an array", value.shape, hint="give fewer columns or rows.")
    return value.toarray()


def allocation(what: str, *shapes: Sequence[int], hint: str, itemsize: int = 8) -> None:
    """Refuse arrays that are about to be allocated, if free memory doesn't hold them.

    NumPy refuses little itself: Linux grants memory that it doesn't have, and ends the process that uses it.

    Parameters
    ----------
    what : str
        What needs the arrays, as a sentence begins.
    *shapes : sequences of int
        Their shapes.
    hint : str
        What to change.
    itemsize : int, default 8
        Bytes of a number.

    Examples
    --------
    >>> from sumwise.checks import allocation
    >>> allocation("Counting", (2, 3), hint="merge levels.")
    >>> allocation("Counting", (2**30, 2**30), hint="merge levels.")
    Traceback (most recent call last):
    sumwise.errors.DataError: Counting needs 8,589,934,592.0 GiB of memory, ... is an array of 1,073,741,824 x ...
    """
    n_bytes = itemsize * sum(math.prod(map(int, shape)) for shape in shapes)
    free = free_memory()
    if free is None or n_bytes <= free:
        return
    largest = max(shapes, key=lambda shape: math.prod(map(int, shape)))
    needed, available = (f"{size / 2**30:,.1f} GiB" for size in (n_bytes, free))
    raise DataError(
        f"{what} needs {needed} of memory, and {available} are free; most is an array of "
        f"{' x '.join(f'{int(n):,}' for n in largest)}.",
        hint=hint,
    )


def free_memory() -> int | None:
    """Bytes that this process may still take, by the system, its container and its own limit; None if none says.

    Examples
    --------
    >>> from sumwise.checks import free_memory
    >>> free = free_memory()
    >>> free is None or free >= 0
    True
    """
    limits = [limit for limit in (_free_of_system(), _free_of_container(), _free_of_process()) if limit is not None]
    return min(limits) if limits else None


def _free_of_system() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None


def _free_of_container() -> int | None:
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as limit:
            most = int(limit.read())
        with open("/sys/fs/cgroup/memory.current", encoding="ascii") as used:
            return max(most - int(used.read()), 0)
    except (OSError, ValueError):
        return None


def _free_of_process() -> int | None:
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        with open("/proc/self/statm", encoding="ascii") as pages:
            used = int(pages.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):  # Windows; macOS
        return None
    return None if limit == resource.RLIM_INFINITY else max(limit - used, 0)
