"""What all classifiers of individuals from bags share: columns, probabilities, expected counts, posteriors, score."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import expit, log_expit
from sklearn.utils.metadata_routing import UNUSED

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.estimator import Estimator
from sumwise.features import Features, name_columns, refuse_far
from sumwise.proportions.counts import drop_empty, observe
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.training_data import as_training, canonical, reveal

if TYPE_CHECKING:
    from sumwise.proportions.individuals import IndividualClassifier

NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(31)  # of a normal distribution


class BagClassifier(Estimator):
    """Base of the classifiers that learn from bags and counts; a subclass gives `fit` and `_logits`."""

    _learned = (
        "features_: is Features; features_.names: len d; n_features_in_: size g; "
        "features_.columns: len g; n_classes_: size K; classes_: int K; "
        "fitted_columns_?: is bool; multiclass_??: is str"
    )

    __metadata_request__fit: ClassVar = {"bags": UNUSED}  # it is X, and not routed; `Oracle.fit` has no counts
    __metadata_request__score: ClassVar = {"bags": UNUSED, "counts": UNUSED}
    centres_columns: ClassVar[bool] = False  # whether a column's place doesn't matter
    inference = "auto"
    noise = None
    totals = "match"
    classes_: np.ndarray
    n_classes_: int
    n_features_in_: int
    fitted_columns_: bool
    features_: Features

    def _logits(self, bags: Bags) -> np.ndarray:
        """Logits of all rows, whose values are those of `features_`: (n_rows,) for two classes, else one per class."""
        raise NotImplementedError

    def _linear_logits(self, bags: Bags) -> np.ndarray:
        """Logits by ``coef_`` and ``intercept_``, of all classes at once or of each against the rest."""
        coef: np.ndarray = vars(self)["coef_"]
        return self._joined(bags.values @ coef.T + vars(self)["intercept_"])

    def _joined(self, logits: np.ndarray) -> np.ndarray:
        """One column as a vector, and those of one class against the rest as logits of all classes."""
        if logits.shape[1] == 1:
            return logits[:, 0]
        if vars(self)["multiclass_"] == "ovr":
            return _log_softmax(log_expit(logits))
        return logits

    def notebook_finding(self) -> tuple[str, Any] | None:
        """Return what the fitted model found, without its data: a sentence and a frame, or None."""
        import pandas as pd

        coef = np.atleast_2d(vars(self).get("coef_", np.empty((0, 0))))
        names = self.get_feature_names_out() if "features_" in vars(self) else []
        if not coef.size or coef.shape[1] != len(names) or np.size(vars(self).get("nonlinear_coef_", ())):
            return None
        of = self.classes_[1:] if len(coef) == 1 else self.classes_
        columns = {"class": np.repeat(of[: len(coef)], len(names)), "feature": np.tile(names, len(coef))}
        frame = pd.DataFrame(columns | {"coefficient": coef.ravel()})
        words = (
            "Change of the log-odds of a class per unit of each feature, as far as the penalty leaves it. "
            "report((bags, counts)) shows shares of subgroups with intervals, and which effects these bags identify."
        )
        return words, frame.sort_values("coefficient", key=np.abs, ascending=False, kind="stable")

    def intercept_scale(self) -> float | None:
        """Standard deviation of the bags' own intercepts, where the model has them."""
        return None

    def _training(
        self, bags: Any, counts: Any, sample_weight: Any = None, groups: Any = None, labels: Any = None
    ) -> tuple[Bags, np.ndarray, np.ndarray | None]:
        """Learn how columns become numbers; return the bags of some weight that have members, as numbers, their counts,
        and their weights, None where none are given: in canonical order, so that no choice depends on that of the file.
        """
        bags, counts, known = as_training(bags, counts, groups, labels)
        weights = None if sample_weight is None else checks.bag_weights(bags, sample_weight)
        if known is not None:
            self._refuse_labels()
            bags, counts, origin = reveal(bags, counts, known)
            weights = None if weights is None else weights[origin]
        if weights is not None:
            kept = np.flatnonzero(weights)
            bags, counts, weights = bags[kept], counts[kept], weights[kept]
            weights = None if (weights == 1.0).all() else weights[bags.sizes > 0]
        bags, counts = drop_empty(bags, counts)
        if counts.dtype.kind == "O":  # Decimal, for example
            counts = checks.counts(counts, "counts")
        if counts.shape[:1] == (len(bags),) and (counts.dtype.kind in "biuf" or counts.dtype.names):
            bags, counts, weights = canonical(bags, counts, weights)
        self.fitted_columns_ = counts.ndim == 2
        return self._learn_columns(bags), counts, weights

    def _refuse_labels(self) -> None:
        if self.noise is not None or self.totals != "match":
            raise DataError(
                f"Labels of members are taken from exact counts of these members; noise is {self.noise!r}, totals is "
                f"{self.totals!r}.",
                hint="leave labels out, or give exact counts.",
            )

    def _learn_columns(self, bags: Bags) -> Bags:
        """Learn how columns become numbers; return the bags as numbers."""
        self.features_ = Features.learn(bags)
        name_columns(self, bags)
        design = self.design(bags)
        return design if self.centres_columns else refuse_far(design)

    def design(self, given: Any) -> Bags:
        """Rows as the numbers that the model sees: one column per number, per level, and per feature with gaps.

        Parameters
        ----------
        given : Bags, data frame, or array of shape (n_rows, n_features)
            A frame or array is one bag.

        Returns
        -------
        Bags, with the columns of `get_feature_names_out`
        """
        self._fitted("n_features_in_")
        features = vars(self).get("features_")
        if features is None:  # from a file of an earlier version
            n = self.n_features_in_
            features = Features(tuple(f"x{j}" for j in range(n)), {}, np.zeros(n), np.zeros(n, dtype=bool))
        return features.design(given)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that coefficients belong to: one per number, one per level, one per missing value."""
        del input_features  # scikit-learn's signature
        return np.array([str(name) for name in self._fitted().features_.names], dtype=object)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of individuals.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), data frame, or Bags
            The columns of a frame, and of bags with names, are found by name, whatever their order.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        self._fitted()
        _refuse_cross_val_predict(X)
        return self._chances(self.design(X))

    def _chances(self, bags: Bags) -> np.ndarray:
        logits = self._logits(bags)
        if logits.ndim == 1:
            one = average_chance(logits, self.intercept_scale() or 0.0)
            return np.column_stack([1.0 - one, one])
        return np.exp(_log_softmax(logits))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the class probabilities, (n_rows, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Logits of individuals: (n_rows,) of class 1 for two classes, else (n_rows, n_classes)."""
        self._fitted()
        _refuse_cross_val_predict(X)
        return self._logits(self.design(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most likely class of each individual, 0 to n_classes - 1."""
        return np.argmax(self.predict_proba(X), axis=1)

    def individuals(self, classes: Any = None) -> IndividualClassifier:
        """The same model as a fitted scikit-learn classifier of rows, for every tool that takes one.

        Parameters
        ----------
        classes : sequence of length n_classes, optional
            Labels of the classes as rows have them, in the order of the counts: ``["no", "yes"]``. Default 0, 1, ...

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.metrics import roc_auc_score
        >>> from sumwise import Bags
        >>> from sumwise.proportions import CardinalityClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(400, 1)) + np.repeat(rng.normal(size=(40, 1)), 10, axis=0)
        >>> y = (X[:, 0] > 0).astype(int)
        >>> clf = CardinalityClassifier().fit(Bags(X, np.arange(0, 401, 10)), y.reshape(40, 10).sum(axis=1))
        >>> rows = clf.individuals()
        >>> bool(rows.score(X, y) > 0.9), rows.classes_
        (True, array([0, 1]))
        """
        from sumwise.proportions.individuals import IndividualClassifier

        return IndividualClassifier(self._fitted(), classes)

    def predict_counts(self, bags: Bags) -> np.ndarray:
        """Expected counts per bag, weighted where rows carry weights, in the form that `fit` was given.

        A matrix of rows counts as one bag.

        Returns
        -------
        array of shape (n_bags,) for the count of class 1, or (n_bags, n_classes)
        """
        self._fitted()
        bags = self.design(bags)
        sums = bags.sums(self._chances(bags) * bags.weights[:, None])
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
        bags = self.design(bags)
        return self._likelihood(bags, bags.align(counts)).evaluate(self._logits(bags)).soft_labels

    def score(self, bags: Bags, counts: Any, sample_weight: Any = None) -> float:
        """Mean log-likelihood per bag (empty bags are left out, with a warning).

        Parameters
        ----------
        bags : Bags
        counts : array, as in `fit`
        sample_weight : array of shape (n_bags,), optional
            How much each bag counts.
        """
        self._fitted()
        bags = self.design(bags)
        weights = checks.bag_weights(bags, sample_weight)[bags.sizes > 0]
        bags, counts = drop_empty(bags, bags.align(counts))
        likelihood = self._likelihood(bags, counts)
        log_prob = likelihood.evaluate(self._logits(bags), self.intercept_scale()).log_prob
        return float(np.average(log_prob, weights=weights))


def average_chance(logits: np.ndarray, scale: float) -> np.ndarray:
    """Probability of class 1, averaged over normal effects of bags of this deviation."""
    if scale == 0.0:
        return expit(logits)
    return np.sum([w * expit(logits + scale * b) for b, w in zip(NODES, NODE_WEIGHTS / NODE_WEIGHTS.sum())], axis=0)


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    """Over the classes of each row; class by class, which for few classes is several times as fast as row by row."""
    columns = np.ascontiguousarray(logits.T)
    columns = columns - columns.max(axis=0)
    return (columns - np.log(np.exp(columns).sum(axis=0))).T


def _refuse_cross_val_predict(X: Any) -> None:
    """Stop where scikit-learn would take one answer per row for one per bag: it would return some of the rows."""
    if not isinstance(X, Bags):
        return
    frame = inspect.currentframe()  # scikit-learn asks no questions, so its call is recognised
    for _ in range(6):
        if frame is None:
            return
        if frame.f_code.co_name == "_fit_and_predict" and "sklearn" in frame.f_globals.get("__name__", ""):
            raise DataError(
                "cross_val_predict needs one answer per bag, and this classifier predicts individuals.",
                hint="for train, test in BagKFold().split(bags): "
                "clf.fit(bags[train], counts[train]).predict_counts(bags[test]).",
            )
        frame = frame.f_back
