"""How far a fitted model is from its tables: its moments at the returned parameters, and calibration on the tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sumwise.fit import Fit
from sumwise.maxent.engines import Parameters
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.kernels.loglinear import class_scores, log_sum
from sumwise.maxent.kernels.table_logistic import cell_design
from sumwise.maxent.sufficient_statistics import SufficientStatistics
from sumwise.maxent.training import observed_misfit

PROBES = 2  # vectors of random signs for a trace
MOST_EXACT = 1000  # parameters: their matrix has 8 MB and is solved in a tenth of a second
ONE = 1.0  # standard error of noisy tables, which a fit need not follow
WORST = 4.0  # times tol that one table may be off: at the default one standard error, its own sampling


class Agreement(NamedTuple):
    """Moments of a model at fixed parameters against the tables'.

    miss : root mean square, over the label's total and the one-way tables by class, of what moments are off, in
    standard errors, Monte Carlo error taken out; `worst` is the same of the worst table, `table` its attributes.
    misfit : root mean square over all cells of all tables, in standard errors of the data, Monte Carlo error taken out.
    error : Monte Carlo error of the moments of `miss`, in the same unit.
    rates : (K,) shares of the classes under the model.
    sums : (C,) mean over individuals of the class scores times their class, under the model.
    """

    miss: float
    worst: float
    table: tuple[int, ...]
    misfit: float
    error: float
    rates: np.ndarray
    sums: np.ndarray


@dataclass(frozen=True, repr=False)
class TablesFit(Fit):
    """A `Fit` that says how far the returned model is from its tables.

    Parameters
    ----------
    rate, expected_rate : tuple of float
        Shares of the classes that were counted, and under the model that is returned.
    slope : float
        Calibration slope that the tables lead to expect on individuals who were not counted: 1 where scores vary as
        much as the tables say, below where they vary too much. NaN where the engine draws no rows.
    log_loss : float
        Log-loss that the tables lead to expect on individuals who were not counted.
    anchor_log_loss : float
        The same of a linear discriminant from the pair tables, which a fit has to beat; NaN where tables are noisy.
    miss, worst_miss : float
        By how many standard errors the label's total and one-way tables by class are missed: root mean square over
        tables, and of the table that is missed most.
    worst_table : tuple of str
        Its attributes; empty for the label's total.
    moment_error : float
        Monte Carlo error of these moments, in standard errors.
    chains : int
        Chains that moments were tested on; 0 where expectations are exact.
    effect_scale : float
        Variance of the effects that the tables show over what the default penalties assume, if the calibration slope
        was below 1; penalties were divided by it. Near 0, the label hardly depends on the features.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.maxent import MaxEntClassifier
    >>> fit = MaxEntClassifier().fit(synthetic.xor(1000, random_state=0).tables).fit_
    >>> fit.converged, bool(abs(fit.rate[1] - fit.expected_rate[1]) < 0.01), bool(0.8 < fit.slope < 1.2)
    (True, True, True)
    """

    rate: tuple[float, ...] = ()
    expected_rate: tuple[float, ...] = ()
    slope: float = float("nan")
    log_loss: float = float("nan")
    anchor_log_loss: float = float("nan")
    miss: float = float("nan")
    worst_miss: float = float("nan")
    worst_table: tuple[str, ...] = ()
    moment_error: float = float("nan")
    chains: int = 0
    effect_scale: float = 1.0

    def describe(self) -> dict[str, Any]:
        """Return the facts."""
        own = set(self.__dataclass_fields__) - set(Fit.__dataclass_fields__)
        return super().describe() | {name: getattr(self, name) for name in self.__dataclass_fields__ if name in own}


def agreement(
    stats: SufficientStatistics,
    engine: Any,
    parameters: Parameters,
    pull: Moments,
    tol: float,
    most: int,
    n_chains: int,
) -> Agreement:
    """Run the engine at fixed parameters until the Monte Carlo error of moments is below `tol`, `most` times at most.

    pull : gradient of the penalties, zero where moments are to equal the tables'. n_chains : of the engine; chains are
    draws too, so a standard error is that of both. The squared miss varies by 2 error^2 / sqrt(tables) by chance: few
    tables ask for a smaller error, so that this stays below half of tol^2.
    """
    total: list[Moments] | None = None
    unit = 1.0 + (stats.n / n_chains if n_chains else 0.0)
    n, error = 0, np.inf
    compared: list[tuple[tuple[int, ...], np.ndarray, np.ndarray]] = []
    while n < most and error > tol * min(1.0, 0.5 * len(compared) ** 0.25):
        n += 1
        halves = engine.moments(parameters)
        total = list(halves) if total is None else [Moments(*(t + h for t, h in zip(*p))) for p in zip(total, halves)]
        compared = _compared(stats, [Moments(*(m / n for m in t)) for t in total], pull, unit)
        error = float(np.sqrt(np.mean(np.concatenate([0.25 * (a - b) ** 2 for _, a, b in compared]))))
    missed = [max(float(np.mean(a * b)), 0.0) for _, a, b in compared]
    means = [Moments(*(m / n for m in t)) for t in total]  # type: ignore[union-attr]
    model = Moments(*(0.5 * (a + b) for a, b in zip(*means)))
    off = [Moments(*((m - d) * k + p for m, d, k, p in zip(half, stats.data, stats.seen, pull))) for half in means]
    worst = int(np.argmax(missed))
    return Agreement(
        float(np.sqrt(np.mean(missed))),
        float(np.sqrt(missed[worst])),
        compared[worst][0],
        observed_misfit(stats, *off),
        error,
        _rates(stats, model),
        scores_by_class(stats, parameters, model),
    )


def scores_by_class(stats: SufficientStatistics, parameters: Parameters, model: Moments) -> np.ndarray:
    """Mean over individuals (C,) of the class scores times their class, under the model."""
    return np.sum(model.sums * parameters.theta, axis=1) / stats.n


def _compared(
    stats: SufficientStatistics, halves: list[Moments], pull: Moments, unit: float
) -> list[tuple[tuple[int, ...], np.ndarray, np.ndarray]]:
    """Label total, then each one-way table by class: what each half of the chains is off, in standard errors."""
    lay, n = stats.layout, stats.n
    shares = [_rates(stats, h) for h in halves]
    spread = n * stats.shares * (1 - stats.shares) * unit
    if stats.totals is not None:
        spread = spread + np.max(stats.totals)
    first, second = (n * (s - stats.shares) / np.sqrt(spread) for s in shares)
    out: list[tuple[tuple[int, ...], np.ndarray, np.ndarray]] = [((), first, second)]
    single = [t for t, term in enumerate(lay.terms) if len(term) == 1 and t not in lay.bare]
    for t in single or [t for t in range(len(lay.terms)) if t not in lay.bare]:
        at = stats.part(t)
        sizes = [np.maximum(m[..., at], 0.0) for m in stats.data]
        scale = [np.sqrt((s * (1 - s / n).clip(0) * unit + 1.0) + v[..., at]) for s, v in zip(sizes, stats.noise)]
        off = [
            np.concatenate(
                [
                    (((m - d)[..., at] * k[..., at] + p[..., at]) / s).ravel()
                    for m, d, k, p, s in zip(half, stats.data, stats.seen, pull, scale)
                ]
            )
            for half in halves
        ]
        out.append((lay.terms[t], off[0], off[1]))
    return out


def _rates(stats: SufficientStatistics, model: Moments) -> np.ndarray:
    """Shares of the classes (K,) under the model."""
    rates = model.sums[:, : int(stats.layout.starts[1])].sum(axis=1) / stats.n
    return np.array([1 - rates[0], rates[0]]) if len(rates) == 1 else rates


def enough(stats: SufficientStatistics, tested: Agreement, tol: float) -> bool:
    """Whether a model agrees with its tables: within `tol` standard errors on average, over cells and over one-way
    tables, and four times that in every one of these, or within the error of noisy tables, which a fit need not follow;
    and whether its chains can show it."""
    if tested.error > tol:
        return False
    if stats.noisy:
        return tested.miss <= max(ONE, tol)
    return max(tested.misfit, tested.miss) <= tol and tested.worst <= WORST * tol


def missed(tested: Agreement, tol: float) -> str:
    """What to do about a model that misses its tables."""
    if tested.error > tol:
        return f"the chains leave an error of {tested.error:.2f} standard errors in the moments; raise n_chains."
    return (
        f"the returned model misses the cells of its tables by {tested.misfit:.2f} standard errors, one-way tables by "
        f"{tested.miss:.2f}, {tested.worst:.2f} in the worst; raise max_iter, or n_chains."
    )


def too_few_draws(n: float, n_chains: int, n_steps: int, tol: float) -> str:
    """What to do about chains that are too few for so many individuals, however well they mix.

    Examples
    --------
    >>> from sumwise.maxent.agreement import too_few_draws
    >>> too_few_draws(500_000, 10_000, 200, 0.25)[:74]
    'the mean of 200 steps of 10,000 chains has a Monte Carlo error of at least'
    """
    floor, wanted = np.sqrt(n / (n_chains * n_steps)), n / (n_steps * tol**2)
    return (
        f"the mean of {n_steps} steps of {n_chains:,} chains has a Monte Carlo error of at least {floor:.2f} standard "
        f"errors of {n:,.0f} individuals; raise n_chains to {float(f'{wanted:.1g}'):,.0f} or more, or loosen tol."
    )


def calibration_slope(
    stats: SufficientStatistics,
    parameters: Parameters,
    rows: tuple[np.ndarray, np.ndarray],
    scores: np.ndarray,
    effective: float,
) -> float:
    """Slope of a logistic regression of the class on the model's scores, of individuals who were not counted.

    One Newton step from a slope of 1.

    The likelihood of individuals is linear in tables but for its normaliser, which is taken over rows: level codes
    (m, D) and their shares (m,), drawn from the model. The tables that a model was fitted to agree with it better than
    others would, by the number of effective parameters; so much is taken off (van Houwelingen and le Cessie 1990).
    scores (C,): moments of the scores under the model, from more draws than the rows.
    """
    codes, shares = rows
    base = class_scores(stats.layout, parameters.theta, np.zeros_like(parameters.offsets), codes)
    z = base + parameters.offsets
    p = np.exp(z - log_sum(z, axis=1)[:, None])
    counted = float(np.sum(stats.data.sums * stats.seen.sums * parameters.theta))
    counted -= effective
    off = np.concatenate([[counted / stats.n - float(scores.sum())], (stats.shares - shares @ p)[1:]])
    features = np.stack([base, *(np.broadcast_to(e, base.shape) for e in np.eye(base.shape[1])[1:])])
    mean = np.sum(p * features, axis=2)  # of the slope's and the shifts' statistics, by row
    second = np.einsum("m,mk,amk,bmk->ab", shares, p, features, features)
    return 1.0 + float(np.linalg.lstsq(second - (mean * shares) @ mean.T, off, rcond=None)[0][0])


def log_loss(
    stats: SufficientStatistics, parameters: Parameters, rows: tuple[np.ndarray, np.ndarray]
) -> tuple[float, np.ndarray]:
    """Mean log-loss of the individuals that were counted, and the normaliser of every row that stands for them.

    Labels enter by the tables alone; the normalisers' mean is taken over rows: level codes (m, D), shares (m,).
    """
    normalisers = log_sum(class_scores(stats.layout, parameters.theta, parameters.offsets, rows[0]), axis=1)
    counted = np.sum(stats.data.sums * stats.seen.sums * parameters.theta) / stats.n + stats.shares @ parameters.offsets
    return float(rows[1] @ normalisers - counted), normalisers


def effective_parameters(
    stats: SufficientStatistics,
    parameters: Parameters,
    rows: tuple[np.ndarray, np.ndarray],
    penalty: np.ndarray,
) -> float:
    """Covariance of label sums with the theta fitted to them: tr((A + 2 penalty)^-1 (A + noise)).

    A is the information of the rows, level codes (m, D) with shares (m,); penalty (C, P): of theta. Two vectors of
    random signs find the trace of thousands of parameters to about a percent (Hutchinson 1990); of fewer they miss it
    by more, in another way for every order of attributes, so it is computed.
    """
    codes, shares = rows
    z = class_scores(stats.layout, parameters.theta, parameters.offsets, codes)
    p = np.exp(z - log_sum(z, axis=1)[:, None])
    weights = stats.n * shares[:, None] * p * (1 - p)
    design, rng = cell_design(stats.layout, codes), np.random.default_rng(0)
    total, each = 0.0, weights[:, 1:] if len(penalty) == 1 else weights
    for weight, pulled, noise, seen in zip(each.T, penalty, stats.noise.sums, stats.seen.sums):
        information = Information(design, design.T.tocsr(), weight, 2 * np.maximum(pulled, 1e-9)[:, None])
        if stats.layout.n_params <= MOST_EXACT:
            dense = information.matrix()
            solved = np.linalg.solve(dense + np.diag(information.ridge[:, 0]), dense + np.diag(noise))
            total += float(np.sum(np.diag(solved)[np.asarray(seen, dtype=bool)]))
            continue
        signs = rng.choice([-1.0, 1.0], (stats.layout.n_params, PROBES)) * seen[:, None]
        wanted = information.times(signs) + noise[:, None] * signs
        total += float(np.sum(signs * information.solve(wanted))) / PROBES
    return max(total, 0.0)  # a trace of positive matrices: less is rounding where every row is certain


class Information(NamedTuple):
    """Information of weighted rows on theta, and twice its penalty."""

    design: Any
    turned: Any
    weight: np.ndarray
    ridge: np.ndarray

    def times(self, v: np.ndarray) -> np.ndarray:
        """The information times columns (P, B)."""
        inside, total = self.design @ v, self.weight.sum()
        mean = self.weight @ inside / total if total else 0.0  # rows that are certain inform about nothing
        return self.turned @ (self.weight[:, None] * (inside - mean))

    def matrix(self) -> np.ndarray:
        """The information, (P, P)."""
        sums, total = self.turned @ self.weight, self.weight.sum()
        weighted = self.design.multiply(self.weight[:, None]).tocsr()
        return np.asarray((self.turned @ weighted).todense()) - np.outer(sums, sums) / (total or 1.0)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """(Information + ridge)^-1 times columns, by conjugate gradients, until a hundredth of each is left."""
        diagonal = (self.turned @ self.weight)[:, None] + self.ridge
        x, left = np.zeros_like(right), right
        scaled = left / diagonal
        direction, size = scaled, np.sum(left * scaled, axis=0)
        least = 1e-4 * size
        for _ in range(len(right)):
            turned = self.times(direction) + self.ridge * direction
            step = size / np.maximum(np.sum(direction * turned, axis=0), 1e-300)
            x, left = x + step * direction, left - step * turned
            scaled = left / diagonal
            now = np.sum(left * scaled, axis=0)
            if np.all(now <= least):
                break
            direction, size = scaled + (now / np.maximum(size, 1e-300)) * direction, now
        return x
