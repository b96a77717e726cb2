"""CardinalityClassifier: maximum likelihood for individuals whose labels are known as counts per bag."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from threadpoolctl import threadpool_limits

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.fit import Fit, warn_not_converged
from sumwise.inference.canonical import column_order
from sumwise.proportions.averaged import GROUPS, Candidate, average
from sumwise.proportions.bag_model import BagModel
from sumwise.proportions.counts import observe
from sumwise.proportions.em import em_classifier, log_probabilities
from sumwise.proportions.fourier import MOST_ENTRIES, N_FREQUENCIES, FourierFeatures
from sumwise.proportions.identification import warn_of_few_bags
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import (
    LinearProblem,
    Solution,
    as_penalty,
    check_penalty,
    default_penalty,
    maximise,
    maximise_by_approximation,
    mean_embedding_start,
)
from sumwise.proportions.posterior import PosteriorClassifier
from sumwise.proportions.products import ProductFeatures
from sumwise.proportions.training_data import count_facts


class _Fitted(NamedTuple):
    """The parameters of one task, (n_logits, width), with columns in canonical order, and what led to them."""

    table: np.ndarray
    scale: float | None  # of the random intercepts
    solutions: list[Solution]
    candidates: list[Candidate]
    penalty: Any
    posterior: list[dict[str, Any]]


MODELS = ("auto", "linear", "fourier", "products")
FEW_GROUPS = 4  # of bags held out in turn, at most, for more than two classes: a matter of cost
ROUGH_ERROR = 1e-3  # estimated error of posteriors from which classes are fitted one against the rest


@dataclass(eq=False, repr=False)
class CardinalityClassifier(PosteriorClassifier):
    """Learn an individual-level classifier by exact maximum likelihood from class counts per bag.

    Each member's label is a latent variable; a bag's count is their sum, which has the Poisson binomial distribution
    ("cardinality" in the words of Sun, Sheldon and O'Connor 2017). The likelihood of the counts and its gradient, the
    labels' posterior minus prior, are computed exactly for bags of any size.

    Models that are linear in the features, and models with random Fourier features or with products of features next to
    them, are fitted under priors of several widths; their logits are averaged with weights by how well each predicts
    the counts of held-out bags. The answer depends on the set of bags only, not on their order or names.

    Parameters
    ----------
    classifier : {"auto", "linear", "fourier", "products"} or scikit-learn classifier, default "auto"
        ``"auto"`` averages all three kinds of models (products if there are at most 300), the others take one kind.
        Any scikit-learn classifier whose `fit` takes ``sample_weight`` is trained by EM instead.
    penalty : float, array or "auto", default "auto"
        ``"auto"`` averages over priors. A number fits one linear model: ``penalty / 2`` times the squared coefficients
        (intercepts are free) is subtracted from the log-likelihood; an array of shape (n_features,) gives each its
        own, one of (n_features, n_features) is the matrix P of w' P w / 2.
    noise : Noise, optional
        How observed counts of class 1 differ from the true ones: `Gaussian`, `Poisson`, `Geometric` or `Laplace`.
    totals : {"match", "scale", "rest"}, default "match"
        Counts add up to the bag (its rows, or the sum of its weights); or are scaled to it, keeping shares; or
        leave a rest that becomes a last class (those who didn't vote).
    random_intercept : bool, default False
        Whether predictions come from a model in which bags have an intercept of their own, normal with a scale that
        is learned. Intervals of two classes account for effects of bags in any case.
    max_iter : int >= 1, default 500
    tol : float > 0, default 1e-4
        Distance to a stationary point, in standard errors of the parameters, at which the fit stops.
    random_state : int, Generator or None, default 0
        Frequencies of the Fourier features.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (n_logits, n_features) and (n_logits,)
        The linear part of the logits. One logit (of class 1) for two classes, else one per class.
    nonlinear_coef_ : array of shape (n_logits, n_nonlinear)
        The part of Fourier features and products; n_nonlinear is 0 if no such model has any weight.
    classifier_ : the fitted scikit-learn classifier, where one was given.
    classes_ : array of shape (n_classes,)
    multiclass_ : {"exact", "ovr"}
        Whether all classes were fitted at once, or, where exact inference would be rough, one against the rest.
    candidates_ : list of dict
        The models averaged: ``class`` (of one against the rest, else None), ``model``, ``deviation`` of prior
        log-odds, ``weight``, and mean ``held_out`` log-likelihood per bag.
    dispersion_ : float, how many times as much held-out counts vary as the model says; 1 where a penalty is given.
    penalty_ : float or array, the one given, or that of the prior in the middle of the linear candidates.
    intercept_scale_ : float or None, the deviation of bags' intercepts.
    error_ : float, the largest estimated error of a member's posterior (0 where inference was exact).
    fit_ : Fit

    See Also
    --------
    CardinalityNetwork : Neural classifier of individuals, trained by exact maximum likelihood from class counts per
        bag.
    MeanMap : The mean map of Quadrianto et al. (2009), or its Laplacian form (Patrini et al. 2014).
    MeanEmbeddingClassifier : Logistic (softmax) regression of class shares on bag means, used for individuals (Sun et
        al. 2017).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import CardinalityClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2)) + np.repeat(rng.normal(size=(100, 2)), 20, axis=0)
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    >>> bags = Bags(X, np.arange(0, 2001, 20))
    >>> clf = CardinalityClassifier().fit(bags, y.reshape(100, 20).sum(axis=1))
    >>> bool(np.mean(clf.predict(X) == y) > 0.8)
    True
    """

    _learned = (
        "coef_?: float k d; intercept_?: float k; theta_?: float k d+1; nonlinear_coef_?: float k f; "
        "frequencies_?: float d h; centre_?: float d; pairs_?: int<d p 2; pair_scale_?p: float p; "
        "posterior_?, candidates_?: is list; dispersion_?: is float; intercept_scale_?: number"
    )

    classifier: Any = "auto"
    _: KW_ONLY
    penalty: Any = "auto"
    noise: Any = None
    totals: str = "match"
    random_intercept: bool = False
    max_iter: int = 500
    tol: float = 1e-4
    random_state: Any = 0

    def fit(
        self, bags: Any, counts: Any, sample_weight: Any = None, *, groups: Any = None, labels: Any = None
    ) -> CardinalityClassifier:
        """Fit to bags and their counts.

        Parameters
        ----------
        bags : Bags, or a list of one array per bag
        counts : array of shape (n_bags,) of class 1, or (n_bags, n_classes), or `intervals`
            A pandas Series or frame is put into the order of the bags by its index.
        sample_weight : array of shape (n_bags,), optional
            How much each bag counts: a power of its likelihood. Weight 2 is the same as giving the bag twice, and 0 as
            leaving it out.
        groups : array of one label per row, or column, optional
            With it ``bags`` are rows, a matrix or frame, and ``counts`` a Series or mapping by group.
        labels : array of shape (n_rows,), optional
            Classes of the few members for whom they are known, -1 or NaN for all others; counts include them.
        """
        self._check()
        bags, counts, weights = self._training(bags, counts, sample_weight, groups, labels)
        observed = observe(bags, counts, self.noise, self.totals)
        observed.refuse_absent(bags.sizes)
        if self.random_intercept and not observed.exact:
            raise DataError("A random intercept needs exact counts.", hint="random_intercept=False for noisy counts.")
        self.sample_weighted_, self.n_units_ = weights is not None, len(bags)
        likelihood = BagLikelihood(bags.offsets, observed, temper=weights)
        self.n_classes_, self.classes_ = observed.n_classes, np.arange(observed.n_classes)
        warn_of_few_bags(len(bags), bags.n_features)
        values = np.ascontiguousarray(bags.values, dtype=np.float64)
        self.posterior_, self.candidates_ = [], []
        if not isinstance(self.classifier, str):
            self._fit_classifier(values, likelihood)
            return self
        self._check_constant(bags)
        self._fit_models(values, likelihood, column_order(bags, count_facts(bags, counts)))
        if self.multiclass_ == "ovr":
            likelihood = BagLikelihood(bags.offsets, observed)
        self.error_ = float(likelihood.evaluate(self._logits(bags)).error.max())
        return self

    def _check(self):
        if isinstance(self.classifier, str):
            checks.choice(self.classifier, "classifier", MODELS)
        elif self.classifier is None:
            raise DataError("classifier is None.", hint=f"one of {', '.join(MODELS)}, or a scikit-learn classifier.")
        check_penalty(self.penalty)
        checks.at_least(self.max_iter, "max_iter", 1)
        checks.positive(self.tol, "tol")
        linear = isinstance(self.classifier, str) and self.classifier not in ("fourier", "products")
        if not isinstance(self.penalty, str) and not linear:
            raise DataError("A given penalty is for the linear model.", hint="classifier='linear', or penalty='auto'.")
        if self.random_intercept and not isinstance(self.classifier, str):
            raise DataError("A random intercept is fitted directly only.", hint="classifier='auto'.")

    def _check_constant(self, bags):
        constant = np.ptp(bags.values, axis=0) == 0.0 if bags.n_rows else np.zeros(bags.n_features, bool)
        if not constant.any():
            return
        first = ", ".join(repr(bags.features[j]) for j in np.flatnonzero(constant)[:3])
        message = f"{int(constant.sum())} of {constant.size} features are the same in every row. First: {first}."
        if np.ndim(self.penalty) == 0 and self.penalty == 0:
            raise DataError(message, hint="drop them, or set a penalty.")
        warnings.warn(f"{message} They get the coefficient 0.", UserWarning, stacklevel=3)

    def _fit_models(self, values: np.ndarray, likelihood: BagLikelihood, columns: np.ndarray):
        """Fit all classes at once, or each against the rest, with columns in canonical order."""
        observed = likelihood.observed
        self.multiclass_, parts = "exact", [likelihood]
        flat = np.zeros((len(values), observed.n_classes))
        if observed.n_classes > 2 and (self.random_intercept or likelihood.evaluate(flat).error.max() > ROUGH_ERROR):
            self.multiclass_ = "ovr"
            one = [observed.of_class(c) for c in range(observed.n_classes)]
            parts = [BagLikelihood(likelihood.offsets, part, temper=likelihood.temper) for part in one]
        arranged = np.ascontiguousarray(values[:, columns])
        nonlinear = self._nonlinear(arranged)
        tasks = [BagModel(arranged, part, self.random_intercept, nonlinear) for part in parts]
        # Thousands of small products: threads of BLAS spend ten times the CPU on waiting for each other.
        with threadpool_limits(1, "blas"):
            fits = [self._averaged(t) if isinstance(self.penalty, str) else self._given(t, columns) for t in tasks]
            self._store(fits, columns, nonlinear)

    def _nonlinear(self, values: np.ndarray) -> dict[str, FourierFeatures | ProductFeatures]:
        """Features of models that are not linear, by kind; by default those of which there are not too many."""
        out: dict[str, FourierFeatures | ProductFeatures] = {}
        if not isinstance(self.penalty, str) or self.classifier == "linear":
            return out
        n_columns, n_features = 2 * N_FREQUENCIES, values.shape[1]
        if self.classifier == "auto" and len(values) * n_columns > MOST_ENTRIES:
            return out
        if self.classifier in ("auto", "fourier"):
            out["fourier"] = FourierFeatures.draw(values, checks.generator(self.random_state))
        if self.classifier == "products" or (
            self.classifier == "auto" and n_features * (n_features + 1) <= 2 * n_columns
        ):
            out["products"] = ProductFeatures.of(values)
        return out

    def _averaged(self, task: BagModel) -> _Fitted:
        """The average of candidates, each climbed to its maximum."""
        bases = (*(("linear",) if self.classifier in ("auto", "linear") else ()), *task.nonlinear)
        n_groups = GROUPS if self.n_classes_ == 2 else FEW_GROUPS
        candidates = average(task.problem, bases, task.likelihood, task.start, n_groups)
        solutions = []
        for candidate in candidates:
            problem = task.problem(candidate.basis, task.likelihood, candidate.deviation)
            solutions.append(self._climb(task, problem, candidate.solution.theta, candidate))
        weights = np.array([c.weight for c in candidates])
        ends = [len(s.theta) - int(self.random_intercept) for s in solutions]
        tables = [task.back(c.basis, s.theta[:end]) for c, s, end in zip(candidates, solutions, ends)]
        scale = float(np.exp(weights @ [s.theta[-1] for s in solutions])) if self.random_intercept else None
        posterior = [] if self.sample_weighted_ else task.components(candidates)
        table = np.tensordot(weights, tables, 1)
        return _Fitted(table, scale, solutions, candidates, task.penalty(candidates), posterior)

    def _given(self, task: BagModel, columns: np.ndarray) -> _Fitted:
        """The fit with the penalty given."""
        given = as_penalty(self.penalty, task.values.shape[1])
        penalty = in_order(given, np.argsort(columns))
        likelihood = task.likelihood
        problem = task.given(likelihood, penalty)
        shares = likelihood.observed.shares(np.diff(likelihood.offsets))
        start = mean_embedding_start(task.rows.values, likelihood.offsets, shares, penalty, shares.shape[1])
        start = np.append(start, 0.0) if self.random_intercept else start
        solution = self._climb(task, problem, start, None)
        if np.ndim(penalty) == 0 and penalty == 0.0:
            _refuse_separable(problem, solution)
        shape = problem.n_logits, problem.width
        table = task.uncentred(solution.theta[: problem.n_logits * problem.width].reshape(shape))
        posterior = [] if self.sample_weighted_ else task.component(problem, solution.theta)
        return _Fitted(table, problem.split(solution.theta)[2], [solution], [], penalty, posterior)

    def _climb(
        self, task: BagModel, problem: LinearProblem, theta: np.ndarray, candidate: Candidate | None
    ) -> Solution:
        likelihood, solver = task.likelihood, maximise
        if likelihood.costly:
            quick = likelihood.by("saddlepoint")
            if candidate is None:
                approximate = task.given(quick, problem.penalty)
            else:
                approximate = task.problem(candidate.basis, quick, candidate.deviation)
            solver = partial(maximise_by_approximation, approximate)
        return solver(problem, theta, self.tol, self.max_iter)

    def _store(self, fits: list[_Fitted], columns: np.ndarray, nonlinear: dict[str, FourierFeatures | ProductFeatures]):
        d = len(columns)
        table = _as_given(np.concatenate([fit.table for fit in fits]), columns)
        used = {one.basis for fit in fits for one in fit.candidates}
        keep, begin = list(range(d)), d
        for name, features in nonlinear.items():
            keep += range(begin, begin + features.n_columns) if name in used else ()
            begin += features.n_columns
        keep = np.array([*keep, begin])
        self.coef_, self.intercept_, self.nonlinear_coef_ = table[:, :d], table[:, -1], table[:, keep][:, d:-1]
        self.theta_ = np.column_stack([self.coef_, self.intercept_])
        self.frequencies_ = self.centre_ = self.pairs_ = self.pair_scale_ = cast(Any, None)
        for name in used & nonlinear.keys():
            features = nonlinear[name]
            self.centre_ = features.centre[np.argsort(columns)]
            if isinstance(features, FourierFeatures):
                self.frequencies_ = _as_given(features.frequencies.T, columns).T
            else:
                self.pairs_, self.pair_scale_ = columns[features.pairs], features.scale
        self.posterior_ = [
            [c | {part: _as_given(c[part], columns)[:, keep] for part in ("mean", "root")} for c in fit.posterior]
            for fit in fits
            if fit.posterior
        ]
        penalties = [in_order(fit.penalty, columns) for fit in fits]
        self.penalty_ = penalties[0] if len(fits) == 1 else penalties
        scales = [fit.scale for fit in fits if fit.scale is not None]
        self.intercept_scale_ = (scales[0] if len(scales) == 1 else scales) if scales else None
        facts = [(c if len(fits) > 1 else None, one) for c, fit in enumerate(fits) for one in fit.candidates]
        self.dispersion_ = max((one.dispersion for _, one in facts), default=1.0)
        self.candidates_ = [
            {"class": c, "model": one.basis, "deviation": one.deviation, "weight": one.weight}
            | {"held_out": float(one.held_out.mean())}
            for c, one in facts
        ]
        solutions = [solution for fit in fits for solution in fit.solutions]
        worst = max(solutions, key=lambda s: s.change)
        objective = sum(fit.solutions[-1].objective for fit in fits)
        self._finish(objective, worst, {"objective": np.array(worst.history)})

    def _finish(self, objective, worst: Solution, history):
        self.fit_ = Fit(self.__dict__.get("theta_"), float(objective), None, worst.n_iter, worst.converged, history)
        if not worst.converged:
            warn_not_converged(worst.n_iter, worst.change, self.tol, stacklevel=4)

    def _fit_classifier(self, values, likelihood):
        """EM around a scikit-learn classifier, from the mean-embedding start."""
        observed, penalty = likelihood.observed, default_penalty(values)
        shares = observed.shares(np.diff(likelihood.offsets))
        theta = mean_embedding_start(values, likelihood.offsets, shares, penalty, shares.shape[1])
        logits = LinearProblem(values, likelihood, penalty, observed.n_classes).logits(theta)
        tol, rounds = max(self.tol, 1e-3), min(self.max_iter, 50)
        self.classifier_, solution = em_classifier(self.classifier, values, likelihood, logits, tol, rounds)
        self._finish(solution.objective, solution, {"objective": np.array(solution.history)})

    def intercept_scale(self) -> float | None:
        """Standard deviation of the bags' own intercepts, where the model has them."""
        scale = self.__dict__.get("intercept_scale_")
        return scale if isinstance(scale, float) else None

    def _logits(self, bags: Bags) -> np.ndarray:
        if not isinstance(self.classifier, str):
            return log_probabilities(self.classifier_, np.asarray(bags.values, dtype=np.float64))
        columns = self._columns(np.asarray(bags.values, dtype=np.float64))
        return self._joined(columns @ np.hstack([self.coef_, self.nonlinear_coef_]).T + self.intercept_)

    def _columns(self, values: np.ndarray) -> np.ndarray:
        parts = [values]
        if self.frequencies_ is not None:
            parts.append(FourierFeatures(self.frequencies_, self.centre_).columns(values))
        if self.pairs_ is not None:
            parts.append(ProductFeatures(self.pairs_, self.pair_scale_, self.centre_).columns(values))
        return np.hstack(parts)


def _as_given(table: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Parameters (n_logits, width, ...) of columns in canonical order as those of the columns as they are."""
    out = table.copy()
    out[:, columns] = table[:, : len(columns)]
    return out


def in_order(penalty: Any, columns: np.ndarray) -> Any:
    """A penalty on columns in canonical order as one on the columns as they are; `columns` are their positions."""
    if np.ndim(penalty) == 0:
        return penalty
    back = np.argsort(columns)
    return penalty[back] if penalty.ndim == 1 else penalty[np.ix_(back, back)]


def _refuse_separable(problem: LinearProblem, solution: Solution):
    """Without a penalty the likelihood of separable bags rises for ever: say so."""
    value = problem.likelihood.evaluate(problem.logits(solution.theta), problem.split(solution.theta)[2])
    coef = problem.split(solution.theta)[0]
    if value.log_prob.mean() > -1e-4 or (np.abs(coef) * np.ptp(problem.values, axis=0)).max() > 1e4:
        raise DataError(
            "The bags are separable: some coefficients give every bag its counts with certainty, so the likelihood "
            f"has no maximum without a penalty (it stopped at a mean of {value.log_prob.mean():.1e} per bag).",
            hint="penalty='auto', or a number above 0.",
        )
