"""Learn about individuals when all you have is sums.

Containers are here: `Domain`, `Margins`, `Contests`, `Bags`, `Table`, `Tables`; so are the answers: `Draws`,
`Estimate`, `Fit`. Methods are in families: `sumwise.ecological`, `sumwise.proportions`, `sumwise.distribution`,
`sumwise.collective`, `sumwise.maxent`; `sumwise.flows` and `sumwise.voting` build on them.
The ways in are `Schema`, `sumwise.aggregate`, `sumwise.privacy`, `sumwise.io.formats`, `sumwise.datasets` and
`sumwise.synthetic`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sumwise.bags import Bags
from sumwise.contests import Contests
from sumwise.domain import Domain
from sumwise.draws import Draws
from sumwise.errors import DataError, NotConverged
from sumwise.estimate import Estimate
from sumwise.fit import Fit
from sumwise.io.persistence import load, save
from sumwise.margins import Margins
from sumwise.tables import Table, Tables
from sumwise.version import __version__ as __version__

if TYPE_CHECKING:
    from sumwise.schema import Schema

__all__ = [
    "Bags",
    "Contests",
    "DataError",
    "Domain",
    "Draws",
    "Estimate",
    "Fit",
    "Margins",
    "NotConverged",
    "Schema",
    "Table",
    "Tables",
    "load",
    "save",
]

_SUBMODULES = frozenset(
    [
        "aggregate",
        "collective",
        "datasets",
        "distribution",
        "ecological",
        "encoding",
        "flows",
        "maxent",
        "metrics",
        "noise",
        "plots",
        "privacy",
        "proportions",
        "report",
        "schema",
        "synthetic",
        "voting",
    ]
)


def __getattr__(name: str) -> Any:
    """Load a family the first time it is named: ``sumwise.ecological.King``."""
    if name == "Schema":  # it needs no more than questions, until a source is read
        return importlib.import_module("sumwise.schema").Schema
    if name in _SUBMODULES:
        return importlib.import_module(f"sumwise.{name}")
    raise AttributeError(f"module 'sumwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES, "Schema"})
