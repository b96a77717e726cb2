"""The tree explains itself: the page on architecture draws it, and no file is a drawer for odds and ends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DRAWERS = {"utils", "util", "helpers", "helper", "common", "misc"}


def drawers(*folders: Path) -> list[str]:
    """Files and folders whose name says nothing of what is in them."""
    paths = (path for folder in folders for path in sorted(folder.rglob("*")))
    return [path.name for path in paths if path.stem.removeprefix("_").removeprefix("test_") in DRAWERS]


def test_no_file_is_a_drawer():
    assert drawers(ROOT / "src" / "sumwise", ROOT / "tests") == []


def test_every_package_says_what_it_is_for():
    packages = sorted((ROOT / "src" / "sumwise").rglob("__init__.py"))
    assert [str(path) for path in packages if not path.read_text("utf-8").startswith('"""')] == []


@pytest.mark.parametrize("name", ["utils.py", "_helpers.py", "test_common.py", "misc"])
def test_drawers_finds_each_spelling(tmp_path, name):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / name).touch()
    (tmp_path / "commonest.py").touch()
    assert drawers(tmp_path) == [name]


PAGE = ROOT / "docs" / "explanation" / "architecture.md"


def drawn_places(page: str) -> set[str]:
    """Files and folders that the tree of a page names, without their descriptions."""
    tree = page.split("src/sumwise/\n", 1)[1].split("```", 1)[0]
    return {word for line in tree.splitlines() for word in line.split() if word.endswith((".py", "/"))}


def real_places(source: Path) -> set[str]:
    """Modules and packages of the root of the source."""
    modules = {path.name for path in source.glob("*.py")} - {"__main__.py"}
    return modules | {f"{path.parent.name}/" for path in source.glob("*/__init__.py")}


def test_the_page_on_architecture_draws_the_tree_as_it_is():
    drawn = {name for name in drawn_places(PAGE.read_text("utf-8")) if "." in name or name.count("/") == 1}
    assert real_places(ROOT / "src" / "sumwise") - drawn == set(), "missing on the page"
    inner = {"kernels/", "text/"}  # of the families and of report
    assert drawn - real_places(ROOT / "src" / "sumwise") - inner == set(), "on the page and not there"


def rows_of_concepts(page: str) -> list[tuple[set[str], list[str]]]:
    """Words of each concept of the page's table, and its files."""
    section = page.split("## Where to find it", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if ".py`" in line]
    return [(set(re.findall(r"[\w-]{6,}|bisg", concept.lower())), re.findall(r"`(.+?)`", at)) for concept, at in rows]


def test_every_concept_of_the_page_is_in_its_files():
    rows = rows_of_concepts(PAGE.read_text("utf-8"))
    assert len(rows) > 20
    for words, files in rows:
        for file in files:
            text = (ROOT / "src" / "sumwise" / file).read_text("utf-8").lower()
            assert any(word in text for word in words), (words, file)


def test_a_place_that_is_not_drawn_is_found(tmp_path):
    (tmp_path / "new").mkdir()
    for name in ("new/__init__.py", "noun.py", "__main__.py"):
        (tmp_path / name).touch()
    assert real_places(tmp_path) == {"new/", "noun.py"}
    assert drawn_places("src/sumwise/\n  noun.py  new/   words here\n```\nother.py") == {"noun.py", "new/"}
