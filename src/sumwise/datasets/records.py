"""What the loaders return: containers, with the truth where the data have it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.bags import Bags
from sumwise.display import record_html
from sumwise.errors import DataError, UnknownName
from sumwise.margins import Margins


@dataclass(frozen=True)
class Election:
    """Margins per unit, and the true cells if they are known.

    Attributes
    ----------
    name : str
        The set.
    margins : Margins
        Row and column totals per unit.
    cells : ndarray of shape (n_units, R, C) or None
        True counts per unit.
    total : ndarray of shape (R, C) or None
        True counts over all units.
    frame : pandas.DataFrame
        The file as read, with columns that the margins don't use.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Margins
    >>> from sumwise.datasets import Election
    >>> e = Election("toy", Margins([[3, 1]], [[2, 2]]), total=np.array([[2.0, 1.0], [0.0, 1.0]]))
    >>> e.shares[1]
    array([0., 1.])
    """

    name: str
    margins: Margins
    cells: np.ndarray | None = None
    total: np.ndarray | None = None
    frame: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False, compare=False)

    _repr_html_ = record_html

    @property
    def shares(self) -> np.ndarray | None:
        """True row shares over all units, (R, C); None where the truth isn't known."""
        if self.total is None:
            return None
        sums = self.total.sum(axis=1, keepdims=True)
        return np.divide(self.total, sums, out=np.zeros_like(self.total), where=sums > 0)


@dataclass(frozen=True)
class Contest(Election):
    """One contest of many: an election in one district, with its true table.

    Attributes
    ----------
    dataset, district, key : str
        As published: ``"NZ_2002"``, ``"Aoraki"``, ``"Aoraki_G7_C5"``.
    number : int
        Its number within the dataset.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.datasets.records import Contest
    >>> Contest("toy", Margins([[3, 1]], [[2, 2]]), dataset="NZ_2002").election
    'New Zealand 2002'
    """

    dataset: str = ""
    district: str = ""
    key: str = ""
    number: int = 0

    @property
    def election(self) -> str:
        """The election that the contest belongs to, in words: ``"New Zealand 2002"``."""
        country, year = self.dataset.split("_")
        return f"{ {'NZ': 'New Zealand', 'SCO': 'Scotland'}.get(country, country) } {year}"


@dataclass(frozen=True)
class LabelledBags:
    """Bags with what is known of their labels, for learning and for the check afterwards.

    Attributes
    ----------
    bags : Bags
        The individuals' features.
    counts : ndarray of shape (n_bags, n_classes)
        How many individuals of each class a bag holds.
    labels : ndarray of shape (n_rows,)
        Class index of each row of ``bags.values``: the truth, for evaluation only.
    classes : tuple
        The classes in the order of the indices.
    rows : ndarray of shape (n_rows,)
        Which row of the source each row of ``bags.values`` is.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.datasets.records import Microdata
    >>> people = pd.DataFrame({"area": ["s", "r", "s"], "age": [31, 40, 25], "sex": ["f", "m", "m"]})
    >>> labelled = Microdata("toy", people, bag="area").hide("sex", ["age"])
    >>> labelled.counts
    array([[0., 1.],
           [1., 1.]])
    >>> labelled.classes, labelled.rows
    (('f', 'm'), array([1, 0, 2]))
    """

    bags: Bags
    counts: np.ndarray
    labels: np.ndarray
    classes: tuple[Any, ...]
    rows: np.ndarray

    _repr_html_ = record_html


@dataclass(frozen=True)
class Split:
    """Bags with one response each, in a training and a test part.

    Attributes
    ----------
    bags, test_bags : Bags
    y, test_y : ndarray
        One response per bag.
    classes : tuple of str
        What the integers in ``y`` mean.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.datasets.records import Split
    >>> bags = Bags.from_arrays([np.zeros((2, 1)), np.ones((3, 1))])
    >>> Split(bags[[0]], np.array([0]), bags[[1]], np.array([1]), classes=("low", "high")).classes
    ('low', 'high')
    """

    bags: Bags
    y: np.ndarray
    test_bags: Bags
    test_y: np.ndarray
    classes: tuple[str, ...] = ()

    _repr_html_ = record_html


@dataclass(frozen=True)
class Microdata:
    """One row per person, with the column that makes bags and the column that weighs.

    Attributes
    ----------
    name : str
        The set.
    frame : pandas.DataFrame
        One row per person; missing values are NaN.
    bag : str
        The natural bag column.
    weight : str or None
        The person weight column.
    dictionary : dict
        What the columns and their values mean.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.datasets.records import Microdata
    >>> people = pd.DataFrame({"area": ["s", "r", "s"], "age": [31, 40, 25], "sex": ["f", "m", "m"]})
    >>> Microdata("toy", people, bag="area").hide("sex", ["age"]).bags.ids
    array(['r', 's'], dtype='<U1')
    """

    name: str
    frame: pd.DataFrame = field(repr=False)
    bag: str
    weight: str | None = None
    dictionary: dict[str, Any] = field(default_factory=dict, repr=False)

    _repr_html_ = record_html

    def hide(self, label: str, features: list[str], bag: str | None = None, weighted: bool = False) -> LabelledBags:
        """Hide one column as the label and sum it by bag.

        Rows where the label is missing are left out; features must be complete (fill or drop first).

        Parameters
        ----------
        label : str
            The column to hide.
        features : list of str
            The columns that stay.
        bag : str, optional
            Another column to make bags of.
        weighted : bool, default False
            Give the person weights to the bags. Counts are of rows, never of weights.
        """
        bag = self.bag if bag is None else bag
        features = checks.listing(features, "features", "give a list of columns.")
        if label in features or label == bag:
            raise DataError(f"{label!r} is the label; it can't be a feature or the bag too.", hint="leave it out.")
        for column in [label, bag, *features]:
            if column not in self.frame:
                raise UnknownName(
                    f"{self.name} has no column {column!r}.", hint=f"it has {', '.join(self.frame.columns)}."
                )
        known = (self.frame[label].notna() & self.frame[bag].notna()).to_numpy()
        rows = self.frame[known]
        weight = self.weight if weighted else None
        labelled = labelled_bags(rows, bag, features, rows[label], weight)
        return replace(labelled, rows=np.flatnonzero(known)[labelled.rows])


def labelled_bags(frame: Any, bag: str, features: list[str], label: Any, weight: str | None = None) -> LabelledBags:
    """Rows to bags, in the order of the bag column's values, with the labels summed by bag."""
    order = np.argsort(frame[bag].to_numpy(), kind="stable")
    frame, label = frame.iloc[order], label.iloc[order]
    bags = Bags.from_frame(frame, bag=bag, features=features, weight=weight)
    classes, codes = np.unique(label.to_numpy(), return_inverse=True)
    counts = np.zeros((len(bags), len(classes)))
    np.add.at(counts, (np.repeat(np.arange(len(bags)), bags.sizes), codes), 1.0)
    return LabelledBags(bags, counts, codes, tuple(classes.tolist()), order)
