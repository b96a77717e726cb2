"""The books are what the committed results say, and a missing or mistyped result is not passed over."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

import write_book  # noqa: E402


def test_pages_are_those_of_the_results():
    assert write_book.out_of_date() == [], "Hint: make book"


def test_every_paper_has_a_page():
    assert {f"{number:03}.md" for number in range(5)} | {"comparison.md"} <= set(write_book.pages())


NUMBERED = {
    "000": "Figure 2.1-9 3.1-6 4.1-6 A.1; Table 2.1 3.1-3 4.1-3",
    "001": "Figure 1 2 3",
    "002": "Figure 1 2 3 4 5 6; Table I II III",
    "003": "Figure 1 2 3 4; Table 1 2 3 4 5",
    "004": "Figure 1.1-2 2.1-2 3.1-7 4.1-7 5.1-4",
}  # the captions of the papers


def test_every_table_and_figure_of_the_papers_has_a_counterpart():
    for name, words in NUMBERED.items():
        wanted = set()
        for kind, *numbers in (part.split() for part in words.split("; ")):
            for number in numbers:
                chapter, _, ends = number.rpartition(".")
                first, _, last = ends.partition("-")
                spelt = [str(k) for k in range(int(first), int(last) + 1)] if last else [first]
                wanted |= {f"{kind} {chapter}.{k}" if chapter else f"{kind} {k}" for k in spelt}
        items = tomllib.loads((ROOT / "docs" / "book" / f"{name}.toml").read_text("utf-8"))["item"]
        assert {covered for item in items for covered in item.get("covers", [])} == wanted


def test_what_is_listed_as_worse_is_worse():
    """Each figure on the page of what is worse, against the paper's: lower where a high one is better."""
    (rows,) = (i["rows"] for i in tomllib.loads((write_book.BOOK / "worse.toml").read_text("utf-8"))["item"][:1])
    for _, what, paper, ours, _ in rows[1:]:
        printed = re.fullmatch(r"(?:below )?([\d.]+)", paper)
        if printed:
            better_high = -1 if what.startswith(("NLLH", "explained")) else 1
            assert better_high * (write_book.number(ours) - float(printed[1])) > 0, what


def test_a_record_is_named_by_its_values(made):
    assert write_book.value_at("a.json", "curve/n=10&by=a/e") == 1
    with pytest.raises(ValueError, match="unpack"):
        write_book.value_at("a.json", "curve/by=a/e")


def test_commands_name_scripts_that_exist():
    commands = [
        line.split()[2] for text in write_book.pages().values() for line in text.splitlines() if line[:9] == "$ python "
    ]
    assert commands
    assert [name for name in commands if not (ROOT / name).exists()] == []


def test_commands_of_an_earlier_commit_name_scripts_that_existed():
    pages = "\n".join(write_book.pages().values())
    earlier = set(re.findall(r"\$ git switch --detach (\w+) && python (\S+)", pages))
    assert earlier
    for commit, name in earlier:
        found = subprocess.run(["git", "cat-file", "-e", f"{commit}:{name}"], cwd=ROOT, check=False)
        assert found.returncode == 0, (commit, name)


@pytest.fixture
def made(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text(
        json.dumps({"part": [{"x": 1.25, "y": None}], "curve": CURVE, "commit": "abc"}), "utf-8"
    )
    monkeypatch.setattr(write_book, "RESULTS", tmp_path)
    write_book.results.cache_clear()
    yield
    write_book.results.cache_clear()


ITEM = {"what": "Table 1", "shows": "A number."}
CURVE = [{"n": 1, "e": 10, "by": "a"}, {"n": 10, "e": 1, "by": "a"}, {"n": 10, "e": 100, "by": "b"}]
PLOT = {"each": "a.json curve", "x": "n", "y": "e", "by": "by", "log": "xy"}


def test_entry_shows_values_and_where_they_come_from(made):
    text, figures = write_book.entry(
        ITEM
        | {"rows": [["x"], ["@a.json part/0/x .1f"]], "bars": [["ours", "@a.json part/0/x .2f"]], "source": "a.json "},
        "p",
        0,
    )
    assert "| 1.2 |" in text
    assert "(commit abc, seeds in the script)" in text
    assert ">1.25</text>" in figures["figures/p-0.svg"]


def test_every_result_of_a_paper_says_command_commit_and_seed():
    """A commit that no run recorded is that which stored the numbers; seeds are named by results or by the page."""
    for name in NUMBERED:
        for item in tomllib.loads((write_book.BOOK / f"{name}.toml").read_text("utf-8"))["item"]:
            if (source := write_book.source_of(item)) is not None:
                words = write_book.provenance(item, *source)
                assert "command" in item, item["what"]
                assert "commit" in words, (item["what"], words)
                assert "seed" in words, (item["what"], words)


def test_a_part_that_changed_since_it_was_stored_names_no_commit(made, tmp_path):
    part = [{"x": 1.0}]
    (tmp_path / "a.json").write_text(json.dumps({"part": part}))
    for digest, said in ((write_book.digest(part), "commit abc (which stored it)"), ("other", "commit not recorded")):
        kept = {"a.json": {"part": {"commit": "abc", "digest": digest}}}
        (tmp_path / "stored.json").write_text(json.dumps(kept))
        write_book.results.cache_clear()
        assert said in write_book.provenance(ITEM, "a.json", "part")


def test_the_run_of_a_part_comes_before_that_of_its_file(made, tmp_path):
    held = json.loads((tmp_path / "a.json").read_text()) | {"commit": "old", "seed": 1}
    (tmp_path / "a.json").write_text(json.dumps(held | {"runs": {"part": {"commit": "new", "seeds": "2 to 5"}}}))
    write_book.results.cache_clear()
    assert "(commit new, seeds 2 to 5)" in write_book.provenance(ITEM, "a.json", "part means")
    assert "(commit old, seed 1)" in write_book.provenance(ITEM, "a.json", "other")


def test_entry_says_what_was_not_run(made):
    assert "Not run" in write_book.entry(ITEM | {"each": "none.json part", "columns": {"x": "x .1f"}}, "p", 0)[0]
    assert "Not run" in write_book.entry(ITEM | {"each": "a.json other", "columns": {"x": "x .1f"}}, "p", 0)[0]


def test_entry_refuses_a_path_that_leads_nowhere(made):
    with pytest.raises(KeyError):
        write_book.entry(ITEM | {"rows": [["x"], ["@a.json part/0/z .1f"]]}, "p", 0)


def test_entry_refuses_a_column_that_no_record_has(made):
    with pytest.raises(KeyError, match="no record has"):
        write_book.entry(ITEM | {"each": "a.json part", "columns": {"z": "z .1f"}}, "p", 0)


def test_each_record_becomes_a_row_and_nothing_a_dash(made):
    text, _ = write_book.entry(ITEM | {"each": "a.json part", "columns": {"of x": "x .2f", "of y": "y .2f"}}, "p", 0)
    assert "| 1.25 | – |" in text


def test_plots_place_values_between_the_ends_of_their_axes(made):
    text, figures = write_book.entry(ITEM | {"plot": [PLOT, PLOT | {"only": {"by": "b"}, "kind": "points"}]}, "p", 0)
    assert "(figures/p-0a.svg)" in text
    assert "M70.0 154.0L450.0 274.0" in figures["figures/p-0a.svg"]  # from half way up to the corner at the right
    assert figures["figures/p-0b.svg"].count("<circle") == 1


def test_a_plot_of_no_record_is_refused(made):
    with pytest.raises(KeyError, match="no record"):
        write_book.entry(ITEM | {"plot": [PLOT | {"only": {"by": "c"}}]}, "p", 0)


def test_bars_below_zero_go_to_the_left(made):
    figure = write_book.bars([("a", 1.0, "1", "blue"), ("b", -1.0, "-1", "blue")], "score")
    (first, second) = re.findall(r'<rect x="([\d.]+)" y="\d+" width="([\d.]+)"', figure)
    assert float(second[0]) + float(second[1]) == float(first[0])


def test_dots_stand_in_the_row_of_their_group(made):
    spec = ITEM | {"each": "a.json curve", "dots": ["by", "n", "e"], "log": "x", "unit": "error"}
    figure = write_book.entry(spec, "p", 0)[1]["figures/p-0.svg"]
    assert re.findall(r'cy="(\d+)"', figure) == ["18", "18", "44"]
    assert ">n = 10</text>" in figure


def test_a_plot_with_more_lines_than_colours_is_refused(made):
    with pytest.raises(ValueError, match="colours"):
        write_book.plot({str(k): [(0, 0), (1, k)] for k in range(11)}, {"x": "a", "y": "b"})


FIGURES = {name: text for name, text in write_book.pages().items() if name.endswith(".svg")}
PLACED = re.compile(r'<text x="([-\d.]+)" y="([-\d.]+)"(?: text-anchor="(\w+)"| font-weight="bold")?>([^<]*)</text>')


@pytest.mark.parametrize("name", FIGURES)
def test_words_lie_inside_their_figure(name):
    """No label is cut off, no legend is empty, and no figure has more lines than a reader can compare."""
    figure = FIGURES[name]
    wide, high = map(int, re.search(r'viewBox="0 0 (\d+) (\d+)"', figure).groups())
    placed = PLACED.findall(figure)
    assert len(placed) >= figure.count("<text") - 1  # the name of the vertical axis is turned
    for x, y, anchor, words in placed:
        left = float(x) - {"end": 1.0, "middle": 0.5}.get(anchor, 0.0) * 7.4 * len(words)
        assert left >= -1, words
        assert left + 7.4 * len(words) <= wide + 1, words
        assert 0 < float(y) <= high
    assert '"></text>' not in figure.replace('font-weight="bold"></text>', "")
    assert figure.count('height="18"') <= 24, "bars"
