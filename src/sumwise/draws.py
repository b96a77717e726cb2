"""Draws: the joint distribution of named quantities; estimates, intervals, differences and ranks are read off it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError, MissingExtra
from sumwise.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Draws"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Draws:
    """The joint distribution of named quantities, as equally likely draws.

    Everything that is said about the quantities is read off the same draws, so that an estimate, its interval, a
    difference and a rank never contradict each other. The estimate is the mean.

    Parameters
    ----------
    values : array (n_draws, ...)
        The draws; a quantity that can't be estimated is NaN in all of them.
    labels : sequence of sequences, optional
        The names along each axis of a draw.
    axes : sequence of str, optional
        What each axis is, for example ("group", "candidate").
    name : str
        What is estimated.
    lower_bound, upper_bound : arrays of the shape of a draw, optional
        What is certain whatever the model; draws are clipped to it.
    covariance : array (size, size), optional
        Given by `Draws.gaussian`: the quantities are jointly normal with this covariance, so means and intervals are
        computed from it instead of the draws.

    See Also
    --------
    sumwise.Estimate : Labelled numbers with one interval each, which draws are summarised as.

    Examples
    --------
    >>> from sumwise.draws import Draws
    >>> shares = Draws.gaussian([[0.6, 0.5]], [[0.01, 0.0], [0.0, 0.01]], labels=[["white"], ["Kemp", "Abrams"]],
    ...                         axes=["group", "vote"], name="share")
    >>> shares.estimate(0.9)
    Estimate of share, 90% interval
    group   vote  share    low   high
    white   Kemp    0.6 0.4355 0.7645
    white Abrams    0.5 0.3355 0.6645
    >>> ahead = shares.difference(("white", "Kemp"), ("white", "Abrams"))
    >>> round(float(ahead.probability(lambda d: d > 0)), 2)
    0.76
    """

    values: np.ndarray
    labels: tuple = None  # type: ignore[assignment]
    axes: tuple = None  # type: ignore[assignment]
    name: str = "estimate"
    lower_bound: np.ndarray | None = None
    upper_bound: np.ndarray | None = None
    covariance: np.ndarray | None = None

    if TYPE_CHECKING:  # callers may give more kinds than are stored

        def __init__(
            self,
            values: Any,
            labels: Any = None,
            axes: Any = None,
            name: str = "estimate",
            lower_bound: Any = None,
            upper_bound: Any = None,
            covariance: Any = None,
        ) -> None: ...

    def __post_init__(self):
        values = checks.finite(self.values, "draws", allow_nan=True)
        if values.ndim == 0 or not len(values):
            raise DataError("There are no draws.", hint="the first axis of values is the draw.")
        partly = np.isnan(values).any(axis=0) & ~np.isnan(values).all(axis=0)
        if partly.any():
            raise DataError(
                f"{int(partly.sum())} of {partly.size} quantities are NaN in some draws only.",
                hint="a quantity that can't be estimated is NaN in all draws.",
            )
        # An estimate of the first draw checks labels, axes, bounds and their shapes.
        form = Estimate(
            values[0],
            labels=self.labels,
            axes=self.axes,
            name=self.name,
            lower_bound=self.lower_bound,
            upper_bound=self.upper_bound,
        )
        if self.covariance is not None:
            size = values[0].size
            covariance = checks.finite(self.covariance, "covariance")
            if covariance.shape != (size, size) or form.lower_bound is not None:
                raise DataError(
                    f"The covariance has shape {covariance.shape} for {size} quantities.",
                    hint="it belongs to quantities that are normal, and so have no bounds.",
                )
            object.__setattr__(self, "covariance", checks.frozen(covariance))
        if form.lower_bound is not None:
            values = np.clip(values, form.lower_bound, form.upper_bound)
        for field in ("labels", "axes", "lower_bound", "upper_bound"):
            object.__setattr__(self, field, getattr(form, field))
        object.__setattr__(self, "values", checks.frozen(values))

    @classmethod
    def gaussian(
        cls,
        mean: Any,
        covariance: Any,
        to_values: Callable[[np.ndarray], np.ndarray] | None = None,
        *,
        n_draws: int = 4000,
        random_state: Any = 0,
        lower_bound: Any = None,
        upper_bound: Any = None,
        **names: Any,
    ) -> Draws:
        """Return draws of a Gaussian, or of what a function makes of it.

        The draws have exactly the mean and covariance that are stated and come in pairs mirrored at the mean. They
        don't depend on the order of the quantities: these are sorted by mean and variance before they are drawn.

        Parameters
        ----------
        mean : array of any shape
            The mean.
        covariance : array (size, size)
            The covariance of the flattened quantities.
        to_values : callable, optional
            Takes draws (n_draws, ...) and returns the quantities (n_draws, ...).
        n_draws : int
            How many; an odd number is raised to the next even one.
        random_state : int, Generator or None
            Fixes the draws.
        lower_bound, upper_bound : arrays, optional
            As for `Draws`.
        **names
            labels, axes and name, as for `Draws`.

        Examples
        --------
        >>> import numpy as np
        >>> from sumwise.draws import Draws
        >>> odds = Draws.gaussian([0.0], [[1.0]], np.exp)  # log-normal
        >>> bool(odds.mean[0] > 1.5), bool(abs(odds.interval(0.5)[0][0] - np.exp(-0.674)) < 0.02)
        (True, True)
        """
        location = checks.finite(mean, "mean")
        spread = checks.finite(covariance, "covariance").reshape(location.size, location.size)
        values = _gaussian_draws(location.ravel(), spread, checks.at_least(n_draws, "n_draws", 2), random_state)
        values = values.reshape(-1, *location.shape)
        if to_values is not None or lower_bound is not None:
            values = values if to_values is None else to_values(values)
            return cls(values, lower_bound=lower_bound, upper_bound=upper_bound, **names)
        return cls(values, covariance=(spread + spread.T) / 2, **names)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one draw."""
        return self.values.shape[1:]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> np.ndarray:
        """The mean of each quantity: its estimate."""
        return self.values.mean(axis=0)

    @property
    def deviation(self) -> np.ndarray:
        """The standard deviation of each quantity."""
        if self.covariance is not None:
            return np.sqrt(np.diag(self.covariance).clip(0)).reshape(self.shape)
        return self.values.std(axis=0)

    def interval(self, level: float = 0.95, through: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return (low, high), which have probability `level` and contain the estimate.

        The tails are equal, except where a distribution is so skewed that its mean lies in one of them: there the
        interval of the same probability begins or ends at the mean.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
        through : array of the shape of a draw, optional
            A point estimate that takes the place of the mean, such as a prediction that a penalty shrinks.

        Examples
        --------
        >>> from sumwise.draws import Draws
        >>> low, high = Draws.gaussian([0.0], [[1.0]]).interval(0.5, through=[1.0])
        >>> low.round(2), high.round(2)
        (array([-0.41]), array([1.]))
        """
        level = checks.fraction(level, "level")
        point = self.mean if through is None else np.broadcast_to(np.asarray(through, float), self.shape)
        if self.covariance is not None:
            from scipy.special import ndtr, ndtri

            mean, deviation = self.mean, np.maximum(self.deviation, np.finfo(float).tiny)
            start = lower_tail(ndtr((point - mean) / deviation), level)
            low, high = (mean + ndtri(share) * deviation for share in (start, start + level))
            low, high = np.where(np.isinf(low), point, low), np.where(np.isinf(high), point, high)
        else:
            below = (self.values < point).mean(axis=0)
            low, high = (np.array(end) for end in np.quantile(self.values, [(1 - level) / 2, (1 + level) / 2], axis=0))
            outside = (point < low) | (point > high)
            ordered = np.sort(self.values[:, outside], axis=0)
            start = lower_tail(below[outside], level)
            low[outside], high[outside] = (_ordered_quantile(ordered, end) for end in (start, start + level))
        return np.minimum(low, point), np.maximum(high, point)  # quantiles lie between draws

    def estimate(self, level: float = 0.95) -> Estimate:
        """Return the mean and the interval of each quantity as an `Estimate`."""
        low, high = self.interval(level)
        names = {field: getattr(self, field) for field in ("labels", "axes", "name", "lower_bound", "upper_bound")}
        return Estimate(self.mean, low=low, high=high, level=level, **names)

    def probability(self, statement: Callable[[np.ndarray], Any]) -> np.ndarray:
        """Return the share of draws in which a statement is true.

        Parameters
        ----------
        statement : callable
            Takes the draws (n_draws, ...) and returns true or false per draw (and quantity).

        Examples
        --------
        >>> from sumwise.draws import Draws
        >>> Draws([[0.2, 0.8], [0.6, 0.4], [0.1, 0.9], [0.3, 0.7]]).probability(lambda d: d[:, 1] > d[:, 0])
        array(0.75)
        """
        truth = np.asarray(statement(self.values))
        if truth.dtype != bool or truth.shape[:1] != self.values.shape[:1]:
            raise DataError(
                f"The statement gave {truth.dtype} of shape {truth.shape}, not true or false for {len(self)} draws.",
                hint="compare the draws: lambda d: d[:, 0] > d[:, 1].",
            )
        return np.asarray(truth.mean(axis=0))

    def __getitem__(self, chosen: Any) -> Draws:
        """Return the draws of the quantities that a name, or a tuple of names along the first axes, stands for."""
        where = self._where(chosen)
        rest = self.labels[len(where) :]
        bounds = [None if b is None else b[where] for b in (self.lower_bound, self.upper_bound)]
        flat = np.arange(int(np.prod(self.shape))).reshape(self.shape)[where].ravel()
        covariance = None if self.covariance is None else self.covariance[np.ix_(flat, flat)]
        chosen = chosen if isinstance(chosen, tuple) else (chosen,)
        name = f"{self.name} of {', '.join(map(str, chosen))}"
        axes = self.axes[len(where) :]
        return Draws(self.values[(slice(None), *where)], rest, axes, name, bounds[0], bounds[1], covariance)

    def difference(self, a: Any, b: Any) -> Draws:
        """Return the draws of the quantity named `a` minus those of the quantity named `b`.

        Each is a name along the first axis, or a tuple of names along the first axes.
        """
        first, second = self[a], self[b]
        covariance = None
        if self.covariance is not None:
            index = np.arange(int(np.prod(self.shape))).reshape(self.shape)
            one, two = (index[self._where(chosen)].ravel() for chosen in (a, b))
            contrast = np.zeros((len(one), index.size))
            contrast[np.arange(len(one)), one] += 1
            contrast[np.arange(len(two)), two] -= 1
            covariance = contrast @ self.covariance @ contrast.T
        name = f"{first.name} minus {second.name.removeprefix(self.name + ' of ')}"
        return Draws(first.values - second.values, first.labels, first.axes, name, covariance=covariance)

    def _where(self, chosen: Any) -> tuple[int, ...]:
        """The index that a name, or a tuple of names along the first axes, stands for."""
        chosen = chosen if isinstance(chosen, tuple) else (chosen,)
        if len(chosen) > len(self.shape):
            raise DataError(f"{chosen!r} names {len(chosen)} axes; there are {len(self.shape)}: {list(self.axes)}.")
        for name, names, axis in zip(chosen, self.labels, self.axes):
            checks.known(name, names, str(axis))
        return tuple(names.index(name) for name, names in zip(chosen, self.labels))

    def rank(self, axis: int = -1) -> Draws:
        """Return the draws of each quantity's rank along an axis of a draw: 1 is the largest, equals share the mean.

        Examples
        --------
        >>> from sumwise.draws import Draws
        >>> votes = Draws([[0.2, 0.8], [0.6, 0.4], [0.1, 0.9]], labels=[["Kemp", "Abrams"]])
        >>> votes.rank().probability(lambda r: r == 1)
        array([0.33333333, 0.66666667])
        """
        if not -len(self.shape) <= axis < len(self.shape):
            raise DataError(f"There is no axis {axis}; a draw has {len(self.shape)}: {list(self.axes)}.")
        moved = np.moveaxis(self.values, axis % len(self.shape) + 1, -1)
        above = (moved[..., None, :] > moved[..., :, None]).sum(axis=-1)
        equal = (moved[..., None, :] == moved[..., :, None]).sum(axis=-1)
        ranks = np.where(np.isnan(moved), np.nan, above + (equal + 1) / 2)
        return Draws(np.moveaxis(ranks, -1, axis % len(self.shape) + 1), self.labels, self.axes, f"rank of {self.name}")

    def map(self, function: Callable[[np.ndarray], Any], **names: Any) -> Draws:
        """Return the draws of what a function of the draws (n_draws, ...) gives: sums, ratios, turnout.

        Labels, axes, name and bounds of the result are given by keyword, as for `Draws`.
        """
        return Draws(function(self.values), **{"name": self.name, **names})

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with one row per draw and one column per quantity."""
        import pandas as pd

        columns = pd.MultiIndex.from_product(self.labels, names=self.axes) if self.shape else [self.name]
        frame = pd.DataFrame(self.values.reshape(len(self), -1), columns=columns)
        frame.index.name = "draw"
        return frame

    def to_inference_data(self) -> Any:
        """Return ArviZ's ``InferenceData`` with one chain, if ArviZ is installed."""
        dims = [str(axis) for axis in self.axes]
        try:
            import arviz
        except ImportError as error:
            raise MissingExtra("InferenceData needs the package arviz.", hint="pip install arviz.") from error
        return arviz.from_dict(
            posterior={self.name: self.values[None]},
            coords={axis: list(names) for axis, names in zip(dims, self.labels)},
            dims={self.name: dims},
        )

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(names)} {axis}" for axis, names in zip(self.axes, self.labels))
        return f"Draws of {self.name}: {len(self):,} draws of {sizes or 'one quantity'}"

    def _repr_html_(self) -> str:
        return self.estimate()._repr_html_()


def lower_tail(below: Any, level: float) -> np.ndarray:
    """Probability below an interval of probability `level` that contains a point with the probability `below` below.

    Examples
    --------
    >>> from sumwise.draws import lower_tail
    >>> lower_tail([0.5, 0.01, 0.99], 0.9).round(2)
    array([0.05, 0.01, 0.09])
    """
    below = np.asarray(below, float)
    return np.clip(np.clip((1 - level) / 2, below - level, None), 0.0, np.minimum(below, 1 - level))


def _ordered_quantile(ordered: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Quantiles of columns (n_draws, m) of ordered draws, each at a share of its own, (m,)."""
    place = share.clip(0, 1) * (len(ordered) - 1)
    left = np.minimum(place.astype(np.intp), max(len(ordered) - 2, 0))
    right = np.minimum(left + 1, len(ordered) - 1)
    columns = np.arange(ordered.shape[1])
    return ordered[left, columns] + (place - left) * (ordered[right, columns] - ordered[left, columns])


def mixture(parts: Sequence[Draws], weights: Any) -> Draws:
    """Return the draws of a mixture: from each part as many, evenly spaced, as its weight asks for.

    Parameters
    ----------
    parts : sequence of Draws
        Distributions of the same quantities.
    weights : array
        Their probabilities.

    Examples
    --------
    >>> from sumwise.draws import Draws, mixture
    >>> mixture([Draws([[0.0]] * 1000), Draws([[1.0]] * 1000)], [0.25, 0.75]).mean
    array([0.75])
    """
    shares = checks.finite(weights, "weights")
    if len(parts) != len(shares) or not len(parts) or (shares < 0).any() or shares.sum() <= 0:
        raise DataError(f"There are {len(shares)} weights for {len(parts)} distributions, or a weight is negative.")
    first = parts[0]
    if any((p.shape, p.labels, p.axes) != (first.shape, first.labels, first.axes) for p in parts):
        raise DataError("The distributions are not of the same quantities.", hint="give them the same labels.")
    n = max(len(p) for p in parts)
    ends = np.rint(n * np.cumsum(shares / shares.sum())).astype(int)
    sizes = np.diff(ends, prepend=0)
    drawn = [p.values[np.arange(k) * len(p) // k] for p, k in zip(parts, sizes) if k]
    return Draws(np.concatenate(drawn), first.labels, first.axes, first.name, first.lower_bound, first.upper_bound)


def _gaussian_draws(mean: np.ndarray, covariance: np.ndarray, n_draws: int, random_state: Any) -> np.ndarray:
    """Draws (n, size), mirrored at the mean, with exactly the given covariance if there are draws enough."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    if values.size and values[0] < -1e-8 * max(values[-1], 0.0):  # eigh is exact to about 1e-15 of the largest
        raise DataError(
            f"The covariance has the negative eigenvalue {values[0]:.3g}; its largest is {values[-1]:.3g}.",
            hint="a covariance is positive semidefinite.",
        )
    root = (vectors * np.sqrt(values.clip(0))) @ vectors.T  # the symmetric root does not depend on the order
    order = np.lexsort((np.diag(covariance), mean))
    half = (n_draws + 1) // 2
    standard = checks.generator(random_state).standard_normal((half, mean.size))
    if half > 2 * mean.size:  # else the sample's covariance is singular, or nearly
        standard = np.linalg.solve(np.linalg.cholesky(standard.T @ standard / half), standard.T).T
    step = np.empty_like(standard)
    step[:, order] = standard
    step = step @ root
    return mean + np.concatenate([step, -step])
