"""Blocks of pages are run when pages are built: what is shown of each, and what is kept where data are absent."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

import page_blocks  # noqa: E402
from page_blocks import Block  # noqa: E402


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("print('a')\n1 + 1\n", "a\n2\n"),
        ("x = 3\n", ""),
        ("x = 3\nx;\n", ""),
        ("None\n", ""),
        (">>> 1 + 1\n2\n", ""),
        ("def f():\n    return 'seen'\n\nf()\n", "'seen'\n"),
    ],
)
def test_run_block_shows_what_a_notebook_would(code, shown):
    assert page_blocks.run_block(Block(1, "python", code), "page.md", {}) == shown


def test_a_session_may_raise_what_the_page_says():
    page_blocks.run_block(
        Block(1, "python", ">>> 1 / 0\nTraceback (most recent call last):\nZeroDivisionError: x\n"), "p", {}
    )
    with pytest.raises(ZeroDivisionError):
        page_blocks.run_block(Block(1, "python", ">>> 1 / 0\n"), "p", {})


def test_output_of_prose_is_wrapped_and_tables_are_kept():
    prose, table = "a word " * 40, "left  right " * 40
    executed = pytest.importorskip("executed", reason="Sphinx isn't here", exc_type=ImportError)
    shown = executed.output_block(f"{prose}\n{table}\n").astext().splitlines()
    assert max(len(line) for line in shown[:-1]) <= page_blocks.WIDTH
    assert (" ".join(shown[:-1]), shown[-1]) == (prose.strip(), table)


def test_run_page_keeps_text_and_figures(tmp_path):
    page = tmp_path / "page.md"
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.gca().set(xlabel='time', title='A line')\n"
    page.write_text(f"# A\n\n```python\nx = 2\n```\n\n```python\n{code}print(x)\n```\n", "utf-8")
    first, second = page_blocks.run_page(page, tmp_path)
    assert (first["text"], second["text"]) == ("", "2\n")
    assert second["figures"] == [{"file": "page-1-0.png", "alt": "Figure: A line; time"}]
    assert (tmp_path / "page-1-0.png").read_bytes().startswith(b"\x89PNG")


def test_run_page_names_the_block_that_fails(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A\n\n```python\n1 / 0\n```\n", "utf-8")
    with pytest.raises(page_blocks.PageFailed, match=r"page\.md:4: ZeroDivisionError"):
        page_blocks.run_page(page, tmp_path)


def test_commands_are_run_only_where_the_page_asks():
    text = "# A\n\n```console\n$ echo hello\n```\n"
    assert page_blocks.runnable_blocks(text) == []
    (block,) = page_blocks.runnable_blocks("<!-- run: console -->\n" + text)
    assert page_blocks.run_block(block, "page.md", {}) == "hello\n"


def test_a_command_that_fails_is_an_error():
    with pytest.raises(page_blocks.PageFailed, match="exit code"):
        page_blocks.run_commands(Block(1, "console", "$ false\n"))


def test_pages_without_anything_to_add_are_not_run():
    assert not page_blocks.shows_more_than_written("```python\n>>> 1 + 1\n2\n```\n")
    assert page_blocks.shows_more_than_written("```python\nx = 1\n```\n")
