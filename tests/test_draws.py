"""Every table about bags says on how many draws it rests, and what rests on fewer than ten is marked.

``python tests/test_draws.py`` lists the cells of the documentation on fewer than ten draws, from the committed results.
A table of the book says so by its ``draws`` (see docs/write_book.py); elsewhere a quoted figure must come from a record
that holds its number of draws, ten or more, or have a † beside it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "tests")]
from write_book import FEW, MARKED, draws_of, rows_of, table  # noqa: E402

from test_quoted_figures import MARK, pages, values_along  # noqa: E402

BAGS = re.compile(
    r"(distribution\w*|bag_optimum|sparse_process|proportions\w*|cardinality_heuristics|election_study|real_regions"
    r"|stability|fastfood|process_coverage)\.json|beside_others\.json bags"
)
COUNTED = ("draws", "trials", "splits", "seeds", "runs", "errors", "scores")
OTHERWISE = {
    "process_coverage.json trials": "is the number",
}


def items() -> list[tuple[str, dict]]:
    """Tables of the book that have results about bags."""
    found = []
    for path in sorted((ROOT / "docs" / "book").glob("*.toml")):
        for item in tomllib.loads(path.read_text("utf-8"))["item"]:
            cells = [str(cell)[1:] for row in item.get("rows", []) for cell in row if str(cell).startswith("@")]
            if any(BAGS.match(cited) for cited in (item.get("each", ""), *cells)):
                found.append((path.stem, item))
    return found


def section(page: str, item: dict) -> str:
    """The part of a page that an item became."""
    text = (ROOT / "docs" / "book" / f"{page}.md").read_text("utf-8")
    return text.split(f"## {item['what']}\n", 1)[1].split("\n## ", 1)[0]


def few_of(item: dict) -> list[str]:
    """Cells of a table on fewer than ten draws, as `first cells of the row: heading number`."""
    draws = item["draws"]
    number = draws_of(draws)
    if number is not None:
        return [f"all cells: {number}"] if number < FEW else []
    head, *rows = rows_of(item) if isinstance(draws, list) else [[]]
    of = [head.index(name) for name in draws] if rows else []
    found = [(row, k) for row in rows for k in of if str(row[k]).isdigit() and int(row[k]) < FEW]
    return [f"{', '.join(str(cell) for cell in row[:4])}: {head[k]} {row[k]}" for row, k in found]


def drawn(file: str, path: str) -> int | None:
    """How many draws a quoted value rests on: said by its record, or by what that lies in."""
    for holder in reversed(values_along(file, path)):
        for name in COUNTED if isinstance(holder, dict) else ():
            count = holder.get(name)
            if isinstance(count, dict):
                count = min((len(v) for v in count.values()), default=None)
            if count is not None:
                return len(count) if isinstance(count, list) else int(count)
    return None


def few_on(page: Path) -> list[str]:
    """Quoted figures of a page on fewer than ten draws, or on an unknown number of them, without a mark."""
    text, found = page.read_text("utf-8"), []
    for match in MARK.finditer(text):
        cited = f"{match['file']} {match['path']}"
        number = drawn(match["file"], match["path"]) if BAGS.match(cited) and cited not in OTHERWISE else FEW
        near = text[match.end() :].split("|")[0].split("\n")[0]
        if (number is None or number < FEW) and "†" not in near:
            found.append(f"{match['shown']} ({cited}): {number} draws")
    return found


@pytest.mark.parametrize(
    ("page", "item"), items(), ids=lambda given: given if isinstance(given, str) else given["what"]
)
def test_a_table_about_bags_says_its_draws_and_marks_few(page, item):
    assert "draws" in item, "say in the TOML file on how many draws the table rests"
    words, few = section(page, item), few_of(item)
    assert (MARKED.strip() in words) == bool(few)
    assert words.count(" †") == len(few)


@pytest.mark.parametrize("page", [p for p in pages() if "book" not in p.parts], ids=lambda p: str(p.relative_to(ROOT)))
def test_figures_about_bags_rest_on_ten_draws_or_are_marked(page):
    assert few_on(page) == []


def test_generated_tables_of_label_proportions_rest_on_ten_draws():
    text = (ROOT / "docs" / "explanation" / "label-proportion-methods.md").read_text("utf-8")
    made = re.findall(r"<!-- table: (\w+) -->(.*?)<!-- end -->", text, re.S)
    assert len(made) == 8
    for name, words in made:
        for head, *rows in (re.findall(r"^\|.*$", part, re.M) for part in words.split("\n\n") if "|---" in part):
            if name == "cardinality_heuristics":
                counts = re.findall(r"\((\d+)\) \|", head)
            else:
                assert re.search(r"\| (draws|simulations) \|$", head)
                counts = [row.rsplit("|", 2)[1].strip() for row in rows[1:]]
            assert counts
            assert min(map(int, counts)) >= FEW


def test_a_table_marks_numbers_of_draws_below_ten():
    rows = [["method", "draws", "more"], ["a", "3", "3"], ["b", "10", "3"], ["c", "–", "3"]]
    assert [line.count("†") for line in table(rows, ["draws"]).splitlines()] == [0, 0, 1, 0, 0]
    with pytest.raises(ValueError, match="runs"):
        table(rows, ["runs"])


def test_a_figure_on_few_draws_is_found(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    cited = "election_study.json accuracy/education 100 card-exact/accuracy .4f"
    page.write_text(f"0.1<!--{cited}--> rests on ten\n")
    assert few_on(page) == []
    monkeypatch.setitem(few_on.__globals__, "drawn", lambda *_: 9)
    page.write_text(f"0.1<!--{cited}--> is little\n")
    assert len(few_on(page)) == 1
    page.write_text(f"0.1<!--{cited}--> † is marked\n")
    assert few_on(page) == []


if __name__ == "__main__":
    for name, each in items():
        for line in few_of(each):
            print(f"{name}: {each['what']}: {line}")
    for each in pages():
        if "book" not in each.parts:
            print("".join(f"{each.relative_to(ROOT)}: {line}\n" for line in few_on(each)), end="")
