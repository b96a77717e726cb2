"""The xor example: a distribution that pairwise tables do not determine (Gilotte et al. 2022, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.domain import Domain
from sumwise.synthetic.record import Record
from sumwise.tables import Table, Tables

if TYPE_CHECKING:
    import pandas as pd

PAIRS = ((0, 1), (0, 2), (1, 2))


@dataclass(frozen=True, eq=False, repr=False)
class Xor(Record):
    """Rows of three binary features and a label, and their pairwise tables; made by `xor`.

    Attributes
    ----------
    tables : Tables
        The three pairwise tables of the drawn rows, with label sums.
    expected_tables : Tables
        The same with expected counts, as after infinitely many rows: every count is n / 4.
    domain : Domain
        ``x1``, ``x2``, ``x3``, two levels each.
    codes : (n, 3) int8 array
        The rows.
    labels : (n,) int8 array
    probability : (2, 2, 2) array
        True P(y = 1 | x1, x2, x3) = 0.25 + 0.5 x3.
    pairwise_prediction : (2,) array
        What the pairwise maximum entropy model predicts for x3 = 0 and x3 = 1 after infinitely many rows, on the
        x that occur: 0.1 and 0.9.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> synthetic.xor(1000, random_state=0).frame().columns.tolist()
    ['x1', 'x2', 'x3', 'y']
    """

    tables: Tables
    expected_tables: Tables
    domain: Domain
    codes: np.ndarray
    labels: np.ndarray
    probability: np.ndarray
    pairwise_prediction: np.ndarray

    def frame(self) -> pd.DataFrame:
        """Return the rows as a pandas frame with columns x1, x2, x3 and y."""
        import pandas as pd

        columns = {a: self.codes[:, j] for j, a in enumerate(self.domain.attributes)}
        return pd.DataFrame({**columns, "y": self.labels})


def xor(n: int = 10_000, *, random_state: Any = None) -> Xor:
    """Draw rows whose third feature is the xor of the first two.

    Parameters
    ----------
    n : int, default 10,000
        Number of rows.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    Xor

    Notes
    -----
    x1 and x2 are independent fair coins, x3 = x1 xor x2, and P(y = 1 | x) = 0.25 + 0.5 x3. Any two of the features
    are independent, so their tables are those of three independent coins. Given y, the pairwise model takes x3 and
    u = x1 xor x2 for two independent witnesses and counts the same evidence twice: the odds 3 become 3^2, the
    probabilities 0.25 and 0.75 become 0.1 and 0.9.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> example = synthetic.xor(10_000, random_state=0)
    >>> example.expected_tables["x1", "x3"].counts
    array([[2500., 2500.],
           [2500., 2500.]])
    >>> example.pairwise_prediction
    array([0.1, 0.9])
    """
    rng = checks.generator(random_state)
    checks.at_least(n, "n", 1)
    codes = np.empty((n, 3), dtype=np.int8)
    codes[:, :2] = rng.integers(0, 2, size=(n, 2))
    codes[:, 2] = codes[:, 0] ^ codes[:, 1]
    labels = (rng.random(n) < 0.25 + 0.5 * codes[:, 2]).astype(np.int8)

    grid = np.indices((2, 2, 2)).reshape(3, 8).T
    probability = 0.25 + 0.5 * grid[:, 2]
    possible = n / 4 * ((grid[:, 0] ^ grid[:, 1]) == grid[:, 2])
    domain = Domain({"x1": 2, "x2": 2, "x3": 2})
    sampled = _pair_tables(domain, codes, np.ones(n), labels)
    expected = _pair_tables(domain, grid, possible, possible * probability)
    limit = np.array([0.1, 0.9])
    return Xor(sampled, expected, domain, codes, labels, probability.reshape(2, 2, 2), limit)


def _pair_tables(domain: Domain, codes: np.ndarray, counts: np.ndarray, label_sums: np.ndarray) -> Tables:
    tables = []
    for j, k in PAIRS:
        cell = 2 * codes[:, j].astype(np.intp) + codes[:, k]
        both = [np.bincount(cell, weights=w, minlength=4).reshape(2, 2) for w in (counts, label_sums)]
        tables.append(Table((domain.attributes[j], domain.attributes[k]), both[0], label_sums=both[1]))
    return Tables(tables, domain, label="y")
