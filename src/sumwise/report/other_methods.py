"""Which other methods are worth comparing with a fitted one, and the comparison; estimates and their truth."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sumwise.errors import DataError
from sumwise.estimator import family_of

MAX_SIMULATED_CELLS = (
    10_000  # units x cells from which samplers and simulations, a minute or more, are left out of the comparison
)
MANY_CELLS = 50  # groups x outcomes: King fits each by itself, and chains of so many parameters mix slowly
BY_FAMILY = {
    "ecological": ("EcologicalEM", "King", "MultinomialDirichlet", "Goodman"),
    "proportions": ("CardinalityClassifier", "MeanMap", "AlternatingMeanMap", "MeanEmbeddingClassifier"),
    "maxent": ("MaxEntClassifier", "NaiveBayesTables", "BestPair"),
}


def other_methods(model: Any, data: Any, random_state: Any = 0) -> tuple[dict[str, Any], list[str]]:
    """Other methods for the same data, not fitted, and the names of those left out because they would take long.

    Parameters
    ----------
    model : estimator
    data : what it is fitted to
        Margins, (Bags, counts) or Tables.
    random_state : int or None, default 0

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.report.other_methods import other_methods
    >>> from sumwise.ecological import EcologicalEM
    >>> list(other_methods(EcologicalEM(), synthetic.precincts(40, random_state=0).margins)[0])
    ['King', 'MultinomialDirichlet', 'Goodman']
    """
    family, own = family_of(model), type(model).__name__
    names, left = [n for n in BY_FAMILY.get(family, ()) if n != own], []
    if hasattr(model, "level_means"):
        names = []  # of amounts: the other methods on tables are classifiers
    if family == "ecological":
        if own == "Bounds" or min(data.n_rows, data.n_cols) < 2:
            names = []
        elif (cells := data.n_rows * data.n_cols) > MANY_CELLS or data.n_units * cells > MAX_SIMULATED_CELLS:
            left = [n for n in names if n in ("King", "MultinomialDirichlet")]
    package = importlib.import_module(f"sumwise.{family}")
    others = {n: getattr(package, n)() for n in names if n not in left}
    for other in others.values():
        if "random_state" in other.get_params(deep=False):
            other.set_params(random_state=random_state)
    return others, left


def fit_others(others: Any, arguments: tuple, step: Any = None) -> tuple[dict[str, Any], dict[str, str]]:
    """Fit other methods to the same data; return those that were fitted, and why the rest could not be.

    Parameters
    ----------
    others : mapping of name to estimator
        Fitted ones are taken as they are.
    arguments : tuple
        Of ``fit``.
    step : callable, optional
        ``step(name, compute)`` runs one fit; the command line keeps what it returns.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.report.other_methods import fit_others
    >>> from sumwise.ecological import Goodman
    >>> fits, failed = fit_others({"Goodman": Goodman()}, (Margins([[3, 0], [3, 0]], [[2, 1], [1, 2]]),))
    >>> list(fits), failed["Goodman"][:21]
    ([], "Group 'row1' has nobo")
    """
    fits, failed = {}, {}
    for name, other in others.items():
        try:
            check_is_fitted(other)
            fits[name] = other
        except NotFittedError:
            compute = lambda other=other: _quietly(clone(other), arguments)  # noqa: E731
            try:
                fits[name] = compute() if step is None else step(f"compare {name}", compute)
            except DataError as error:
                failed[name] = error.message
    return fits, failed


def _quietly(model: Any, arguments: tuple) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*arguments)


def share_differences(fits: Any, level: float = 0.95) -> list[dict[str, Any]]:
    """How far the shares of other methods are from the first one's, and how many lie inside its intervals.

    Parameters
    ----------
    fits : mapping of name to fitted estimator on margins
        The first is the reference.
    level : float in (0, 1), default 0.95

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.report.other_methods import share_differences
    >>> from sumwise.ecological import EcologicalEM, Goodman
    >>> m = synthetic.precincts(40, random_state=0).margins
    >>> share_differences({"EM": EcologicalEM().fit(m), "Goodman": Goodman().fit(m)})[0]["mean difference"]
    0.0
    """
    first = next(iter(fits.values()))
    low, high = first.interval(level)
    rows = []
    for name, est in fits.items():
        gap = np.abs(est.shares_ - first.shares_)
        inside = (est.shares_ >= low) & (est.shares_ <= high)
        rows.append(
            {
                "method": name,
                "converged": bool(est.fit_.converged),
                "mean difference": float(gap.mean()),
                "largest difference": float(gap.max()),
                "inside the intervals": float(inside.mean()),
            }
        )
    return rows
