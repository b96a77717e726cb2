"""What the fitted distribution answers beyond the label: synthetic rows, densities, any table, held-out tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from sumwise import checks
from sumwise.errors import DataError
from sumwise.estimate import Estimate
from sumwise.maxent.engines import Parameters
from sumwise.maxent.individuals import codes_of, term_scores
from sumwise.maxent.kernels import gibbs
from sumwise.maxent.kernels.loglinear import ENUMERABLE, Layout, layout, log_sum, log_weights, spread
from sumwise.maxent.sparse_terms import full_table
from sumwise.maxent.sufficient_statistics import parts_of, sufficient
from sumwise.maxent.tables_classifier import TablesClassifier
from sumwise.tables import Tables

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Queries"]

BURN_IN = 20  # sweeps from where training left the chains
COLD_START = 200  # sweeps from independent attributes
DRAWS = 20_000


class Queries(TablesClassifier):
    """Base of `MaxEntClassifier`: what can be asked of the joint distribution of features and label.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.maxent import MaxEntClassifier
    >>> model = MaxEntClassifier().fit(synthetic.xor(1000, random_state=0).tables)
    >>> model.sample(3, random_state=0).columns.tolist()
    ['x1', 'x2', 'x3', 'y']
    >>> model.expected(["x3"]).shape
    (2, 2)
    """

    mu_: np.ndarray
    theta_: np.ndarray
    offsets_: np.ndarray
    terms_: list
    listed_: list
    chains_: dict[str, np.ndarray] | None
    blocks_: list
    label_: str | None
    margins: bool
    random_state: Any

    def _fitted(self, *names: str) -> Any:
        if "mu_" in names and getattr(self, "engine_", None) == "rows":
            raise DataError(
                "The model was trained with rows in place of a distribution of features.", hint="fit without rows."
            )
        return super()._fitted(*names)

    def sample(self, n: int = 1000, random_state: Any = None) -> pd.DataFrame:
        """Draw synthetic individuals from the fitted distribution: a frame of levels, and the label.

        Parameters
        ----------
        n : int, default 1000
        random_state : int, Generator or None
            None continues from the fit's own ``random_state``.
        """
        import pandas as pd

        codes, labels = self._draws(checks.at_least(n, "n", 1), random_state)
        columns = {}
        for j, a in enumerate(self.domain_.attributes):
            levels = self.domain_.levels(a)
            columns[a] = [levels[v] for v in codes[:, j]]
        name = self.label_ if self.label_ is not None else "label"
        return pd.DataFrame({**columns, name: self.classes_[labels]})

    def log_density(self, frame: Any, labels: Any = None) -> np.ndarray:
        """Return log p(x), or log p(x, y) with labels, up to a constant that is the same for all rows.

        No sampling is involved, so differences between rows are exact. A level that no table has drops its terms.

        Parameters
        ----------
        frame : data frame of individuals
        labels : sequence of classes, optional
        """
        self._fitted("mu_")
        codes = codes_of(frame, self.domain_, self.encoding_)
        lay = self._layout()
        of_x = term_scores(codes, list(lay.terms), lay.term_starts, lay.sizes, self.mu_[None], lay.listed)[:, 0]
        scores = self._scores(codes)
        if labels is None:
            return of_x + log_sum(scores, axis=1)
        return of_x + scores[np.arange(len(codes)), self._label_codes(labels, len(codes))]

    def expected(self, attributes: Any, level: float = 0.95, n: int = DRAWS, random_state: Any = None) -> Estimate:
        """Expected counts of any table over features and the label, with the Monte Carlo interval.

        Parameters
        ----------
        attributes : str or sequence of str
            Features, whether or not they shared a table.
        level : float, default 0.95
        n : int, default 20_000
            Rows drawn; none are where the joint table can be enumerated, and the interval then has no width.
        random_state : int, Generator or None

        Returns
        -------
        Estimate
            Of shape (levels of each attribute, classes); it sums to the population.
        """
        self._fitted("mu_")
        names = [attributes] if isinstance(attributes, str) else checks.listing(attributes, "attributes")
        axes = list(self.domain_.axes(names))
        shape = (*(self.domain_[a] for a in names), len(self.classes_))
        level = checks.fraction(level, "level")
        if self._enumerable():
            joint = self._joint()
            away = tuple(i + 1 for i in range(len(self.domain_)) if i not in axes)
            kept = [a for a in range(len(self.domain_)) if a in axes]
            share = np.moveaxis(np.transpose(joint.sum(axis=away), [0, *(1 + kept.index(a) for a in axes)]), 0, -1)
            error = np.zeros(shape)
        else:
            codes, labels = self._draws(checks.at_least(n, "n", 2), random_state)
            cell = np.ravel_multi_index((*(codes[:, a] for a in axes), labels), shape)
            share = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape) / n
            error = np.sqrt(np.maximum(share * (1 - share), 1.0 / n) / n)
        half = self.n_ * float(ndtri(0.5 + level / 2)) * error
        values = self.n_ * share
        labels_of = [*(self.domain_.levels(a) for a in names), [checks.plain(c) for c in self.classes_]]
        return Estimate(
            values,
            np.maximum(values - half, 0.0),
            values + half,
            level,
            labels=[[str(v) for v in part] for part in labels_of],
            axes=[*names, self.label_ or "label"],
            name="count",
        )

    def held_out_score(self, tables: Tables, n: int = DRAWS, level: float = 0.95, random_state: Any = None) -> Estimate:
        """NLLH on other tables of the same population, without rows.

        The label's part of the log-likelihood is linear in the tables and exact. The normaliser is the mean of
        log(sum over classes of exp(score)) over individuals, which tables don't tell: it is taken over the model's
        own draws, so the score is an estimate. The interval is that of the draws; where the model's distribution of x
        is off, the score is too.

        Parameters
        ----------
        tables : Tables
            Tables over the attribute sets that the model was trained on, with label sums.
        n : int, default 20_000
            Rows drawn.
        level : float, default 0.95
        random_state : int, Generator or None
        """
        self._fitted("mu_")
        mine = self._layout()
        found = sufficient(parts_of(tables, "held_out_score")[0], self.margins, mine.listing_by_term())
        if tables.domain != self.domain_ or found.layout.terms != mine.terms:
            raise DataError("The tables aren't over the attribute sets that the model was trained on.")
        linear = float(np.sum(found.data.sums * self.theta_)) / found.n + float(found.shares @ self.offsets_)
        codes, _ = self._draws(checks.at_least(n, "n", 2), random_state)
        normaliser = log_sum(self._scores(codes.astype(np.int64)), axis=1)
        entropy = -float(found.shares @ np.log(found.shares))
        half = float(ndtri(0.5 + level / 2)) * float(normaliser.std()) / np.sqrt(n) / entropy
        score = 1 + (linear - float(normaliser.mean())) / entropy
        named = {"labels": [["held-out tables"]], "axes": ["data"], "name": "NLLH"}
        return Estimate([score], [score - half], [score + half], checks.fraction(level, "level"), **named)

    def _layout(self) -> Layout:
        place = {a: i for i, a in enumerate(self.domain_.attributes)}
        axes = [tuple(place[a] for a in term) for term in self.terms_]
        kept = getattr(self, "listed_", None) or [None] * len(axes)
        listed = {term: cells for term, cells in zip(axes, kept) if cells is not None}
        return layout(self.domain_.shape, axes, listed)

    def _parameters(self) -> Parameters:
        return Parameters(self.mu_, self.theta_, self.offsets_)

    def _label_codes(self, labels: Any, n_rows: int) -> np.ndarray:
        position = {checks.plain(c): k for k, c in enumerate(self.classes_)}
        given = [checks.plain(v) for v in np.asarray(labels)]
        if len(given) != n_rows:
            raise DataError(f"There are {len(given)} labels for {n_rows} rows.", hint="give one for each row.")
        for v in given:
            checks.known(v, position, "class")
        return np.array([position[v] for v in given])

    def _enumerable(self) -> bool:
        return self.domain_.size() * len(self.classes_) <= ENUMERABLE

    def _joint(self) -> np.ndarray:
        """p(y, x), of shape (K, levels of each attribute)."""
        lay, d = self._layout(), len(self.domain_)
        weights = log_weights(spread(lay, self.mu_), spread(lay, self.theta_))
        joint = np.zeros((len(self.classes_), *lay.sizes)) + self.offsets_.reshape(-1, *[1] * d)
        for c, clique in enumerate(lay.cliques):
            shape = [lay.sizes[a] if a in clique else 1 for a in range(d)]
            part = weights[:, lay.starts[c] : lay.starts[c + 1]]
            joint += np.stack([full_table(lay, c, w) for w in part]).reshape(-1, *shape)
        return np.exp(joint - log_sum(joint))

    def _draws(self, n: int, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
        """Codes (n, D) and class codes (n,) from the fitted distribution."""
        self._fitted("mu_")
        rng = checks.generator(self.random_state if random_state is None else random_state)
        if self._enumerable():
            joint = self._joint()
            cells = rng.choice(joint.size, size=n, p=joint.ravel())
            labels, *codes = np.unravel_index(cells, joint.shape)
            return np.column_stack(codes), labels
        lay, n_classes = self._layout(), len(self.classes_)
        chains = gibbs.draw_chains(n, [np.full(s, 1.0 / s) for s in lay.sizes], n_classes, rng)
        sweeps = COLD_START
        if self.chains_ is not None:
            picked = rng.permutation(np.resize(np.arange(len(self.chains_["labels"])), n))
            chains.codes[:], chains.labels[:] = self.chains_["codes"][picked], self.chains_["labels"][picked]
            sweeps = BURN_IN
        plan = gibbs.plan(lay, tuple(tuple(b) for b in (self.blocks_ if self.chains_ is not None else ())))
        theta = spread(lay, self.theta_)
        weights = log_weights(spread(lay, self.mu_), theta)
        for _ in range(sweeps):
            gibbs.sweep(chains, plan, weights, theta, self.offsets_)
        return chains.codes.astype(np.int64), chains.labels.astype(np.int64)
