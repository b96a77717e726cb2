"""Numbers behind the figures on bags, subgroups and distribution regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags


def subgroup_numbers(frame: Any, level: float = 0.95, most: int = 40, two: bool | str = False) -> dict[str, Any]:
    """Return shares of subgroups with intervals, ready to be drawn as lines.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``group``, ``level``, ``people``, ``class``, ``share``, ``low``, ``high``, and perhaps ``truth``.
    level : float in (0, 1), default 0.95
    most : int, default 40
        Lines; the largest subgroups are kept.
    two : bool or str, default False
        Whether there are two classes, of which the second is shown, or the class that is named.

    See Also
    --------
    sumwise.plots.plot_subgroups : Draws these numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.diagnostics import subgroup_numbers
    >>> row = {"group": "sex", "level": "f", "people": 5, "class": "yes", "share": 0.5, "low": 0.4, "high": 0.6}
    >>> subgroup_numbers(pd.DataFrame([row]))["names"]
    ['sex f: yes']
    """
    part = frame[frame["class"] == (two if isinstance(two, str) else frame["class"].iloc[1])] if two else frame
    if len(part) > most:
        keep = np.sort(np.argsort(-part["people"].to_numpy(), kind="stable")[:most])
        part = part.iloc[keep]
    names = [
        ("everybody" if (g, lv) == ("everybody", "all") else f"{g} {lv}") + ("" if two else f": {c}")
        for g, lv, c in zip(part["group"], part["level"], part["class"])
    ]
    return {
        "names": names,
        "share": part["share"].to_numpy(dtype=float),
        "low": part["low"].to_numpy(dtype=float),
        "high": part["high"].to_numpy(dtype=float),
        "truth": part["truth"].to_numpy(dtype=float) if "truth" in part else None,
        "level": level,
    }


def predicted_numbers(actual: Any, predicted: Any, what: str, low: Any = None, high: Any = None) -> dict[str, Any]:
    """Return predictions beside what is true, ready to be drawn against each other.

    Parameters
    ----------
    actual, predicted : arrays of shape (n,)
    what : str
        What is predicted.
    low, high : arrays, optional
        Intervals.

    See Also
    --------
    sumwise.plots.plot_predicted : Draws these numbers.

    Examples
    --------
    >>> from sumwise.diagnostics import predicted_numbers
    >>> predicted_numbers([1, 2], [1.5, 2.5], "age")["error"]
    0.5
    """
    a, p = np.asarray(actual, dtype=float), np.asarray(predicted, dtype=float)
    return {
        "actual": a,
        "predicted": p,
        "low": None if low is None else np.asarray(low, dtype=float),
        "high": None if high is None else np.asarray(high, dtype=float),
        "what": what,
        "error": float(np.abs(a - p).mean()),
    }


def calibration_numbers(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return calibration tables as plain numbers.

    Parameters
    ----------
    tables : mapping of name to frame
        From `sumwise.metrics.calibration`.

    See Also
    --------
    sumwise.plots.plot_calibration : Draws these numbers.

    Examples
    --------
    >>> from sumwise.diagnostics import calibration_numbers
    >>> from sumwise.metrics import calibration
    >>> calibration_numbers({"model": calibration([0, 1], [0.2, 0.7], bins=1)})["model"]["observed"]
    array([0.5])
    """
    return {
        name: {key: table[key].to_numpy(dtype=float) for key in ("predicted", "observed", "error")}
        for name, table in tables.items()
    }


def confusion(actual: Any, predicted: Any, classes: Any) -> dict[str, Any]:
    """Return how often each class was predicted as which.

    Parameters
    ----------
    actual, predicted : arrays of class positions, shape (n,)
    classes : sequence of str

    See Also
    --------
    sumwise.plots.plot_confusion : Draws these numbers.

    Examples
    --------
    >>> from sumwise.diagnostics import confusion
    >>> confusion([0, 1, 1], [0, 1, 0], ["a", "b"])["counts"].tolist()
    [[1, 0], [1, 1]]
    """
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, (np.asarray(actual, dtype=int), np.asarray(predicted, dtype=int)), 1)
    return {"counts": counts, "classes": list(classes)}


def similarity_numbers(
    kernels: Mapping[str, Any],
    means: Sequence[float] = tuple(np.linspace(-4, 4, 33)),
    deviations: Sequence[float] = tuple(np.geomspace(0.125, 8, 25)),
    n_rows: int = 200,
) -> Any:
    """Return how similar kernels find normal bags to the standard normal one, as the mean and the deviation change.

    Bags hold the quantiles of normal distributions, so that nothing is left to chance. Similarities are relative to
    that of the standard normal bag with itself.

    Parameters
    ----------
    kernels : mapping of name to bag kernel
        Unfitted ones are fitted to all bags of the figure; anything with ``fit(bags)`` and ``gram(bags, others)``.
    means, deviations : sequences of float
        One changes while the other stays at 0 and 1.
    n_rows : int >= 2, default 200

    Returns
    -------
    pandas frame with the columns kernel, varied ("mean" or "deviation"), value, similarity

    See Also
    --------
    sumwise.plots.plot_similarity : Draws these numbers.

    Examples
    --------
    >>> from sumwise.diagnostics import similarity_numbers
    >>> from sumwise.distribution import WassersteinKernel
    >>> numbers = similarity_numbers({"W2": WassersteinKernel(gamma=1.0)}, means=[0, 1], deviations=[1, 2])
    >>> numbers["similarity"].round(2).tolist()
    [1.0, 0.6, 1.0, 0.6]
    """
    import pandas as pd
    from scipy.stats import norm
    from sklearn.base import clone

    checks.at_least(n_rows, "n_rows", 2)
    shape = norm.ppf((np.arange(n_rows) + 0.5) / n_rows)
    settings = [("mean", float(m), m + shape) for m in checks.finite(means, "means", ndim=1)]
    settings += [("deviation", float(s), s * shape) for s in checks.positive(deviations, "deviations", ndim=1)]
    bags, centre = Bags.from_arrays([rows for *_, rows in settings]), Bags.from_arrays([shape])
    frames = []
    for name, kernel in kernels.items():
        fresh: Any = clone(kernel)
        fitted = fresh.fit(bags)
        similar = fitted.gram(bags, centre)[:, 0] / fitted.gram(centre)[0, 0]
        varied, value, _ = zip(*settings)
        frames.append(pd.DataFrame({"kernel": name, "varied": varied, "value": value, "similarity": similar}))
    return pd.concat(frames, ignore_index=True)
