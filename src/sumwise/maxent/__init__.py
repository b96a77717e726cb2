"""Classifiers of individuals from contingency tables.

Names are loaded when they are first used, so that the kernels for devices need NumPy and torch alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sumwise.maxent.agreement import TablesFit
    from sumwise.maxent.best_pair import BestPair
    from sumwise.maxent.cross_logistic import SampledLogistic, skyline
    from sumwise.maxent.max_ent import MaxEntClassifier
    from sumwise.maxent.naive_bayes import NaiveBayesTables
    from sumwise.maxent.options import SolverOptions

__all__ = [
    "BestPair",
    "MaxEntClassifier",
    "NaiveBayesTables",
    "SampledLogistic",
    "SolverOptions",
    "TablesFit",
    "skyline",
]

_HOME = {
    "BestPair": "best_pair",
    "MaxEntClassifier": "max_ent",
    "NaiveBayesTables": "naive_bayes",
    "SampledLogistic": "cross_logistic",
    "SolverOptions": "options",
    "TablesFit": "agreement",
    "skyline": "cross_logistic",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sumwise.maxent' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"sumwise.maxent.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
