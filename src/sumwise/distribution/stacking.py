"""BagStacking: several methods, averaged with the weights that predict held-out bags best."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from threadpoolctl import threadpool_limits

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.candidates import default_candidates
from sumwise.distribution.kernels.stacking import stack_classes, stack_numbers
from sumwise.distribution.regressor import AS_X, BagRegressor, class_codes
from sumwise.errors import DataError, MissingExtra, ModelWarning, NotConverged
from sumwise.fit import Fit
from sumwise.inference.canonical import column_order
from sumwise.progress import Progress

if TYPE_CHECKING:
    import pandas as pd


@dataclass(eq=False, repr=False)
class BagStacking(BagRegressor):
    """The default for bags with a response: several methods, averaged by how well they predict bags left out.

    Every method predicts each bag from the bags of the other folds. The weights are those with which the average
    predicts best: the least squared error of numbers, the highest log-likelihood of classes (stacking, Wolpert 1992;
    Yao et al. 2018). A constant is among the methods, so that the average falls back to it where the rows say nothing
    about the response. Folds follow the responses and what the bags hold, so the order of the bags plays no part.

    Parameters
    ----------
    candidates : dict of name to estimator, optional
        The methods; by default `default_candidates` of the bags: embeddings with ridge or logistic regression, the
        Wasserstein kernel and trees on moments and quantiles.
    task : {"regression", "classification"}, default "regression"
    n_folds : int >= 2, default 5
        With fewer than ten bags, half as many as there are bags.
    verbose : int, default 0
    random_state : int, Generator or None, default 0
        For the methods that draw.

    Attributes
    ----------
    weights_ : dict of name to float
        Of each method, and of "constant"; they sum to 1.
    models_ : dict of name to estimator
        Those of positive weight, fitted on all bags.
    held_out_, residuals_ : arrays (n_bags, n_outputs or n_classes)
        What the average, weights included, says of each bag without its fold, and how far off it is; behind
        `predict_interval`.
    classes_ : array, of a classification
    left_out_ : dict of name to str
        Methods that can't be fitted on these bags, and why.
    fit_ : Fit
        Its objective is the held-out loss of the average per bag; its history has that of each method.

    See Also
    --------
    BagRidge : One of the methods that are averaged, for responses.
    BagLogistic : One of them, for classes.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import BagRidge, BagStacking, LinearEmbedding, MomentEmbedding
    >>> train, test = (synthetic.gamma(120, 100, noise=0, random_state=seed) for seed in (0, 1))
    >>> methods = {"means": BagRidge(LinearEmbedding()), "moments": BagRidge(MomentEmbedding())}
    >>> model = BagStacking(methods).fit(train.bags, train.response)
    >>> max(model.weights_, key=model.weights_.get)
    'moments'
    >>> bool(model.score(test.bags, test.response) > 0.5)
    True
    """

    _learned = "constant_?: real K; held_out_, residuals_: real n *; left_out_, weights_, models_: is dict"

    __metadata_request__predict_proba: ClassVar = AS_X

    candidates: Mapping[str, Any] | None = None
    task: str = "regression"
    n_folds: int = field(default=5, kw_only=True)
    verbose: int = field(default=0, kw_only=True)
    random_state: Any = field(default=0, kw_only=True)

    def fit(self, bags: Bags, y: Any, groups: Any = None, sample_weight: Any = None) -> Any:
        """Learn from bags and their responses or classes; see `BagRegressor.fit` for groups and weights."""
        checks.choice(self.task, "task", ("regression", "classification"))
        if self.task == "regression":
            return super().fit(bags, y, groups, sample_weight)
        labels = np.asarray(checks.listing(bags.align(y, "y"), "y"))
        checks.same_length(bags=bags, y=labels)
        self.classes_, codes = class_codes(labels)
        super().fit(bags, codes.astype(float), groups, sample_weight)
        return self

    @threadpool_limits.wrap(limits=1, user_api="blas")  # threads of small products wait for each other: 40% of the CPU
    def _learn(self, bags: Bags, y: np.ndarray, groups: np.ndarray | None, weights: np.ndarray | None) -> None:
        n_folds = min(int(checks.at_least(self.n_folds, "n_folds", 2)), len(bags) // 2)
        columns = column_order(bags)  # trees draw columns by position
        bags = bags.with_values(bags.values[:, columns], [bags.features[j] for j in columns], bags.levels)
        seed = int(checks.generator(self.random_state).integers(2**31))
        candidates = default_candidates(bags, self.task, seed) if self.candidates is None else dict(self.candidates)
        if n_folds < 2 or not candidates:
            raise DataError(
                f"{len(bags)} bags and {len(candidates)} methods: nothing can be compared.",
                hint="give four bags or more; with fewer, fit one method, for example BagRidge(LinearEmbedding()).",
            )
        fold = _folds(n_folds, len(bags), groups)
        held_out = self._held_out(candidates, bags, y, fold, weights)
        names, predicted = list(held_out), np.stack(list(held_out.values()))
        counted = np.ones(len(bags)) if weights is None else weights
        classes = self.task == "classification"
        stack, truth = (stack_classes, y[:, 0].astype(int)) if classes else (stack_numbers, y)
        shares, losses = stack(predicted, truth, counted)
        self.held_out_ = np.empty(predicted.shape[1:])
        for k in range(int(fold.max()) + 1):  # weights that a bag took part in would make its error look small
            mine, others = fold == k, fold != k
            of_others = stack(predicted[:, others], truth[others], counted[others])[0]
            self.held_out_[mine] = np.einsum("k,kbo->bo", of_others, predicted[:, mine])
        losses[-1] = stack(self.held_out_[None], truth, counted)[1][0]
        self.residuals_ = self.held_out_ - self._as_outputs(y)
        self.weights_ = dict(zip(names, map(float, shares)))
        targets = self._targets(y)
        self.models_ = {
            name: cast(Any, clone(candidates[name])).fit(bags, targets, **_weighted(weights))
            for name, share in self.weights_.items()
            if share > 0 and name in candidates
        }
        self.constant_ = np.average(self._as_outputs(y), axis=0, weights=weights)
        history = {"method": [*names, "average"], "loss": [*map(float, losses)]}
        self.fit_ = Fit(shares, float(losses[-1]), None, len(names), True, history)

    def _held_out(
        self, candidates: dict, bags: Bags, y: np.ndarray, fold: np.ndarray, weights: np.ndarray | None
    ) -> dict[str, np.ndarray]:
        """What each method says of every bag, fitted without the bag's fold: (n_bags, n_outputs or n_classes)."""
        outputs, held_out = self._as_outputs(y), {}
        self.left_out_ = {}
        counted = np.ones(len(bags)) if weights is None else weights
        constant = np.empty_like(outputs)
        for k in range(int(fold.max()) + 1):
            constant[fold == k] = np.average(outputs[fold != k], axis=0, weights=counted[fold != k])
        with Progress("Methods", len(candidates), verbose=self.verbose) as progress:
            for name, candidate in candidates.items():
                out = np.empty_like(outputs)
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", NotConverged)
                        warnings.simplefilter("ignore", ModelWarning)  # folds that lie apart are what is to be judged
                        for k in range(int(fold.max()) + 1):
                            train = np.flatnonzero(fold != k)
                            model = cast(Any, clone(candidate)).fit(
                                bags[train], self._targets(y[train]), **_weighted(weights, train)
                            )
                            out[fold == k] = self._said(model, bags[np.flatnonzero(fold == k)])
                    if not np.isfinite(out).all():
                        raise DataError("its predictions of held-out bags are not all numbers.")
                    held_out[name] = out
                except (DataError, MissingExtra) as error:
                    self.left_out_[name] = str(error)
                progress.step()
        if not held_out:
            raise DataError(
                "No method can be fitted on these bags.", hint="; ".join(f"{n}: {e}" for n, e in self.left_out_.items())
            )
        return {**held_out, "constant": constant}

    def _as_outputs(self, y: np.ndarray) -> np.ndarray:
        return np.eye(len(self.classes_))[y[:, 0].astype(int)] if self.task == "classification" else y

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """What a method is fitted on: labels, or numbers in one column or several."""
        if self.task == "classification":
            return self.classes_[y[:, 0].astype(int)]
        return y[:, 0] if y.shape[1] == 1 else y

    def _said(self, model: Any, bags: Bags) -> np.ndarray:
        if self.task == "regression":
            return np.asarray(model.predict(bags), float).reshape(len(bags), -1)
        out = np.zeros((len(bags), len(self.classes_)))
        out[:, np.searchsorted(self.classes_, model.classes_)] = model.predict_proba(bags)
        return out

    def _predict(self, bags: Bags) -> np.ndarray:
        total = np.tile(self.weights_["constant"] * self.constant_, (len(bags), 1))
        for name, model in self.models_.items():
            total += self.weights_[name] * self._said(model, bags)
        return total

    def predict(self, bags: Bags) -> np.ndarray:
        """Return the predicted response of each bag in the shape that `fit` was given, or its likeliest class."""
        if self.task == "regression":
            return super().predict(bags)
        return self.classes_[np.argmax(self.predict_proba(bags), axis=1)]

    @available_if(lambda self: self.task == "classification")
    def predict_proba(self, bags: Bags) -> np.ndarray:
        """Return the probability of each class, (n_bags, n_classes)."""
        self._fitted("weights_")
        return self._predict(bags)

    def held_out_predictions(self, bags: Bags, y: np.ndarray) -> np.ndarray | None:
        """Return what the average says of each training bag without its fold; None if these are other bags."""
        self._fitted("weights_")
        labels = np.asarray(y)
        truth = self.held_out_ - self.residuals_
        if len(bags) != len(truth):
            return None
        if self.task == "classification":
            return self.held_out_ if (self.classes_[truth.argmax(axis=1)] == labels).all() else None
        same = np.allclose(truth, labels.reshape(len(labels), -1), rtol=1e-9, atol=1e-12 * np.abs(truth).max())
        return self._shaped(self.held_out_) if same else None

    def comparison(self) -> pd.DataFrame:
        """Return one row per method: its weight and its loss on held-out bags; last the average.

        The loss is the mean squared error relative to the variance of the responses, or minus the log-likelihood.
        """
        import pandas as pd

        history = self._fitted("weights_").fit_.history
        shares = [*self.weights_.values(), np.nan]
        return pd.DataFrame({"method": history["method"], "weight": shares, "held-out loss": history["loss"]})


def _folds(n_folds: int, n_bags: int, groups: np.ndarray | None) -> np.ndarray:
    """The fold of every bag: sorted bags, or the groups in the order of their first bag, are dealt out in turn."""
    if groups is None:
        return np.arange(n_bags) % n_folds
    _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), int)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[codes] % min(n_folds, len(first))


def _weighted(weights: np.ndarray | None, chosen: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """The keyword of weights, if there are any: not every method takes it."""
    if weights is None:
        return {}
    return {"sample_weight": weights if chosen is None else weights[chosen]}
