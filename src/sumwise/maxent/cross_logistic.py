"""Logistic regression with the tables as cross features: on drawn rows (a baseline), and on true ones (the skyline)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.maxent.fitted_model import Schema, check_terms, layout_of
from sumwise.maxent.hashed_crosses import arranged_domain, crossed_features
from sumwise.maxent.kernels.loglinear import Crossed, Layout, class_scores, layout
from sumwise.maxent.kernels.table_logistic import cell_design, fit_softmax
from sumwise.maxent.max_ent import MaxEntClassifier
from sumwise.maxent.penalties import FIXED, penalties_by_order, usual_penalties
from sumwise.maxent.tables_classifier import TablesClassifier
from sumwise.tables import Tables

MOST_ROWS = 10**9  # that are drawn, unless as many are asked for


class CrossLogistic(TablesClassifier):
    """A fitted logistic regression with one indicator per cell of every table; made by `skyline`.

    Attributes
    ----------
    terms_ : list of tuples of str
        The tables, and those that they imply.
    theta_ : ndarray of shape (1 or K, cells)
    offsets_ : ndarray of shape (K,)
    n_iter_ : int
        Iterations of L-BFGS.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.maxent import skyline
    >>> from sumwise.maxent.cross_logistic import CrossLogistic
    >>> example = synthetic.xor(1000, random_state=0)
    >>> isinstance(skyline(example.tables, example.frame(), example.labels), CrossLogistic)
    True
    """

    _learned = "theta_: float k p"

    def fit_codes(self, tables: Tables, codes: np.ndarray, y: np.ndarray, penalty_theta: Any) -> Any:
        """Learn from level codes (n, D) and class codes (n,) of rows; for `skyline` and `SampledLogistic`."""
        self._remember(tables, len(codes))
        schema = Schema.of(tables)
        crossed = crossed_features(schema.domain, schema.encoding)
        lay = with_margins(schema.domain.shape, [schema.domain.axes(t.attributes) for t in tables], crossed)
        known = (codes >= 0).all(axis=1)
        if not known.all():
            raise DataError(f"{int((~known).sum())} of {len(codes)} rows have a level that no table has.")
        given = usual_penalties(len(lay.sizes)) if penalty_theta is None else penalty_theta
        penalty = penalties_by_order(lay, given, "penalty_theta")
        counts = np.eye(len(self.classes_))[y]
        design = cell_design(lay, codes)
        penalty[~lay.own_places()] = FIXED
        self.theta_, self.offsets_, _, self.n_iter_ = fit_softmax(design, counts, np.maximum(penalty, 1e-9))
        self.theta_[:, ~lay.own_places()] = 0.0
        self.terms_ = [schema.names(term) for t, term in enumerate(lay.terms) if t not in lay.bare]
        return self

    def _check_rebuilt(self) -> None:
        super()._check_rebuilt()
        if hasattr(self, "theta_"):
            check_terms(self._schema(), self.terms_, None, self.theta_.shape[1])

    def _schema(self) -> Schema:
        domain = arranged_domain(self.domain_, self.encoding_)
        return Schema(domain, self.encoding_, self.label_, self.classes_)

    def _frame_scores(self, frame: Any) -> np.ndarray:
        schema = self._schema()
        return class_scores(layout_of(schema, self.terms_, None), self.theta_, self.offsets_, schema.codes(frame))


@dataclass(eq=False, repr=False)
class SampledLogistic(CrossLogistic):
    """Draw synthetic rows from the maximum entropy model, then fit a logistic regression to them.

    What people do with synthetic data; the model itself predicts as well or better, and for less.

    Parameters
    ----------
    model : MaxEntClassifier, optional
        Settings of the model that rows are drawn from; default: its defaults.
    n_rows : int >= 1, optional
        Rows to draw; default: as many as were counted.
    penalty_theta : float or sequence of float, optional
        As in `MaxEntClassifier`, with the same default; there is no "auto".
    random_state : int, Generator or None, default None
        Draws follow the order of attributes, levels and classes; another order gives another approximation.

    See Also
    --------
    MaxEntClassifier : Learn P(label | features) of individuals from contingency tables alone, by the maximum entropy
        model.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.maxent import SampledLogistic
    >>> example = synthetic.xor(1000, random_state=0)
    >>> SampledLogistic(random_state=0).fit(example.tables).predict_proba({"x1": [0], "x2": [1], "x3": [1]}).shape
    (1, 2)
    """

    model: MaxEntClassifier | None = None
    n_rows: int | None = None
    penalty_theta: Any = None
    random_state: Any = None

    def fit(self, tables: Tables) -> SampledLogistic:
        """Learn from tables with label sums."""
        from sklearn.base import clone

        rng = checks.generator(self.random_state)
        model: Any = MaxEntClassifier() if self.model is None else clone(self.model)
        model.set_params(random_state=int(rng.integers(2**31))).fit(tables)
        n = round(model.n_) if self.n_rows is None else checks.at_least(self.n_rows, "n_rows", 1)
        if self.n_rows is None and n > MOST_ROWS:
            raise DataError(
                f"{n:.3g} rows were to be drawn; up to {MOST_ROWS:.0g} are.",
                hint="give n_rows, or use the model itself.",
            )
        codes, labels = model.model_.draw(n, rng)
        return self.fit_codes(tables, codes, labels, self.penalty_theta)


def skyline(tables: Tables, frame: Any, labels: Any, penalty_theta: Any = None) -> CrossLogistic:
    """Fit the same logistic regression to the rows themselves, as an upper bound for models of tables.

    For evaluation only: with tables alone there are no rows to fit.

    Parameters
    ----------
    tables : Tables
        Whose cells become indicators.
    frame : data frame
        The individuals.
    labels : sequence
        Their classes.
    penalty_theta : float or sequence of float, optional
        As in `MaxEntClassifier`, with the same default; there is no "auto".

    See Also
    --------
    MaxEntClassifier : The model from tables.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.maxent import skyline
    >>> example = synthetic.xor(10_000, random_state=0)
    >>> model = skyline(example.tables, example.frame(), example.labels, penalty_theta=1.0)
    >>> model.predict_proba({"x1": [0], "x2": [1], "x3": [1]})[:, 1].round(1)
    array([0.7])
    """
    made = CrossLogistic()
    schema = Schema.of(tables)
    codes = schema.codes(frame)
    made.fit_codes(tables, codes, schema.label_codes(labels, len(codes)), penalty_theta)
    made.releases_ = []  # of the tables; the rows were used as they are
    return made


def with_margins(sizes: Any, tables: list, crossed: Sequence[Crossed] = ()) -> Layout:
    """The layout of tables and of every table that they imply; the last features may be `crossed`."""
    from itertools import combinations

    subsets = {s for t in tables for r in range(1, len(t) + 1) for s in combinations(sorted(t), r)}
    return layout(sizes[: len(sizes) - len(crossed)], sorted(subsets), crossed=crossed)
