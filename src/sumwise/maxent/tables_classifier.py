"""What every classifier learned from tables offers: probabilities and classes of individuals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax

from sumwise import checks, frames
from sumwise.display import shortened
from sumwise.domain import Domain
from sumwise.encoding import Encoding
from sumwise.encoding.values import canonical, count_unseen, looked_up, report_unseen
from sumwise.errors import DataError
from sumwise.estimator import Estimator
from sumwise.noise import Exact
from sumwise.provenance import Promise, Provenance
from sumwise.tables import Tables

MOST_LISTED = 20_000  # coefficients that a notebook sorts


class TablesClassifier(Estimator):
    """Base of the classifiers on `Tables`; a method supplies `fit` and `_scores`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes, in the order of the columns of `predict_proba`.
    domain_ : Domain
        The features and their levels.
    encoding_ : Encoding or None
        How raw columns become levels; applied to the frames given to `predict_proba`.
    n_ : float
        The number of individuals that were counted.
    releases_ : list of dict
        Noise and privacy guarantee of each release behind the tables; empty if any of them was not released, if the
        fit began from one to such tables (``warm_start``), or if it used individuals as they are.

    Examples
    --------
    >>> from sumwise.maxent import NaiveBayesTables
    >>> from sumwise.maxent.tables_classifier import TablesClassifier
    >>> issubclass(NaiveBayesTables, TablesClassifier)
    True
    """

    _learned = (
        "domain_: is Domain; encoding_?: is Encoding; classes_: len K; offsets_: float K; "
        "releases_: is list; n_: number"
    )

    def fit(self, tables: Tables) -> TablesClassifier:
        """Learn from tables with label sums."""
        raise NotImplementedError

    def notebook_finding(self) -> tuple[str, Any] | None:
        """Return what the fitted model found, without its data: a sentence and a frame, or None."""
        if not hasattr(self, "domain_"):
            return None
        features = shortened(self.domain_.attributes)
        classes = " or ".join(map(str, self.classes_[:6]))
        words = f"Predicts {classes} from {features}; {self.n_:,.0f} individuals were counted."
        listed = getattr(self, "coefficients", None)
        if listed is None or np.size(getattr(self, "theta_", ())) > MOST_LISTED:
            return words, None
        frame = listed().sort_values("coefficient", key=np.abs, ascending=False, kind="stable")
        return f"{words} The largest coefficients, in log-odds:", frame

    def predict_proba(self, frame: Any) -> np.ndarray:
        """Return P(class | features) of individuals, (n_rows, n_classes).

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame, or dict of columns
            One column per feature (raw columns where the tables had an encoding). Where a value is missing, or a
            level that no table has, the feature's terms drop out.
        """
        self._fitted("domain_")
        return softmax(self._frame_scores(frame), axis=1)

    def predict(self, frame: Any) -> np.ndarray:
        """Return the more likely class of individuals, (n_rows,)."""
        shares = self.predict_proba(frame)
        return self.classes_[shares.argmax(axis=1)]

    def score(self, frame: Any, labels: Any) -> float:
        """Return the mean log-likelihood of the labels of individuals; ``individuals().score`` is the accuracy.

        Parameters
        ----------
        frame : data frame of individuals
        labels : sequence of classes
        """
        self._fitted("domain_")
        logs = log_softmax(self._frame_scores(frame), axis=1)
        return float(np.mean(logs[np.arange(len(logs)), class_codes(labels, self.classes_, len(logs))]))

    def individuals(self) -> Any:
        """Return the model as a fitted scikit-learn classifier of rows, for displays, scorers and calibration.

        Examples
        --------
        >>> from sklearn.calibration import CalibrationDisplay
        >>> from sumwise import synthetic
        >>> from sumwise.maxent import NaiveBayesTables
        >>> example = synthetic.xor(1000, random_state=0)
        >>> rows = NaiveBayesTables().fit(example.tables).individuals()
        >>> rows.score(example.frame(), example.labels) > 0.5
        True
        """
        from sumwise.maxent.individuals import RowClassifier

        self._fitted("domain_")
        return RowClassifier(self)

    def _frame_scores(self, frame: Any) -> np.ndarray:
        """Log-probabilities up to a constant per row, (n, K), of individuals."""
        return self._scores(codes_of(frame, self.domain_, self.encoding_))

    def _scores(self, codes: np.ndarray) -> np.ndarray:
        """Log-probabilities up to a constant per row, (n, K), of level codes (n, D)."""
        raise NotImplementedError

    @property
    def promise(self) -> Promise | None:
        """What the releases behind the tables promise together; None if the model is not covered by them."""
        return Promise.of(getattr(self, "releases_", ()))

    def _remember(self, tables: Tables, n: float, parts: Sequence[Tables] = ()) -> None:
        """Keep what tables are about; `parts` are all tables that were learned from, where there are several."""
        self.domain_ = tables.domain
        self.encoding_ = tables.encoding
        self.label_ = tables.label
        self.classes_ = np.array(tables.classes)
        self.n_ = n
        self.releases_ = promises(parts or [tables])


def promises(parts: Sequence[Tables]) -> list[dict[str, Any]]:
    """What was promised to all people behind the counts of tables; nothing where any of them are exact."""
    exact = any(isinstance(noise, Exact) for p in parts for t in p for noise in (t.noise, t.noise_of_sums))
    known = Provenance.combined(p.provenance for p in parts)
    return [] if exact or not known.promised else [dict(r) for r in known.releases]


def class_codes(labels: Any, classes: np.ndarray, n_rows: int) -> np.ndarray:
    """Class codes (n_rows,) of labels."""
    position = {checks.plain(c): k for k, c in enumerate(classes)}
    given = [checks.plain(v) for v in np.asarray(labels)]
    if len(given) != n_rows:
        raise DataError(f"There are {len(given)} labels for {n_rows} rows.", hint="give one for each row.")
    for v in given:
        checks.known(v, position, "class")
    return np.array([position[v] for v in given])


def codes_of(frame: Any, domain: Domain, encoding: Encoding | None = None) -> np.ndarray:
    """Codes (n_rows, D) of individuals; -1 where a value is missing or a level that the domain lacks.

    Attributes without a rule in the encoding are looked up among the domain's levels.

    Examples
    --------
    >>> from sumwise.domain import Domain
    >>> from sumwise.maxent.tables_classifier import codes_of
    >>> codes_of({"a": ["x", "z"], "b": [1, 0]}, Domain({"a": ["x", "y"], "b": 2}))
    array([[ 0,  1],
           [-1,  0]])
    """
    ruled = [a for a in domain.attributes if encoding is not None and a in encoding]
    found = encoding.project(ruled).codes(frame, unseen="code") if encoding is not None and ruled else {}
    bare = [a for a in domain.attributes if a not in found]
    table = frames.to_pandas(frame, tuple(bare)) if bare else {}
    found |= {a: _codes(table[a], domain.levels(a), a) for a in bare}
    unseen = encoding.project(ruled).unseen(frame) if encoding is not None and ruled else {}
    unseen |= {a: count_unseen(table[a], found[a] < 0, domain.levels(a)) for a in bare}
    report_unseen(unseen)
    return np.column_stack([found[a] for a in domain.attributes])


def _codes(column: Any, levels: tuple, name: str) -> np.ndarray:
    import pandas as pd

    frames.scalars_only(column, name)
    position = {level: i for i, level in enumerate(levels)}
    codes, found = pd.factorize(column)
    lookup = np.array([position.get(checks.plain(x), -1) for x in found] or [-1], dtype=np.int64)
    if len(found) and (lookup < 0).all():
        keys = {canonical(v): i for i, v in enumerate(levels) if v is not None}
        compared = looked_up(column, keys, position.get(None, -1), -1)
        if (compared >= 0).any():
            return compared
    return np.where(codes >= 0, lookup[codes], position.get(None, -1))
