"""Two or more results side by side: which estimates differ, by how much, and whether their intervals overlap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from sumwise.errors import DataError
from sumwise.report.context import listed, plural
from sumwise.report.rounding import cell, span
from sumwise.report.summary import Summary, bullets, figure, finding, table, text

VALUES = {"share": "share", "count": "count", "predicted": "number"}  # what is compared, and how it is written
MOST_FINDINGS = 5
MOST_DRAWN = 40  # estimates in the figure


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
    ([0.3], '1 estimate is in both results. In 1 of 1 the intervals do not overlap. The largest difference is in a, x:
    50.0% in 2016, 80.0% in 2020.')
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
    titles = {shown["title"] for shown, _ in results.values()}
    start = titles.pop() if len(titles) == 1 else "Comparison"
    summary = Summary(f"{start}: {listed(names)}", next(iter(results.values()))[0]["family"], "")
    ordered = merged.iloc[np.argsort(-merged["difference"].abs().to_numpy(), kind="stable")]
    summary.lead = [_verdict(ordered, apart, keys, names, value), *_unmatched(frames, len(merged))]
    summary.findings = _findings(ordered, keys, names, value)
    if apart is not None and value == "share" and len(merged) <= MOST_DRAWN:
        summary.add("found", _figure(merged, keys, names, results))
    shown, kinds = _side_by_side(ordered, keys, names, value)
    summary.add("estimates", table(shown, "Estimates side by side, largest difference first", kinds, "comparison.csv"))
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


def _name(row: Any, keys: list[str]) -> str:
    return ", ".join(str(row[k]) for k in keys)


def _both(row: Any, names: list[str], value: str) -> str:
    """The first and the last value of a row in words."""
    kind = VALUES[value]
    first, last = (cell(float(row[f"{value}, {name}"]), kind, 1 if kind == "share" else None) for name in _ends(names))
    return f"{first} in {names[0]}, {last} in {names[-1]}"


def _ends(names: list[str]) -> tuple[str, str]:
    return names[0], names[-1]


def _verdict(ordered: pd.DataFrame, apart: Any, keys: list[str], names: list[str], value: str) -> str:
    which = "both" if len(names) == 2 else f"all {len(names)}"
    one = len(ordered) == 1
    start = f"{plural(len(ordered), 'estimate')} {'is' if one else 'are'} in {which} results."
    top = ordered.iloc[0]
    widest = f"The largest difference is in {_name(top, keys)}: {_both(top, names, value)}."
    if apart is None:
        return f"{start} They have no intervals, so chance can't be excluded. {widest}"
    n = int(apart.sum())
    if n == 0:
        return f"{start} All intervals overlap, so the results may agree. {widest}"
    return f"{start} In {n} of {len(ordered)} the intervals do not overlap. {widest}"


def _side_by_side(
    ordered: pd.DataFrame, keys: list[str], names: list[str], value: str
) -> tuple[pd.DataFrame, dict[str, str]]:
    """The frame with an interval in one column, and how to write its columns."""
    kind = VALUES[value]
    out: Any = ordered[[*keys, "difference"]].copy()
    kinds = {"difference": "points" if kind == "share" else kind}
    for name in names:
        out[name], kinds[name] = ordered[f"{value}, {name}"], kind
        if f"low, {name}" in ordered and f"high, {name}" in ordered:
            ends = zip(ordered[f"low, {name}"], ordered[f"high, {name}"])
            out[f"interval, {name}"] = [span(float(a), float(b), kind, 1 if kind == "share" else None) for a, b in ends]
    if "intervals" in ordered:
        out["intervals"] = ordered["intervals"]
    return out, kinds


def _figure(merged: pd.DataFrame, keys: list[str], names: list[str], results: Mapping[str, Any]) -> dict[str, Any]:
    found = [f for shown, _ in results.values() for f in shown.get("findings", []) if f.get("level")]
    numbers = {
        "methods": names,
        "labels": [_name(row, keys) for row in merged.to_dict("records")],
        "shares": np.stack([merged[f"share, {name}"].to_numpy(dtype=float) for name in names]),
        "low": merged[f"low, {names[0]}"].to_numpy(dtype=float),
        "high": merged[f"high, {names[0]}"].to_numpy(dtype=float),
        "level": found[0]["level"] if found else 0.95,
    }
    caption = f"Every estimate that the results share. The grey bar is the interval of {names[0]}."
    return figure("methods", numbers, caption)


def _unmatched(frames: Mapping[str, pd.DataFrame], n: int) -> list[str]:
    alone = {name: len(frame) - n for name, frame in frames.items() if len(frame) > n}
    return [
        f"{plural(k, 'estimate')} of {name} {'has' if k == 1 else 'have'} no counterpart." for name, k in alone.items()
    ]


def _findings(ordered: pd.DataFrame, keys: list[str], names: list[str], value: str) -> list[dict[str, Any]]:
    kind = {"share": "points", "count": "count"}.get(value, "number")
    out = []
    for row in ordered.head(MOST_FINDINGS).to_dict("records"):
        apart = row.get("intervals")
        trust = {"apart": "moderate", "overlap": "low"}.get(str(apart))
        shown = {
            "apart": " The intervals do not overlap.",
            "overlap": " The intervals overlap: there may be no difference.",
        }.get(str(apart), "")
        because = f"{_both(row, names, value)}.{shown}"
        values = [float(row[f"{value}, {name}"]) for name in _ends(names)]
        if VALUES[value] == "share" and (min(values) < 0 or max(values) > 1):
            trust = "low"
            because += " A share below 0% or above 100% is impossible: the assumptions of that method fail here."
        what = f"{_name(row, keys)}: {names[-1]} minus {names[0]}"
        out.append(finding(what, float(row["difference"]), kind, trust=trust, because=because))
    return out
