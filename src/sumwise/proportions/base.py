"""What all classifiers of individuals from bags share: probabilities, expected counts, posteriors, score."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.estimator import Estimator
from sumwise.proportions.counts import drop_empty, observe
from sumwise.proportions.likelihood import BagLikelihood

__all__ = ["BagClassifier"]


class BagClassifier(Estimator):
    """Base of the classifiers that learn from bags and counts; a subclass gives `fit` and `_logits`.

    Examples
    --------
    >>> from sumwise.proportions import CardinalityClassifier
    >>> from sumwise.proportions.base import BagClassifier
    >>> issubclass(CardinalityClassifier, BagClassifier)
    True
    """

    inference = "auto"
    noise = None
    totals = "match"
    n_classes_: int
    n_features_in_: int
    fitted_columns_: bool

    def _logits(self, bags: Bags) -> np.ndarray:
        """Logits of all rows: (n_rows,) for two classes, else (n_rows, n_classes)."""
        raise NotImplementedError

    def _linear_logits(self, bags: Bags) -> np.ndarray:
        """Logits by ``coef_`` and ``intercept_``, of all classes at once or of each against the rest."""
        coef: np.ndarray = vars(self)["coef_"]
        logits = bags.values @ coef.T + vars(self)["intercept_"]
        if logits.shape[1] == 1:
            return logits[:, 0]
        if vars(self)["multiclass_"] == "ovr":
            return log_softmax(log_expit(logits), axis=1)
        return logits

    def _intercept_scale(self) -> float | None:
        return None

    def _as_bags(self, X: Any) -> Bags:
        """Rows as bags: as they are, or a matrix or frame as one bag."""
        if isinstance(X, Bags):
            bags = X
        else:
            values = checks.finite(X, "X", allow_bool=True)
            if values.ndim != 2:
                raise DataError(f"X has shape {values.shape}.", hint="one row per individual: (n_rows, n_features).")
            bags = Bags(values, np.array([0, len(values)]))
        if bags.n_features != self.n_features_in_:
            raise DataError(f"X has {bags.n_features} features; the classifier was fitted on {self.n_features_in_}.")
        return bags

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of individuals.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), or Bags

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        self._fitted()
        logits = self._logits(self._as_bags(X))
        if logits.ndim == 1:
            one = self._average(logits)
            return np.column_stack([1.0 - one, one])
        return np.exp(log_softmax(logits, axis=1))

    def _average(self, logits):
        """Probability of class 1; with random intercepts, averaged over that of a new bag."""
        scale = self._intercept_scale()
        if scale is None:
            return expit(logits)
        nodes, weights = np.polynomial.hermite_e.hermegauss(31)
        weights = weights / weights.sum()
        return sum(w * expit(logits + scale * b) for b, w in zip(nodes, weights))

    def predict(self, X: Any) -> np.ndarray:
        """The most likely class of each individual, 0 to n_classes - 1."""
        return np.argmax(self.predict_proba(X), axis=1)

    def predict_counts(self, bags: Bags) -> np.ndarray:
        """Expected counts per bag, weighted where rows carry weights, in the form that `fit` was given.

        A matrix of rows counts as one bag.

        Returns
        -------
        array of shape (n_bags,) for the count of class 1, or (n_bags, n_classes)
        """
        self._fitted()
        bags = self._as_bags(bags)
        probs = self.predict_proba(bags) * bags.weights[:, None]
        sums = np.add.reduceat(np.vstack([probs, np.zeros((1, probs.shape[1]))]), bags.offsets[:-1], axis=0)
        sums[bags.sizes == 0] = 0.0
        return sums if self.fitted_columns_ else sums[:, 1]

    def _reading(self) -> tuple[Any, str]:
        """How counts are read: their noise, and what their totals are."""
        return self.noise, self.totals

    def _likelihood(self, bags: Bags, counts: Any) -> BagLikelihood:
        observed = observe(bags, counts, *self._reading())
        if observed.n_classes != self.n_classes_:
            raise DataError(
                f"The counts have {observed.n_classes} classes; the classifier was fitted on {self.n_classes_}."
            )
        return BagLikelihood(bags.offsets, observed, self.inference)

    def posterior(self, bags: Bags, counts: Any) -> np.ndarray:
        """Class probabilities of each member given its features and the counts of its bag; a matrix counts as one.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        self._fitted()
        bags = self._as_bags(bags)
        value = self._likelihood(bags, counts).evaluate(self._logits(bags))
        q = value.posterior
        return np.column_stack([1.0 - q, q]) if q.ndim == 1 else q

    def score(self, bags: Bags, counts: Any) -> float:
        """Mean log-likelihood per bag (empty bags are left out, with a warning)."""
        self._fitted()
        bags, counts = drop_empty(self._as_bags(bags), counts)
        likelihood = self._likelihood(bags, counts)
        return float(likelihood.evaluate(self._logits(bags), self._intercept_scale()).log_prob.mean())
