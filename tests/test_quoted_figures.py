"""Figures that pages quote come from the JSON under benchmarks/results, and are what it says.

A page writes ``3.75<!--contest_correction.json index/default/all .2f-->``: the figure, then the file, the path of the
value in it, and the format. A whole table stands between ``<!-- table earlier_runs.json election/groups/0 -->`` and
``<!-- end of table -->``: a line per record of the list at that path. ``python tests/test_quoted_figures.py`` writes
the present values into all pages.
"""

from __future__ import annotations

import json
import re
import sys
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


def pages() -> list[Path]:
    """The README and every page of the documentation."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [p for p in found if "_build" not in p.parts]


def value_of(file: str, path: str) -> Any:
    """A value in a file of results, by keys and positions separated by slashes."""
    value = json.loads((RESULTS / file).read_text("utf-8"))
    for key in re.split(r"(?<! )/(?! )", path):  # " / " is part of a name
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


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


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_quoted_figures_are_those_of_the_results(page):
    assert stale(page.read_text("utf-8")) == []


def test_the_readme_quotes_results():
    assert len(MARK.findall((ROOT / "README.md").read_text("utf-8"))) >= 5


def test_a_stale_figure_is_found_and_renewed():
    text = "It has 9.99<!--published.json ecological/mvn_pdf_sym .2f--> percent."
    assert stale(text) == ["9.99 != 7.65 (published.json ecological/mvn_pdf_sym)"]
    assert stale(renewed(text)) == []


def test_a_stale_table_is_found_and_renewed():
    text = "<!-- table earlier_runs.json election/groups/0 -->\n| a |\n<!-- end of table -->"
    assert stale(text) == ["the table of earlier_runs.json election/groups/0"]
    assert "| nation: mean-emb | 2 of 2, 1.00, .022 |" in renewed(text)
    assert stale(renewed(text)) == []


def test_a_figure_without_source_is_an_error():
    with pytest.raises(KeyError):
        stale("1<!--published.json ecological/nothing .0f-->")


if __name__ == "__main__":
    for page in pages():
        old = page.read_text("utf-8")
        if (new := renewed(old)) != old:
            page.write_text(new, "utf-8")
            sys.stdout.write(f"{page.relative_to(ROOT)}\n")
