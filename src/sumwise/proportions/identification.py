"""Is the model identifiable? How far the means of the bags spread, against what is asked."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise.bags import Bags
from sumwise.display import finding_html
from sumwise.errors import ModelWarning
from sumwise.features import Features, mean_and_std
from sumwise.proportions.counts import observe
from sumwise.proportions.kernels.poisson_binomial_information import weighted_sums

# Part of the difference between subgroups that may lie where bags do not differ. Not tuned, and of little weight: 0.03
# decides as 0.1 does in 99 of 100 generated pairs of subgroups, 0.3 in 97 (some are in test_identify.py).
UNSEEN = 0.1
ROUGH = 1.0  # standard error, in logits per standard deviation of a feature, from which its effect is unknown


@dataclass(frozen=True, repr=False)
class Identifiability:
    """How well the counts of these bags identify each feature's effect.

    Parameters
    ----------
    features : tuple of str
    standard_error : array
        That of each coefficient, per standard deviation of its feature, from counts alone and without a penalty;
        infinite where it is confounded with others. Of features that add up to a constant, as indicators of the levels
        of one column do, it is that of the difference between one and the others.
    between : array
        Share of each feature's variance that lies between bags.
    efficiency : array
        Variance of the coefficient if all labels were known, over its variance from counts: how much aggregation
        leaves.
    n_bags, rank : int
        Bags, and directions of features in which their means differ.
    directions : int, optional
        In which individuals differ: as many as features, less those that follow from others. Default: all.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import identifiability
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags.from_arrays([rng.normal(m, 1.0, size=(50, 1)) for m in rng.normal(size=40)])
    >>> identifiability(bags).answerable
    array([ True])
    """

    features: tuple
    standard_error: np.ndarray
    between: np.ndarray
    efficiency: np.ndarray
    n_bags: int
    rank: int
    directions: int | None = None

    @property
    def answerable(self) -> np.ndarray:
        """Whether each feature's effect can be estimated from counts alone: a standard error below 1 logit per
        deviation."""
        return self.standard_error < ROUGH

    @property
    def verdict(self) -> str:
        """The finding in a sentence."""
        n, k = len(self.features), int(self.answerable.sum())
        if k == n:
            worst = self.standard_error.max(initial=0.0)
            every = {1: "the effect", 2: "both effects"}.get(n, f"all {n} effects")
            largest = "largest " if n > 1 else ""
            return f"{self.n_bags} bags are enough to estimate {every} ({largest}standard error {worst:.2g})."
        if self.n_bags == 1:
            return _one_bag(n)
        free = n if self.directions is None else self.directions
        what = f"the {n} features" if free == n else f"the {free} in which individuals differ"
        spread = "differ too little"
        if self.rank < free:
            apart = f"differ in {self.rank} direction{'' if self.rank == 1 else 's'}, fewer than {what}"
            spread = apart if self.rank else "do not differ"
        able = f"are enough to estimate {k} of {n} effects" if k else f"are too few to estimate {_any_effect(n)}"
        rest = "the rest" if k else "them" if n != 1 else "it"
        return (
            f"{self.n_bags} bags {able}: their means {spread}. The penalty determines {rest}: read single coefficients "
            "with care."
        )

    def __repr__(self) -> str:
        table = self.to_frame().sort_values("standard_error")
        return f"{self.verdict}\n\n{table.to_string(index=False, float_format='%.3g', max_rows=20)}"

    def _repr_html_(self) -> str:
        return finding_html(self.verdict, self.to_frame().sort_values("standard_error"))

    def to_frame(self):
        """One row per feature."""
        import pandas as pd

        return pd.DataFrame(
            {
                "feature": self.features,
                "standard_error": self.standard_error,
                "between": self.between,
                "efficiency": self.efficiency,
                "answerable": self.answerable,
            }
        )


def identifiability(bags: Bags, counts: Any = None, warn: bool = True) -> Identifiability:
    """Check before fitting whether the bags' means differ enough to estimate each effect, and warn if not.

    The information of bag b about the coefficients is that of its expected count: v n_b (mean_b - mean)(mean_b -
    mean)' for labels of variance v, where known labels would also give what lies within bags.

    Parameters
    ----------
    bags : Bags
    counts : array, optional
        For the variance of labels; by default one quarter, that of even odds.
    warn : bool, default True
        Whether to issue a ``UserWarning`` where some effect can't be estimated.

    See Also
    --------
    covariance : Standard errors after the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import identifiability
    >>> alike = Bags(np.random.default_rng(0).normal(size=(60, 2)), np.arange(0, 61, 20))
    >>> print(identifiability(alike, warn=False).verdict)
    3 bags are too few to estimate any of the 2 effects: their means differ too little. The penalty determines them: ...
    """
    bags, means, scaled, variance = _standardised(bags, counts)
    spread = np.abs(scaled).max(axis=0, initial=0.0)
    from_counts = variance * means.T @ (bags.sizes[:, None] * means)
    from_labels = variance * scaled.T @ scaled
    directions = _directions(from_labels)
    errors, rank = _errors(from_counts, directions)
    best, _ = _errors(from_labels, directions)
    flat = spread == 0
    with np.errstate(invalid="ignore", divide="ignore"):
        efficiency = np.where(np.isfinite(errors), (best / errors) ** 2, 0.0)
    between = (bags.sizes[:, None] * means**2).sum(axis=0) / bags.n_rows
    found = Identifiability(
        bags.features,
        np.where(flat, np.inf, errors),
        between,
        np.where(flat, 0.0, efficiency),
        len(bags),
        rank,
        directions.shape[1],
    )
    if warn and not found.answerable.all():
        warnings.warn(found.verdict, UserWarning, stacklevel=2)
    return found


def comparable(bags: Bags, counts: Any, one: np.ndarray, two: np.ndarray) -> bool:
    """Whether counts per bag determine how the chances of two subgroups, masks over individuals, differ.

    They do where the effect of the difference between the subgroups' mean features has a standard error below 1 logit
    per deviation (as for a feature in `identifiability`), and at most a tenth of that difference lies in directions in
    which bags do not differ.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions.identification import comparable
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags.from_arrays([rng.normal(m, 1.0, size=(50, 2)) for m in rng.normal(size=(40, 2))])
    >>> low = bags.values[:, 0] < 0
    >>> comparable(bags, None, low, ~low), comparable(bags[[0, 1]], None, low[:100], ~low[:100])
    (True, False)
    """
    bags, means, scaled, variance = _standardised(bags, counts)
    directions = _directions(scaled.T @ scaled)
    reduced = scaled @ directions
    roots = (reduced**2).sum(axis=0) / bags.n_rows  # variances: the directions are principal components
    gap = (reduced[one].mean(axis=0) - reduced[two].mean(axis=0)) / np.sqrt(roots)
    bag_means = means @ directions / np.sqrt(roots)
    information, vectors = np.linalg.eigh(variance * bag_means.T @ (bags.sizes[:, None] * bag_means))
    along, length = (gap @ vectors) ** 2, float((gap**2).sum())
    present = information > 1e-9 * max(information.max(initial=0.0), 1e-300)
    if length == 0 or along[~present].sum() > UNSEEN**2 * length:
        return False
    return bool((along[present] / information[present]).sum() < ROUGH**2 * length)


def _standardised(bags: Bags, counts: Any) -> tuple[Bags, np.ndarray, np.ndarray, float]:
    """Bags of numbers without empty ones, their means and rows in standard deviations, and the variance of labels."""
    given = None if counts is None else bags.align(counts)[bags.sizes > 0]
    bags = bags.drop_empty()
    bags = Features.learn(bags).design(bags)
    variance = 0.25
    if given is not None:
        shares = observe(bags, given, totals="match").shares(bags.sizes)
        overall = (shares * bags.sizes[:, None]).sum(axis=0) / bags.n_rows
        variance = float((overall * (1.0 - overall)).max())
    values = np.asarray(bags.values, dtype=np.float64)
    mean, spread = mean_and_std(values)
    used = np.where(spread > 0, spread, 1.0)
    sums = weighted_sums(values, bags.offsets, np.ones(bags.n_rows))[:, :-1]
    means = (sums / bags.sizes[:, None] - mean) / used
    scaled = np.where(spread > 0, (values - mean) / used, 0.0)
    return bags, means, scaled, variance


def warn_of_few_bags(n_bags: int, n_features: int):
    """Say after a fit that there were too few bags to estimate every effect: one mean per bag, one direction less."""
    stacklevel = 3
    if n_bags == 1:
        warnings.warn(_one_bag(n_features), ModelWarning, stacklevel=stacklevel)
    elif n_bags <= n_features:
        warnings.warn(
            f"{n_bags} bags are too few to estimate {n_features} effects: their means differ in at most {n_bags - 1} "
            "directions. The penalty determines the rest: read single coefficients with care. Hint: "
            "identifiability(bags) says which effects can be estimated.",
            ModelWarning,
            stacklevel=stacklevel,
        )


def _one_bag(n_features: int) -> str:
    return (
        f"One bag is too few to estimate {_any_effect(n_features)}: its mean has no other to differ from. The penalty "
        f"and the method's start decide {'them' if n_features != 1 else 'it'}: read single coefficients with care."
    )


def _any_effect(n_features: int) -> str:
    return f"any of the {n_features} effects" if n_features != 1 else "the effect"


def _directions(information):
    """An orthonormal basis (n_features, k) of the directions in which individuals differ."""
    roots, vectors = np.linalg.eigh(information)
    return vectors[:, roots > 1e-9 * max(roots.max(initial=0.0), 1e-300)]


def _errors(information, directions):
    """Standard errors from an information matrix, infinite along its null space; and its rank.

    Where features add up to a constant, a coefficient alone means nothing: its contrast with the others, the feature's
    unit vector projected on the directions in which individuals differ and scaled back to 1, takes its place.
    """
    roots, vectors = np.linalg.eigh(directions.T @ information @ directions)
    present = roots > 1e-9 * max(roots.max(initial=0.0), 1e-300)
    own = np.maximum((directions**2).sum(axis=1, keepdims=True), 1e-12)
    contrasts = directions @ vectors / own
    variance = (contrasts[:, present] ** 2 / roots[present]).sum(axis=1)
    lost = (contrasts[:, ~present] ** 2).sum(axis=1) > 1e-9
    return np.where(lost, np.inf, np.sqrt(variance)), int(present.sum())
