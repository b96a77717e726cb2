"""Regions on which two maps agree: areas of people and areas of votes, merged until neither cuts the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks, frames
from sumwise.display import finding_html
from sumwise.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Regions:
    """The smallest regions that are made of whole areas of two maps; made by `merge_regions`.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per pair of areas that overlap: their columns, and ``region``.
    first, second : tuple of str
        The columns that name an area of either map.

    Examples
    --------
    >>> from sumwise.proportions import merge_regions
    >>> overlaps = {"county": ["a", "a", "b", "c"], "puma": [1, 2, 2, 3]}
    >>> regions = merge_regions(overlaps, "county", "puma")
    >>> len(regions), regions.totals({"county": ["a", "b", "c"], "votes": [10, 20, 5]}, "county")["votes"].tolist()
    (2, [30.0, 5.0])
    """

    frame: Any
    first: tuple
    second: tuple

    @property
    def names(self) -> np.ndarray:
        """The regions, in the order of `totals`."""
        return np.array(list(dict.fromkeys(self.frame["region"])))

    def __len__(self) -> int:
        return len(self.names)

    def _repr_html_(self) -> str:
        sides = [f"{self.frame[list(names)].drop_duplicates().shape[0]:,}" for names in (self.first, self.second)]
        words = f"{len(self):,} regions of whole areas: {sides[0]} by {', '.join(self.first)} and {sides[1]} by "
        return finding_html(f"{words}{', '.join(self.second)}.", self.frame.head(10))

    def __repr__(self) -> str:
        return f"Regions({len(self)} of {len(self.frame)} overlaps)"

    def of(self, frame: Any, columns: str | Sequence) -> np.ndarray:
        """The region of each row of a frame whose ``columns`` name an area of either map."""
        columns = _columns(columns)
        ours = self._map(columns)
        keys = _keys(frames.to_pandas(frame, columns), columns)
        unknown = [key for key in dict.fromkeys(keys) if key not in ours]
        if unknown:
            rows = sum(key not in ours for key in keys)
            raise DataError(
                f"The crosswalk leaves out {len(unknown)} of {len(set(keys))} areas by {', '.join(columns)} ({rows} of "
                f"{len(keys)} rows). First: {_listed(unknown)}.",
                hint=_advice(unknown[0], ours),
            )
        return np.array([ours[key] for key in keys])

    def totals(
        self, frame: Any, by: str | Sequence, columns: Sequence | None = None, missing: str = "raise"
    ) -> pd.DataFrame:
        """Sum columns of a frame of areas (votes by county) over the regions.

        Parameters
        ----------
        frame : data frame
            One row or several per area.
        by : str or list
            The columns that name the area.
        columns : list, optional
            What to sum; default all others.
        missing : {"raise", "drop"}, default "raise"
            What to do with regions some of whose areas have no row in the frame: their sums would be too low.

        Returns
        -------
        pandas.DataFrame
            ``region`` and the sums.
        """
        import pandas as pd

        checks.choice(missing, "missing", ("raise", "drop"))
        by = _columns(by)
        table = frames.to_pandas(frame)
        columns = [c for c in table.columns if c not in by] if columns is None else checks.listing(columns, "columns")
        region = self.of(table, by)
        values: Any = pd.DataFrame(frames.numeric(table, columns, "totals"), columns=pd.Index(columns))
        sums: Any = values.groupby(region, sort=False).sum()
        present = set(_keys(table, by))
        lacking = {key: r for key, r in self._map(by).items() if key not in present}
        if lacking and missing == "raise":
            raise DataError(
                f"{len(lacking)} areas by {', '.join(by)} of the crosswalk have no row. First: {_listed(lacking)}.",
                hint="add them, or missing='drop' leaves their regions out.",
            )
        kept = [r for r in self.names if r in sums.index and r not in set(lacking.values())]
        return sums.loc[kept].rename_axis("region").reset_index()

    def _map(self, columns: list) -> dict:
        for side in (self.first, self.second):
            if len(columns) == len(side):
                same = list(side) == columns
                if same or len(self.first) != len(self.second):
                    return dict(zip(_keys(self.frame, list(side)), self.frame["region"]))
        raise DataError(
            f"The areas are named by {list(self.first)} and {list(self.second)}, not by {columns}.",
            hint="rename the columns of the frame.",
        )


def merge_regions(
    crosswalk: Any, first: str | Sequence, second: str | Sequence, *, prefix: str | None = None
) -> Regions:
    """Merge the areas of two maps into the smallest regions that neither map cuts.

    These are the connected components of the graph whose edges are overlaps (Flaxman et al. 2015): 979 of the census
    areas and counties of the United States.

    Parameters
    ----------
    crosswalk : data frame
        One row per pair of areas that overlap.
    first, second : str or list of columns
        What names an area of either map: ``"county"``, ``["state", "puma12"]``.
    prefix : str, optional
        A column, alike within regions, that begins their names: ``"AL_01"``. Default: regions are numbered.

    Returns
    -------
    Regions

    See Also
    --------
    apportion : Whole counts that keep the shares.

    Examples
    --------
    >>> from sumwise.proportions import merge_regions
    >>> merge_regions({"county": ["a", "a", "b"], "puma": [1, 2, 2]}, "county", "puma").names
    array([0])
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    one, two = _columns(first), _columns(second)
    if one == two:
        raise DataError(f"Both maps are named by {one}.", hint="give two different columns.")
    table = frames.to_pandas(crosswalk).reset_index(drop=True)
    if not len(table):
        raise DataError("The crosswalk has no rows.")
    codes, sizes = [], []
    for columns in (one, two):
        keys = _keys(table, columns)
        position = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        codes.append(np.array([position[key] for key in keys]))
        sizes.append(len(position))
    n = sum(sizes)
    edges = coo_matrix((np.ones(len(table)), (codes[0], codes[1] + sizes[0])), shape=(n, n))
    label = connected_components(edges, directed=False)[1][codes[0]]
    kept = dict.fromkeys([*one, *two, *([prefix] if prefix else [])])
    out: Any = table[list(kept)].copy()
    out["region"] = _named(label, None if prefix is None else _keys(table, [prefix]))
    return Regions(out, tuple(one), tuple(two))


def _named(label: np.ndarray, prefix: list | None) -> Any:
    first = {c: i for i, c in enumerate(dict.fromkeys(label.tolist()))}
    if prefix is None:
        return [first[c] for c in label.tolist()]
    of: dict[int, str] = {}
    for c, (p,) in zip(label.tolist(), prefix):
        if of.setdefault(c, p) != p:
            shown = f"A region reaches over {of[c]!r} and {p!r}."
            raise DataError(shown, hint="leave prefix out: regions are numbered.")
    names, seen = {}, {}
    for c in first:
        seen[of[c]] = seen.get(of[c], 0) + 1
        names[c] = f"{of[c]}_{seen[of[c]]:02d}"
    return [names[c] for c in label.tolist()]


def _columns(given: str | Sequence) -> list:
    return [given] if isinstance(given, str) else checks.listing(given, "columns", "give a column or a list of them.")


def _keys(table: Any, columns: list) -> list:
    for column in columns:
        checks.known(column, list(table.columns), "column")
        if table[column].isna().any():
            raise DataError(f"{column!r} is missing in {int(table[column].isna().sum())} of {len(table)} rows.")
    return list(zip(*(table[column].astype(str) for column in columns)))


def _advice(unknown: tuple, ours: dict) -> str:
    """What to do about an area that the crosswalk lacks: its code may only have lost its zeros."""
    width = [max(len(key[i]) for key in ours) for i in range(len(unknown))]
    padded = tuple(part.zfill(n) for part, n in zip(unknown, width))
    if padded in ours:
        return f"codes are text with leading zeros, as {' '.join(padded)!r}: read them as text, or .str.zfill."
    return "add them to the crosswalk, or drop these rows."


def _listed(keys: Any) -> str:
    listed = [" ".join(key) for key in list(keys)[:5]]
    return ", ".join(repr(x) for x in listed) + (", ..." if len(keys) > 5 else "")
