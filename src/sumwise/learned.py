"""What a fitted estimator has learned, by name: kinds and sizes that fit each other, checked where one is rebuilt."""

from __future__ import annotations

import datetime
import decimal
import re
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError

KINDS = {"float": "f", "real": "iuf", "count": "iuf", "int": "iu", "bool": "b"}
AXIS = re.compile(r"(?P<name>[A-Za-z]\w*)?(?P<add>[+-]?\d+)?")


def check_learned(thing: Any, rules: str) -> None:
    """Refuse an estimator whose learned parts don't fit each other; one that hasn't learned anything passes.

    Parameters
    ----------
    thing : estimator
    rules : str
        What each part is, as ``"names: rule; names: rule"``. A name may lead into a part (``features_.names``); ``?``
        behind it stands for a part that may be None, ``??`` for one that may be absent, and ``?d`` for one that may be
        if no part before it has a length `d` above 0. A rule is

        - ``float n d``: an array of finite numbers with axes of those lengths. A length is a number, ``*`` for any,
          ``+`` for one or more, or a name that is the same length everywhere, with a number added or not (``d+1``).
          ``real`` allows whole numbers and those that aren't finite, ``count`` those up to 2^53 and missing ones;
          ``int`` and ``bool`` are other kinds, and
          ``int<m n`` holds positions below length m.
        - ``len d``: a sequence of that length; ``size d``: that length as a number; ``number``: a finite number.
        - ``names d``: a tuple or list of that length of texts, numbers and dates; ``levels``: a dict of such tuples.
        - ``is Columns``: an object of that class, or of one that derives from it; ``does transform``: with that method.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from sumwise.learned import check_learned
    >>> check_learned(SimpleNamespace(mean_=np.zeros(2), root_=np.eye(3)), "mean_: float d; root_: float d d")
    Traceback (most recent call last):
    sumwise.errors.DataError: root_ is no float array of shape (d, d) with d = 2. Hint: save the object again.
    """
    parts = [part.partition(":") for part in rules.split(";") if part.strip()]
    each = {name.strip(): rule.strip() for names, _, rule in parts for name in names.split(",")}
    if not any(hasattr(thing, name) for name in each):
        return
    sizes: dict[str, int] = {}
    for name, rule in each.items():
        (plain, optional, more), value = name.partition("?"), thing
        for step in plain.split("."):
            value = getattr(value, step, None)
        of_none = {"": hasattr(thing, plain), "?": True}.get(more, not sizes.get(more))
        if value is None and optional and of_none:
            continue
        check_part(plain, value, rule, sizes)


def check_part(name: str, value: Any, rule: str, sizes: dict[str, int]) -> None:
    """Refuse one learned part that isn't what its rule says; lengths that are new are put into `sizes`.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.learned import check_part
    >>> sizes = {"d": 2}
    >>> check_part("coef_", np.zeros((2, 3)), "float d k", sizes)
    >>> sizes
    {'d': 2, 'k': 3}
    """
    kind, *axes = rule.split()
    if not _fits(value, kind, axes, sizes):
        known = ", ".join(f"{k} = {n}" for k, n in sizes.items() if k in re.findall(r"[A-Za-z]\w*", rule))
        said = f"{kind} array of shape ({', '.join(axes)})" if kind.partition("<")[0] in KINDS else rule
        raise DataError(f"{name} is no {said}{known and ' with '}{known}.", hint="save the object again.")


def _fits(value: Any, kind: str, axes: list[str], sizes: dict[str, int]) -> bool:
    if kind == "is":
        return any(base.__name__ == axes[0] for base in type(value).__mro__)
    singles = {
        "does": lambda: callable(getattr(value, axes[0], None)),
        "number": lambda: isinstance(value, (int, float, np.number)) and bool(np.isfinite(value)),
        "size": lambda: isinstance(value, (int, np.integer)) and _same(axes[0], int(value), sizes),
        "levels": lambda: isinstance(value, dict) and all(map(_are_names, ([*value], *value.values()))),
    }
    if kind in singles:
        return singles[kind]()
    if kind in ("len", "names"):
        sequence = isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim == 1)
        return sequence and (kind == "len" or _are_names(value)) and _same(axes[0], len(value), sizes)
    return _is_array(value, kind, axes, sizes)


def _are_names(value: Any) -> bool:
    """Whether a value is a sequence of single values, such as names of columns and levels are."""
    plain = (str, int, float, np.generic, datetime.date, decimal.Decimal, type(None))
    return isinstance(value, (tuple, list)) and all(isinstance(x, plain) for x in value)


def _is_array(value: Any, kind: str, axes: list[str], sizes: dict[str, int]) -> bool:
    kind, _, bound = kind.partition("<")
    if type(value) is not np.ndarray or value.dtype.kind not in KINDS[kind] or value.ndim != len(axes):
        return False
    if not all(_same(axis, n, sizes) for axis, n in zip(axes, value.shape)):
        return False
    if bound and value.size:
        return bool(value.min() >= 0 and value.max() < sizes[bound])
    if kind == "count":
        return not (np.abs(value) > checks.LARGEST_EXACT).any()
    return kind != "float" or bool(np.isfinite(value).all())


def _same(axis: str, n: int, sizes: dict[str, int]) -> bool:
    """Whether an axis has its length; a name that is new takes it."""
    if axis in ("*", "+"):
        return n >= (axis == "+")
    match = AXIS.fullmatch(axis)
    assert match is not None, axis
    added = int(match["add"] or 0)
    return n == added if match["name"] is None else sizes.setdefault(match["name"], n - added) == n - added
