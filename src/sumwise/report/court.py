"""The court edition of a report on margins: numbered paragraphs, citations, definitions, limits, every unit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sumwise import checks
from sumwise.errors import DataError, visible
from sumwise.nonvoting import is_rest, members
from sumwise.report.exports import likely, tables_of
from sumwise.report.html import ISOLATES, defined, template_text, templates, typographic
from sumwise.report.rounding import cell, span
from sumwise.report.summary import plain, sentences, table

CASE = {
    "court": "the court, as in the caption",
    "case": "the name of the case",
    "number": "its docket number",
    "jurisdiction": "the place that votes",
    "contest": "the contest: office and date",
    "analyst": "who prepared the report",
    "affiliation": "of the analyst",
    "client": "for whom it was prepared",
    "date": "of the report",
}
REFERENCES = {
    "Bounds": "Otis Dudley Duncan and Beverly Davis, An Alternative to Ecological Correlation, American Sociological "
    "Review 18(6), 665-666 (1953).",
    "Goodman": "Leo A. Goodman, Ecological Regressions and Behavior of Individuals, American Sociological Review "
    "18(6), 663-664 (1953).",
    "King": "Gary King, A Solution to the Ecological Inference Problem, Princeton University Press (1997).",
    "MultinomialDirichlet": "Ori Rosen, Wenxin Jiang, Gary King and Martin A. Tanner, Bayesian and Frequentist "
    "Inference for Ecological Inference: The R x C Case, Statistica Neerlandica 55(2), 134-156 (2001).",
    "Robinson": "William S. Robinson, Ecological Correlations and the Behavior of Individuals, American Sociological "
    "Review 15(3), 351-357 (1950).",
    "Freedman": "David A. Freedman, Stephen P. Klein, Michael Ostland and Michael Roberts, On 'Solutions' to the "
    "Ecological Inference Problem, Technical Report 515, Department of Statistics, University of California, Berkeley "
    "(1998).",
    "Gingles": "Thornburg v. Gingles, 478 U.S. 30 (1986).",
}
METHODS = {
    "EcologicalEM": "EcologicalEM finds the shares of every group that need the least distortion, unit by unit, to "
    "reproduce the totals of all units; every unit's estimates add up to both of its totals. Its derivation, its "
    "validation on contests whose cells were counted, its error rate and its limits are in the methods paper in the "
    "documentation of the software named in Exhibit C (EcologicalEM: a methods paper); it is compared "
    "with the methods that courts know.",
    "King": "King's method takes the shares of every unit as draws from one truncated normal distribution and "
    "combines it with the bounds of each unit (King 1997). Its intervals take the model as true: on contests whose "
    "cells were counted, without tables of census areas, 95% intervals covered 58% to 78% of them.",
    "MultinomialDirichlet": "The hierarchical R x C model takes the shares of each group in a unit as draws from a "
    "Dirichlet distribution (Rosen et al. 2001). Its intervals take the model as true.",
    "Goodman": "Goodman's regression regresses outcome shares on group shares over units (Goodman 1953).",
    "Bounds": "The method of bounds states what the totals imply without any model (Duncan and Davis 1953).",
}
CONVENTION = (
    "The lead method was chosen by convention and not by its results: King's method for two groups and two outcomes, "
    "the hierarchical R x C model of Rosen et al. for larger tables."
)
ANALYST = (
    "The lead method, {}, is not the one that leads by convention: King's method for two groups and two outcomes, the "
    "hierarchical R x C model of Rosen et al. for larger tables. The problem file in Exhibit C asks for it, by name or "
    "as the default where the file has no table [court]."
)
DEFINITIONS = {
    "Unit": "The smallest area with totals, such as a precinct.",
    "Share": "Of the people in a group, the part with an outcome. Estimates are for all units together.",
    "Interval": "A range that should contain the true share with the stated probability, if the assumptions hold.",
    "Bounds": "The range that the totals alone imply. No assumption about behaviour is made. Findings round bounds "
    "outward to whole percentages.",
    "Candidate of choice": "The candidate with the largest share of a group's voters.",
    "Cohesion": "The share of a group's voters for its candidate of choice.",
    "Crossover": "The share of all other voters for that candidate.",
    "Certainty": "Each finding has one statement: likely from a probability of 0.66, very likely from 0.90, extremely "
    "likely from 0.95, virtually certain from 0.99, with the probability next to it. It is conditional on the model.",
    "Probability": "Conditional on the model; printed >0.99 where it is larger, never as certainty.",
}


ROWS_ON_ONE_PAGE = 20  # rows of a table that is kept on one page


class Pages:
    """Parts of the edition, with paragraphs, tables and figures numbered through."""

    def __init__(self) -> None:
        self.counts = {"paragraph": 0, "Table": 0, "Figure": 0}
        self.sections: list[dict[str, Any]] = []

    def section(self, title: str, appendix: bool = False) -> None:
        self.sections.append({"title": title, "parts": [], "appendix": appendix})

    def add(self, **part: Any) -> None:
        self.sections[-1]["parts"].append(part)

    def say(self, *lines: str, items: Any = (), warning: bool = False) -> None:
        self.counts["paragraph"] += 1
        number = self.counts["paragraph"]
        signed = typographic(str)
        said = {"lines": list(map(signed, lines)), "items": list(map(signed, items))}
        self.add(kind="paragraph", number=number, **said, warning=warning)

    def label(self, what: str) -> str:
        self.counts[what] += 1
        return f"{what} {self.counts[what]}"

    def table(self, title: str, columns: Any, rows: Any, about: str | None = None) -> None:
        short, label = len(rows) <= ROWS_ON_ONE_PAGE, self.label("Table")
        self.add(kind="table", label=label, title=title, columns=columns, rows=rows, short=short, about=about)

    def figure(self, block: Mapping[str, Any]) -> None:
        from markupsafe import Markup

        from sumwise.plots.labels import wrapped_names
        from sumwise.report.svg import draw

        label = self.label("Figure")
        frames = block["numbers"] if isinstance(block["numbers"], list) else [block["numbers"]]
        number = 1000 * self.counts["Figure"]
        with wrapped_names():
            svgs = [draw(block["plot"], f, block["caption"], number + k) for k, f in enumerate(frames)]
        self.add(kind="figure", label=label, caption=block["caption"], svgs=[Markup(s) for s in svgs])  # noqa: S704


def court_edition(
    report: Any, case: Mapping[str, Any] | None = None, model: Any = None, provenance: Mapping[str, Any] | None = None
) -> str:
    """Return a report on margins as one HTML page that can be printed and filed.

    Parameters
    ----------
    report : Report
        The report of a method on margins.
    case : mapping, optional
        What the cover says: ``court``, ``case``, ``number``, ``jurisdiction``, ``contest``, ``analyst``,
        ``affiliation``, ``client``, ``date``.
    model : fitted estimator, optional
        Adds the table of polarised voting.
    provenance : mapping, optional
        From ``provenance.json``: sources, versions, problem file.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import EcologicalEM
    >>> from sumwise.report import court_edition, report
    >>> margins = synthetic.precincts(40, random_state=0).margins
    >>> est = EcologicalEM().fit(margins)
    >>> text = court_edition(report(est, margins), {"case": "Doe v. Roe"}, est)
    >>> "Doe v. Roe" in text, "<details" in text
    (True, False)
    """
    if report.summary["family"] != "ecological":
        raise DataError("The court edition is for reports on margins.", hint="write the plain report.")
    pages = Pages()
    pages.section("I. Findings")
    pages.say(*lead_method(report))
    opinions(pages, report, model)
    reservation(pages)
    pages.section("II. Data")
    data(pages, report, provenance)
    methods(pages, report, title="III. Methods and definitions")
    results(pages, report, model, "IV. Results")
    limits(pages, report, title="V. Assumptions and limits")
    unit_appendix(pages, {"": report})
    figure_appendix(pages, {"": report})
    reproduction(pages, {"": provenance or {}})
    return edition_page(pages, case, report.title)


def edition_page(pages: Pages, case: Mapping[str, Any] | None, title: str) -> str:
    """The page of numbered parts, with the cover of a case; its contest, where given, is the title."""
    given = {**dict.fromkeys(CASE), **(case or {})}
    for key in given:
        checks.known(key, list(CASE), "key of the court edition")
    environment = templates()
    environment.filters["shown"] = typographic(cell)
    environment.filters["defined"] = defined
    cover = [(key.capitalize(), given[key]) for key in CASE if key not in ("court", "case", "number") and given[key]]
    text = environment.get_template("court.html").render(
        title=f"Voting patterns: {given['contest']}" if given["contest"] else title,
        case=given,
        cover=cover,
        sections=pages.sections,
        style=template_text("court.css") + _running_head(given["case"], given["number"]),
        script="",
    )
    return visible(text, but=ISOLATES)


def _running_head(case: str | None, number: str | None) -> str:
    """The case and its number at the head of every printed page but the first, which has them on the cover."""
    rules = ""
    for side, text in (("top-left", case), ("top-right", number)):
        letters = "".join(f"\\{ord(letter):06x}" for letter in text or "")  # no letter can end the string
        rules += f'@page {{ @{side} {{ content: "{letters}"; font: 9pt Georgia, serif; }} }}\n'
        rules += f"@page :first {{ @{side} {{ content: none; }} }}\n"
    return rules


def _blocks(report: Any, *keys: str) -> list[dict[str, Any]]:
    return [block for s in report.summary["sections"] if s["key"] in keys for block in s["blocks"]]


def opinions(pages: Pages, report: Any, model: Any) -> None:
    """Findings as numbered paragraphs."""
    lead = report.summary["lead"]
    pages.say(lead[0])
    for line in [*lead[1:], *report.summary.get("checked", [])]:
        pages.say(line, warning=True)
    patterns = _patterns(report, model)
    for line, group in patterns:
        pages.say(line, *_about_group(report, group))
    for found in report.summary["findings"]:
        if patterns and found["what"].startswith("Share of"):
            continue  # said above, among voters, with how sure it is
        pages.say(*sentences(found))


def lead_method(report: Any) -> list[str]:
    """How the leading method was chosen: by convention, by the analyst, or because only bounds are possible."""
    method, record = report.summary["method"], report.summary["record"]
    if method == "Bounds":
        return [
            "No method that estimates shares leads: the findings are what the totals imply, a range for each share."
        ]
    small = len(record["groups"]) == len(record["outcomes"]) == 2
    conventional = method == ("King" if small else "MultinomialDirichlet")
    titles = [block.get("title") for block in _blocks(report, "certainty")]
    compared = ["Other methods are compared with it below."] if "Other methods on the same data" in titles else []
    return [CONVENTION if conventional else ANALYST.format(method), *compared]


def _patterns(report: Any, model: Any) -> list[tuple[str, str]]:
    """A sentence on the candidate of choice of every group, among voters; none where there are no patterns."""
    from sumwise.voting import voting_patterns

    if model is None or report.summary["method"] == "Bounds":
        return []
    try:
        words = voting_patterns(model, report.summary["record"]["level"]).to_text()
    except DataError:
        return []  # one candidate, or one group
    return list(zip(words.splitlines(), map(str, model.row_names_)))


def _about_group(report: Any, group: str) -> list[str]:
    """What the totals alone imply for a group's choice, and other methods that converged and see another one."""
    starts = tuple(f"Share of {members(group, noun)} who " for noun in ("voters", "people"))
    bounds = [
        f"The totals alone imply {span(f['lower_bound'], f['upper_bound'], 'share', 0, True)} for this share."
        for f in report.summary["findings"]
        if f["what"].startswith(starts) and f["lower_bound"] is not None
    ]
    bounds += [f["wider"] for f in report.summary["findings"] if f["what"].startswith(starts) and f.get("wider")]
    points = [item for b in _blocks(report, "certainty") if b["kind"] == "bullets" for item in b["items"]]
    words = tuple(f": the {what} of the group “{group}” is " for what in ("largest outcome", "first choice"))
    return bounds + [item for item in points if any(part in item for part in words)]


def reservation(pages: Pages) -> None:
    """What all findings rest on."""
    pages.say(
        "Every estimate rests on what is stated under assumptions and limits. What the totals alone imply does not."
    )


def data(pages: Pages, report: Any, provenance: Mapping[str, Any] | None) -> None:
    """Sources, and what was done with them."""
    record = report.summary["record"]
    people = "" if record["people"] is None else f" with {record['people']:,.0f} people"
    pages.say(
        f"The data are totals of {record['units']:,} units{people}. The groups are "
        f"{', '.join(record['groups'])}. The outcomes are {', '.join(record['outcomes'])}."
    )
    rest = [f"{name!r}" for name in record["outcomes"] if is_rest(name)]
    if rest:
        pages.say(
            f"{' and '.join(rest)} is not a candidate: it stands for all other choices together. Where it comes first, "
            "no single one of them need be preferred to the candidate it is set against."
        )
    for source in (provenance or {}).get("data", []):
        pages.say(f"File {Path(source['file']).name}: {source['bytes']:,} bytes, SHA-256 {source['sha256']}.")
    for block in _blocks(report, "provenance"):
        if block["kind"] == "bullets":
            pages.say(f"{block['title'] or 'Preparation'}:", items=block["items"])


def methods(pages: Pages, *reports: Any, title: str = "IV. Methods and definitions") -> None:
    """The methods of these reports, once each, with definitions."""
    pages.section(title)
    own = list(dict.fromkeys(report.summary["method"] for report in reports))
    words = [METHODS.get(name, f"The method is {name}.") for name in own]
    pages.say(f"Who chose what is not observed: ballots are secret. {words[0]}", *words[1:])
    compared = str([_blocks(report, "certainty") for report in reports])
    for name in (name for name in METHODS if name not in own and name in compared):
        pages.say(f"For comparison: {METHODS[name]}")
    pages.say(
        "That totals of areas need not show how individuals behave has been known since Robinson (1950). Methods that "
        "fill the gap rest on assumptions that totals can't fully check (Freedman et al. 1998)."
    )
    pages.say("Definitions:", items=[f"{name}: {words}" for name, words in DEFINITIONS.items()])
    if own != ["Bounds"]:
        from sumwise.voting import POLARISED

        pages.say(POLARISED)


def results(pages: Pages, report: Any, model: Any, title: str) -> None:
    """Tables and figures of one contest."""
    pages.section(title)
    if model is not None and report.summary["method"] != "Bounds":
        _polarised(pages, model, report.summary["record"]["level"])
    seen: list[Any] = []
    for block in _blocks(report, "found", "estimates", "certainty"):
        if block.get("plot") == "training_curve":  # that the fit converged is among the facts
            continue
        if (
            block.get("title") == "First choice of every group" and model is not None
        ):  # in the table of polarised voting
            continue
        if block["kind"] == "table":
            key = (block["title"], len(block["rows"]))
            if key not in seen:
                seen.append(key)
                pages.table(block["title"], *likely(block["columns"], block["rows"]), about=block.get("about"))
        else:
            _shown_block(pages, block)


def polarised_table(model: Any, level: float) -> dict[str, Any]:
    """The table of polarised voting: candidate of choice, cohesion and crossover of every group."""
    from sumwise.voting import polarised_voting

    patterns = with_intervals(polarised_voting({"": model}, level=level), level)
    return table(patterns.drop(columns="contest"), "Polarised voting")


def with_intervals(found: Any, level: float) -> Any:
    """The columns of `polarised_voting` that are printed, cohesion and crossover with their intervals."""
    kept = found[["contest", "group", "candidate of choice", "probability"]].copy()
    for name in ("cohesion", "crossover"):
        kept[f"{name} ({100 * level:g}% interval)"] = [
            f"{cell(value, 'share')} ({cell(low, 'share')} to {cell(high, 'share')})"
            for value, low, high in found[[name, f"{name} low", f"{name} high"]].itertuples(index=False)
        ]
    return kept.assign(**{name: found[name] for name in ("polarised", "candidate won")})


def _polarised(pages: Pages, model: Any, level: float) -> None:
    try:
        block = polarised_table(model, level)
    except DataError as error:
        pages.say(f"Polarised voting is not tabulated: {error.message}")
        return
    pages.table(block["title"], block["columns"], block["rows"])


def _shown_block(pages: Pages, block: Mapping[str, Any]) -> None:
    if block["kind"] == "text":
        for line in block["lines"]:
            pages.say(line)
    elif block["kind"] == "note":
        pages.say(block["text"], warning=block["level"] == "warning")
    elif block["kind"] == "bullets":
        pages.say(f"{block['title'] or 'In particular'}:", items=block["items"])
    elif block["kind"] == "facts":
        pages.add(kind="facts", title=block["title"], pairs=block["pairs"])
    elif block["kind"] == "figure":
        pages.figure(block)


def limits(pages: Pages, *reports: Any, title: str) -> None:
    """Assumptions of these reports, each stated once."""
    pages.section(title)
    said: list[Any] = []
    for block in (block for report in reports for block in _blocks(report, "assumptions")):
        if block not in said:
            said.append(block)
            _shown_block(pages, block)
    pages.say(
        "The intervals and probabilities don't allow for totals that are wrong, for people who moved between counts, "
        "or for assumptions that fail in a way that totals don't show."
    )


def unit_appendix(pages: Pages, reports: Mapping[str, Any]) -> None:
    """Every unit of every report."""
    pages.section("Exhibit A. Every unit", appendix=True)
    for name, report in reports.items():
        if name:
            pages.add(kind="heading", text=name)
        titles = {block["title"] for block in _blocks(report, "appendix") if block["kind"] == "table"}
        for sheet in tables_of(report):
            if sheet.title in titles:
                pages.table(sheet.title, *_a_line_each(sheet.columns, plain([list(row) for row in sheet.rows])))


IN_WORKBOOK = ("sensitivity_band", "unit_map", "unit_scatter", "tomography")  # a line per unit or grid point
RUN = {"options": "Parameters of the method", "versions": "Versions"}


def reproduction(pages: Pages, provenances: Mapping[str, Mapping[str, Any]], problem: str = "") -> None:
    """What ran, with which parameters and versions, and the problem file; then the references.

    What all contests have in common is stated once; `problem` is the file from which those of the contests were made.
    """
    pages.section("Exhibit C. How to get the same numbers", appendix=True)
    every = list(provenances.values())
    alike = {key for key in RUN if every and all(given.get(key) == every[0].get(key) for given in every)}
    for name, given in provenances.items():
        if name:
            pages.add(kind="heading", text=name)
        facts = {key: given[key] for key in ("command", "method", "seed", "written", "seconds") if key in given}
        pages.add(kind="facts", title=None, pairs=[[k, str(v)] for k, v in facts.items()])
        _run_facts(pages, given, [key for key in RUN if key not in alike])
        if given.get("warnings"):
            pages.say("Warnings of the run:", items=given["warnings"])
        if given.get("problem") and not problem:
            pages.add(kind="heading", text="The problem file")
            pages.add(kind="source", text=given["problem"])
    if len(every) > 1 and alike:
        pages.add(kind="heading", text="All contests")
    _run_facts(pages, every[0] if every else {}, [key for key in RUN if key in alike])
    if problem:
        pages.add(kind="heading", text="The problem file")
        pages.add(kind="source", text=problem)
    pages.section("References", appendix=True)
    for words in REFERENCES.values():
        pages.say(words)


def _run_facts(pages: Pages, given: Mapping[str, Any], keys: list[str]) -> None:
    for key in keys:
        if given.get(key):
            pages.add(kind="facts", title=RUN[key], pairs=[[k, str(v)] for k, v in given[key].items()])


def _a_line_each(columns: Any, rows: list[list[Any]]) -> tuple[Any, list[list[Any]]]:
    """A line per unit and group, outcomes side by side with their intervals, in place of a line per outcome.

    Bounds stay in units.csv. A table without these columns is returned as it is.
    """
    names = [column["name"] for column in columns]
    if not {"unit", "group", "outcome", "share", "low", "high", "count"} <= set(names):
        return columns, rows
    at = {name: k for k, name in enumerate(names)}
    outcomes = list(dict.fromkeys(row[at["outcome"]] for row in rows))
    lines: dict[tuple, dict] = {}
    for row in rows:
        share, low, high = (row[at[name]] for name in ("share", "low", "high"))
        cell = "no members" if low is None else f"{share:.0%} ({low:.0%} to {high:.0%})"
        lines.setdefault((row[at["unit"]], row[at["group"]]), {})[row[at["outcome"]]] = cell
    heads = [{"name": str(name), "kind": "text"} for name in ("unit", "group", *outcomes)]
    return heads, [[*key, *(found.get(outcome, "") for outcome in outcomes)] for key, found in lines.items()]


def figure_appendix(pages: Pages, reports: Mapping[str, Any]) -> None:
    """Numbers behind the figures of every report, but for those with a line per unit or grid point (tables.xlsx)."""
    behind = {name: _behind_figures(report) for name, report in reports.items()}
    if not any(behind.values()):
        return
    pages.section("Exhibit B. Numbers behind the figures", appendix=True)
    pages.say(
        "Numbers behind contours, maps and figures with a mark for every unit are in the file tables.xlsx that comes "
        "with this report."
    )
    for name, tables in behind.items():
        if name and tables:
            pages.add(kind="heading", text=name)
        for block in tables:
            pages.table(block["title"], block["columns"], block["rows"])


def _behind_figures(report: Any) -> list[dict[str, Any]]:
    blocks = _blocks(report, "found", "estimates", "certainty")
    known = {b["title"] for b in blocks if b["kind"] == "table"} | {"Training curve"}
    drawn = [b for b in blocks if b.get("table") and b["table"]["title"] not in known]
    return [b["table"] for b in drawn if b["plot"] not in IN_WORKBOOK]
