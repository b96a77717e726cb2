"""Who belongs to which subgroup, with how much weight: checked in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks, frames
from sumwise.bags import Bags
from sumwise.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Members:
    """Individuals in subgroups."""

    rows: Any  # Bags or (n_rows, n_features)
    codes: np.ndarray  # (n_rows,) subgroup of each row
    weights: np.ndarray  # (n_rows,)
    groups: pd.DataFrame  # one row per subgroup
    by: tuple

    @property
    def people(self) -> np.ndarray:
        """Sum of weights of each subgroup."""
        return self.groups["people"].to_numpy()

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum of (n_rows,) values over each subgroup."""
        return np.bincount(self.codes, values, minlength=len(self.groups))

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Weighted means of (n_rows, k) values over each subgroup, (n_groups, k)."""
        columns = [self.sums(self.weights * values[:, c]) for c in range(values.shape[1])]
        return np.column_stack(columns) / self.people[:, None]

    def bag_sums(self, values: np.ndarray) -> np.ndarray:
        """Sum of (n_rows,) values over each bag."""
        return np.bincount(self.rows.bag_index, values, minlength=len(self.rows))


def gather(individuals: Any, by: Any, weights: Any, model: Any) -> Members:
    """Bring individuals, what groups them and their weights to one form.

    Parameters
    ----------
    individuals, by, weights : as in `subgroups`
    model : fitted classifier, whose columns are taken from a frame
    """
    by = [by] if isinstance(by, str) else by
    if isinstance(individuals, Bags):
        rows, n = individuals, individuals.n_rows
        keys = _keys(by, n, lambda name: _bag_column(individuals, name))
        given = individuals.weights if weights is None else weights
    elif frames.is_frame(individuals):
        table = frames.to_pandas(individuals)
        n = len(table)
        keys = _keys(by, n, lambda name: frames.to_pandas(table, [name])[name])
        given = np.ones(n) if weights is None else weights
        weight_column = None
        if isinstance(given, str):
            weight_column, given = given, frames.numeric(table, [given], "weights")[:, 0]
        rows = table[_features(table, model, by, weight_column)]
    else:
        rows = checks.finite(individuals, "individuals", ndim=2, allow_bool=True)
        n = len(rows)
        keys = _keys(by, n, None)
        given = np.ones(n) if weights is None else weights
    if not n:
        raise DataError("There are no individuals: 0 rows.", hint="look at the filter that chose them.")
    return _grouped(rows, keys, _weights(given, n))


def _weights(given: Any, n: int) -> np.ndarray:
    if isinstance(given, str):
        raise DataError(f"weights is {given!r}; these individuals have no such column.", hint="give one per row.")
    weights = checks.counts(given, "weights", ndim=1)
    if len(weights) != n:
        raise DataError(f"There are {len(weights)} weights for {n} individuals.", hint="give one per row.")
    if not weights.any():
        raise DataError(f"All {n} weights are zero: there is nobody to take shares of.", hint="give positive weights.")
    return weights


def _features(table: Any, model: Any, by: Any, weight: Any) -> list:
    """The columns that the model was fitted to: by their names, or all others if it has none."""
    first = model[0] if hasattr(model, "steps") else model
    names = getattr(first, "feature_names_in_", None)
    present = {str(c): c for c in frames.column_names(table)}
    if names is not None and set(names) <= set(present):
        return [present[name] for name in names]
    rest = [c for c in frames.column_names(table) if c != weight]
    other = [c for c in rest if isinstance(by, Mapping) or c not in by]
    width = getattr(first, "n_features_in_", None)
    for columns in (rest, other):
        if width is not None and len(columns) == width and names is None:
            return columns
    fitted = f"{width} features" if names is None else ", ".join(names[:5])
    raise DataError(
        f"The frame's {len(rest)} columns aren't those that the classifier was fitted to: {fitted}.",
        hint="give a frame with these columns, or a matrix and by={name: labels}.",
    )


def _bag_column(bags: Bags, name: Any) -> Any:
    import pandas as pd

    if name == "bag" and "bag" not in bags.features:
        return pd.Series(bags.ids[bags.bag_index])
    checks.known(name, [*bags.features, "bag"], "column")
    column = bags.values[:, list(bags.features).index(name)]
    if name in bags.levels:
        return pd.Series(pd.Categorical.from_codes(column.astype(int), list(bags.levels[name])))
    return pd.Series(column)


def _keys(by: Any, n: int, column: Any) -> dict:
    """One column of labels per name."""
    import pandas as pd

    if isinstance(by, Mapping):
        keys = {name: pd.Series(labels).reset_index(drop=True) for name, labels in by.items()}
    elif column is None:
        if not len(by):
            return {}
        raise DataError(
            f"A matrix has no columns called {', '.join(repr(name) for name in by)}.",
            hint="by={name: one label per row}, or a data frame.",
        )
    else:
        names = checks.listing(by, "by", "give a list of columns.")
        keys = {name: column(name).reset_index(drop=True) for name in names}
    for name, labels in keys.items():
        if name in ("rows", "people", "class", "share", "low", "high", "voters"):
            raise DataError(f"A column of the answer is called {name!r}.", hint="give the grouping another name.")
        if len(labels) != n:
            raise DataError(f"{name!r} has {len(labels)} labels for {n} individuals.", hint="give one per row.")
        if labels.isna().any():
            raise DataError(
                f"{name!r} is missing for {int(labels.isna().sum())} of {n} individuals.",
                hint="drop them, or give missing a level of its own.",
            )
        _refuse_empty(name, labels)
    return keys


def _refuse_empty(name: Any, labels: Any) -> None:
    """Stop at a level, or a True, that is asked for and has no members."""
    import pandas as pd

    if isinstance(labels.dtype, pd.CategoricalDtype):
        of = len(labels.cat.categories)
        none = [c for c in labels.cat.categories if not (labels == c).any()]
        hint = "leave the level out: .cat.remove_unused_categories()."
    else:
        of = 2
        none = [True] if pd.api.types.is_bool_dtype(labels.dtype) and not labels.any() else []
        hint = "look at the condition that defines it."
    if none:
        shown = ", ".join(repr(c) for c in none[:5])
        raise DataError(f"{len(none)} of {of} subgroups by {name!r} have no members. First: {shown}.", hint=hint)


def _grouped(rows: Any, keys: dict, weights: np.ndarray) -> Members:
    import pandas as pd

    if keys:
        table = pd.DataFrame(keys)
        grouped = table.groupby(list(keys), observed=True, sort=True)
        codes = grouped.ngroup().to_numpy()
        groups = pd.DataFrame(table.iloc[np.unique(codes, return_index=True)[1]]).reset_index(drop=True)
    else:
        codes, groups = np.zeros(len(weights), int), pd.DataFrame(index=[0])
    groups["rows"] = np.bincount(codes, minlength=len(groups))
    groups["people"] = np.bincount(codes, weights, minlength=len(groups))
    nobody = groups["people"].to_numpy() <= 0
    checks.nowhere(
        nobody,
        "All weights are zero in {} subgroups",
        lambda i: ", ".join(f"{name} {checks.plain(groups[name].iloc[i])!r}" for name in keys),
        "leave these rows out, or give positive weights.",
    )
    return Members(rows, codes, weights, groups, tuple(keys))
