"""One row per person: census and bank records that are aggregated first and serve for evaluation after."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import pandas as pd

from sumwise.datasets.records import LabelledBags, Microdata, labelled_bags
from sumwise.datasets.store import check_frame, entry, read_csv, read_document, verified
from sumwise.display import record_html
from sumwise.errors import UnknownName

ADULT_COLUMNS = [
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship"),
    *("race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income"),
]


@dataclass(frozen=True)
class Adult:
    """UCI Adult in its two parts.

    Attributes
    ----------
    train, test : pandas.DataFrame
        32,561 and 16,281 rows; missing values are missing, income is ``"<=50K"`` or ``">50K"`` in both.
    label : str
        The column to predict.

    Examples
    --------
    >>> from sumwise import datasets
    >>> int(datasets.adult().y_train.sum())
    7841
    """

    train: pd.DataFrame = field(repr=False)
    test: pd.DataFrame = field(repr=False)
    label: str = "income"

    _repr_html_ = record_html

    @property
    def y_train(self):
        """1 where the income is over 50K, in the training part."""
        return (self.train[self.label] == ">50K").to_numpy().astype(int)

    @property
    def y_test(self):
        """1 where the income is over 50K, in the test part."""
        return (self.test[self.label] == ">50K").to_numpy().astype(int)


def adult() -> Adult:
    """UCI Adult as published: 32,561 training and 16,281 test rows, with column names.

    The file's ``?`` is missing here; the full stop that ends the test labels in the file is taken off.

    Returns
    -------
    Adult
        ``train``, ``test``, ``label``, ``y_train``, ``y_test``.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.adult().train.shape
    (32561, 15)
    """
    options = {"header": None, "names": ADULT_COLUMNS, "skipinitialspace": True, "na_values": ["?"]}
    train = read_csv("adult", 0, keep_default_na=False, **options)
    test = read_csv("adult", 1, keep_default_na=False, **options)
    test["income"] = test["income"].str.removesuffix(".")
    return Adult(train, test)


def bank() -> Microdata:
    """UCI Bank Marketing: 41,188 phone calls; ``y`` says whether a deposit followed.

    ``unknown`` is a level of its own, as published. ``duration`` is known only after the call: leave it out
    of a model that is to predict.

    Returns
    -------
    Microdata
        ``frame`` has 21 columns; the bag column is ``month``.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.bank().frame.shape
    (41188, 21)
    """
    return Microdata("bank", read_csv("bank", sep=";", keep_default_na=False), bag="month")


def pums_national() -> Microdata:
    """American Community Survey 2019: 27,253 persons in 20 areas (PUMAs).

    Returns
    -------
    Microdata
        ``bag`` is ``PUMA``, ``weight`` is ``PWGTP``; the file's ``N`` is missing; ``dictionary`` explains
        the codes. Hide SEX, EDU, RAC1P, HISP, DPHY, OWN_RENT, INDP_CAT or PINCP_DECILE with ``hide``.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.pums_national().frame["PUMA"].nunique()
    20
    """
    return _pums("pums_national")


def pums_ma() -> Microdata:
    """American Community Survey 2019: 7,634 persons in 5 areas (PUMAs) of Massachusetts.

    Returns
    -------
    Microdata
        As :func:`pums_national`.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.pums_ma().hide("SEX", ["AGEP", "DEYE"]).counts.sum(axis=0)
    array([3576., 4058.])
    """
    return _pums("pums_ma")


def _pums(name: str) -> Microdata:
    frame = read_csv(name, text=["PUMA"], na_values=["N"], keep_default_na=False)
    return Microdata(name, frame, bag="PUMA", weight="PWGTP", dictionary=read_document(name, 1))


def franco_variants() -> list[str]:
    """Return the names of the 20 published bag assignments that `franco` takes.

    Examples
    --------
    >>> from sumwise.datasets.microdata import franco_variants
    >>> franco_variants()[12:14]
    ['naive-large-equal-None-cluster-None-None', 'naive-large-not-equal-None-cluster-None-None']
    """
    return [
        PurePosixPath(file.path).stem.removeprefix("adult-")
        for file in entry("franco").files
        if file.columns == ("bag",)
    ]


def franco(variant: str = "naive-large-equal-None-cluster-None-None") -> LabelledBags:
    """Adult with encoded features and a published assignment to bags (Franco et al. 2024).

    Parameters
    ----------
    variant : str
        One of 20 names, or the beginning of one of them (``"naive-large-equal"``); an unknown name lists them all.
        In a *naive* variant the bags are independent of everything, in a *simple* one they depend on the
        label, in an *intermediate* one on a cluster of the features, in a *hard* one on both.

    Returns
    -------
    LabelledBags
        10 bags, 48,842 rows x 179 features; ``labels`` 1 for an income over 50K.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.franco("naive-large-equal").bags.shape
    (10, 179)
    """
    names = franco_variants()
    asked = variant.removeprefix("adult-")
    matches = [asked] if asked in names else [name for name in names if name.startswith(asked)]
    if len(matches) != 1:
        raise UnknownName(
            f"The variant {variant!r} fits {len(matches)} of {len(names)} names.",
            hint=f"take one of {', '.join(names)}.",
        )
    frame = _read_parquet("franco", 0)
    features = [str(c) for c in frame.columns if c != "y"]
    frame["bag"] = _read_parquet("franco", 1 + names.index(matches[0]))["bag"].to_numpy()
    return labelled_bags(frame, "bag", features, frame["y"])


def _read_parquet(name: str, number: int) -> Any:
    file, path = verified(name, number)
    return check_frame(pd.read_parquet(path), file, path)
