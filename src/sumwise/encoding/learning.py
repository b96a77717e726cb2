"""Learn one encoding rule from a summary of its raw column, wherever that was computed (a frame, an engine).

A summary is any object with ``n_missing``, ``range(above) -> (low, high)``, ``quantiles(q, above) -> array``,
``next_values(x) -> array`` and ``value_counts(label=False) -> (values, counts, label_sums or None)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks, frames
from sumwise.encoding.rules import RULES, Cross, Cuts, Hashed, Levels, Target
from sumwise.encoding.values import canonical, factorized, kind_of, numbers_of
from sumwise.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

SHORTHANDS = {
    "levels": {"kind": "levels"},
    "deciles": {"kind": "quantiles", "bins": 10},
    "quartiles": {"kind": "quantiles", "bins": 4},
    "quantiles": {"kind": "quantiles"},
    "width": {"kind": "width"},
    "target": {"kind": "target"},
}

OPTIONS = {
    "levels": {"column", "min_count", "max_levels", "other", "missing"},
    "quantiles": {"column", "bins", "missing"},
    "width": {"column", "bins", "missing"},
    "cuts": {"column", "at", "missing"},
    "hash": {"column", "cells", "salt", "missing"},
    "target": {"column", "count_bins", "rate_bins", "unseen", "missing"},
    "cross": {"of", "cells", "salt"},
}
PRIVATE = ("range", "values")  # options of `private_encoding` only


def parsed_spec(spec: Any) -> dict[str, Any]:
    """One full request per attribute: a rule already made, or ``{"kind": ..., options}``.

    Examples
    --------
    >>> from sumwise.encoding.learning import parsed_spec
    >>> parsed_spec({"age": "deciles", "sex": "levels"})
    {'age': {'kind': 'quantiles', 'bins': 10}, 'sex': {'kind': 'levels'}}
    """
    if isinstance(spec, str) or not isinstance(spec, Mapping | list | tuple) or not spec:
        raise DataError(
            f"An encoding is asked for by a mapping of attribute to rule; got {spec!r}.",
            hint="for example {'age': 'deciles', 'city': {'kind': 'levels', 'min_count': 50}}.",
        )
    if not isinstance(spec, Mapping):
        spec = dict.fromkeys(spec, "levels")
    return {name: _parsed(name, asked) for name, asked in spec.items()}


def _parsed(name: Any, asked: Any) -> Any:
    if not isinstance(name, str) or not name:
        raise DataError(f"An attribute's name must be text; got {name!r}.")
    if isinstance(asked, tuple(RULES.values())):
        return asked
    if isinstance(asked, str) and asked in SHORTHANDS:
        return dict(SHORTHANDS[asked])
    if isinstance(asked, list | tuple | np.ndarray):
        return {"kind": "cuts", "at": tuple(asked)}
    if not isinstance(asked, Mapping) or str(asked.get("kind")) not in OPTIONS:
        raise DataError(
            f"Attribute {name!r} asks for an unknown rule: {asked!r}.",
            hint=f"one of {', '.join(SHORTHANDS)}, cut points, or a mapping with a kind: {', '.join(OPTIONS)}.",
        )
    extra = sorted(set(asked) - OPTIONS[asked["kind"]] - {"kind"})
    if extra:
        private = "; range and values are for levels learned privately: sumwise release --rows"
        raise DataError(
            f"Attribute {name!r} has an unknown option {extra[0]!r} for kind {asked['kind']!r}.",
            hint=f"known: {', '.join(sorted(OPTIONS[asked['kind']]))}{private if extra[0] in PRIVATE else ''}.",
        )
    return dict(asked)


def learned_names(asked: Mapping[str, Any]) -> list[str]:
    """Attributes whose rules depend on the rows: all but those given whole, and hashes and cut points as named."""
    given = ("cross", "cuts", "hash")
    return [
        n
        for n, a in asked.items()
        if isinstance(a, dict)
        and (a["kind"] not in given or (a["kind"] != "cross" and a.get("missing", "auto") == "auto"))
    ]


def fitted_rule(name: str, asked: Any, summary: Any) -> Any:
    """The rule of attribute ``name`` as asked, learned from the summary of its raw column.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.encoding.learning import FrameSummary, fitted_rule
    >>> frame = pd.DataFrame({"age": [20, 30, 40, 60]})
    >>> fitted_rule("age", {"kind": "width", "bins": 2}, FrameSummary(frame, "age")).edges
    (40.0,)
    """
    if not isinstance(asked, dict):
        return asked
    kind = asked["kind"]
    if kind == "cross":
        return Cross(
            tuple(checks.listing(asked.get("of", ()), f"of, in the cross {name!r},", "give two attributes or more.")),
            _whole(asked, "cells", 1000, name),
            _whole(asked, "salt", 0, name, least=0),
        )
    column = asked.get("column", name)
    missing = _missing_name(asked.get("missing", "auto"), column, summary)
    return _FITTERS[kind](column, asked, summary, missing)


def _whole(asked: dict, option: str, default: int, name: str, least: int = 1) -> int:
    return int(checks.at_least(asked.get(option, default), f"Option {option!r} of attribute {name!r}", least))


def _missing_name(asked: Any, column: str, summary: Any) -> str | None:
    if asked is False or asked is None:
        if summary.n_missing:
            raise DataError(
                f"Column {column!r} has {summary.n_missing} missing values and no level for them.",
                hint="leave out missing=False, or name the level: missing='missing'.",
            )
        return None
    if asked == "auto":
        return "missing" if summary.n_missing else None
    return "missing" if asked is True else asked


def _fit_hash(column: str, asked: dict, _: Any, missing: str | None) -> Hashed:
    return Hashed(column, _whole(asked, "cells", 1000, column), _whole(asked, "salt", 0, column, least=0), missing)


def _given_cuts(column: str, asked: dict, _: Any, missing: str | None) -> Cuts:
    return Cuts(column, tuple(asked.get("at", ())), missing)


def _fit_cuts(column: str, asked: dict, summary: Any, missing: str | None) -> Cuts:
    bins = _whole(asked, "bins", 10, column)
    low, high = summary.range()
    if not np.isfinite([low, high]).all():
        raise DataError(
            f"Column {column!r} ranges from {low} to {high}; intervals need finite numbers.",
            hint="drop infinite values, or give the cut points; a column without any number can't be cut.",
        )
    if asked["kind"] == "width":
        edges = np.linspace(low, high, bins + 1)[1:-1]
    else:
        edges = np.array(_quantile_edges(summary, bins))
        edges = edges[np.unique(summary.next_values(edges), return_index=True)[1]]  # no level without rows between two
    edges = np.unique(edges)
    return Cuts(column, tuple(edges[edges > low].tolist()), missing)  # an edge at the least value makes an empty level


def _quantile_edges(summary: Any, bins: int) -> list[float]:
    """Edges of parts that hold about as many rows each.

    A value that more rows share than a part has, like a gain of 0, is a level of its own, and the rows above it are
    shared by the parts that are left.
    """
    edges: list[float] = []
    below = -np.inf  # rows up to here have their parts
    while len(edges) < bins - 1:
        parts = bins - len(edges)
        low = summary.range(above=below)[0]
        cuts = np.asarray(summary.quantiles(np.arange(1, parts) / parts, above=below), dtype=float)
        if cuts[0] <= low:
            after = summary.range(above=low)[0]
            if np.isnan(after):
                break
            edges.append(float(after))
            below = low
            continue
        repeated = np.flatnonzero(np.diff(cuts) <= 0)
        n = len(cuts) if not len(repeated) else int(repeated[0]) + 1
        edges += cuts[:n].tolist()
        below = np.nextafter(cuts[n - 1], -np.inf)  # the value that is repeated comes first of what is left
    return edges


def _fit_levels(column: str, asked: dict, summary: Any, missing: str | None) -> Levels:
    values, counts, _ = summary.value_counts()
    counts = np.asarray(counts)
    keep = np.ones(len(values), dtype=bool)
    if asked.get("min_count") is not None:
        keep &= counts >= _whole(asked, "min_count", 1, column)
    if asked.get("max_levels") is not None:
        most = _whole(asked, "max_levels", 1, column)
        by_size = np.argsort(-counts, kind="stable")  # stable: ties go by the level's order
        keep[by_size[most:]] = False
    other = asked.get("other", "auto")
    if other == "auto":
        other = "other" if not keep.all() else None
    elif other is True:
        other = "other"
    if not keep.all() and not other:
        raise DataError(
            f"Column {column!r} has {np.sum(~keep)} rare levels and nowhere to put them.",
            hint="name a level: other='other'.",
        )
    return Levels(column, tuple(v for v, k in zip(values, keep) if k), other or None, missing)


def _fit_target(column: str, asked: dict, summary: Any, missing: str | None) -> Target:
    values, counts, sums = summary.value_counts(label=True)
    seen = np.flatnonzero(counts)  # a category that the held-out rows don't have is unseen
    if not len(seen):
        raise DataError(f"Column {column!r} has no value in the held-out rows.", hint="hold out more rows.")
    values = [values[i] for i in seen]
    counts = np.asarray(counts, dtype=float)[seen]
    rates = np.asarray(sums, dtype=float)[seen] / counts
    by_count = _weighted_bins(counts, counts, _whole(asked, "count_bins", 5, column))
    cells = np.zeros(len(values), dtype=np.int64)
    names: list[str] = []
    for b in range(by_count.max() + 1):
        inside = np.flatnonzero(by_count == b)
        by_rate = _weighted_bins(rates[inside], counts[inside], _whole(asked, "rate_bins", 10, column))
        for r in range(by_rate.max() + 1):
            chosen = inside[by_rate == r]
            cells[chosen] = len(names)
            names.append(_cell_name(counts[chosen], rates[chosen], names))
    return Target(column, tuple(values), tuple(cells.tolist()), tuple(names), asked.get("unseen", "unseen"), missing)


def _weighted_bins(x: np.ndarray, weights: np.ndarray, bins: int) -> np.ndarray:
    """Bin of each x, 0, 1, ... without gaps, holding about equal weight; equal x share a bin."""
    order = np.argsort(x, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    at = np.searchsorted(reached, np.arange(1, bins) / bins, side="left")
    edges = np.unique(x[order][at[at + 1 < len(x)] + 1])
    return np.unique(np.searchsorted(edges, x, side="right"), return_inverse=True)[1]


def _cell_name(counts: np.ndarray, rates: np.ndarray, taken: list[str]) -> str:
    name = f"{counts.min():g} to {counts.max():g} rows, rate {rates.min():.4g} to {rates.max():.4g}"
    return name if name not in taken else f"{name} ({len(taken)})"


_FITTERS = {
    "hash": _fit_hash,
    "levels": _fit_levels,
    "target": _fit_target,
    "cuts": _given_cuts,
    "quantiles": _fit_cuts,
    "width": _fit_cuts,
}


class FrameSummary:
    """What fitting asks of one raw column of a pandas frame.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.encoding.learning import FrameSummary
    >>> FrameSummary(pd.DataFrame({"age": [20, 30, 60]}), "age").range()
    (20.0, 60.0)
    """

    def __init__(self, frame: Any, column: str, label: str | None = None):
        self.frame, self.column, self.label = frame, column, label
        self.raw = frame[column]
        self.n_missing = int(self.raw.isna().sum())

    def _numbers(self) -> np.ndarray:
        x = numbers_of(self.raw, self.column)
        return x[~np.isnan(x)]

    def range(self, above: float = -np.inf) -> tuple[float, float]:
        """Least and largest number of those above a limit; NaN where there is none."""
        x = self._numbers()
        x = x if above == -np.inf else x[x > above]
        return (float(x.min()), float(x.max())) if len(x) else (np.nan, np.nan)

    def quantiles(self, q: np.ndarray, above: float = -np.inf) -> np.ndarray:
        """Quantiles of the numbers above a limit, interpolated linearly."""
        x = self._numbers()
        return np.quantile(x[x > above], q)

    def next_values(self, edges: np.ndarray) -> np.ndarray:
        """The least number that is no smaller than each edge."""
        x = np.sort(self._numbers())
        return x[np.searchsorted(x, edges)]

    def value_counts(self, label: bool = False) -> tuple[list, np.ndarray, np.ndarray | None]:
        """Distinct values (categories in their order, else sorted), their counts and label sums."""
        import pandas as pd

        categorical = isinstance(self.raw.dtype, pd.CategoricalDtype)
        codes, values = factorized(self.raw)
        if categorical:
            values = [canonical(v) for v in self.raw.cat.categories]
            codes = self.raw.cat.codes.to_numpy().astype(np.int64)
        kind_of(tuple(values), self.column)
        order = list(range(len(values)) if categorical else sorted(range(len(values)), key=values.__getitem__))
        present = codes >= 0
        counts = np.bincount(codes[present], minlength=len(values))[order]
        sums = None
        if label:
            y = binary(self.frame[self.label], str(self.label))
            sums = np.bincount(codes[present], weights=y[present], minlength=len(values))[order]
        return [values[i] for i in order], counts, sums


def binary(raw: Any, name: str) -> np.ndarray:
    """A label column as 0.0 and 1.0; anything else is refused with its row."""
    y = numbers_of(raw, name)
    checks.nowhere(
        ~np.isin(y, (0.0, 1.0)),
        f"Label {name!r} must be 0 or 1; {{}} rows are not",
        lambda i: f"row {i} has {checks.plain(raw.iloc[i])!r}",
        "turn the label into 0 and 1 first.",
    )
    return y


def held_out_rows(n_rows: int, share: float, random_state=None) -> np.ndarray:
    """The rows that :meth:`Encoding.fit` holds out for target encoding, as a boolean array.

    Parameters
    ----------
    n_rows : int
        Number of rows of the frame.
    share : float
        Share of the rows to hold out, between 0 and 1.
    random_state : int, Generator or None
        The same as given to :meth:`Encoding.fit`.

    Examples
    --------
    >>> from sumwise.encoding import held_out_rows
    >>> int(held_out_rows(10, 0.3, random_state=0).sum())
    3
    """
    checks.fraction(share, "held_out")
    mask = np.zeros(n_rows, dtype=bool)
    picked = checks.generator(random_state).choice(n_rows, size=max(1, round(share * n_rows)), replace=False)
    mask[picked] = True
    return mask


def held_out_frame(frame: Any, held_out: Any, columns: tuple, random_state=None) -> pd.DataFrame:
    """The held-out rows: a share of ``frame``, some of its rows, or another frame.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.encoding.learning import held_out_frame
    >>> frame = pd.DataFrame({"age": [20, 30, 60]})
    >>> held_out_frame(frame, [0, 2], ("age",))["age"].tolist()
    [20, 60]
    """
    if frames.is_frame(held_out):
        return frames.to_pandas(held_out, columns, what="the held-out frame")
    if np.ndim(held_out) == 0:
        return frame[held_out_rows(len(frame), held_out, random_state)]
    picked = np.asarray(held_out)
    if picked.dtype == bool and picked.shape == (len(frame),):
        picked = np.flatnonzero(picked)
    elif picked.dtype == bool or picked.ndim != 1 or (picked.size and picked.dtype.kind not in "iu"):
        raise DataError(
            f"held_out has shape {picked.shape} and dtype {picked.dtype}; the frame has {len(frame)} rows.",
            hint="give a share, one boolean per row, row numbers, or another frame.",
        )
    if not picked.size:
        raise DataError("No row is held out.", hint="target encoding learns from the held-out rows.")
    if picked.min() < 0 or picked.max() >= len(frame):
        raise DataError(
            f"Held-out row numbers go from {picked.min()} to {picked.max()}; the frame has {len(frame)} rows."
        )
    return frame.iloc[np.unique(picked)]
