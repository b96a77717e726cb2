"""What `fit` takes: bags, a list of arrays, or rows with groups, with counts; and labels of a few members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise import checks, frames
from sumwise.bags import Bags, as_bags, rows_of
from sumwise.errors import DataError
from sumwise.inference.canonical import content_sorted

UNKNOWN = -1  # scikit-learn's label of a row whose class isn't known


def as_training(bags: Any, counts: Any, groups: Any = None, labels: Any = None) -> tuple[Bags, np.ndarray, Any]:
    """Bags, their counts in the order of the bags, and labels in the order of their rows, -1 where unknown, or None.

    Parameters
    ----------
    bags : Bags, list of one array or frame per bag, or with `groups` a matrix or frame of rows
    counts : array, pandas Series or frame, or mapping from bags to counts
    groups : array of one label per row, or name of a column, optional
    labels : array of shape (n_rows,) in the order of the rows given, optional

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.proportions.training_data import as_training
    >>> bags, counts, _ = as_training(np.arange(4.0)[:, None], {"s": 1, "r": 0}, groups=["s", "r", "s", "r"])
    >>> bags.ids.tolist(), counts.tolist(), bags[0].ravel().tolist()
    (['s', 'r'], [1, 0], [0.0, 2.0])
    """
    order = None
    if groups is not None:
        bags, order = _grouped(bags, groups)
        if not _indexed(counts) and sorted(bags.ids.tolist()) != bags.ids.tolist():
            raise DataError(
                f"counts has no names for the {len(bags)} groups, and the rows don't have these in sorted order. "
                f"First: {checks.plain(bags.ids[0])!r}.",
                hint="give counts as a pandas Series or a mapping from group to count.",
            )
    elif isinstance(bags, (list, tuple)):
        bags = Bags.from_arrays(bags)
    bags = as_bags(bags)
    if isinstance(counts, Mapping):
        import pandas as pd

        counts = pd.Series(counts).rename_axis("bag")
    known = None if labels is None else _checked_labels(labels, bags)
    return bags, bags.align(counts), known if known is None or order is None else known[order]


def _indexed(counts: Any) -> bool:
    return isinstance(counts, Mapping) or (hasattr(counts, "index") and hasattr(counts, "iloc"))


def _grouped(rows: Any, groups: Any) -> tuple[Bags, np.ndarray]:
    """Bags of rows, in the order in which groups first appear, and the positions of their rows."""
    import pandas as pd

    if isinstance(rows, (Bags, list, tuple)):
        raise DataError("groups are for rows; these are bags already.", hint="leave groups out.")
    if frames.is_frame(rows):
        table = frames.to_pandas(rows)
        if isinstance(groups, str):
            checks.known(groups, list(table.columns), "column")
            groups, table = table[groups], table.drop(columns=groups)
        name = "group"
        while name in table.columns:
            name += "_"
        checks.same_length(X=table, groups=np.asarray(groups))
        bags = Bags.from_frame(table.assign(**{name: np.asarray(groups)}), bag=name)
    else:
        values = checks.finite(checks.dense(rows), "X", ndim=2, allow_bool=True, allow_nan=True)
        checks.same_length(X=values, groups=np.asarray(groups))
        frame = pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])
        bags = Bags.from_frame(frame.assign(group=np.asarray(groups)), bag="group")
    return bags, np.argsort(pd.factorize(np.asarray(groups))[0], kind="stable")


def _checked_labels(labels: Any, bags: Bags) -> np.ndarray:
    given = np.asarray(labels, dtype=np.float64)
    if given.shape != (bags.n_rows,):
        raise DataError(f"labels has shape {given.shape} for {bags.n_rows} rows.", hint="one per row, -1 for unknown.")
    given = np.where(np.isnan(given), UNKNOWN, given)
    if ((given < UNKNOWN) | (given % 1 != 0)).any():
        bad = given[(given < UNKNOWN) | (given % 1 != 0)][0]
        raise DataError(f"labels contains {bad:g}.", hint="classes are 0, 1, ...; -1 and NaN are unknown.")
    return given.astype(np.int64)


def count_facts(bags: Bags, counts: np.ndarray) -> list[np.ndarray]:
    """Counts by class, which don't depend on their form: of both classes if of one, the rarest class first.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions.training_data import count_facts
    >>> count_facts(Bags.from_arrays([[1.0, 2.0], [3.0]]), np.array([2, 0]))
    [array([0., 1.]), array([2., 0.])]
    """
    if counts.dtype.names:  # each class with its least and greatest count
        return [c for name in counts.dtype.names for c in np.asarray(counts[name], float).reshape(len(bags), -1).T]
    table = np.asarray(counts, dtype=float).reshape(len(bags), -1)
    if table.shape[1] == 1:
        table = np.column_stack([bags.total_weights - table[:, 0], table[:, 0]])
    return list(table.T[np.argsort(table.sum(axis=0), kind="stable")])


def canonical(bags: Bags, counts: Any, weights: np.ndarray | None = None) -> tuple[Bags, np.ndarray, Any]:
    """Return bags, counts and weights with bags ordered by the rarest class's share, so that neighbours are alike.

    Parameters
    ----------
    bags : Bags
        Without empty ones.
    counts : array of shape (n_bags,) or (n_bags, n_classes), or with fields
    weights : array of shape (n_bags,), optional

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions.training_data import canonical
    >>> canonical(Bags.from_arrays([[[1.0], [2.0]], [[3.0], [4.0]]]), np.array([1, 2]))[1]
    array([2, 1])
    """
    facts = count_facts(bags, counts)
    known = facts if weights is None else [*facts, np.asarray(weights, float)]
    arranged, order = content_sorted(bags, [facts[0] / bags.sizes], known)
    return arranged, counts[order], None if weights is None else weights[order]


def reveal(bags: Bags, counts: np.ndarray, labels: np.ndarray) -> tuple[Bags, np.ndarray, np.ndarray]:
    """Make every member whose label is known a bag of its own, and take it from its bag and from that bag's count.

    Labels are independent given features, so that the likelihood of counts and labels is that of these bags.

    Returns
    -------
    Bags, counts, and for each of them the position of the bag that it comes from

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions.training_data import reveal
    >>> bags, counts, _ = reveal(Bags(np.arange(3.0)[:, None], [0, 3]), np.array([2]), np.array([-1, 1, -1]))
    >>> bags.sizes.tolist(), counts.tolist()
    ([2, 1], [1.0, 1.0])
    """
    known = np.flatnonzero(labels != UNKNOWN)
    n_classes = 2 if counts.ndim == 1 else counts.shape[1]
    if known.size and labels.max() >= n_classes:
        raise DataError(f"labels contains class {labels.max()}; counts have {n_classes} classes.")
    marks = np.zeros((bags.n_rows, n_classes))
    marks[known, labels[known]] = bags.weights[known]
    fields = counts.dtype.names
    table = marks if counts.ndim == 2 else marks[:, 1]
    taken = bags.sums(table)
    rest = bags.sizes - bags.sums((labels != UNKNOWN).astype(float)).astype(np.int64)
    if fields:
        left, alone = counts.copy(), np.empty(known.size, counts.dtype)
        for name in fields:
            alone[name] = table[known]
        left["low"], left["high"] = np.maximum(counts["low"] - taken, 0.0), counts["high"] - taken
        off = (left["high"] < 0) | (left["low"] > rest)
    else:
        left, alone = counts - taken, table[known]
        room = bags.sums(bags.weights * (labels == UNKNOWN))
        total = left if counts.ndim == 1 else left.sum(axis=1)
        off = (left.reshape(len(bags), -1).min(axis=1) < -1e-9) | (total > room * (1 + 1e-9) + 1e-9)
    checks.nowhere(
        off,
        "Known labels contradict the counts of {} bags",
        lambda b: f"bag {checks.plain(bags.ids[b])!r} has {counts[b]} and labels that sum to {taken[b]}",
        "check that labels are in the order of the rows.",
    )
    keep = np.flatnonzero(rest > 0)
    unknown = rows_of(bags.offsets, keep)
    unknown = unknown[labels[unknown] == UNKNOWN]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([rest[keep], np.ones(known.size, np.int64)]))])
    weights = bags.weights[np.concatenate([unknown, known])] if bags.weighted else None
    rows = np.concatenate([unknown, known])
    out = Bags(bags.values[rows], offsets, weights, None, bags.features, bags.levels)
    return out, np.concatenate([left[keep], alone]), np.concatenate([keep, bags.bag_index[known]])
