"""Calibration on bags that the classifier hasn't seen (temperature scaling): a slope and offsets for its logits."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier

from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.fit import Fit, warn_not_converged
from sumwise.kernels.minimise import minimise
from sumwise.proportions.base import BagClassifier
from sumwise.proportions.cardinality import CardinalityClassifier
from sumwise.proportions.counts import observe
from sumwise.proportions.em import log_probabilities
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.splitters import BagKFold


@dataclass(eq=False, repr=False)
class CalibratedBagClassifier(BagClassifier):
    """Recalibrate a classifier of bags against bags that were held out.

    The classifier is fitted without each fold in turn and gives the logits of the bags left out; of these the slope
    and the offsets that make the counts most likely are learned (Platt's scaling, with counts in the place of labels).
    Then it is fitted to all bags. A slope below 1 means that it was overconfident, one above 1 that it was
    underconfident (its penalty was too strong).

    Parameters
    ----------
    classifier : classifier of bags, optional
        Default: `CardinalityClassifier`. Or a pipeline that ends in one.
    cv : int or splitter, default 5
        How bags are held out: the number of folds of a `BagKFold`, or for example a `StratifiedBagKFold`.
    inference : str, default "auto"
    noise, totals : as in `CardinalityClassifier`, optional
        Default: those of the classifier, which is fitted to the same counts. One that has no such parameter (most
        other methods read counts as exact) may be calibrated with a ``noise`` of its own.

    Attributes
    ----------
    classifier_ : the classifier fitted to all bags.
    slope_ : float
    offset_ : array of shape (n_classes,), the first 0.
    slope_error_ : float, the slope's standard error.
    gain_ : float, what calibration adds to the mean log-likelihood of a held-out bag.
    fit_ : Fit

    See Also
    --------
    CardinalityClassifier : Learn an individual-level classifier by exact maximum likelihood from class counts per bag.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.proportions import CalibratedBagClassifier, CardinalityClassifier
    >>> data = synthetic.election(80, 20, n_categorical=0, mean_weight=1, weight_spread=0, random_state=0)
    >>> pulled = CardinalityClassifier(penalty=500.0)
    >>> bool(CalibratedBagClassifier(pulled).fit(data.bags, data.counts[:, 1]).slope_ > 2)
    True
    """

    classifier: Any = None
    _: KW_ONLY
    cv: Any = 5
    inference: str = "auto"
    noise: Any = None
    totals: str | None = None

    def fit(self, bags: Bags, counts: Any, sample_weight: Any = None) -> CalibratedBagClassifier:
        """Fit to bags and their counts, held out in turn.

        Parameters
        ----------
        bags : Bags
        counts : array, as in `CardinalityClassifier.fit`
        sample_weight : array of shape (n_bags,), optional
            How much each bag counts, in the classifier's fits and in calibration; 0 leaves it out.
        """
        if self.classifier is not None and is_classifier(self.classifier):
            name = type(self.classifier).__name__
            raise DataError(f"{name} learns from labels, not from bags.", hint=f"CardinalityClassifier({name}()).")
        bags, counts, weights = self._training(bags, counts, sample_weight)
        observed = observe(bags, counts, *self._reading())
        self.n_classes_, self.classes_ = observed.n_classes, np.arange(observed.n_classes)
        logits = self._held_out(bags, counts, observed.n_classes, weights)
        self._learn(BagLikelihood(bags.offsets, observed, self.inference, weights), logits)
        self.classifier_ = self._fitted_to(bags, counts, weights)
        return self

    def _fitted_to(self, bags: Bags, counts: np.ndarray, weights: np.ndarray | None) -> Any:
        """A fresh classifier, fitted; the last step of a pipeline gets the weights."""
        model = self._fresh()
        if weights is None:
            return model.fit(bags, counts)
        by_name = hasattr(model, "steps") and not get_config()["enable_metadata_routing"]
        name = f"{model.steps[-1][0]}__sample_weight" if by_name else "sample_weight"
        return model.fit(bags, counts, **{name: weights})

    def design(self, given: Any) -> Bags:
        """Rows with the columns of training; the classifier turns them into numbers."""
        return self.features_.rows(given)

    def _fresh(self) -> Any:
        if self.classifier is not None:
            return clone(self.classifier)
        noise, totals = self._reading()
        return CardinalityClassifier(noise=noise, totals=totals)

    def _reading(self) -> tuple[Any, str]:
        """Noise and totals: those of the classifier, unless it leaves them open."""
        last = self.classifier[-1] if hasattr(self.classifier, "steps") else self.classifier
        known = {} if last is None else last.get_params(deep=False)
        found = []
        for name in ("noise", "totals"):
            given, own = getattr(self, name), known.get(name, getattr(BagClassifier, name))
            if given is not None and name in known and given != own:
                raise DataError(
                    f"{type(last).__name__} reads the counts with {name}={own!r}, calibration with {name}={given!r}.",
                    hint=f"set {name}= of the classifier and leave it out here: calibration takes it over.",
                )
            found.append(own if given is None else given)
        return found[0], found[1]

    def _held_out(self, bags: Bags, counts: np.ndarray, n_classes: int, weights: np.ndarray | None) -> np.ndarray:
        """Logits of every row from a fit that hasn't seen its bag."""
        out = np.full((bags.n_rows,) if n_classes == 2 else (bags.n_rows, n_classes), np.nan)
        splitter: Any = BagKFold(int(self.cv)) if isinstance(self.cv, (int, np.integer)) else self.cv
        if not hasattr(splitter, "get_n_splits"):
            raise DataError(f"cv is {self.cv!r}.", hint="a number of folds, or a splitter such as StratifiedBagKFold.")
        for train, test in splitter.split(bags, counts):
            fitted = self._fitted_to(bags[train], counts[train], None if weights is None else weights[train])
            out[np.isin(bags.bag_index, test)] = log_probabilities(fitted, bags[test])
        left = np.isnan(out).reshape(bags.n_rows, -1).any(axis=1)
        if left.any():
            n = len(np.unique(bags.bag_index[left]))
            raise DataError(f"{n} of {len(bags)} bags are held out in no fold.", hint="cv must test each bag once.")
        return out

    def _learn(self, likelihood: BagLikelihood, logits: np.ndarray) -> None:
        """Maximise over the slope and the offsets."""
        two = logits.ndim == 1
        n_bags = float(likelihood.powers.sum())
        history: list[float] = []

        def scaled(theta):
            return theta[0] * logits + (theta[1] if two else np.append(0.0, theta[1:]))

        def cost(theta):
            value = likelihood.evaluate(scaled(theta))
            total, residual = likelihood.total_and_residual(value)
            offsets = np.atleast_1d(residual.sum(axis=0))
            gradient = np.append((residual * logits).sum(), offsets if two else offsets[1:])
            history.append(total)
            return -total / n_bags, -gradient / n_bags

        start = np.append(1.0, np.zeros(1 if two else logits.shape[1] - 1))
        found = minimise(cost, start, jac=True, method="BFGS", options={"gtol": 1e-6, "maxiter": 200})
        self.slope_, self.offset_ = float(found.x[0]), np.append(0.0, found.x[1:])
        moves = 1e-4 * np.eye(len(start))
        curvature = np.stack([(cost(found.x + m)[1] - cost(found.x - m)[1]) / 2e-4 for m in moves])
        inverse = np.linalg.pinv(0.5 * (curvature + curvature.T)) / n_bags
        self.slope_error_ = float(np.sqrt(max(inverse[0, 0], 0.0)))
        self.gain_ = float(-found.fun - history[0] / n_bags)
        settled = bool(np.abs(found.jac).max() < 1e-4)
        self.fit_ = Fit(found.x, float(-found.fun), None, int(found.nit), settled, {"objective": np.array(history)})
        if not settled:
            warn_not_converged(int(found.nit), float(np.abs(found.jac).max()), 1e-4, stacklevel=4)

    def _logits(self, bags: Bags) -> np.ndarray:
        logits = log_probabilities(self.classifier_, bags)
        return self.slope_ * logits + (self.offset_[1] if logits.ndim == 1 else self.offset_)
