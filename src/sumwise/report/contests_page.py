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
from sumwise.report.summary import Summary, figure, finding, links, matrix, table, text

MOST_CARDS, MOST_LINES = 3, 24
SURE = 0.95  # the probability from which a candidate of choice is a finding
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
            _figure(patterns, level),
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


def _matrix(patterns: pd.DataFrame, level: float) -> dict[str, Any]:
    """Contests by groups: the candidate of choice, its share of the group's voters, polarised or not, won or lost."""
    cells = {}
    for row in patterns.to_dict("records"):
        sure = row["probability"] == ">0.99" or float(str(row["probability"]).lstrip("<>")) >= SURE
        marks = [{"yes": "polarised", "no": "not polarised"}.get(row["polarised"], "polarised: undetermined")]
        marks.append("won" if row["candidate won"] else "lost")
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
    """The groups whose choice differs most from that of all others, a card each."""
    clear = found.sort_values("gap", ascending=False, kind="stable").head(MOST_CARDS)
    return [_card(row, level, own.get(row["contest"], [])) for row in clear.to_dict("records") if row["gap"] > 0]


POLARISED_WORDS = {"yes": "Voting was polarised.", "no": "Voting was not polarised."}


def _card(row: dict[Any, Any], level: float, own: list[dict[str, Any]]) -> dict[str, Any]:
    """One group in one contest, with bounds and certainty of the contest's own finding on the same share."""
    named = [str(row["candidate of choice"])]
    phrases = [f"Share of {people_who(row['group'], named, 0, noun)}" for noun in ("voters", "people")]
    what = phrases[0]
    share = float(row["cohesion"])
    same = (f for f in own if f["what"] in phrases and f["value"] is not None and abs(f["value"] - share) < 1e-6)
    known = next(same, {})
    verdict = POLARISED_WORDS.get(row["polarised"], "Whether voting was polarised is undetermined.")
    words = [f"Of all others, {100 * row['crossover']:.0f}% chose the same.", verdict, known.get("because") or ""]
    ends, because = (row["cohesion low"], row["cohesion high"]), " ".join(words).strip()
    more = {key: known[key] for key in ("lower_bound", "upper_bound") if key in known}
    return finding(f"{row['contest']}: {what}", share, "share", ends, level, because=because, **more)


def _figure(found: pd.DataFrame, level: float) -> dict[str, Any] | None:
    """Cohesion of every group in every contest, where they fit on a screen."""
    if len(found) > MOST_LINES:
        return None
    parts = zip(found["contest"], found["group"], found["candidate of choice"])
    names = [f"{contest}, {group}: {candidate}" for contest, group, candidate in parts]
    ends = {"share": found["cohesion"], "low": found["cohesion low"], "high": found["cohesion high"]}
    numbers = {"names": names, **{k: v.to_numpy() for k, v in ends.items()}, "truth": None, "level": level}
    caption = (
        "Cohesion: the share of each group for its candidate of choice in every contest, with its "
        f"{100 * level:g}% interval."
    )
    shown = found[["contest", "group", "candidate of choice", "cohesion", "cohesion low", "cohesion high"]]
    kinds = dict.fromkeys(("cohesion", "cohesion low", "cohesion high"), "share")
    return figure("subgroups", {**numbers, "label": "share of the group"}, caption, table(shown, "Cohesion", kinds))


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
        words += f" {pooled} of them borrow from others." if pooled else " No contest borrows from another."
    if voting:
        patterns = pd.concat(voting, ignore_index=True)
        polarised = patterns.loc[patterns["polarised"] == "yes", "contest"].nunique()
        words += (
            f" Voting was polarised for at least one group in {polarised} of {patterns['contest'].nunique()} contests."
        )
    stopped = sum(not done for done in facts["converged"])
    return f"{words} {stopped} did not converge." if stopped else words
