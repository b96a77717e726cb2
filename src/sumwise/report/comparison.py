"""Two or more results side by side: which estimates differ, by how much, and whether their intervals overlap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from sumwise.errors import DataError
from sumwise.report.context import listed, plural
from sumwise.report.summary import Summary, bullets, finding, table, text

VALUES = {"share": "share", "count": "count", "predicted": "number"}  # what is compared, and how it is written
MOST_FINDINGS = 5


def compare_results(results: Mapping[str, tuple[dict[str, Any], pd.DataFrame]]) -> tuple[Summary, pd.DataFrame]:
    """Return the comparison of results as a summary and as a frame with one row per estimate that all have.

    Parameters
    ----------
    results : mapping of name to (summary, estimates)
        Of two or more results; estimates are matched by their names (group and outcome, subgroup and class, ...).

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.report.comparison import compare_results
    >>> one = pd.DataFrame({"group": ["a"], "outcome": ["x"], "share": [0.5], "low": [0.4], "high": [0.6]})
    >>> page = {"title": "t", "family": "ecological", "method": "King", "findings": []}
    >>> found, frame = compare_results({"2016": (page, one), "2020": (page, one.assign(share=0.8, low=0.7, high=0.9))})
    >>> frame["difference"].round(2).tolist(), found.lead[0]
    ([0.3], '1 estimate is in both results; in 1 of them the intervals do not overlap.')
    """
    if len(results) < 2:
        raise DataError("There is one result to compare.", hint="name two or more.")
    names = list(results)
    frames = {name: frame for name, (_, frame) in results.items()}
    value, keys = _shared(frames)
    merged = None
    for name, frame in frames.items():
        columns = [c for c in (value, "low", "high") if c in frame]
        chosen: Any = frame[[*keys, *columns]]
        part = chosen.rename(columns={c: f"{c}, {name}" for c in columns})
        part[keys] = part[keys].astype(str)
        merged = part if merged is None else merged.merge(part, on=keys)
    if merged is None or merged.empty:
        raise DataError(
            f"The results have no estimate in common (by {listed(keys)}).", hint="are they of the same kind?"
        )
    first, last = (merged[f"{value}, {name}"] for name in (names[0], names[-1]))
    merged["difference"] = last - first
    bounds = [f"{end}, {name}" for name in (names[0], names[-1]) for end in ("low", "high")]
    apart = None
    if all(b in merged for b in bounds):
        apart = (merged[bounds[0]] > merged[bounds[3]]) | (merged[bounds[2]] > merged[bounds[1]])
        merged["intervals"] = np.where(apart, "apart", "overlap")
    summary = Summary(f"Comparison of {listed(names)}", next(iter(results.values()))[0]["family"], "")
    summary.lead = [_verdict(merged, apart, len(names)), *_unmatched(frames, len(merged))]
    summary.findings = _findings(merged, keys, names, value)
    kind = VALUES[value]
    kinds = {c: kind for c in merged.columns if c not in keys and c != "intervals"}
    order = np.argsort(-merged["difference"].abs().to_numpy(), kind="stable")
    summary.add("estimates", table(merged.iloc[order], "Estimates side by side, largest difference first", kinds))
    summary.add("estimates", text("Non-overlapping intervals show a difference; overlapping ones do not exclude one."))
    for name, (shown, _) in results.items():
        lines = [f["line"] for f in shown.get("findings", [])] or list(shown.get("lead", []))
        summary.add("certainty", bullets(lines, f"{name}: {shown['title']} ({shown['method']})"))
    return summary, merged


def _shared(frames: Mapping[str, pd.DataFrame]) -> tuple[str, list[str]]:
    """The column that is compared, and those that name an estimate."""
    first = next(iter(frames.values()))
    value = next((v for v in VALUES if all(v in f for f in frames.values())), None)
    named = [c for c in first.columns if not pd.api.types.is_numeric_dtype(first[c]) and c not in ("actual", "covered")]
    keys = [c for c in named if all(c in f for f in frames.values())]
    if value is None or not keys:
        raise DataError("The results hold different kinds of estimates.", hint="compare results of one family.")
    return value, keys


def _verdict(merged: pd.DataFrame, apart: Any, n: int) -> str:
    which = "both" if n == 2 else f"all {n}"
    one = len(merged) == 1
    start = f"{plural(len(merged), 'estimate')} {'is' if one else 'are'} in {which} results"
    if apart is None:
        return f"{start}; they have no intervals, so that chance cannot be excluded."
    return f"{start}; in {int(apart.sum())} of them the intervals do not overlap."


def _unmatched(frames: Mapping[str, pd.DataFrame], n: int) -> list[str]:
    alone = {name: len(frame) - n for name, frame in frames.items() if len(frame) > n}
    return [
        f"{plural(k, 'estimate')} of {name} {'has' if k == 1 else 'have'} no counterpart." for name, k in alone.items()
    ]


def _findings(merged: pd.DataFrame, keys: list[str], names: list[str], value: str) -> list[dict[str, Any]]:
    kind = {"share": "points", "count": "count"}.get(value, "number")
    out = []
    for place in np.argsort(-merged["difference"].abs().to_numpy(), kind="stable")[:MOST_FINDINGS]:
        row = merged.iloc[place]
        apart = row.get("intervals")
        trust = {"apart": "moderate", "overlap": "low"}.get(str(apart))
        because = {
            "apart": "The intervals do not overlap.",
            "overlap": "The intervals overlap: there may be no difference.",
        }.get(str(apart))
        what = f"{', '.join(str(row[k]) for k in keys)}: {names[-1]} less {names[0]}"
        out.append(finding(what, float(row["difference"]), kind, trust=trust, because=because))
    return out
