"""AggregateRegressor: a regression of individuals whose responses are known as sums or means per bag."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.utils.metadata_routing import UNUSED

from sumwise import checks
from sumwise.bags import Bags, as_bags
from sumwise.draws import lower_tail
from sumwise.errors import DataError, ModelWarning
from sumwise.estimator import Estimator
from sumwise.features import Features, centre_and_scale, name_columns
from sumwise.fit import Fit, warn_not_converged
from sumwise.inference import average_weights
from sumwise.inference.canonical import content_sorted
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Noise
from sumwise.proportions.averaged import GROUPS, held_out_groups
from sumwise.proportions.identification import warn_of_few_bags
from sumwise.proportions.kernels.aggregate_likelihood import SumFit, gaussian_sums, independent_sums, poisson_sums

if TYPE_CHECKING:
    import pandas as pd

MULTIPLES = 10.0 ** np.arange(3.0, -2.1, -1.0)  # of the prior precision, tried for Poisson counts


@dataclass(eq=False, repr=False)
class AggregateRegressor(RegressorMixin, Estimator):
    """Learn how a response depends on individuals' features when only its sum or mean over each bag is known.

    Revenue per report, mean income per area, trips per household and week. With normal errors the sums are normal and
    the fit is exact; counts are Poisson with a log link, and so are their sums. Bags may share people (a person in
    several tables), whose sums are then correlated. A regression of bag means treats all bags alike and can't say what
    noise and sizes imply; it is the special case of normal errors and bags of one size.

    Parameters
    ----------
    likelihood : {"gaussian", "poisson"}, default "gaussian"
        Of one individual's response: x'w + b with normal errors, or a count of mean exp(x'w + b).
    statistic : {"sum", "mean"}, default "sum"
        What is given of each bag.
    penalty : float, array of shape (n_columns,) or "auto", default "auto"
        Prior precision of the coefficients. ``"auto"``: alike per deviation of their feature, with the precision that
        maximises the marginal likelihood of the sums; for counts averaged by the likelihood of held-out bags.
    noise : Noise, optional
        On what is given: `Gaussian`, `Laplace` or `Geometric`; the last two by their variance.

    Attributes
    ----------
    coef_ : array of shape (n_columns,)
    intercept_ : float
    covariance_ : array of shape (n_columns + 1, n_columns + 1)
        Of coefficients and intercept under the prior that the penalty stands for. It does not account for what the
        penalty takes from large coefficients; `intervals` does.
    variance_ : float, of one response around its mean; of counts how many times the Poisson variance the sums have.
    penalty_ : array of shape (n_columns,)
    fit_ : Fit

    See Also
    --------
    CardinalityClassifier : Learn an individual-level classifier by exact maximum likelihood from class counts per bag.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import AggregateRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2)) + np.repeat(rng.normal(size=(100, 2)), 10, axis=0)
    >>> y = 3.0 + 2.0 * X[:, 0] - X[:, 1] + rng.normal(size=1000)
    >>> model = AggregateRegressor().fit(Bags(X, np.arange(0, 1001, 10)), y.reshape(100, 10).sum(axis=1))
    >>> model.coef_.round(1), round(model.intercept_, 1)
    (array([ 2., -1.]), 3.0)
    """

    _learned = (
        "features_: is Features; features_.names: len d; features_.columns: len g; "
        "n_features_in_: size g; coef_: float d; intercept_, variance_: number; "
        "covariance_, alone_covariance_: float d+1 d+1; alone_: float d+1; unknown_: float d+1 *; "
        "penalty_: float *; degrees_of_freedom_, freedom_: is float"
    )

    likelihood: str = "gaussian"
    _: KW_ONLY
    statistic: str = "sum"
    penalty: Any = "auto"
    noise: Noise | None = None

    __metadata_request__fit: ClassVar = {"bags": UNUSED}  # it is X, and not routed
    __metadata_request__score: ClassVar = {"bags": UNUSED}

    def _check_rebuilt(self) -> None:
        super()._check_rebuilt()
        checks.choice(self.statistic, "statistic", ("sum", "mean"))

    def fit(self, bags: Bags, y: Any, members: Any = None, sample_weight: Any = None) -> AggregateRegressor:
        """Fit to bags and the sum or mean of each.

        Parameters
        ----------
        bags : Bags
            Rows that stand for several people carry weights.
        y : array of shape (n_bags,)
            A pandas Series is put into the order of the bags by its index.
        members : array of shape (n_rows,), optional
            Who each row is, where people are in several bags: equal ids are one person, with one response.
        sample_weight : array of shape (n_bags,), optional
            How much each bag counts: weight 2 is the same as giving it twice, with other people who are alike. Not for
            bags that share ``members``, whose sums are not independent.
        """
        checks.choice(self.likelihood, "likelihood", ("gaussian", "poisson"))
        checks.choice(self.statistic, "statistic", ("sum", "mean"))
        bags, y, weights = self._weighted(as_bags(bags), y, members, sample_weight)
        bags, totals, noise = self._totals(bags, y)
        rank = np.argsort(content_sorted(bags, [totals])[1])
        self.features_ = Features.learn(bags)
        name_columns(self, bags)
        values = np.asarray(self.features_.matrix(bags), dtype=np.float64)
        people, matrix, relative = _people(values, bags, members)
        if not noise.any():
            kept = _without_implied(totals, matrix, bags.ids)
            totals, matrix, noise, weights = totals[kept], matrix[kept], noise[kept], weights[kept]
            rank = np.argsort(np.argsort(rank[kept]))
        if self.likelihood == "gaussian":
            _check_varied(totals, matrix)
        centre, scale = centre_and_scale(people)
        observed = totals, matrix, noise
        found, prior = self._solved((people - centre) / scale, scale, observed, relative, weights, rank)
        self._store(found, prior, centre, scale)
        self.freedom_ = float(weights.sum() - 1.0 - values.shape[1])
        warn_of_few_bags(len(bags), values.shape[1])
        if not found.converged:
            warn_not_converged(found.n_iter, np.nan, 1e-6, hint="give a penalty above 0.", stacklevel=2)
        return self

    @staticmethod
    def _weighted(bags: Bags, y: Any, members: Any, sample_weight: Any) -> tuple[Bags, Any, np.ndarray]:
        """The bags of some weight, what is given of them, and their weights."""
        weights = checks.bag_weights(bags, sample_weight)
        if sample_weight is None:
            return bags, y, weights
        if members is not None:
            raise DataError(
                "Bags that share members can't have a sample_weight: copies of a bag would share them, too.",
                hint="leave one of the two out.",
            )
        kept = np.flatnonzero(weights)
        return bags[kept], bags.align(y, "y")[kept], weights[kept]

    def _totals(self, bags: Bags, y: Any) -> tuple[Bags, np.ndarray, np.ndarray]:
        """Bags that have rows, their sums, and the variance of the noise on these."""
        given = checks.finite(bags.align(y, "y"), "y", ndim=1, labels=[bags.ids])
        checks.same_length(bags=bags, y=given)
        empty = bags.sizes == 0
        if empty.any():
            raise DataError(f"{int(empty.sum())} of {len(bags)} bags are empty.", hint="bags.drop_empty().")
        if len(bags) < 2:
            raise DataError("There is only one bag.", hint="give at least two.")
        if self.likelihood == "poisson" and (given < 0).any() and self._noise_variance() == 0.0:
            first = checks.plain(bags.ids[int(np.argmax(given < 0))])
            raise DataError(f"Counts can't be negative; bag {first!r} is.", hint="likelihood='gaussian', or noise=.")
        times = bags.total_weights if self.statistic == "mean" else np.ones(len(bags))
        return bags, given * times, self._noise_variance() * times**2

    def _noise_variance(self) -> float:
        if self.noise is None:
            return 0.0
        if not isinstance(self.noise, (Exact, Gaussian, Laplace, Geometric)):
            raise DataError(f"noise is {self.noise!r}.", hint="Gaussian, Laplace or Geometric.")
        return float(self.noise.variance(0.0))

    def _solved(
        self, values, scale, observed: tuple[Any, Any, Any], relative, weights, rank: np.ndarray
    ) -> tuple[SumFit, np.ndarray]:
        """The fit in standardised features, and the prior precision used there."""
        d = values.shape[1]
        if not isinstance(self.penalty, str):
            given = checks.finite(self.penalty, "penalty")
            if given.shape not in ((), (d,)) or (given < 0).any():
                raise DataError(f"penalty has shape {given.shape}.", hint=f"a number, or {d} of them, none negative.")
            prior = np.maximum(np.broadcast_to(given / scale**2, d), 1e-12)
            if self.likelihood == "poisson":
                return poisson_sums(values, *observed, prior, relative, weights=weights), prior
            return gaussian_sums(values, *observed, prior, relative, fixed=True, weights=weights), prior
        checks.choice(self.penalty, "penalty", ("auto",))
        if self.likelihood == "poisson":
            return self._by_held_out(values, observed, relative, weights, rank)
        totals, matrix, _ = observed
        sizes = np.asarray(matrix.sum(axis=1)).ravel()
        unit = max(float(np.var(totals / sizes) * np.median(sizes)), 1e-300)  # about a response's variance
        start = np.full(d, max(d, 1) / unit)
        found = gaussian_sums(values, *observed, start, relative, weights=weights)
        return found, found.precision * start

    def _by_held_out(
        self, values, observed: tuple[Any, Any, Any], relative, weights, rank: np.ndarray
    ) -> tuple[SumFit, np.ndarray]:
        """Counts: the prior precision averaged, as a logarithm, by the likelihood of held-out sums."""
        totals, matrix, noise = observed
        d, n = values.shape[1], len(totals)
        folds = held_out_groups(n, GROUPS)[rank]
        held_out, squares = np.empty((len(MULTIPLES), n)), np.empty((len(MULTIPLES), n))
        starts: list = [None] * (int(folds.max()) + 1)
        for k, multiple in enumerate(MULTIPLES):
            prior = np.full(d, multiple * max(d, 1))
            for fold in range(folds.max() + 1):
                train, test = folds != fold, folds == fold
                part = (totals[train], matrix[train], noise[train])
                fit = poisson_sums(values, *part, prior, relative, starts[fold], weights=weights[train], errors=False)
                theta = starts[fold] = fit.theta
                means = np.asarray(matrix[test] @ np.exp(np.clip(values @ theta[:-1] + theta[-1], -700, 50)))
                means = np.maximum(means, 1e-300)
                held_out[k, test] = weights[test] * (totals[test] * np.log(means) - means)
                squares[k, test] = weights[test] * (totals[test] - means) ** 2 / means
        best = squares[int(np.argmax(held_out.sum(axis=1)))]
        shares = average_weights(held_out, dispersion=max(1.0, float(best.sum() / weights.sum())))
        self.penalty_search_ = {"multiples": MULTIPLES.copy(), "weights": shares}
        prior = np.full(d, float(np.exp(shares @ np.log(MULTIPLES))) * max(d, 1))
        return poisson_sums(values, *observed, prior, relative, weights=weights), prior

    def _store(self, found: SumFit, prior, centre, scale) -> None:
        """Back from standardised features: w / s, and b - c'w / s."""
        back = np.diag(np.append(1.0 / scale, 1.0))
        back[-1, :-1] = -centre / scale
        theta = back @ found.theta
        self.coef_, self.intercept_ = theta[:-1], float(theta[-1])
        self.covariance_ = back @ found.covariance @ back.T
        self.alone_, self.alone_covariance_ = back @ found.alone, back @ found.alone_covariance @ back.T
        self.unknown_ = back @ found.unknown
        self.variance_, self.penalty_ = found.variance, prior * scale**2
        self.degrees_of_freedom_ = found.degrees
        history = {"objective": np.array([found.objective])}
        self.fit_ = Fit(theta, found.objective, None, found.n_iter, found.converged, history)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that coefficients belong to: one per number, one per level, one per missing value."""
        del input_features  # scikit-learn's signature
        return np.array([str(name) for name in self._fitted("coef_").features_.names], dtype=object)

    def intervals(self, level: float = 0.95) -> pd.DataFrame:
        """One row per coefficient, and the intercept last, with an interval that accounts for shrinkage.

        ``coefficient`` is the fitted one, which the penalty shrinks. The interval has its probability under the
        distribution around the coefficient that the sums alone suggest; where the fitted one lies in a tail of that, it
        begins or ends there, so that it contains the coefficient and covers the truth as often as it says. It is
        missing where the sums leave a coefficient open (each level of a category, whose levels add up to the
        intercept), and for all where there are fewer than two bags per coefficient: no interval would be valid.

        Returns
        -------
        DataFrame with coefficient, standard_error, low, high, indexed by `get_feature_names_out` and "intercept"
        """
        import pandas as pd

        names = [*self.get_feature_names_out(), "intercept"]
        fitted = np.append(self.coef_, self.intercept_)
        low, high, errors = self._around_alone(np.eye(len(names)), fitted, level)
        columns = {"coefficient": fitted, "standard_error": errors, "low": low, "high": high}
        return pd.DataFrame(columns, index=names)

    def predict_interval(self, X: Any, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Interval of the expected response of individuals, which contains `predict`, as in `intervals`.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), data frame, or Bags
        level : float, default 0.95

        Returns
        -------
        low, high : arrays of shape (n_rows,)
            Missing where the sums leave the expectation open.
        """
        values = self._fitted("coef_").features_.matrix(X)
        predicted = values @ self.coef_ + self.intercept_
        low, high, _ = self._around_alone(np.column_stack([values, np.ones(len(values))]), predicted, level)
        return (low, high) if self.likelihood == "gaussian" else (np.exp(low), np.exp(high))

    def _around_alone(
        self, rows: np.ndarray, fitted: np.ndarray, level: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Intervals that contain `fitted`, and standard errors, of linear functions of coefficients, one per row."""
        from scipy.stats import t

        if "alone_" not in vars(self):
            raise DataError(
                "The model was saved by a version without intervals, and can't have them.", hint="fit again."
            )
        estimated = self.likelihood == "gaussian" or self.variance_ > 1.0  # counts that vary as Poisson ones don't
        freedom = max(self.freedom_, 1.0) if estimated else np.inf
        errors = self._errors(rows, self.alone_covariance_)
        open_by = np.abs(rows @ self.unknown_) > 1e-6 * (np.abs(rows) @ np.abs(self.unknown_))
        errors = np.where(open_by.any(axis=1), np.nan, errors)
        n_coefs = len(self.alone_)
        if self.freedom_ < n_coefs:
            warnings.warn(
                f"{self.freedom_ + n_coefs:.0f} bags are too few for valid intervals from {n_coefs} coefficients. "
                "Hint: fewer features, or more bags.",
                ModelWarning,
                stacklevel=3,
            )
            errors = np.full(len(rows), np.nan)
        level, middle = checks.fraction(level, "level"), rows @ self.alone_
        start = lower_tail(t.cdf((fitted - middle) / np.maximum(errors, 1e-300), freedom), level)
        low, high = (middle + t.ppf(end, freedom) * errors for end in (start, start + level))
        low, high = (np.where(np.isinf(end), fitted, end) for end in (low, high))  # no probability is that small
        return np.minimum(low, fitted), np.maximum(high, fitted), errors

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Expected response of individuals.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), data frame, or Bags
        return_std : bool, default False
            Whether to return the standard deviation of the expectation, too, by `covariance_`; `predict_interval`
            accounts for shrinkage.

        Returns
        -------
        array of shape (n_rows,), or two of them
        """
        self._fitted("coef_")
        values = self.features_.matrix(X)
        linear = values @ self.coef_ + self.intercept_
        mean = linear if self.likelihood == "gaussian" else np.exp(linear)
        if not return_std:
            return mean
        error = self._errors(np.column_stack([values, np.ones(len(values))]), self.covariance_)
        return mean, error if self.likelihood == "gaussian" else error * mean

    def _errors(self, rows: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """Standard errors of linear functions of the coefficients, one per row."""
        return np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, covariance, rows), 0.0))

    def predict_sums(self, bags: Bags) -> np.ndarray:
        """Expected sum (or mean, if that was given) of each bag."""
        rows = self._fitted("coef_").features_.rows(bags)
        sums, sizes = rows.sums(self.predict(rows) * rows.weights), rows.total_weights
        if self.statistic == "sum":
            return sums
        return np.divide(sums, sizes, out=np.full(len(rows), np.nan), where=sizes > 0)

    def score(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, bags: Bags, y: Any, sample_weight: Any = None
    ) -> float:
        """R squared of the bags' sums (or means), each counting as much as ``sample_weight`` says."""
        given = checks.finite(bags.align(y, "y"), "y", ndim=1, labels=[bags.ids])
        weights = checks.bag_weights(bags, sample_weight)
        off = given - self.predict_sums(bags)
        total = float(weights @ (given - np.average(given, weights=weights)) ** 2)
        return 1.0 - float(weights @ off**2) / total if total > 0 else 0.0


def _without_implied(totals: np.ndarray, matrix: sparse.csr_array, ids: np.ndarray) -> np.ndarray:
    """Bags whose exact sums the others don't imply; an error where those that are implied are given otherwise."""
    kept, implied, largest = independent_sums(matrix, totals)
    off = np.abs(totals - implied) > 1e-6 * largest
    checks.nowhere(
        off,
        "{} totals contradict those of bags with the same members",
        lambda b: f"bag {checks.plain(ids[b])!r} has {totals[b]:.6g}; the others imply {implied[b]:.6g}",
        "noise=Gaussian(scale) where totals are rounded or noisy; members= says who each row is.",
    )
    return kept


def _check_varied(totals: np.ndarray, matrix: Any) -> None:
    """Refuse responses that are the same for all: their variance would be 0, and any coefficients fit."""
    means = totals / np.maximum(np.asarray(matrix.sum(axis=1)).ravel(), 1e-300)
    if len(means) > 1 and np.ptp(means) <= 1e-12 * np.abs(means).max():
        raise DataError(
            f"All {len(means)} bags have the same mean response, {means[0]:.6g}: there is nothing to learn from them.",
            hint="give bags whose responses differ.",
        )


def _people(values: np.ndarray, bags: Bags, members: Any) -> tuple[np.ndarray, sparse.csr_array, np.ndarray]:
    """Features of each person, which bags hold whom, as often as weights say, and the variance of each response.

    A row of weight 3 is three people: the mean of their responses has a third of the variance, and counts three times.
    """
    index, n = np.arange(bags.n_rows), bags.n_rows
    if members is not None:
        given = np.asarray(members)
        if given.shape != (bags.n_rows,):
            raise DataError(f"members has shape {given.shape}.", hint=f"one id per row: ({bags.n_rows},).")
        ids, first, index = np.unique(given, return_index=True, return_inverse=True)
        n = len(ids)
        differ = (values != values[first][index]).any(axis=1)
        checks.nowhere(
            differ,
            "{} rows have other features than an earlier row of the same person",
            lambda i: repr(checks.plain(given[i])),
            "a person has the same features in every bag; members follow the rows of bags.values, bag by bag.",
        )
        values = values[first]
    if bags.weighted and members is not None:
        raise DataError("Rows that stand for several people can't be in several bags.", hint="leave weights out.")
    matrix = sparse.csr_array((bags.weights, (bags.bag_index, index)), shape=(len(bags), n))
    return values, matrix, 1.0 / np.maximum(bags.weights, 1e-300) if bags.weighted else np.ones(n)
