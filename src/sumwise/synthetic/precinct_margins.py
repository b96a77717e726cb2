"""Precinct elections of R x C with tunable aggregation bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.margins import Margins
from sumwise.synthetic.draws import multinomial, scaled_dirichlet, softmax
from sumwise.synthetic.record import Record


@dataclass(frozen=True, eq=False, repr=False)
class Precincts(Record):
    """An R x C election by precinct, and who chose what; made by `precincts`.

    Attributes
    ----------
    margins : Margins
        What an analyst sees: (n_units, R) sizes of the groups 1, 2, ... and (n_units, C) votes for A, B, ...
    counts : (n_units, R, C) int array
        The cells behind the margins; they add up to them exactly.
    probabilities : (n_units, R, C) array
        The vote shares that the cells of each precinct were drawn from.
    total : (R, C) int array
        `counts` summed over precincts.
    shares : (R, C) array
        `total` as row shares: the truth that an estimator's ``shares_`` is compared with (NaN for a group with
        no members anywhere).
    base_shares : (R, C) array
        The vote shares of each group in a precinct with a confounder of zero.
    confounder : (n_units,) array
        The standardised trait through which aggregation bias works.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> truth = synthetic.precincts(50, 3, 4, random_state=0)
    >>> bool((truth.counts.sum(axis=2) == truth.margins.rows).all())
    True
    """

    margins: Margins
    counts: np.ndarray
    probabilities: np.ndarray
    total: np.ndarray
    shares: np.ndarray
    base_shares: np.ndarray
    confounder: np.ndarray


def precincts(
    n_units: int = 200,
    n_rows: int = 2,
    n_cols: int = 2,
    *,
    size: int = 500,
    size_spread: float = 0.5,
    segregation: float = 0.2,
    heterogeneity: float = 0.02,
    bias: float = 0.0,
    confounding: float = 0.8,
    covariate: bool = False,
    group_shares: Any = None,
    base_shares: Any = None,
    random_state: Any = None,
) -> Precincts:
    """Draw an election of R groups and C options in precincts, with the cells known.

    For individuals with covariates in regions, see `synthetic.election`: it gives `Bags` (and, by its
    ``margins(attribute)``, margins of real-looking groups as well).

    Parameters
    ----------
    n_units, n_rows, n_cols : int, default 200, 2, 2
        Precincts, groups (R) and options (C).
    size : int, default 500
        Mean number of voters in a precinct.
    size_spread : float >= 0, default 0.5
        Standard deviation s of the log size: N_i = max(1, round(size exp(s e - s^2 / 2))), e ~ N(0, 1).
    segregation : float in [0, 1), default 0.2
        How unlike the precincts are: Var(x_ir) = segregation m_r (1 - m_r) for the group shares x_i with mean m
        (the variance ratio index). With 0 all precincts are alike and the cells aren't identified.
    heterogeneity : float in [0, 1), default 0.02
        How much a group's vote differs between precincts beyond bias: Var(b_irc) = heterogeneity p (1 - p).
    bias : float, default 0.0
        Aggregation bias: the change in the log-odds of the first against the last option, for every group, when
        the confounder rises by one standard deviation is 2 * bias. With 0, Goodman's assumption holds.
    confounding : float in [-1, 1], default 0.8
        Correlation of the confounder z_i with the (standardised) share of the first group in the precinct.
    covariate : bool, default False
        Give the confounder to the analyst, as the covariate ``"confounder"`` of the margins.
    group_shares : (R,) array, optional
        Mean group shares m; R : R - 1 : ... : 1 if not given.
    base_shares : (R, C) array, optional
        Vote shares P of each group where z = 0; drawn uniformly from the simplex if not given.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    Precincts

    Notes
    -----
    With w_c running evenly from 1 (first option) to -1 (last option; 0 when C = 1)::

        x_i  ~ Dirichlet, mean m                      shares of the groups
        z_i  = confounding s_i + sqrt(1 - confounding^2) e_i,   s_i = standardised x_i1
        p_ir = softmax(log P_r + bias z_i w)
        b_ir ~ Dirichlet, mean p_ir                   -> probabilities
        n_i  ~ Multinomial(N_i, x_i)                  -> margins.rows
        y_ir ~ Multinomial(n_ir, b_ir)                -> counts, summed over r: margins.cols

    Examples
    --------
    >>> from sumwise import synthetic
    >>> fair = synthetic.precincts(500, random_state=0)
    >>> fair.margins.n_units, fair.shares.shape
    (500, (2, 2))
    >>> fair.margins.row_names, fair.margins.col_names
    (('group 1', 'group 2'), ('A', 'B'))
    >>> biased = synthetic.precincts(500, bias=0.5, base_shares=[[0.7, 0.3], [0.4, 0.6]], random_state=0)
    >>> biased.confounder.shape
    (500,)
    """
    rng = checks.generator(random_state)
    n_units, n_rows, n_cols, size = (
        checks.at_least(value, name, 1)
        for value, name in ((n_units, "n_units"), (n_rows, "n_rows"), (n_cols, "n_cols"), (size, "size"))
    )
    checks.at_least(size_spread, "size_spread", 0, whole_number=False)
    _between(segregation, "segregation", 0, 1, open_above=True)
    _between(heterogeneity, "heterogeneity", 0, 1, open_above=True)
    _between(confounding, "confounding", -1, 1)
    checks.finite(bias, "bias", ndim=0)
    mean = _simplex(_descending(n_rows) if group_shares is None else group_shares, "group_shares", (n_rows,))
    if base_shares is None:
        base_shares = rng.dirichlet(np.ones(n_cols), size=n_rows)
    base = _simplex(base_shares, "base_shares", (n_rows, n_cols))

    z_size = rng.standard_normal(n_units)
    sizes = np.maximum(1, np.rint(size * np.exp(size_spread * z_size - size_spread**2 / 2))).astype(np.int64)
    groups = scaled_dirichlet(np.broadcast_to(mean, (n_units, n_rows)), segregation, rng)
    confounder = _confounder(groups[:, 0], confounding, rng)
    probabilities = _vote_shares(base, bias * confounder, heterogeneity, rng)
    members = multinomial(sizes, groups, rng)
    counts = multinomial(members, probabilities, rng)
    total = counts.sum(axis=0)
    with np.errstate(invalid="ignore"):
        shares = total / total.sum(axis=1, keepdims=True)
    checks.choice(covariate, "covariate", (False, True))
    seen: dict[str, Any] = {"covariates": confounder[:, None], "covariate_names": ("confounder",)} if covariate else {}
    seen |= {"row_names": [f"group {r + 1}" for r in range(n_rows)], "col_names": [_letters(c) for c in range(n_cols)]}
    margins = Margins(members, counts.sum(axis=1), denominator="voters", **seen)
    return Precincts(margins, counts, probabilities, total, shares, base, confounder)


def _letters(number: int) -> str:
    """A to Z, then AA, AB and so on: the names of options."""
    before, last = divmod(number, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)


def _confounder(first_share: np.ndarray, correlation: float, rng: np.random.Generator) -> np.ndarray:
    noise = rng.standard_normal(first_share.shape)
    spread = first_share.std()
    if spread < 1e-12:  # one precinct, one group or no segregation: nothing to correlate with
        return noise
    return correlation * (first_share - first_share.mean()) / spread + np.sqrt(1 - correlation**2) * noise


def _vote_shares(base: np.ndarray, shift: np.ndarray, heterogeneity: float, rng: np.random.Generator) -> np.ndarray:
    n_cols = base.shape[1]
    contrast = np.linspace(1.0, -1.0, n_cols) if n_cols > 1 else np.zeros(1)
    with np.errstate(divide="ignore"):
        mean = softmax(np.log(base)[None] + shift[:, None, None] * contrast)
    return scaled_dirichlet(mean, heterogeneity, rng)


def _between(value: Any, name: str, low: float, high: float, open_above: bool = False) -> None:
    checks.at_least(value, name, low, whole_number=False)
    if value > high or (open_above and value == high):
        raise DataError(f"{name} is {value!r}; it must be {'below' if open_above else 'at most'} {high:g}.")


def _descending(n: int) -> np.ndarray:
    weights = np.arange(n, 0.0, -1.0)
    return weights / weights.sum()


def _simplex(shares: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    array = checks.counts(shares, name)
    if array.shape != shape:
        raise DataError(f"{name} has shape {array.shape}; it needs {shape}.")
    total = array.sum(axis=-1)
    if (np.abs(total - 1) > 1e-9).any():
        worst = float(np.ravel(total)[np.argmax(np.abs(np.ravel(total) - 1))])
        raise DataError(f"{name} sums to {worst:.10g}; shares sum to 1.", hint="divide by the sum first.")
    return array
