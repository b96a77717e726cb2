"""The bootstrap over bags: how a classifier would differ had other bags been drawn."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.checkpoint import Checkpoint, fingerprint
from sumwise.display import finding_html
from sumwise.errors import DataError, NotConverged
from sumwise.progress import Progress

REDRAWS = 1000  # samples of bags that can't be fitted, in a row, before there is an error


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Classifiers fitted to resampled bags; made by `bootstrap`.

    Parameters
    ----------
    fitted : tuple
        The classifiers.
    n_stopped : int
        How many of them stopped before they converged.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.proportions import CardinalityClassifier, bootstrap
    >>> data = synthetic.election(30, 20, n_categorical=0, mean_weight=1, weight_spread=0, random_state=0)
    >>> clf = CardinalityClassifier(penalty=1.0).fit(data.bags, data.counts[:, 1])
    >>> bootstrap(clf, data.bags, data.counts[:, 1], n=5).coefficients.shape
    (5, 1, 8)
    """

    fitted: tuple
    n_stopped: int = 0

    @property
    def coefficients(self) -> np.ndarray:
        """Coefficients and, last, the intercept of each: (n, n_logits, n_features + 1), of linear classifiers."""
        last = [m[-1] if hasattr(m, "steps") else m for m in self.fitted]
        if not all(hasattr(m, "coef_") for m in last):
            raise DataError(f"{type(last[0]).__name__} has no coefficients.", hint="use its predictions.")
        return np.stack([np.column_stack([np.atleast_2d(m.coef_), m.intercept_]) for m in last])

    @property
    def matrix(self) -> np.ndarray:
        """Covariance of the coefficients, as in `Covariance`."""
        flat = self.coefficients.reshape(len(self.fitted), -1)
        return np.atleast_2d(np.cov(flat, rowvar=False))

    @property
    def standard_errors(self) -> np.ndarray:
        """Of coefficients and, last, the intercept: (n_logits, n_features + 1)."""
        return self.coefficients.std(axis=0, ddof=1)

    def _repr_html_(self) -> str:
        words = f"{len(self.fitted):,} fits to bags drawn with replacement; {self.n_stopped:,} stopped before they "
        words += "converged."
        try:
            errors = self.standard_errors
        except DataError:  # no coefficients
            return finding_html(words)
        return finding_html(f"{words} A coefficient's standard error is {np.median(errors):.3g} (median).")

    def models(self, rng: np.random.Generator | None = None) -> Iterator[Any]:
        """The fitted classifiers, one after the other; nothing is drawn."""
        del rng
        return iter(self.fitted)


def bootstrap(
    model: Any,
    bags: Bags,
    counts: Any,
    n: int = 200,
    *,
    checkpoint: Any = None,
    verbose: int = 0,
    random_state: Any = 0,
) -> Bootstrap:
    """Refit to as many bags, drawn with replacement, many times.

    Works for any classifier of bags, or a pipeline that ends in one. A sample of bags that the method can't be fitted
    to, such as bags of equal shares for `MeanMap`, is drawn again. A penalty that the fitted model chose is kept. The
    bootstrap shows how much fits vary with the bags, not the bias that a penalty causes: for strongly penalised fits,
    intervals of `covariance`, which treats the penalty as a prior, have better coverage.

    Parameters
    ----------
    model : fitted classifier of bags, or pipeline
    bags : Bags
    counts : array
        The data of the fit.
    n : int >= 2, default 200
    checkpoint : path, optional
        A file that keeps the refits so far, so that an interrupted run resumes with the same result.
    verbose : int, default 0
    random_state : int, default 0

    Returns
    -------
    Bootstrap

    See Also
    --------
    covariance : Intervals without refitting.
    subgroups : Shares of groups, with intervals.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.proportions import CardinalityClassifier, bootstrap
    >>> data = synthetic.election(30, 20, n_categorical=0, mean_weight=1, weight_spread=0, random_state=0)
    >>> clf = CardinalityClassifier(penalty=1.0).fit(data.bags, data.counts[:, 1])
    >>> len(bootstrap(clf, data.bags, data.counts[:, 1], n=3).fitted)
    3
    """
    checks.at_least(n, "n", 2)
    given = np.asarray(counts)
    checks.same_length(bags=bags, counts=given)
    seeds = checks.generator(random_state).integers(2**31, size=n)
    again = _warm_started(model)
    keeper = Checkpoint(checkpoint, None if checkpoint is None else fingerprint(again, bags, given, seeds), seconds=1.0)
    state = keeper.load() or {"fitted": [], "n_stopped": 0}
    with Progress("Bootstrap", n, verbose) as progress:
        progress.step(len(state["fitted"]))
        for seed in seeds[len(state["fitted"]) :]:
            fitted, stopped = _refit(again, bags, given, seed)
            state = {"fitted": [*state["fitted"], fitted], "n_stopped": state["n_stopped"] + int(stopped)}
            progress.step()
            if keeper.due(len(state["fitted"])):
                keeper.save(state)
    keeper.clear()
    if state["n_stopped"]:
        warnings.warn(f"{state['n_stopped']} of {n} refits stopped before they converged.", NotConverged, stacklevel=2)
    return Bootstrap(tuple(state["fitted"]), state["n_stopped"])


def _warm_started(model: Any) -> Any:
    """A copy that starts from the fitted parameters, with the penalty and the multiclass form that were chosen."""
    again = copy.deepcopy(model)
    last = again[-1] if hasattr(again, "steps") else again
    known = last.get_params(deep=False)
    if isinstance(known.get("penalty"), str) and "penalty_" in vars(last):
        last.set_params(penalty=last.penalty_)
    if known.get("multiclass") == "auto" and "multiclass_" in vars(last):
        last.set_params(multiclass=last.multiclass_)
    if "warm_start" in known:
        last.set_params(warm_start=True)
    return again


def _refit(model: Any, bags: Bags, counts: np.ndarray, seed: int) -> tuple[Any, bool]:
    rng = np.random.default_rng(seed)
    for left in reversed(range(REDRAWS)):
        chosen = rng.integers(len(bags), size=len(bags))
        if _lacks_class(counts, chosen) or _lacks_missing(bags, chosen):
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                fitted = copy.deepcopy(model).fit(bags[chosen], counts[chosen])
                break
            except DataError:  # of few bags, some samples identify nothing: all shares equal, say
                if left == 0:
                    raise
    else:
        raise DataError(
            f"{REDRAWS} samples of the {len(bags)} bags in a row lack a class, or a missing value, that the bags have.",
            hint="merge the rare class with another, or give more bags.",
        )
    stopped = any(issubclass(w.category, NotConverged) for w in caught)
    for w in caught:
        if not issubclass(w.category, NotConverged):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    return fitted, stopped


def _lacks_missing(bags: Bags, chosen: np.ndarray) -> bool:
    """Whether a feature that is missing in some bags is missing in none of those drawn: it has one column less then."""
    gone = np.isnan(bags.values)
    if not gone.any():
        return False
    inside = bags.sums(gone) > 0
    return bool((inside.any(axis=0) & ~inside[chosen].any(axis=0)).any())


def _lacks_class(counts: np.ndarray, chosen: np.ndarray) -> bool:
    """Whether a rare class that the data have is in none of the bags drawn: there is nothing to fit then."""
    if counts.dtype.names is not None or counts.ndim == 1:
        return False
    return bool((counts[chosen].sum(axis=0) <= 0).any() and (counts.sum(axis=0) > 0).all())
