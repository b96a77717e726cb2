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
from sumwise.proportions.counts import drop_empty, observe
from sumwise.proportions.em import em_classifier, em_linear, log_probabilities
from sumwise.proportions.feature_rows import Rows
from sumwise.proportions.identification import warn_of_few_bags
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import (
    LinearProblem,
    Solution,
    as_penalty,
    check_penalty,
    constant_table,
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
    random_intercept: bool = False
    penalty: Any = "auto"
    before: np.ndarray | None = None  # parameters to begin from
    checkpoint: str | None = None

    def problem(self, likelihood: BagLikelihood, penalty) -> LinearProblem:
        return LinearProblem(self.rows, likelihood, penalty, likelihood.observed.n_classes, self.random_intercept)

    @cached_property
    def rows(self):
        return Rows(self.values)

    @property
    def approximable(self) -> bool:
        """Whether the saddlepoint approximation of class counts is close, and much cheaper: in large bags."""
        sizes, n_classes = np.diff(self.likelihood.offsets).astype(float), self.likelihood.observed.n_classes
        return n_classes > 2 and bool(sizes.min() >= LARGE and np.mean(sizes**n_classes) >= COSTLY)


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
        bags, counts, weights = self._training(bags, counts, sample_weight)
        observed = observe(bags, counts, self.noise, self.totals)
        observed.refuse_absent(bags.sizes)
        if self.random_intercept and not observed.exact:
            raise DataError("A random intercept needs exact counts.", hint="random_intercept=False for noisy counts.")
        rng = checks.generator(self.random_state)
        powers, self.sample_weighted_ = self.bag_powers(bags), weights is not None
        if weights is not None:
            powers = weights if powers is None else weights * powers
        likelihood = BagLikelihood(bags.offsets, observed, self.inference, powers)
        values = np.ascontiguousarray(bags.values, dtype=np.float64)
        self.n_classes_, self.classes_ = observed.n_classes, np.arange(observed.n_classes)
        warn_of_few_bags(len(bags), bags.n_features)
        if self.classifier is not None:
            self._fit_classifier(values, likelihood)
            return self
        self._check_constant(bags)
        self.multiclass_ = self._exact_or_ovr(values, likelihood)
        tasks = self._tasks(values, likelihood)
        self._store([self._fit_task(task, rng) for task in tasks])
        for task in tasks if self.checkpoint is not None else ():
            Checkpoint(task.checkpoint).clear()
        if self.multiclass_ == "ovr":
            likelihood = BagLikelihood(bags.offsets, observed)
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
            bags, counts, _ = self._training(bags, counts)
        else:
            bags = self.design(bags)
            bags, counts = drop_empty(bags, bags.align(counts))
        observed = observe(bags, counts, self.noise, self.totals)
        if observed.n_classes != 2:
            raise DataError("partial_fit supports two classes only.", hint="one classifier per class, or fit.")
        values = np.ascontiguousarray(bags.values, dtype=np.float64)
        likelihood = BagLikelihood(bags.offsets, observed, self.inference, self.bag_powers(bags))
        if first:
            self._start_parts(values, likelihood)
        self._add_part(LinearProblem(values, likelihood, np.zeros(values.shape[1])))
        return self

    def _start_parts(self, values, likelihood):
        auto = isinstance(self.penalty, str)
        self.penalty_ = reference_shape(values) if auto else as_penalty(self.penalty, values.shape[1])
        prior = LinearProblem(values, likelihood, self.penalty_)
        self.n_classes_, self.classes_, self.multiclass_ = 2, np.arange(2), "exact"
        self.intercept_scale_, self.penalty_search_, self.n_bags_seen_ = None, None, 0
        share = likelihood.observed.shares(np.diff(likelihood.offsets))[:, 1].mean()
        self.theta_ = np.append(np.zeros(values.shape[1]), np.log(share / (1.0 - share)))[None, :]
        self.partial_information_ = prior.penalty_block

    def _add_part(self, part: LinearProblem):
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
        check_penalty(self.penalty)
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

    def _check_constant(self, bags):
        constant = np.ptp(bags.values, axis=0) == 0.0 if bags.n_rows else np.zeros(bags.n_features, bool)
        if not constant.any():
            return
        first = ", ".join(repr(bags.features[j]) for j in np.flatnonzero(constant)[:3])
        message = f"{int(constant.sum())} of {constant.size} features are the same in every row. First: {first}."
        given = self.penalty if isinstance(self.penalty, (list, tuple)) else [self.penalty]
        if any(np.ndim(value) == 0 and value == 0 for value in given):
            raise DataError(message, hint="drop them, or set a penalty.")
        warnings.warn(f"{message} They get the coefficient 0.", UserWarning, stacklevel=3)

    def _exact_or_ovr(self, values, likelihood):
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

    def _tasks(self, values, likelihood: BagLikelihood) -> list[_Task]:
        """The likelihoods to be maximised, of all classes at once or of each against the rest, each with its penalty,
        the last fit's parameters where a warm start asks for them, and the file that keeps its evaluations."""
        parts, observed = [likelihood], likelihood.observed
        if self.multiclass_ == "ovr":
            classes = [observed.of_class(c) for c in range(observed.n_classes)]
            parts = [BagLikelihood(likelihood.offsets, one, "auto", likelihood.temper) for one in classes]
        n = len(parts)
        penalties = self.penalty if isinstance(self.penalty, (list, tuple)) else [self.penalty] * n
        if len(penalties) != n:
            raise DataError(
                f"There are {len(penalties)} penalties for {n} fits.",
                hint="one number, or one per class with multiclass='ovr'.",
            )
        last, n_logits = np.asarray(vars(self).get("theta_")), 1 if observed.n_classes == 2 else observed.n_classes
        warm = self.warm_start and last.shape == (n_logits, values.shape[1] + 1)
        starts = np.split(last, n) if warm else [None] * n
        given = None if self.checkpoint is None else os.fspath(self.checkpoint)
        paths = [given, *(None if given is None else f"{given}.{c}" for c in range(1, n))]
        own = zip(penalties, starts, paths)
        return [_Task(values, part, self.random_intercept, *its) for part, its in zip(parts, own)]

    def _start_at(self, task: _Task, penalty, name, rng: Any = None):
        """Parameters of a start by its name."""
        sizes = np.diff(task.likelihood.offsets)
        shares = task.likelihood.observed.shares(sizes)
        if name == "warm":
            assert task.before is not None
            theta = task.before.ravel()
        elif name == "mean embedding":
            theta = mean_embedding_start(task.values, task.likelihood.offsets, shares, penalty, shares.shape[1])
        else:
            table = constant_table((shares * sizes[:, None]).sum(axis=0) / sizes.sum(), task.values.shape[1] + 1)
            if name == "random":
                spread = centre_and_scale(task.values)[1] * np.sqrt(table.shape[1])
                table[:, :-1] = rng.normal(size=table[:, :-1].shape) / spread
            theta = table.ravel()
        return np.append(theta, np.log(0.3)) if task.random_intercept else theta

    def _fit_task(self, task: _Task, rng) -> tuple[Solution, PenaltySearch | None, Any, list]:
        """All starts of one task with the penalty given or chosen; the best solution."""
        auto = isinstance(task.penalty, str)
        first = reference_shape(task.values) if auto else as_penalty(task.penalty, task.values.shape[1])
        # a third fewer steps than from zero with a given penalty, for next to no time (cardinality_starts.json)
        names = ["mean embedding" if task.before is None else "warm", "zero"] + ["random"] * self.n_starts
        start = self._start_at(task, first, names[0], rng)
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
        solutions, solver, local = [], em_linear if self.solver == "em" else maximise, self.engine == "local"
        if solver is maximise and self.inference in EXACT_METHODS and local and task.approximable:
            solver = partial(maximise_by_approximation, task.problem(task.likelihood.by("saddlepoint"), penalty))
        with nullcontext(problem) if local else on_spark(problem, self.master, task.checkpoint) as spread:
            for number, name in enumerate(names[: self.n_starts]):
                theta = start if number == 0 else self._start_at(task, penalty, name, rng)
                solutions.append((name, solver(spread, theta, self.tol, self.max_iter)))
        best = max((s for _, s in solutions), key=lambda s: s.objective)
        starts = [{"start": n, "objective": s.objective, "n_iter": s.n_iter} for n, s in solutions]
        if np.ndim(penalty) == 0 and penalty == 0.0:
            _refuse_separable(problem, best)
        return best, search, penalty, starts

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

    def _fit_classifier(self, values, likelihood):
        """EM around a scikit-learn classifier, from the mean-embedding start."""
        task, penalty = _Task(values, likelihood), reference_shape(values)
        theta = self._start_at(task, penalty, "mean embedding")
        logits = task.problem(likelihood, penalty).logits(theta)
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
