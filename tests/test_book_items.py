"""Every item of the papers is public, runs as its page says, and has the test or the page that is named beside it."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

pytestmark = pytest.mark.check

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "docs" / "book"
PAGE = tomllib.loads((BOOK / "items.toml").read_text("utf-8"))
SETUP = PAGE["intro"].partition("```python\n")[2].partition("```")[0]
sys.path.insert(0, str(ROOT / "docs"))
from write_book import STATUS, source_of, statuses  # noqa: E402


def rows(head):
    return [
        [PAGE_NUMBER.search(item["shows"])[1], *(cell[1:-1] if cell.startswith("`") else cell for cell in row)]
        for item in PAGE["item"]
        if item["rows"][0][0] == head
        for row in item["rows"][1:]
    ]


DRAWN = "Figures 3.1 to 3.3: tomography"  # by a page of the gallery, which a test runs
PAGE_NUMBER = re.compile(r"\((\d{3})\.md\)")
METHODS, SHOWN = rows("section"), rows("item")


def test_every_name_is_public_and_named_by_its_test():
    for _, _, what, name, call, _, test in METHODS:
        package, *parts = name.split(".")
        found = importlib.import_module(f"sumwise.{package}")
        for part in parts:
            found = getattr(found, part)
        assert parts[-1] in (ROOT / test).read_text("utf-8"), (what, test)
        assert parts[-1] in call or parts[0] in call, (what, call)


def test_every_call_runs():
    shown: dict = {}
    exec(SETUP, shown)
    for _, section, what, _, call, _, _ in METHODS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fits this small say that they leave much open
            try:
                exec(call, shown)
            except Exception as error:
                pytest.fail(f"{section}, {what}: {type(error).__name__}: {error}")


def test_every_status_is_known_and_says_why():
    """What differs, falls short or needs data says how and which."""
    every = [row[5] for row in METHODS] + [row[4] for row in SHOWN]
    assert {status.partition(":")[0] for status in every} <= set(STATUS)
    assert all(status in ("works", "nothing to compute") or len(status.partition(": ")[2]) > 10 for status in every)
    assert len(every) >= 281  # as many as an audit of the papers listed
    assert sorted(every) == sorted(status for *_, status in statuses(PAGE))


def test_every_table_and_figure_is_listed_with_the_page_that_shows_it_and_its_command():
    for number in ("000", "001", "002", "003", "004"):
        pages = tomllib.loads((BOOK / f"{number}.toml").read_text("utf-8"))["item"]
        heads = {item["what"]: item for item in pages}
        listed = [row for row in SHOWN if row[0] == number]
        for _, what, heading, command, status in listed:
            assert heading in heads, (what, heading)
            assert command == "its command", heading  # which write_book.py looks up
            if status.partition(":")[0] in ("works", "differs", "partly") and heading not in DRAWN:
                assert source_of(heads[heading]), heading  # committed results, which the page is written from
        for item in pages:
            for covered in item.get("covers", []):
                under = [row for row in listed if row[2] == item["what"]]
                assert any(row[1].startswith(covered) for row in under), (item["what"], covered)
