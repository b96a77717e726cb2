"""Classifiers and regressors of individuals from contingency tables.

Names are loaded when they are first used, so that the kernels for devices need NumPy and torch alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sumwise.maxent.amounts import amount_sums, amount_tables
    from sumwise.maxent.best_pair import BestPair
    from sumwise.maxent.cross_logistic import SampledLogistic, skyline
    from sumwise.maxent.dropping import drop_tied
    from sumwise.maxent.max_ent import MaxEntClassifier
    from sumwise.maxent.merging import merge_levels
    from sumwise.maxent.method_choice import default_method
    from sumwise.maxent.naive_bayes import NaiveBayesTables
    from sumwise.maxent.options import SolverOptions
    from sumwise.maxent.regressor import MaxEntRegressor
    from sumwise.maxent.support import Support, can_support
    from sumwise.maxent.tree_augmented import TreeAugmentedNaiveBayes

__all__ = [
    "BestPair",
    "MaxEntClassifier",
    "MaxEntRegressor",
    "NaiveBayesTables",
    "SampledLogistic",
    "SolverOptions",
    "Support",
    "TreeAugmentedNaiveBayes",
    "amount_sums",
    "amount_tables",
    "can_support",
    "default_method",
    "drop_tied",
    "merge_levels",
    "skyline",
]

_HOME = {
    "BestPair": "best_pair",
    "MaxEntClassifier": "max_ent",
    "MaxEntRegressor": "regressor",
    "NaiveBayesTables": "naive_bayes",
    "SampledLogistic": "cross_logistic",
    "SolverOptions": "options",
    "Support": "support",
    "TreeAugmentedNaiveBayes": "tree_augmented",
    "amount_sums": "amounts",
    "amount_tables": "amounts",
    "can_support": "support",
    "default_method": "method_choice",
    "drop_tied": "dropping",
    "merge_levels": "merging",
    "skyline": "cross_logistic",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sumwise.maxent' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"sumwise.maxent.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
