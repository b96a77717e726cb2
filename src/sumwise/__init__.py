"""Learn about individuals when all you have is sums.

Containers are here: `Domain`, `Margins`, `Contests`, `Bags`, `Table`, `Tables`, `Estimate`, `Fit`. Methods are in
families: `sumwise.ecological`, `sumwise.proportions`, `sumwise.distribution`, `sumwise.collective`, `sumwise.maxent`.
The ways in are `sumwise.aggregate`, `sumwise.privacy`, `sumwise.readers`, `sumwise.datasets` and `sumwise.synthetic`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sumwise.bags import Bags
from sumwise.contests import Contests
from sumwise.domain import Domain
from sumwise.errors import DataError, NotConverged
from sumwise.estimate import Estimate
from sumwise.fit import Fit
from sumwise.margins import Margins
from sumwise.persistence import load, save
from sumwise.tables import Table, Tables
from sumwise.version import __version__ as __version__

if TYPE_CHECKING:
    from sumwise.advice import advise

__all__ = [
    "Bags",
    "Contests",
    "DataError",
    "Domain",
    "Estimate",
    "Fit",
    "Margins",
    "NotConverged",
    "Table",
    "Tables",
    "advise",
    "load",
    "save",
]

_SUBMODULES = frozenset(
    [
        "aggregate",
        "collective",
        "datasets",
        "diagnostics",
        "distribution",
        "ecological",
        "encoding",
        "kernels",
        "maxent",
        "metrics",
        "noise",
        "plots",
        "privacy",
        "proportions",
        "readers",
        "report",
        "synthetic",
    ]
)


def __getattr__(name: str) -> Any:
    """Load a family the first time it is named: ``sumwise.ecological.King``."""
    if name == "advise":  # it needs the families, so it isn't loaded with the containers
        return importlib.import_module("sumwise.advice").advise
    if name in _SUBMODULES:
        return importlib.import_module(f"sumwise.{name}")
    raise AttributeError(f"module 'sumwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES, "advise"})
