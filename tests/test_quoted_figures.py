"""Figures that pages quote come from the JSON under benchmarks/results, and are what it says.

A page writes ``3.75<!--contest_correction.json index/default/all .2f-->``: the figure, then the file, the path of the
value in it, and the format. A whole table stands between ``<!-- table file.json path -->`` and
``<!-- end of table -->``: a line per record of the list at that path. ``python tests/test_quoted_figures.py`` writes
the present values into all pages.

Any other number that could be a measurement (with decimals, a percent sign, an exponent or a unit), on a page or in a
docstring, must be listed in plain_numbers.json: parameters, definitions, versions, answers to exercises.
``python tests/test_quoted_figures.py --plain`` lists what is new there; read it before you commit it.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
NUMBER = r"(?P<shown>[-+]?\d[\d.,]*|[-+]?\.\d+)"
MARK = re.compile(NUMBER + r"(?P<mark><!--(?P<file>[\w.-]+\.json) (?P<path>\S.*?) (?P<form>\S+)-->)")

TABLE = re.compile(
    r"(?P<begin><!-- table (?P<file>[\w.-]+\.json) (?P<path>\S+) -->\n)(?P<lines>.*?)(?P<end><!-- end of table -->)",
    re.S,
)


PLAIN = Path(__file__).with_name("plain_numbers.json")
UNITS = r"(?:CPU[ -])?(?:seconds?|ms|minutes?|hours?|GiB|GB|MiB|MB|times)\b"
FIGURE = rf"\d[\d,]*(?:\.\d+)?(?:\s?%|e-?\d+|\s{UNITS})"
ON_PAGES = re.compile(rf"(?<![\w/.^-])(\d[\d,]*\.\d+|\.\d+|{FIGURE})")
IN_DOCSTRINGS = re.compile(rf"(?<![\w/.^-])(\d[\d,]*(?:\.\d+)?(?:\s?%|\s{UNITS})|\.\d{{2,}}\b)")
NO_PROSE = re.compile(
    r"^(?P<fence>```|~~~).*?^(?P=fence)|<!-- table .*?<!-- end of table -->|<!-- table: .*?<!-- end -->"
    r"|[^\s|(]*<!--[^>]*-->|`[^`]*`|\$\$.*?\$\$|\$[^$\n]*\$|\]\([^)]*\)|<[^>]*>",
    re.M | re.S,
)


def plain_on_page(text: str) -> set[str]:
    """Numbers of a page's prose and typed tables that could be measurements and carry no source."""
    return set(ON_PAGES.findall(NO_PROSE.sub(" ", text)))


def plain_in_docstrings(source: str) -> set[str]:
    """The same of docstrings, their examples left out."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            text = (ast.get_docstring(node) or "").split("Examples\n---")[0]
            found |= set(IN_DOCSTRINGS.findall(text))
    return found


def plain_numbers() -> dict[str, list[str]]:
    """By file, numbers that could be measurements and carry no source."""
    texts = {p: plain_on_page(p.read_text("utf-8")) for p in pages() if "book" not in p.parts}
    texts |= {p: plain_in_docstrings(p.read_text("utf-8")) for p in sorted((ROOT / "src").rglob("*.py"))}
    return {p.relative_to(ROOT).as_posix(): sorted(found) for p, found in texts.items() if found}


def pages() -> list[Path]:
    """The README and every page of the documentation."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [p for p in found if not {"_build", "generated"} & set(p.parts)]


def value_of(file: str, path: str) -> Any:
    """A value in a file of results, by keys and positions separated by slashes."""
    return values_along(file, path)[-1]


def values_along(file: str, path: str) -> list[Any]:
    """A file of results, and what it holds at each key of a path."""
    found = [results(file)]
    for key in re.split(r"(?<! )/(?! )", path):  # " / " is part of a name
        found.append(found[-1][int(key)] if isinstance(found[-1], list) else found[-1][key])
    return found


@cache
def results(file: str) -> Any:
    """A file of results."""
    return json.loads((RESULTS / file).read_text("utf-8"))


def shown_as(value: float, form: str) -> str:
    """A value as a page shows it; ``.0%`` without its sign, which the page writes."""
    return format(value, form).rstrip("%")


def table_of(records: list[dict]) -> str:
    """Records as a table; a first cell that repeats the one above is left empty."""
    columns = list(records[0])
    lines = [["" if c == "what" else c for c in columns], ["---"] * len(columns)]
    above = None
    for record in records:
        cells = [str(record[c]) for c in columns]
        lines.append(["" if len(columns) > 1 and cells[0] == above else cells[0], *cells[1:]])
        above = cells[0]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def stale(text: str) -> list[str]:
    """Figures that are not what the results say, as ``shown != present (file path)``."""
    found = []
    for match in TABLE.finditer(text):
        if match["lines"] != table_of(value_of(match["file"], match["path"])):
            found.append(f"the table of {match['file']} {match['path']}")
    for match in MARK.finditer(text):
        present = shown_as(value_of(match["file"], match["path"]), match["form"])
        if match["shown"] != present:
            found.append(f"{match['shown']} != {present} ({match['file']} {match['path']})")
    return found


def renewed(text: str) -> str:
    """The text with the present values."""
    text = TABLE.sub(lambda m: m["begin"] + table_of(value_of(m["file"], m["path"])) + m["end"], text)
    return MARK.sub(lambda m: shown_as(value_of(m["file"], m["path"]), m["form"]) + m["mark"], text)


def commits_of(table: str) -> dict[str, set[str]]:
    """Of every file that a table quotes, the commits that its figures come from, as far as the file says so."""
    found: dict[str, set[str]] = {}
    for match in MARK.finditer(table):
        holders = [value for value in values_along(match["file"], match["path"]) if isinstance(value, dict)]
        named = [value["commit"] for value in holders if "commit" in value]
        found.setdefault(match["file"], set()).update(named[-1:])
    return found


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_table_quotes_one_commit_of_a_file(page):
    tables = re.findall(r"(?:^\|.*\n)+", page.read_text("utf-8"), re.M)
    assert [found for table in tables for found in commits_of(table).values() if len(found) > 1] == []


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_quoted_figures_are_those_of_the_results(page):
    assert stale(page.read_text("utf-8")) == []


def test_numbers_without_a_source_are_known_to_be_no_measurements():
    known = json.loads(PLAIN.read_text("utf-8"))
    new = {name: sorted(set(found) - set(known.get(name, []))) for name, found in plain_numbers().items()}
    new = {name: found for name, found in new.items() if found}
    assert new == {}, f"give their source, or if they are no measurements, run {Path(__file__).name} --plain"


def test_a_typed_measurement_is_found():
    assert plain_on_page("It errs by .173 and takes 12 seconds, `0.5` aside.") == {".173", "12 seconds"}
    assert plain_on_page("It errs by 0.173<!--a.json b .3f-->, and $x=0.5$.\n```\n0.25\n```\n") == set()
    assert plain_in_docstrings(
        'def f():\n    """It covers 85% of them.\n\n    Examples\n    --------\n    5%\n    """'
    ) == {"85%"}


def test_the_readme_quotes_results():
    assert len(MARK.findall((ROOT / "README.md").read_text("utf-8"))) >= 5


def test_a_stale_figure_is_found_and_renewed():
    text = "It has 9.99<!--published.json ecological/mvn_pdf_sym .2f--> percent."
    assert stale(text) == ["9.99 != 7.65 (published.json ecological/mvn_pdf_sym)"]
    assert stale(renewed(text)) == []


def test_a_stale_table_is_found_and_renewed():
    text = "<!-- table cgm_figures.json exact/rows -->\n| a |\n<!-- end of table -->"
    assert stale(text) == ["the table of cgm_figures.json exact/rows"]
    assert stale(renewed(text)) == []


def test_a_figure_without_source_is_an_error():
    with pytest.raises(KeyError):
        stale("1<!--published.json ecological/nothing .0f-->")


if __name__ == "__main__":
    if "--plain" in sys.argv:
        PLAIN.write_text(json.dumps(plain_numbers(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    for page in pages():
        old = page.read_text("utf-8")
        if (new := renewed(old)) != old:
            page.write_text(new, "utf-8")
            sys.stdout.write(f"{page.relative_to(ROOT)}\n")
