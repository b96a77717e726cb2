"""Memory foreseen: what work would take is compared with what is free before it starts, and refused with the number."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sumwise.errors import DataError

__all__ = ["available_bytes", "check_fits", "explain_out_of_memory", "in_words", "out_of_memory_explained"]

ASKED_FOR = re.compile(
    r"(?:Unable|Tried) to allocate ([\d.]+ [KMGTPE]iB)|tried to allocate (\d+) bytes"
)  # NumPy; torch
TORCH = ("out of memory", "can't allocate memory", "not enough memory")  # it raises a RuntimeError


def dense(given: Any) -> Any:
    """Return a sparse matrix of SciPy's as an array, where memory holds it; anything else as it is.

    Examples
    --------
    >>> from scipy import sparse
    >>> from sumwise.memory import dense
    >>> dense(sparse.eye_array(2))
    array([[1., 0.],
           [0., 1.]])
    """
    if not (hasattr(given, "toarray") and hasattr(given, "nnz")):
        return given
    n_rows, n_columns = (given.shape[0], given.shape[-1])
    driver = f"{n_rows:,} rows of {n_columns:,} columns, zeros included"
    check_fits(8.0 * n_rows * n_columns, "A sparse matrix as rows of bags", driver, "give fewer columns or rows.")
    return given.toarray()


def check_fits(n_bytes: float, doing: str, driver: str, hint: str) -> None:
    """Refuse work that free memory won't hold.

    Parameters
    ----------
    n_bytes : float
        What the work takes at its peak, beyond what is held already.
    doing : str
        What would take it, as a sentence begins: ``"Counting 3 tables"``.
    driver : str
        What takes most, with its size: ``"the table over 'site' x 'user': 1,000,000 cells"``.
    hint : str
        What to change.

    Examples
    --------
    >>> from sumwise.memory import check_fits
    >>> check_fits(2**10, "Counting", "one table: 32 cells", "count fewer.")
    >>> check_fits(2**60, "Counting", "one table: 2^55 cells", "merge levels.")
    Traceback (most recent call last):
    sumwise.errors.DataError: Counting would take about 1,073,741,824.0 GiB of memory, and ... are free. Most is ...
    """
    free = available_bytes()
    if free is not None and n_bytes > free:
        raise DataError(
            f"{doing} would take about {in_words(n_bytes)} of memory, and {in_words(free)} are free. Most is {driver}.",
            hint=hint,
        )


def available_bytes() -> int | None:
    """Memory that this process may still take: of the system, its container and its own limit; None if none says.

    Examples
    --------
    >>> from sumwise.memory import available_bytes
    >>> free = available_bytes()
    >>> free is None or free > 0
    True
    """
    known = [found for found in (_meminfo(), _cgroup(), _rlimit()) if found is not None]
    return min(known) if known else None


def in_words(n_bytes: float) -> str:
    """A size in MiB, or in GiB from half a one.

    Examples
    --------
    >>> from sumwise.memory import in_words
    >>> in_words(3 * 2**20), in_words(3 * 2**30)
    ('3 MiB', '3.0 GiB')
    """
    return f"{n_bytes / 2**30:,.1f} GiB" if n_bytes >= 2**29 else f"{n_bytes / 2**20:,.0f} MiB"


def explain_out_of_memory(fit: Callable) -> Callable:
    """Let a method that runs out of memory after all say so in one line, with the size where it is known.

    Examples
    --------
    >>> from sumwise.memory import explain_out_of_memory
    >>> class Large:
    ...     @explain_out_of_memory
    ...     def fit(self, data):
    ...         raise MemoryError("Unable to allocate 7.45 GiB for an array")
    >>> Large().fit(None)
    Traceback (most recent call last):
    sumwise.errors.DataError: Large ran out of memory: 7.45 GiB more were asked for. Hint: ...
    """

    @functools.wraps(fit)
    def explained(self: Any, *given: Any, **options: Any) -> Any:
        try:
            return fit(self, *given, **options)
        except (MemoryError, RuntimeError) as error:
            if not _is_memory(error):
                raise
            raise _ran_out(type(self).__name__, error) from error

    return explained


@contextmanager
def out_of_memory_explained(what: str) -> Iterator[None]:
    """Let work that runs out of memory after all say so in one line, with the size where it is known.

    Examples
    --------
    >>> from sumwise.memory import out_of_memory_explained
    >>> with out_of_memory_explained("Counting"):
    ...     raise MemoryError
    Traceback (most recent call last):
    sumwise.errors.DataError: Counting ran out of memory. Hint: ...
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not _is_memory(error):
            raise
        raise _ran_out(what, error) from error


def _is_memory(error: MemoryError | RuntimeError) -> bool:
    return isinstance(error, MemoryError) or any(words in str(error) for words in TORCH)


def _ran_out(what: str, error: MemoryError | RuntimeError) -> DataError:
    asked = ASKED_FOR.search(str(error))
    size = None if asked is None else asked[1] or in_words(int(asked[2]))
    amount = f": {size} more were asked for" if size else ""
    hint = "give fewer units, rows, levels or features, or use a machine with more memory."
    return DataError(f"{what} ran out of memory{amount}.", hint=hint)


def at_caller(stacklevel: int) -> int:
    """The stack level of a warning past the wrapper of `explain_out_of_memory`, so that it names the caller's line."""
    frame = inspect.currentframe()
    for _ in range(stacklevel):
        frame = None if frame is None else frame.f_back
    while frame is not None and frame.f_code.co_filename == __file__:
        stacklevel, frame = stacklevel + 1, frame.f_back
    return stacklevel


def _meminfo() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _cgroup() -> int | None:
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as limit:
            most = int(limit.read())
        with open("/sys/fs/cgroup/memory.current", encoding="ascii") as used:
            return max(most - int(used.read()), 0)
    except (OSError, ValueError):
        return None


def _rlimit() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit: Any = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as pages:
            return max(int(limit) - int(pages.read().split()[0]) * resource.getpagesize(), 0)
    except (OSError, ValueError):
        return int(limit)
