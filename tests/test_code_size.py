"""The counter of code lines counts code, and nothing else."""

from __future__ import annotations

from code_size import by_package, code_lines

TEXT = '''"""A module.

Two lines."""

import os  # one


# a comment
def f(
    x,
):
    """What it does."""
    text = """not a
    docstring"""
    return x, text
'''


def test_docstrings_comments_and_blanks_are_no_code():
    assert code_lines(TEXT) == 7


def test_packages_add_up(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").write_text("x = 1\n")
    (tmp_path / "c.py").write_text(TEXT)
    assert by_package(tmp_path) == {"a": 1, ".": 7}
