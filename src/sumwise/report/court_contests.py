"""One court edition over several contests: findings of all in one table, then every contest by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sumwise.errors import DataError
from sumwise.report import court
from sumwise.report.context import plural
from sumwise.report.court import Pages, edition_page
from sumwise.report.summary import table


class ContestResult(NamedTuple):
    """A contest's report, fitted estimator and provenance.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import Bounds
    >>> from sumwise.report import ContestResult, report
    >>> margins = synthetic.precincts(40, random_state=0).margins
    >>> ContestResult(report(Bounds().fit(margins), margins)).provenance is None
    True
    """

    report: Any
    model: Any = None
    provenance: Mapping[str, Any] | None = None

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def court_edition_contests(
    contests: Mapping[str, ContestResult], case: Mapping[str, Any] | None = None, problem: str = ""
) -> str:
    """Return one HTML page on several contests that can be printed and filed.

    Parameters
    ----------
    contests : mapping of name to ContestResult
    case : mapping, optional
        What the cover says, as in `court_edition`.
    problem : str, optional
        The text of the problem file of all contests, printed in place of one for each.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import Bounds
    >>> from sumwise.report import ContestResult, court_edition_contests, report
    >>> made = {name: synthetic.precincts(40, random_state=k).margins for k, name in enumerate(("Mayor", "Sheriff"))}
    >>> results = {name: ContestResult(report(Bounds().fit(m), m)) for name, m in made.items()}
    >>> "Contest B: Sheriff" in court_edition_contests(results, {"case": "Doe v. Roe"})
    True
    """
    if not contests:
        raise DataError("There are no contests.", hint="fit the problem first.")
    pages = Pages()
    pages.section("I. Findings over all contests")
    for words in dict.fromkeys(" ".join(court.lead_method(result.report)) for result in contests.values()):
        pages.say(words)
    _together(pages, contests)
    titles = {name: f"Contest {chr(65 + k) if k < 26 else str(k + 1)}: {name}" for k, name in enumerate(contests)}
    pages.section("II. Findings by contest")
    for name, (report, model, _) in contests.items():
        pages.add(kind="heading", text=titles[name])
        court.opinions(pages, report, model)
    court.reservation(pages)
    pages.section("III. Data")
    for name, (report, _, provenance) in contests.items():
        pages.add(kind="heading", text=titles[name])
        court.data(pages, report, provenance)
    court.methods(pages, *(result.report for result in contests.values()))
    for name, (report, model, _) in contests.items():
        court.results(pages, report, model, f"V.{titles[name][8:]}")
    court.limits(pages, *(result.report for result in contests.values()), title="VI. Assumptions and limits")
    court.unit_appendix(pages, {titles[name]: result.report for name, result in contests.items()})
    court.figure_appendix(pages, {titles[name]: result.report for name, result in contests.items()})
    facts = {titles[name]: result.provenance for name, result in contests.items() if result.provenance}
    court.reproduction(pages, facts, problem)
    names = ", ".join(contests)
    return edition_page(pages, case, f"Voting patterns in {len(contests)} contests: {names}")


def _together(pages: Pages, contests: Mapping[str, ContestResult]) -> None:
    """The table over contests, and who voted polarised how often."""
    import pandas as pd

    from sumwise.voting import polarised_voting

    patterns, left = [], []
    for name, (report, model, _) in contests.items():
        if model is None or report.summary["method"] == "Bounds":
            left.append(f"{name}: no method that estimates shares was fitted")
            continue
        try:
            level = report.summary["record"]["level"]
            patterns.append(court.with_intervals(polarised_voting({name: model}, level=level), level))
        except DataError as error:
            left.append(f"{name}: {error.message}")
    if patterns:
        frame = pd.concat(patterns, ignore_index=True)
        for group, part in frame.groupby("group", sort=False):
            verdicts = part["polarised"].tolist()
            times = {verdict: verdicts.count(verdict) for verdict in ("yes", "no", "undetermined")}
            pages.say(f"{group}: {_times_polarised(times, len(part))}.")
        block = table(frame, "")
        pages.table("Polarised voting in all contests", block["columns"], block["rows"])
    if left:
        pages.say("Not in this table:", items=left)
    pages.say("The findings, data and results of every contest follow.")


def _times_polarised(times: Mapping[str, int], n: int) -> str:
    """In how many contests voting was polarised, in words that leave out what never was."""
    of = f"of {plural(n, 'contest')}"
    said = [
        words.format(times[verdict], of)
        for verdict, words in (
            ("yes", "voting was polarised in {} {}"),
            ("no", "voting was not polarised in {} {}"),
            ("undetermined", "whether it was is undetermined in {} {}"),
        )
        if times[verdict]
    ]
    if not times["yes"] and not times["no"]:
        said = [f"whether voting was polarised is undetermined in {times['undetermined']} {of}"]
    return "; ".join(said)
