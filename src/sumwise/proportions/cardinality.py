"""CardinalityClassifier: maximum likelihood for individuals whose labels are known as counts per bag."""

from __future__ import annotations

import os
import warnings
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metadata_routing import UNUSED

from sumwise import checks
from sumwise.bags import Bags
from sumwise.checkpoint import Checkpoint
from sumwise.errors import DataError
from sumwise.features import centre_and_scale
from sumwise.fit import Fit, warn_not_converged
from sumwise.proportions.base import BagClassifier, check_rows
from sumwise.proportions.counts import Observed, drop_empty, observe
from sumwise.proportions.em import em_classifier, em_linear, log_probabilities
from sumwise.proportions.feature_rows import Rows
from sumwise.proportions.identification import warn_of_few_bags
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import (
    LinearProblem,
    Solution,
    maximise,
    maximise_by_approximation,
    mean_embedding_start,
)
from sumwise.proportions.on_spark import on_spark
from sumwise.proportions.penalty import PenaltySearch, reference_shape, search_penalty
from sumwise.proportions.survey_weights import effective_sizes

PER_ROW, PER_BAG = 3, 300  # numbers of a member beside its columns, and bytes of a bag
EXACT_METHODS = (
    "direct",
    "fourier",
    "tree",
)  # exact for class counts, in 500 times a saddlepoint's time in bags of 100
LARGE = 30  # members from which an exact fit of class counts is led by the saddlepoint approximation
COSTLY = 1e6  # and steps of exact inference per bag, its size to the power of the classes: below, it is the quicker one
ROUGH_ERROR = 1e-3  # estimated error of posteriors above which "auto" prefers one-vs-rest


@dataclass
class _Task:
    """One likelihood to be maximised: all classes at once, or one against the rest."""

    values: np.ndarray
    likelihood: BagLikelihood
    n_classes: int
    random_intercept: bool

    def problem(self, likelihood, penalty):
        return LinearProblem(self.rows, likelihood, penalty, self.n_classes, self.random_intercept)

    @cached_property
    def rows(self):
        return Rows(self.values)

    @property
    def approximable(self) -> bool:
        """Whether the saddlepoint approximation of class counts is close, and much cheaper: in large bags."""
        sizes = np.diff(self.likelihood.offsets).astype(float)
        return self.n_classes > 2 and bool(sizes.min() >= LARGE and np.mean(sizes**self.n_classes) >= COSTLY)


@dataclass(eq=False, repr=False)
class CardinalityClassifier(BagClassifier):
    """Learn an individual-level classifier by exact maximum likelihood from class counts per bag.

    Each member's label is a latent variable; a bag's count is their sum, which has the Poisson binomial distribution
    ("cardinality" in the words of Sun, Sheldon and O'Connor 2017). The likelihood of the counts and its gradient, the
    labels' posterior minus prior, are computed exactly for bags of any size.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Default: a logistic (softmax) regression. Any classifier whose `fit` takes ``sample_weight`` is trained by
        EM instead.
    multiclass : {"auto", "exact", "ovr"}, default "auto"
        For more than two classes: one softmax model on the vector of counts, or one model per class against the rest.
        ``"auto"`` is ``"exact"`` unless its inference would be rough.
    solver : {"direct", "em"}, default "direct"
        L-BFGS on the bags' likelihood, or EM as in the papers; both end at the same stationary points.
    penalty : float, array, list or "auto", default "auto"
        ``penalty / 2`` times the squared coefficients (intercepts are free) is subtracted from the log-likelihood; an
        array of shape (n_features,) gives each its own, one of (n_features, n_features) is the matrix P of w' P w / 2.
        ``"auto"`` starts at a prior under which logits vary as a logistic variable does, whatever the features' units
        (a third of `sumwise.proportions.penalty.reference_shape`, or all of it where at most 20 bags support that very
        strongly; with random intercepts at the multiple of it with the greatest marginal likelihood), and moves away by
        a factor as far as the cross-validated likelihood of held-out bags clearly improves. A list gives each class of
        one-vs-rest its own.
    inference : str, default "auto"
        Method of `sumwise.proportions.kernels.poisson_binomial.count_posterior` or of `class_posterior`.
    noise : Noise, optional
        How observed counts of class 1 differ from the true ones: `Gaussian`, `Poisson`, `Geometric` or `Laplace`.
    totals : {"match", "scale", "rest"}, default "match"
        Counts add up to the bag (its rows, or the sum of its weights); or are scaled to it, keeping shares; or
        leave a rest that becomes a last class (those who didn't vote).
    temper : bool or float, default False
        Power of each bag's likelihood: True takes the effective share of its rows, Kish's n_eff / n, under their
        weights.
    random_intercept : bool, default False
        Whether bags have an intercept of their own, normal with a scale that is learned: for counts that vary more
        than their members explain.
    n_starts : int >= 1, default 1
        Coefficients of a regression on bag means (the mean embedding), then zero, then random ones; the best is kept
        and ``starts_`` lists them all.
    max_iter : int >= 1, default 500
    tol : float > 0, default 1e-4
        Distance to a stationary point, in standard errors of the parameters, at which the fit stops.
    engine : {"local", "spark"}, default "local"
        Where the likelihood is evaluated. "spark" (extra ``spark``) keeps bags in the executors and makes one pass per
        gradient; it needs ``solver="direct"`` and a number as penalty.
    master : str, optional
        Spark's master, as ``"local[2]"`` or ``"spark://host:7077"``; default: the active session.
    checkpoint : path, optional
        For "spark": a file, or an address such as ``"s3://bucket/fit.checkpoint"`` (extra ``remote``), from which a fit
        whose driver was lost goes on, and ends with the same bits. One-vs-rest fits keep one file each.
    warm_start : bool, default False
        Begin where the last fit ended.
    verbose : int, default 0
    random_state : int, Generator or None, default 0
        Folds of the penalty's cross-validation, and random starts.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (n_logits, n_features) and (n_logits,)
        One logit (of class 1) for two classes, else one per class; of the default classifier.
    classifier_ : the fitted scikit-learn classifier, where one was given.
    classes_ : array of shape (n_classes,)
    penalty_ : float or array, the penalty used; with ``"auto"`` an array that can be given as ``penalty``.
    penalty_search_ : dict with ``penalties`` (multiples of the first), ``scores`` and ``best``, where it was chosen.
    intercept_scale_ : float or None, the deviation of bags' intercepts.
    starts_ : list of dict, one per start: its name, objective, steps.
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
    >>> clf = CardinalityClassifier(penalty=1.0).fit(bags, y.reshape(100, 20).sum(axis=1))
    >>> bool(np.mean(clf.predict(X) == y) > 0.8)
    True
    """

    __metadata_request__partial_fit: ClassVar = {"bags": UNUSED, "counts": UNUSED}

    classifier: Any = None
    _: KW_ONLY
    multiclass: str = "auto"
    solver: str = "direct"
    penalty: Any = "auto"
    inference: str = "auto"
    noise: Any = None
    totals: str = "match"
    temper: bool | float = False
    random_intercept: bool = False
    n_starts: int = 1
    max_iter: int = 500
    tol: float = 1e-4
    engine: str = "local"
    master: str | None = None
    checkpoint: Any = None
    warm_start: bool = False
    verbose: int = 0
    random_state: Any = 0

    def fit(self, bags: Bags, counts: Any, sample_weight: Any = None) -> CardinalityClassifier:
        """Fit to bags and their counts.

        Parameters
        ----------
        bags : Bags
        counts : array of shape (n_bags,) of class 1, or (n_bags, n_classes), or `intervals`
            A pandas Series or frame is put into the order of the bags by its index.
        sample_weight : array of shape (n_bags,), optional
            How much each bag counts: a power of its likelihood. Weight 2 is the same as giving the bag twice, and 0 as
            leaving it out.
        """
        self._check()
        vars(self).pop("partial_information_", None)
        bags, counts, weights = self._weighted(bags, counts, sample_weight)
        bags, counts = self._training(bags, counts)
        observed = observe(bags, counts, self.noise, self.totals)
        _refuse_absent(observed, bags)
        if self.random_intercept and not observed.exact:
            raise DataError("A random intercept needs exact counts.", hint="random_intercept=False for noisy counts.")
        rng = checks.generator(self.random_state)
        powers, self.sample_weighted_ = self.bag_powers(bags), weights is not None
        if weights is not None:
            powers = weights if powers is None else weights * powers
        likelihood = BagLikelihood(bags.offsets, observed, self.inference, powers)
        values = np.ascontiguousarray(bags.values, dtype=np.float64)
        before = self._before(bags, observed)
        self.n_classes_, self.classes_ = observed.n_classes, np.arange(observed.n_classes)
        warn_of_few_bags(len(bags), bags.n_features)
        if self.classifier is not None:
            self._fit_foreign(values, likelihood)
            return self
        self._refuse_constant(bags)
        self.multiclass_ = self._choose(values, likelihood)
        if self.multiclass_ == "ovr":
            self._fit_rest(values, likelihood, rng, before)
            likelihood = BagLikelihood(bags.offsets, observed)
        else:
            task = _Task(values, likelihood, observed.n_classes, self.random_intercept)
            self._store([self._fit_task(task, self._penalty_of(0, 1), rng, before, self._checkpoint_of(0))])
        for c in range(observed.n_classes if self.checkpoint is not None else 0):
            Checkpoint(self._checkpoint_of(c)).clear()
        self.error_ = float(likelihood.evaluate(self._logits(bags)).error.max())
        return self

    def _check_size(self, bags: Bags, width: int) -> None:
        copies = 2 * isinstance(self.penalty, str) + 2 * (self.engine == "spark")  # rows of folds; parts that are sent
        n_bytes = 8 * len(bags.values) * (PER_ROW + copies * width) + PER_BAG * len(bags)
        hint = "give a number as penalty, or the bags part by part to partial_fit."
        check_rows(type(self).__name__, bags, width, n_bytes, hint)

    def partial_fit(self, bags: Bags, counts: Any) -> CardinalityClassifier:
        """Take in further bags, once: for bags that come one part after the other, or don't fit into memory.

        Each part maximises its own likelihood and a normal prior around the coefficients so far, whose precision is
        the information of all parts before it (Laplace's approximation, passed on). Two classes, exact or noisy
        counts, the default classifier; ``penalty="auto"`` is the prior of the first part's features. After many parts
        the coefficients are close to those of `fit` on all bags at once; where a first part is very small, less.

        Parameters
        ----------
        bags : Bags
        counts : array of shape (n_bags,) of class 1, or (n_bags, 2)
        """
        self._check()
        if self.classifier is not None or self.random_intercept or self.engine != "local":
            raise DataError("Parts are taken in by the plain linear classifier only.", hint="fit, on all bags.")
        first = "partial_information_" not in vars(self)
        if first:
            bags, counts = self._training(bags, counts)
        else:
            bags = self.design(bags)
            bags, counts = drop_empty(bags, bags.align(counts))
        observed = observe(bags, counts, self.noise, self.totals)
        if observed.n_classes != 2:
            raise DataError("partial_fit supports two classes only.", hint="one classifier per class, or fit.")
        values = np.ascontiguousarray(bags.values, dtype=np.float64)
        likelihood = BagLikelihood(bags.offsets, observed, self.inference, self.bag_powers(bags))
        if first:
            self._begin_parts(values, likelihood)
        self._take_in(LinearProblem(values, likelihood, np.zeros(values.shape[1])))
        return self

    def _begin_parts(self, values, likelihood):
        auto = isinstance(self.penalty, str)
        self.penalty_ = reference_shape(values) if auto else _as_penalty(self.penalty, values.shape[1])
        prior = LinearProblem(values, likelihood, self.penalty_)
        self.n_classes_, self.classes_, self.multiclass_ = 2, np.arange(2), "exact"
        self.intercept_scale_, self.penalty_search_, self.n_bags_seen_ = None, None, 0
        share = likelihood.observed.shares(np.diff(likelihood.offsets))[:, 1].mean()
        self.theta_ = np.append(np.zeros(values.shape[1]), np.log(share / (1.0 - share)))[None, :]
        self.partial_information_ = prior.penalty_block

    def _take_in(self, part: LinearProblem):
        """Newton steps on the part's likelihood and the prior around the coefficients so far."""
        before, information = self.theta_[0], self.partial_information_
        theta, change, n_iter = before.copy(), np.inf, 0

        def objective(x):
            total, gradient = part.value_and_gradient(x)
            return total - 0.5 * (x - before) @ information @ (x - before), gradient - information @ (x - before)

        total, gradient = objective(theta)
        while n_iter < self.max_iter and change > self.tol:
            curvature = part.information(theta)[0] + information
            move = np.linalg.solve(curvature, gradient)
            change, trial = float(np.sqrt(max(gradient @ move, 0.0))), (total, gradient)
            while n_iter < self.max_iter:
                n_iter += 1
                trial = objective(theta + move)
                if trial[0] >= total - 1e-9 * abs(total):
                    break
                move = 0.5 * move
            theta, (total, gradient) = theta + move, trial
        self.partial_information_ = information + part.information(theta)[0]
        self.theta_ = theta[None, :]
        self.coef_, self.intercept_ = self.theta_[:, :-1].copy(), self.theta_[:, -1].copy()
        self.n_bags_seen_ += len(part.likelihood.offsets) - 1
        self._finish(total, Solution(theta, total, change, n_iter, change <= self.tol), {})

    def _check(self):
        checks.choice(self.multiclass, "multiclass", ("auto", "exact", "ovr"))
        checks.choice(self.solver, "solver", ("direct", "em"))
        for value in self.penalty if isinstance(self.penalty, (list, tuple)) else [self.penalty]:
            if isinstance(value, str):
                checks.choice(value, "penalty", ("auto",))
            elif np.ndim(value) == 0:
                checks.at_least(value, "penalty", 0.0, whole_number=False)
        checks.at_least(self.max_iter, "max_iter", 1)
        checks.at_least(self.n_starts, "n_starts", 1)
        checks.positive(self.tol, "tol")
        checks.choice(self.engine, "engine", ("local", "spark"))
        if self.engine == "spark" and (self.solver == "em" or self.classifier is not None or self.penalty == "auto"):
            raise DataError(
                "On Spark the likelihood is climbed directly, with a given penalty.",
                hint="solver='direct', classifier=None, and a number as penalty (choose it on fewer bags).",
            )
        if self.checkpoint is not None and self.engine != "spark":
            raise DataError("checkpoint is for engine='spark'.", hint="leave it out, or fit on Spark.")
        if self.random_intercept and (self.solver == "em" or self.classifier is not None):
            raise DataError("A random intercept is fitted directly only.", hint="solver='direct', classifier=None.")

    def bag_powers(self, bags: Bags) -> np.ndarray | None:
        """The power of each bag's likelihood that ``temper`` asks for, (n_bags,); None where it is 1."""
        if self.temper is True:
            return effective_sizes(bags) / bags.sizes
        if self.temper is False or self.temper is None:
            return None
        return np.full(len(bags), float(checks.positive(self.temper, "temper")))

    def _before(self, bags, observed):
        """The last fit's parameters, where a warm start asks for them and they fit."""
        table = getattr(self, "theta_", None)
        n_logits = 1 if observed.n_classes == 2 else observed.n_classes
        if not self.warm_start or table is None or table.shape != (n_logits, bags.n_features + 1):
            return None
        return table

    def _refuse_constant(self, bags):
        constant = np.ptp(bags.values, axis=0) == 0.0 if bags.n_rows else np.zeros(bags.n_features, bool)
        if not constant.any():
            return
        first = ", ".join(repr(bags.features[j]) for j in np.flatnonzero(constant)[:3])
        message = f"{int(constant.sum())} of {constant.size} features are the same in every row. First: {first}."
        given = self.penalty if isinstance(self.penalty, (list, tuple)) else [self.penalty]
        if any(np.ndim(value) == 0 and value == 0 for value in given):
            raise DataError(message, hint="drop them, or set a penalty.")
        warnings.warn(f"{message} They get the coefficient 0.", UserWarning, stacklevel=3)

    def _choose(self, values, likelihood):
        """ "exact" or "ovr": what was asked for, or by how rough exact inference is at the start."""
        observed = likelihood.observed
        if observed.n_classes == 2:
            return "exact"
        if self.multiclass != "auto":
            return self.multiclass
        if self.random_intercept:
            return "ovr"
        flat = np.zeros((len(values), observed.n_classes))
        return "ovr" if likelihood.evaluate(flat).error.max() > ROUGH_ERROR else "exact"

    def _start_at(self, task: _Task, penalty, name, rng, before):
        """Parameters of a start by its name."""
        sizes = np.diff(task.likelihood.offsets)
        shares = task.likelihood.observed.shares(sizes)
        if name == "warm":
            theta = before.ravel()
        elif name == "mean embedding":
            theta = mean_embedding_start(task.values, task.likelihood.offsets, shares, penalty, task.n_classes)
        else:
            width = task.values.shape[1] + 1
            average = np.log((shares * sizes[:, None]).sum(axis=0) / sizes.sum())
            n_logits = 1 if task.n_classes == 2 else task.n_classes
            table = np.zeros((n_logits, width))
            table[:, -1] = average[1] - average[0] if n_logits == 1 else average - average.mean()
            if name == "random":
                spread = centre_and_scale(task.values)[1] * np.sqrt(width)
                table[:, :-1] = rng.normal(size=(n_logits, width - 1)) / spread
            theta = table.ravel()
        return np.append(theta, np.log(0.3)) if task.random_intercept else theta

    def _penalty_of(self, number, n_tasks):
        """The penalty of one task: that of all, or its own of a list."""
        if not isinstance(self.penalty, (list, tuple)):
            return self.penalty
        if len(self.penalty) != n_tasks:
            raise DataError(
                f"There are {len(self.penalty)} penalties for {n_tasks} fits.",
                hint="one number, or one per class with multiclass='ovr'.",
            )
        return self.penalty[number]

    def _fit_task(
        self, task: _Task, own, rng, before=None, checkpoint=None
    ) -> tuple[Solution, PenaltySearch | None, Any, list]:
        """All starts of one task with the penalty given or chosen; the best solution."""
        auto = isinstance(own, str)
        first = reference_shape(task.values) if auto else _as_penalty(own, task.values.shape[1])
        # a third fewer steps than from zero with a given penalty, for next to no time (cardinality_starts.json)
        names = ["mean embedding" if before is None else "warm", "zero"] + ["random"] * self.n_starts
        start = self._start_at(task, first, names[0], rng, before)
        search, penalty = None, first
        if auto:
            search, found = search_penalty(
                lambda likelihood, multiple: task.problem(likelihood, multiple * first),
                task.likelihood,
                start,
                rng,
                by_marginal_likelihood=task.random_intercept,
                verbose=self.verbose,
            )
            start, penalty = found.theta, search.best * first
        problem = task.problem(task.likelihood, penalty)
        solutions, solver = [], em_linear if self.solver == "em" else maximise
        if solver is maximise and self.inference in EXACT_METHODS and self.engine == "local" and task.approximable:
            solver = partial(_by_saddlepoint, task.problem(task.likelihood.by("saddlepoint"), penalty))
        with nullcontext(problem) if self.engine == "local" else on_spark(problem, self.master, checkpoint) as spread:
            for number, name in enumerate(names[: self.n_starts]):
                theta = start if number == 0 else self._start_at(task, penalty, name, rng, before)
                solutions.append((name, solver(spread, theta, self.tol, self.max_iter)))
        best = max((s for _, s in solutions), key=lambda s: s.objective)
        starts = [{"start": n, "objective": s.objective, "n_iter": s.n_iter} for n, s in solutions]
        if np.ndim(penalty) == 0 and penalty == 0.0:
            _refuse_separable(problem, best)
        return best, search, penalty, starts

    def _checkpoint_of(self, task: int) -> str | None:
        """The file that keeps the evaluations of one of the fits: that which was given, and others beside it."""
        if self.checkpoint is None:
            return None
        return os.fspath(self.checkpoint) + (f".{task}" if task else "")

    def _fit_rest(self, values, likelihood, rng, before):
        """One model per class against the rest."""
        found, observed = [], likelihood.observed
        for c in range(observed.n_classes):
            part = BagLikelihood(likelihood.offsets, observed.of_class(c), "auto", likelihood.temper)
            last = None if before is None else before[c]
            task = _Task(values, part, 2, self.random_intercept)
            own = self._penalty_of(c, observed.n_classes)
            found.append(self._fit_task(task, own, rng, last, self._checkpoint_of(c)))
        self._store(found)

    def _store(self, found):
        solutions = [f[0] for f in found]
        width = len(self.features_.names) + 1
        self.theta_ = np.concatenate([s.theta[: len(s.theta) // width * width] for s in solutions]).reshape(-1, width)
        self.coef_, self.intercept_ = self.theta_[:, :-1].copy(), self.theta_[:, -1].copy()
        scales = [float(np.exp(s.theta[-1])) for s in solutions if self.random_intercept]
        self.intercept_scale_ = (scales[0] if len(scales) == 1 else scales) if scales else None
        self.penalty_ = found[0][2] if len(found) == 1 else [f[2] for f in found]
        searches = [None if f[1] is None else vars(f[1]) for f in found]
        self.penalty_search_ = searches[0] if len(found) == 1 else searches
        self.starts_ = found[0][3] if len(found) == 1 else [f[3] for f in found]
        worst = max(solutions, key=lambda s: s.change)
        history = {"objective": np.array(solutions[0].history)} if len(solutions) == 1 else {}
        self._finish(sum(s.objective for s in solutions), worst, history)

    def _finish(self, objective, worst: Solution, history):
        self.fit_ = Fit(self.__dict__.get("theta_"), float(objective), None, worst.n_iter, worst.converged, history)
        if not worst.converged:
            warn_not_converged(worst.n_iter, worst.change, self.tol, stacklevel=4)

    def _fit_foreign(self, values, likelihood):
        """EM around a scikit-learn classifier, from the mean-embedding start."""
        observed = likelihood.observed
        shares = observed.shares(np.diff(likelihood.offsets))
        penalty = reference_shape(values)
        theta = mean_embedding_start(values, likelihood.offsets, shares, penalty, observed.n_classes)
        logits = LinearProblem(values, likelihood, penalty, observed.n_classes).logits(theta)
        self.classifier_, found = em_classifier(
            self.classifier, values, likelihood, logits, max(self.tol, 1e-3), min(self.max_iter, 50), self.verbose
        )
        self._finish(found.objective, found, {"objective": np.array(found.history)})

    def intercept_scale(self) -> float | None:
        """Standard deviation of the bags' own intercepts, where the model has them."""
        scale = self.__dict__.get("intercept_scale_")
        return scale if isinstance(scale, float) else None

    def _logits(self, bags: Bags) -> np.ndarray:
        if self.classifier is not None:
            return log_probabilities(self.classifier_, np.asarray(bags.values, dtype=np.float64))
        return self._linear_logits(bags)


def _as_penalty(given, n_features) -> Any:
    """A number, or an array that fits the features and can be minimised."""
    if np.ndim(given) == 0:
        return float(given)
    array = checks.finite(given, "penalty")
    if array.shape not in ((n_features,), (n_features, n_features)):
        raise DataError(
            f"penalty has shape {array.shape}; there are {n_features} features.",
            hint="a number, one per feature, or a matrix of features by features.",
        )
    roots = array if array.ndim == 1 else np.linalg.eigvalsh(0.5 * (array + array.T))
    if roots.min() < -1e-9 * max(abs(roots.max()), 1e-300) or (array.ndim == 2 and not np.allclose(array, array.T)):
        raise DataError("penalty is not a symmetric matrix without negative directions.", hint="take P' P.")
    return array


def _by_saddlepoint(approximate: LinearProblem, problem: LinearProblem, theta, tol, max_iter) -> Solution:
    return maximise_by_approximation(problem, approximate, theta, tol, max_iter)


def _refuse_absent(observed: Observed, bags: Bags):
    """Stop where a class has no member in any bag: there is nothing to learn about it."""
    if observed.counts is not None:
        sums = observed.counts.sum(axis=0)
    else:
        e = observed.observations
        assert e is not None
        sums = np.array([float((bags.sizes - e.low).sum()), float(e.high.sum())])
    absent = np.flatnonzero(sums <= 0)
    if absent.size:
        listed = ", ".join(str(c) for c in absent)
        raise DataError(
            f"Class {listed} has no member in any of the {len(bags)} bags.", hint="leave the class out, or add bags."
        )


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
