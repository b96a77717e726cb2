"""One page over many contests: who preferred whom, whether voting was polarised, and how each was estimated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from sumwise.errors import DataError
from sumwise.nonvoting import people_who
from sumwise.report.context import plural
from sumwise.report.model_report import Report
from sumwise.report.rounding import span
from sumwise.report.summary import MOST_FINDINGS, Summary, finding, links, matrix, table, text
from sumwise.report.text.ecological.findings import SURE

SHARES = dict.fromkeys(
    ("cohesion", "cohesion low", "cohesion high", "crossover", "crossover low", "crossover high", "overlap"), "share"
) | {"gap": "points", "units": "count", "people": "count"}


def contests_overview(
    fits: Mapping[Any, Any],
    title: str,
    level: float = 0.95,
    random_state: Any = 0,
    folders: Mapping[Any, str] | None = None,
    findings: Mapping[Any, list[dict[str, Any]]] | None = None,
) -> Report:
    """Return a report on many contests with one table: polarised voting, and how each contest was estimated.

    Parameters
    ----------
    fits : mapping of contest to fitted estimator, or EcologicalEM fitted to Contests
    title : str
    level : float in (0, 1), default 0.95
    random_state : int, Generator or None, default 0
    folders : mapping of contest to str, optional
        Where the report of each contest is, for the table.
    findings : mapping of contest to list of dict, optional
        Findings of each contest's own report: what the data alone imply is theirs.

    Returns
    -------
    Report
        Its frame ``contests`` has a row per contest and group.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import EcologicalEM
    >>> from sumwise.report import contests_overview
    >>> contests = {name: synthetic.precincts(40, random_state=k).margins for k, name in enumerate("ab")}
    >>> fits = {name: EcologicalEM().fit(margins) for name, margins in contests.items()}
    >>> contests_overview(fits, "Two contests").frames["contests"].columns.tolist()[:3]
    ['contest', 'units', 'people']
    """
    from sumwise.voting import POLARISED, polarised_voting

    fits = dict(getattr(fits, "contests_", fits))
    facts = pd.DataFrame([_facts(name, est, (folders or {}).get(name)) for name, est in fits.items()])
    voting, left = [], []
    for name, est in ((n, e) for n, e in fits.items() if type(e).__name__ != "Bounds"):
        try:
            voting.append(polarised_voting({name: est}, level=level, random_state=random_state))
        except DataError as error:
            left.append(f"{name}: {error.message}")
    methods = list(dict.fromkeys(type(est).__name__ for est in fits.values()))
    summary = Summary(title, "ecological", ", ".join(methods))
    summary.lead = [_lead(facts, voting)]
    kinds = {**SHARES, "folder": "text"}
    together = facts
    if voting:
        patterns = pd.concat(voting, ignore_index=True)
        together = facts[["contest", "units", "people"]].merge(patterns, on="contest", how="right")
        summary.findings = _findings(patterns, level, findings or {})
        summary.add("found", _matrix(patterns, level))
        summary.add(
            "estimates",
            table(_with_intervals(patterns, level), "All contests", kinds, "contests.csv", about=POLARISED),
        )
    if left:
        summary.add("found", text(f"Not in this table: {'; '.join(left)}"))
    if folders:
        summary.add(
            "found", links({str(n): f"{p}/report.html" for n, p in folders.items()}, "The report of each contest")
        )
    about = (
        "pooling: whether a contest borrowed from the others of its election. strength: the weight that they had, "
        "chosen on held-out units; empty where a correction that was learned on counted elections took its place."
    )
    summary.add("estimates", table(facts.drop(columns="folder", errors="ignore"), "Every contest", kinds, about=about))
    return Report(summary.to_dict(), {"contests": together})


VERDICTS = {"yes": "polarised", "no": "not polarised"}


def _is_sure(row: Mapping[Any, Any]) -> bool:
    """Whether a group's candidate of choice is a finding."""
    return row["probability"] == ">0.99" or float(str(row["probability"]).lstrip("<>")) >= SURE


def _matrix(patterns: pd.DataFrame, level: float) -> dict[str, Any]:
    """Contests by groups: the candidate of choice, its share of the group's voters, polarised or not, won or lost."""
    cells = {}
    for row in patterns.to_dict("records"):
        sure = _is_sure(row)
        verdict = VERDICTS.get(row["polarised"], "polarisation undetermined")
        marks = [verdict, "won" if row["candidate won"] else "lost"] if sure else []
        why = "" if sure else f"candidate of choice not determined (probability {row['probability']})"
        ends = {"share": row["cohesion"], "low": row["cohesion low"], "high": row["cohesion high"]}
        cell = {"name": str(row["candidate of choice"]), **ends, "open": why, "marks": marks}
        cells[str(row["contest"]), str(row["group"])] = cell
    n = len(patterns["contest"].unique())
    polarised = patterns.loc[patterns["polarised"] == "yes", "contest"].nunique()
    about = (
        f"Each cell: the group's candidate of choice, its share of the group's voters with its {100 * level:g}% "
        "interval, whether voting was polarised for the group, and whether that candidate won. Hatched: no finding, as "
        f"the probability of this candidate of choice is below {SURE:g}."
    )
    return matrix(cells, f"Voting was polarised in {polarised} of {plural(n, 'contest')}", about)


def _with_intervals(found: pd.DataFrame, level: float) -> pd.DataFrame:
    """The table for the page: each share with its interval in one column; the file has them apart, unrounded."""
    shown = found.drop(columns=[c for c in found if c.endswith((" low", " high")) or c in ("overlap", "gap")])
    for share in ("cohesion", "crossover"):
        ends = zip(found[f"{share} low"], found[f"{share} high"])
        place = int(shown.columns.get_indexer([share])[0]) + 1
        shown.insert(place, f"{share}, {100 * level:g}% interval", [span(a, b, "share", 1) for a, b in ends])
    return shown


def _findings(found: pd.DataFrame, level: float, own: Mapping[Any, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The groups whose known choice differs most from that of all others, a card each."""
    rows = found.sort_values("gap", ascending=False, kind="stable").to_dict("records")
    clear = [row for row in rows if row["gap"] > 0 and _is_sure(row)][:MOST_FINDINGS]
    return [_card(row, level, own.get(row["contest"], [])) for row in clear]


def _card(row: dict[Any, Any], level: float, own: list[dict[str, Any]]) -> dict[str, Any]:
    """One group in one contest, with bounds and certainty of the contest's own finding on the same share."""
    named = [str(row["candidate of choice"])]
    phrases = [f"Share of {people_who(row['group'], named, 0, noun)}" for noun in ("voters", "people")]
    what = phrases[0]
    share = float(row["cohesion"])
    same = (f for f in own if f["what"] in phrases and f["value"] is not None and abs(f["value"] - share) < 1e-6)
    known = next(same, {})
    verdict = VERDICTS.get(row["polarised"])
    verdict = f"Voting was {verdict}." if verdict else "Whether voting was polarised is undetermined."
    words = [f"Of all others, {100 * row['crossover']:.0f}% chose the same.", verdict, known.get("because") or ""]
    ends, because = (row["cohesion low"], row["cohesion high"]), " ".join(words).strip()
    more = {key: known[key] for key in ("lower_bound", "upper_bound") if key in known}
    return finding(f"{row['contest']}: {what}", share, "share", ends, level, because=because, **more)


def _facts(name: Any, est: Any, folder: str | None) -> dict[str, Any]:
    strength = getattr(est, "pooling_strength_", 0.0)
    columns = {
        "contest": name,
        "units": len(est.cells_),
        "people": float(est.group_sizes_.sum()),
        "method": type(est).__name__,
        "pooling": getattr(est, "pooling_", "alone"),
        "strength": float(strength),
        "converged": bool(est.fit_.converged),
    }
    return columns if folder is None else columns | {"folder": folder}


def _lead(facts: pd.DataFrame, voting: list[pd.DataFrame]) -> str:
    pooled = sum(word != "alone" for word in facts["pooling"])
    sizes = sorted(set(facts["units"]))
    units = plural(sizes[0], "unit") if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,} units"
    words = f"{plural(len(facts), 'contest')}, {units} each." if len(facts) > 1 else f"One contest, {units}."
    if len(facts) > 1:
        which = "All" if pooled == len(facts) else f"{pooled} of them"
        words += f" {which} borrow from the others of their election." if pooled else " Each was estimated by itself."
    if voting:
        patterns = pd.concat(voting, ignore_index=True)
        polarised = patterns.loc[patterns["polarised"] == "yes", "contest"].nunique()
        n = len(patterns["contest"].unique())
        words = f"Voting was polarised for at least one group in {polarised} of {plural(n, 'contest')}. {words}"
    stopped = sum(not done for done in facts["converged"])
    return f"{words} {stopped} did not converge." if stopped else words
