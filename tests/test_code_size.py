"""The counter of code lines counts code, and nothing else."""

from __future__ import annotations

from code_size import by_kind, by_package, code_lines, kinds

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


def test_every_line_is_of_one_kind(tmp_path):
    assert kinds(TEXT) == {
        "imports and __all__": 1,
        "signatures and decorators": 3,
        "statements": 2,
        "further lines of a statement": 1,
    }
    (tmp_path / "a.py").write_text(TEXT)
    (tmp_path / "b.py").write_text("LIMIT = 1\n\n\ndef f():\n    raise ValueError(\n        LIMIT\n    )\n")
    found = by_kind(tmp_path)
    assert found["errors and warnings"] == 3
    assert found["fields and constants"] == 1
    assert sum(found.values()) == sum(by_package(tmp_path).values())


MOST_STUDY = 2_750  # it turns a problem file into containers, an estimator and a report, and nothing else


def test_study_stays_small():
    assert by_package()["study"] <= MOST_STUDY
