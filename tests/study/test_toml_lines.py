"""Lines of keys, in TOML as people write it."""

from __future__ import annotations

import tomllib

import pytest

from sumwise.study.toml_lines import key_lines, value_line

TEXT = """# family = "not me"
family = "a"  # columns = 1
"odd key" = 1

[columns]  # [options]
groups = [
  "a = b",   # seed = 3
  "c]",
]
unit = "[x]"
deep.er = 2
inline = { a = 1, b = [2, 3] }

[ options . more ]
n = 1
"""


def test_lines_of_all_keys():
    tomllib.loads(TEXT)
    assert key_lines(TEXT) == {
        ("family",): 2,
        ("odd key",): 3,
        ("columns",): 5,
        ("columns", "groups"): 6,
        ("columns", "unit"): 10,
        ("columns", "deep", "er"): 11,
        ("columns", "inline"): 12,
        ("options", "more"): 14,
        ("options", "more", "n"): 15,
    }


@pytest.mark.parametrize(
    ("value", "start", "line"),
    [("a = b", 1, 7), ("c]", 1, 8), ("[x]", 1, 10), ("a", 1, 2), ("a", 3, None), ("zz", 1, None)],
)
def test_lines_of_values(value, start, line):
    assert value_line(TEXT, value, start) == line
