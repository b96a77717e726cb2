"""Record: what a generator returns: containers, the truth behind them, and a readable face."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from sumwise.display import finding_html


class Record:
    """Base of the generators' frozen records: arrays can't be written to, and `repr` has one line per field.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> synthetic.xor(1000, random_state=0)
    Xor
      tables               Tables(...)
      ...
    """

    def __post_init__(self):
        for value in self._contents().values():
            for array in value.values() if isinstance(value, dict) else (value,):
                if isinstance(array, np.ndarray):
                    array.flags.writeable = False

    def _contents(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]  # records are dataclasses

    def _repr_html_(self) -> str:
        import pandas as pd

        rows = {"field": list(self._contents()), "contains": [_described(v) for v in self._contents().values()]}
        words = f"Generated data ({type(self).__name__}) with the truth behind them."
        return finding_html(words, pd.DataFrame(rows))

    def __repr__(self) -> str:
        lines = [f"  {name:<20} {_described(value)}" for name, value in self._contents().items()]
        return "\n".join([type(self).__name__, *lines])


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array {value.shape} {value.dtype}"
    if isinstance(value, dict):
        if not value:
            return "empty dict"
        key, first = next(iter(value.items()))
        return f"dict of {len(value)}; {key!r}: {_described(first)}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__} of {len(value)}; first {value[0]!r}" if len(value) > 4 else repr(value)
    if hasattr(value, "nnz"):
        return f"sparse {value.shape} with {value.nnz:,} entries"
    return repr(value)
