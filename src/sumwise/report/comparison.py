"""Two or more results side by side: which estimates differ, by how much, and whether that may be chance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.errors import DataError
from sumwise.metrics import difference_interval
from sumwise.plots.style import MOST_LINES
from sumwise.report.context import listed, plural
from sumwise.report.rounding import cell, span
from sumwise.report.summary import MOST_FINDINGS, Summary, bullets, figure, finding, table, text

VALUES = {"share": "share", "count": "count", "predicted": "number"}  # what is compared, and how it is written
NUMBERED = ("time", "next time", "level", "from", "to", "bag", "unit")  # names of estimates that may be numbers
WHY = {
    "independent": "The results come from different files: intervals of differences take their errors as independent.",
    "same units": "The results have a file in common, of which they read different parts: intervals of differences "
    "take their errors as independent. Where units deviate alike in both, these intervals are too wide.",
    "same data": "The results come from the same data and share their errors: a difference is between the methods, not "
    "a matter of chance, and has no interval.",
    "levels": "The results have intervals of different levels, so differences have none.",
    "unknown": "Non-overlapping intervals show a difference; overlapping ones do not exclude one.",
}


def compare_results(
    results: Mapping[str, tuple[dict[str, Any], pd.DataFrame]], relation: str = "unknown", level: float = 0.95
) -> tuple[Summary, pd.DataFrame]:
    """Return the comparison of results as a summary and as a frame with one row per estimate that all have.

    Parameters
    ----------
    results : mapping of name to (summary, estimates)
        Of two or more results; estimates are matched by their names (group and outcome, subgroup and class, ...).
    relation : {"unknown", "independent", "same units", "same data", "levels"}, default "unknown"
        How the data of the first and the last result are related; differences of independent data, and of the same
        units, have intervals.
    level : float in (0, 1), default 0.95
        Level of the intervals.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.report.comparison import compare_results
    >>> one = pd.DataFrame({"group": ["a"], "outcome": ["x"], "share": [0.5], "low": [0.4], "high": [0.6]})
    >>> page = {"title": "t", "family": "ecological", "method": "King", "findings": []}
    >>> two = one.assign(share=0.8, low=0.7, high=0.9)
    >>> found, frame = compare_results({"2016": (page, one), "2020": (page, two)}, "independent")
    >>> frame[["difference", "difference_low", "difference_high"]].round(2).values.tolist()
    [[0.3, 0.16, 0.44]]
    >>> found.lead[0]
    '1 estimate is in both results. The interval of the difference excludes zero in 1 of 1. The largest difference is in
    a, x: 50.0% in 2016, 80.0% in 2020.'
    """
    if len(results) < 2:
        raise DataError("There is one result to compare.", hint="name two or more.")
    checks.choice(relation, "relation", tuple(WHY))
    names = list(results)
    frames = {name: frame for name, (_, frame) in results.items()}
    value, keys = _shared(frames)
    merged = _merged(frames, keys, value)
    methods = [results[name][0].get("method") for name in _ends(names)]
    _add_differences(merged, names, value, relation, "Bounds" in methods)
    titles = {shown["title"] for shown, _ in results.values()}
    about = f" ({titles.pop()})" if len(titles) == 1 else ""
    summary = Summary(f"{listed(names)} compared{about}", next(iter(results.values()))[0]["family"], "")
    ordered = merged.iloc[np.argsort(-merged["difference"].abs().to_numpy(), kind="stable")]
    summary.lead = [_verdict(ordered, keys, names, value, relation), *_unmatched(frames, len(merged))]
    if relation != "unknown" and ("intervals" in merged or relation == "same data"):
        summary.lead.append(WHY[relation])
    summary.findings = _findings(ordered, keys, names, value, level, relation)
    if "intervals" in merged and value == "share" and len(merged) <= MOST_LINES:
        for drawn in _figures(merged, keys, names, level):
            summary.add("found", drawn)
    shown, kinds = _side_by_side(ordered, keys, names, value)
    summary.add("estimates", table(shown, "Estimates side by side, largest difference first", kinds, "comparison.csv"))
    summary.add("estimates", text(_caution(merged, level, "Bounds" in methods)))
    for name, (shown, _) in results.items():
        lines = [f["line"] for f in shown.get("findings", [])] or list(shown.get("lead", []))
        summary.add("certainty", bullets(lines, f"{name}: {shown['title']} ({shown['method']})"))
    return summary, merged


def _shared(frames: Mapping[str, pd.DataFrame]) -> tuple[str, list[str]]:
    """The column that is compared, and those that name an estimate."""
    first = next(iter(frames.values()))
    value = next((v for v in VALUES if all(v in f for f in frames.values())), None)
    skip = ("actual", "covered", *VALUES)
    named = [c for c in first.columns if c not in skip]
    named = [c for c in named if c in NUMBERED or not pd.api.types.is_numeric_dtype(first[c])]
    keys = [c for c in named if all(c in f for f in frames.values())]
    if value is None or not keys:
        raise DataError("The results contain different kinds of estimates.", hint="compare results of one family.")
    return value, keys


def _merged(frames: Mapping[str, pd.DataFrame], keys: list[str], value: str) -> pd.DataFrame:
    """One row per estimate that all have: its value and interval in each."""
    merged: Any = None
    for name, frame in frames.items():
        columns = [c for c in (value, "low", "high") if c in frame]
        chosen: Any = frame[[*keys, *columns]]
        part = chosen.rename(columns={c: f"{c}, {name}" for c in columns})
        part[keys] = part[keys].astype(str)
        if part.duplicated(keys).any():
            raise DataError(
                f"Estimates of {name} share a name (by {listed(keys)}).", hint="compare results that name each once."
            )
        merged = part if merged is None else merged.merge(part, on=keys)
    if merged is None or merged.empty:
        raise DataError(
            f"The results have no estimate in common (by {listed(keys)}).", hint="are they of the same kind?"
        )
    return merged


def _add_differences(merged: pd.DataFrame, names: list[str], value: str, relation: str, bounds: bool) -> None:
    """The difference of last less first, its interval where one is known, else whether the two intervals overlap."""
    ends = [[f"{part}, {name}" for part in (value, "low", "high")] for name in _ends(names)]
    merged["difference"] = merged[ends[1][0]] - merged[ends[0][0]]
    if not all(column in merged for end in ends for column in end):
        return
    first, last = ([merged[column].to_numpy(dtype=float) for column in end] for end in ends)
    apart = (first[1] > last[2]) | (last[1] > first[2])
    merged["intervals"] = np.where(np.isnan([*first, *last]).any(axis=0), "", np.where(apart, "apart", "overlap"))
    if relation in ("independent", "same units"):
        merged["difference_low"], merged["difference_high"] = difference_interval(first, last, bounds)


def _caution(merged: pd.DataFrame, level: float, bounds: bool) -> str:
    """What to keep in mind when reading the table."""
    if "difference_low" not in merged:
        return WHY["unknown"]
    if bounds:
        return "Bounds are true whatever the model: a difference with ends of one sign follows from the data alone."
    chance = (1 - level) * len(merged)
    many = cell(chance, "number", 1 if chance < 10 else 0)
    return f"If nothing had changed, about {many} of {len(merged)} intervals would exclude zero by chance."


def _shown(rows: pd.DataFrame) -> Any:
    """Whether each difference is more than chance: its interval excludes zero, or else the intervals are apart."""
    if "difference_low" in rows:
        return (rows["difference_low"] > 0) | (rows["difference_high"] < 0)
    return rows["intervals"] == "apart" if "intervals" in rows else None


def _name(row: Any, keys: list[str]) -> str:
    return ", ".join(str(row[k]) for k in keys)


def _both(row: Any, names: list[str], value: str) -> str:
    """The first and the last value of a row in words."""
    kind = VALUES[value]
    first, last = (cell(float(row[f"{value}, {name}"]), kind, 1 if kind == "share" else None) for name in _ends(names))
    return f"{first} in {names[0]}, {last} in {names[-1]}"


def _ends(names: list[str]) -> tuple[str, str]:
    return names[0], names[-1]


def _verdict(ordered: pd.DataFrame, keys: list[str], names: list[str], value: str, relation: str) -> str:
    which = "both" if len(names) == 2 else f"all {len(names)}"
    one = len(ordered) == 1
    start = f"{plural(len(ordered), 'estimate')} {'is' if one else 'are'} in {which} results."
    top = ordered.iloc[0]
    widest = f"The largest difference is in {_name(top, keys)}: {_both(top, names, value)}."
    shown = _shown(ordered)
    if shown is None:
        return f"{start} They have no intervals, so chance can't be excluded. {widest}"
    n = f"{int(shown.sum())} of {len(ordered)}"
    if "difference_low" in ordered:
        said = f"The interval of the difference excludes zero in {n}."
        return f"{start} {said if shown.any() else 'No interval of a difference excludes zero.'} {widest}"
    if not shown.any():
        agree = (
            ": the methods do not contradict each other" if relation == "same data" else ", so the results may agree"
        )
        return f"{start} All intervals overlap{agree}. {widest}"
    return f"{start} In {n} the intervals do not overlap. {widest}"


def _side_by_side(
    ordered: pd.DataFrame, keys: list[str], names: list[str], value: str
) -> tuple[pd.DataFrame, dict[str, str]]:
    """The frame with an interval in one column, and how to write its columns."""
    kind = VALUES[value]
    apart = "points" if kind == "share" else kind
    digits = 1 if kind == "share" else None
    out: Any = ordered[[*keys, "difference"]].copy()
    kinds = {"difference": apart}
    if "difference_low" in ordered:
        ends = zip(ordered["difference_low"], ordered["difference_high"])
        out["interval of the difference"] = [_ends_in_words(a, b, apart, digits) for a, b in ends]
    for name in names:
        out[name], kinds[name] = ordered[f"{value}, {name}"], kind
        if f"low, {name}" in ordered and f"high, {name}" in ordered:
            ends = zip(ordered[f"low, {name}"], ordered[f"high, {name}"])
            out[f"interval, {name}"] = [_ends_in_words(a, b, kind, digits) for a, b in ends]
    if "intervals" in ordered and "difference_low" not in ordered:
        out["intervals"] = ordered["intervals"]
    return out, kinds


def _ends_in_words(low: float, high: float, kind: str, digits: int | None) -> str:
    return "" if np.isnan(low) or np.isnan(high) else span(float(low), float(high), kind, digits)


def _figures(merged: pd.DataFrame, keys: list[str], names: list[str], level: float) -> list[dict[str, Any]]:
    """The differences with their intervals where they have some, and the estimates themselves."""
    labels = [_name(row, keys) for row in merged.to_dict("records")]
    drawn = []
    if "difference_low" in merged:
        parts = {"gap": "difference", "low": "difference_low", "high": "difference_high"}
        gaps = {part: merged[column].to_numpy(dtype=float) for part, column in parts.items()}
        numbers = {
            **gaps,
            "labels": labels,
            "level": level,
            "label": f"{names[-1]} less {names[0]} (percentage points)",
        }
        caption = (
            f"Differences, {names[-1]} less {names[0]}, with their {100 * level:g}% intervals; hollow: zero is inside."
        )
        drawn.append(figure("polarisation", numbers, caption, _behind(merged, keys, parts.values(), "points")))
    numbers = {
        "methods": names,
        "labels": labels,
        "shares": np.stack([merged[f"share, {name}"].to_numpy(dtype=float) for name in names]),
        "low": merged[f"low, {names[0]}"].to_numpy(dtype=float),
        "high": merged[f"high, {names[0]}"].to_numpy(dtype=float),
        "level": level,
    }
    caption = f"Every estimate that the results share. The grey bar is the interval of {names[0]}."
    columns = [*(f"share, {name}" for name in names), f"low, {names[0]}", f"high, {names[0]}"]
    return [*drawn, figure("methods", numbers, caption, _behind(merged, keys, columns, "share"))]


def _behind(merged: pd.DataFrame, keys: list[str], columns: Iterable[str], kind: str) -> dict[str, Any]:
    """The table behind a figure: what is drawn, a row per estimate."""
    columns = list(columns)
    return table(merged[[*keys, *columns]], "Data of the figure", dict.fromkeys(columns, kind))


def _unmatched(frames: Mapping[str, pd.DataFrame], n: int) -> list[str]:
    alone = {name: len(frame) - n for name, frame in frames.items() if len(frame) > n}
    return [
        f"{plural(k, 'estimate')} of {name} {'has' if k == 1 else 'have'} no counterpart." for name, k in alone.items()
    ]


def _implied(ordered: pd.DataFrame, keys: list[str], value: str) -> set[int]:
    """Rows that follow from one above them: of two shares that sum to 1, the second says the same as the first."""
    if value != "share" or len(keys) < 2:
        return set()
    said, implied = {}, set()
    of = ordered.groupby(keys[:-1], sort=False)[keys[-1]].transform("size").to_numpy()
    for k, row in enumerate(ordered[keys[:-1]].itertuples(index=False, name=None)):
        change = float(ordered["difference"].iloc[k])
        if of[k] == 2 and row in said and abs(said[row] + change) < 1e-9:
            implied.add(k)
        said.setdefault(row, change)
    return implied


def _findings(
    ordered: pd.DataFrame, keys: list[str], names: list[str], value: str, level: float, relation: str
) -> list[dict[str, Any]]:
    kind = {"share": "points", "count": "count"}.get(value, "number")
    shown = _shown(ordered)
    words = (
        "The interval of the difference excludes zero.",
        "Zero is inside the interval: there may be no difference.",
    )
    if "difference_low" not in ordered:
        words = ("The intervals do not overlap.", "The intervals overlap: there may be no difference.")
    if relation == "same data":
        words = (
            "The intervals do not overlap: the assumptions of at least one method are in doubt here.",
            "The intervals overlap: the data do not say which is nearer to the truth.",
        )
    out = []
    twice = _implied(ordered, keys, value)
    for k, row in enumerate(ordered.to_dict("records")):
        if len(out) == MOST_FINDINGS:
            break
        if k in twice:
            continue
        because = f"{_both(row, names, value)}."
        if shown is not None and row["intervals"]:
            because += f" {words[0 if shown.iloc[k] else 1]}"
        values = [float(row[f"{value}, {name}"]) for name in _ends(names)]
        if VALUES[value] == "share" and (min(values) < 0 or max(values) > 1):
            because += " A share below 0% or above 100% is impossible: the assumptions of that method fail here."
        what = f"{_name(row, keys)}: {names[-1]} minus {names[0]}"
        has = "difference_low" in row and row["intervals"]
        ends = (row["difference_low"], row["difference_high"]) if has else (None, None)
        out.append(finding(what, float(row["difference"]), kind, ends, level if has else None, because))
    return out
