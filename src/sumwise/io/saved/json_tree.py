"""Any supported value to a JSON tree and a list of arrays, and back: `Encoder` and `Decoder`."""

from __future__ import annotations

import importlib
import math
import reprlib
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NoReturn

import numpy as np

from sumwise.errors import DataError, SumwiseError

HANDLERS = {
    "builtins": ("plain",),
    "numpy": ("arrays", "randomness"),
    "scipy": ("sparse",),
    "pandas": ("frames",),
    "sklearn": ("scikit", "trees"),
    "sumwise": ("classes",),
}
"""Which files of this folder know the classes of which package."""

TAGS = {
    "plain": ("int", "float", "complex", "tuple", "dict", "items", "set", "frozenset", "slice", "type"),
    "arrays": ("array", "constant", "objects", "scalar", "dtype"),
    "randomness": ("generator", "random_state"),
    "sparse": ("sparse",),
    "frames": ("frame", "series", "index", "values", "missing"),
    "scikit": ("scikit",),
    "trees": ("tree", "predictor"),
    "classes": ("noun", "estimator"),
}
"""Which tags of the JSON tree each of them writes and reads."""

FILE_OF_TAG = {tag: name for name, tags in TAGS.items() for tag in tags}
LARGEST_JSON_INT = 2**53  # beyond it other readers of JSON round
MOST_AXES = 64  # of an array of NumPy
LONGEST_PLACE = 1000  # characters of a path to a value; long names in each other would take far more room than the file


class Encoder:
    """Turn a value into a JSON tree; arrays are put aside in ``arrays``, untouched.

    With ``layout=False`` equal values give equal trees: neither the order of a dict's keys nor how an array
    lies in memory shows.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.io.saved.json_tree import Encoder
    >>> encoder = Encoder()
    >>> encoder.encode({"a": (1, np.zeros(3))}, "example")
    {'dict': {'a': {'tuple': [1, {'array': 'array-0.npy'}]}}}
    >>> [a.shape for a in encoder.arrays]
    [(3,)]
    """

    def __init__(self, layout: bool = True) -> None:
        self.layout = layout
        self.arrays: list[np.ndarray] = []
        self._names: dict[int, str] = {}

    def encode(self, value: Any, where: str) -> Any:
        """Encode one value; ``where`` is its path, for the error that refuses it."""
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if abs(value) <= LARGEST_JSON_INT else {"int": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        for name in HANDLERS.get(kind.__module__.partition(".")[0], ()):
            tagged = _handler(name).encode(self, value, where)
            if tagged is not None:
                return tagged
        refuse(value, where)

    def each(self, values: Iterable[Any], where: str) -> list[Any]:
        """Encode a sequence."""
        return [self.encode(value, f"{where}[{i}]") for i, value in enumerate(values)]

    def named(self, values: dict[str, Any], where: str) -> dict[str, Any]:
        """Encode the attributes of an object."""
        items = values.items() if self.layout else sorted(values.items())
        return {name: self.encode(value, f"{where}.{name}") for name, value in items}

    def put(self, array: np.ndarray) -> str:
        """Put an array aside; the name of its member in the file. One array in two places stays one."""
        if self.layout and id(array) in self._names:
            return self._names[id(array)]
        self.arrays.append(array)  # which also keeps its id from being given to another
        return self._names.setdefault(id(array), f"array-{len(self.arrays) - 1}.npy")


class Decoder:
    """Turn a JSON tree back into the value; ``fetch`` gives an array by the name of its member.

    ``limit`` is how many bytes the value may come to; a few bytes of a file can declare any size.

    Examples
    --------
    >>> from sumwise.io.saved.json_tree import Decoder
    >>> Decoder(fetch=dict().get).decode({"tuple": [1, {"float": "nan"}]}, "example")
    (1, nan)
    """

    def __init__(self, fetch: Callable[[str], np.ndarray], limit: float = 2**40) -> None:
        self._fetch = fetch
        self._limit, self._spent = limit, 0
        self._fetched: dict[Any, np.ndarray] = {}

    def fetch(self, name: Any, where: str = "object") -> np.ndarray:
        """Return an array by the name of its member: the same one each time."""
        if name not in self._fetched:
            self._fetched[name] = self._fetch(name)
        array = self._fetched[name]
        self.spend(array.shape, array.itemsize, where)
        return array

    def spend(self, shape: Iterable[int], itemsize: int, where: str) -> None:
        """Count what an array of some shape takes, before it is made; an axis of no length counts as one."""
        shape = tuple(shape)
        if len(shape) > MOST_AXES:
            raise DataError(f"{where}: the file says a shape of {len(shape)} axes.")
        if any(type(n) is not int or not 0 <= n < 2**63 for n in shape):
            raise DataError(f"{where}: the file says shape {reprlib.repr(shape)}.")
        self._spent += itemsize * math.prod(max(n, 1) for n in shape)
        if self._spent > self._limit:
            raise DataError(
                f"{where}: the file is small and declares values of {self._spent:,} bytes or more; it isn't read.",
                hint="save the object again with this version of sumwise.",
            )

    def decode(self, node: Any, where: str) -> Any:
        """Decode one node; any failure is a DataError that says where."""
        if len(where) > LONGEST_PLACE:
            where = f"{where[:100]}...{where[-100:]}"
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return self.each(node, where)
        if not isinstance(node, dict) or len(node) != 1:
            raise DataError(f"{where}: the file contains no value here that sumwise could read.")
        ((tag, body),) = node.items()
        if tag not in FILE_OF_TAG:
            raise DataError(f"{where}: the file contains a value of the unknown sort {tag!r}.")
        try:
            return _handler(FILE_OF_TAG[tag]).decode(self, tag, body, where)
        except (SumwiseError, MemoryError, RecursionError):
            raise
        except Exception as error:  # whatever a damaged file makes NumPy, pandas or a constructor say
            reason = f"{type(error).__name__}: {error}"
            raise DataError(f"{where}: the file contains no valid {tag} here ({reason}).") from error

    def each(self, nodes: Any, where: str) -> list[Any]:
        """Decode a sequence."""
        if not isinstance(nodes, list):
            raise DataError(f"{where}: the file contains no list here.")
        return [self.decode(node, f"{where}[{i}]") for i, node in enumerate(nodes)]

    def named(self, nodes: Any, where: str) -> dict[str, Any]:
        """Decode the attributes of an object."""
        if not isinstance(nodes, dict):
            raise DataError(f"{where}: the file contains no attributes here.")
        return {name: self.decode(node, f"{where}.{name}") for name, node in nodes.items()}

    def array(self, node: Any, where: str) -> np.ndarray:
        """Decode a node that has to be a numeric array."""
        value = self.decode(node, where)
        if type(value) is not np.ndarray or value.dtype == object:
            raise DataError(f"{where}: the file contains no array here.")
        return value


def refuse(value: Any, where: str, hint: str | None = None) -> NoReturn:
    """Raise the error that says which part of an object can't be saved."""
    raise DataError(f"{where}: {_described(value)} can't be saved.", hint=hint)


def _described(value: Any) -> str:
    kind = type(value)
    if isinstance(value, FunctionType | BuiltinFunctionType | MethodType):
        return "a function"
    if isinstance(value, type):
        return f"the class {value.__module__}.{value.__qualname__}"
    if isinstance(value, np.ndarray) and kind is np.ndarray:
        return f"an array of dtype {value.dtype}"
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"an object of class {name}"


def _handler(name: str) -> Any:
    return importlib.import_module(f"sumwise.io.saved.{name}")  # the names above, never one from a file
