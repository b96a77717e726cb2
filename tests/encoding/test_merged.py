"""Merged levels: a lookup on top of any rule, the same in Python and in engines, kept in files."""

import numpy as np
import pandas as pd
import pytest

import sumwise
from sumwise import DataError
from sumwise.aggregate import aggregate
from sumwise.encoding import Encoding
from sumwise.encoding.merged import Merged
from sumwise.encoding.rules import Cross, Cuts, Hashed, Levels, Target

CITY = Levels("city", ("Bern", "Oslo", "Rome"))
RULES = {
    "levels": (CITY, (0, 1, 1)),
    "cuts": (Cuts("age", (18, 40, 65), missing="missing"), (0, 1, 1, 0, 2)),
    "hash": (Hashed("site", 4), (2, 0, 1, 0)),
    "target": (Target("site", ("a", "b"), (0, 1), ("low", "high")), (1, 0, 2)),
}
ROWS = pd.DataFrame(
    {"city": ["Rome", "Bern", "Oslo", "Bern"], "age": [17.0, 30.0, np.nan, 70.0], "site": ["a", "b", "c", "a"]}
)


@pytest.mark.parametrize("name", RULES)
def test_codes_are_those_of_the_rule_merged(name):
    rule, cells = RULES[name]
    merged = Merged(rule, cells, tuple("xyz"[: max(cells) + 1]))
    inner = rule.codes(ROWS[rule.column])
    assert merged.codes(ROWS[rule.column]).tolist() == [cells[c] for c in inner]
    assert merged.levels == tuple("xyz"[: max(cells) + 1])


@pytest.mark.parametrize("name", RULES)
def test_engines_merge_alike(name):
    rule, cells = RULES[name]
    encoding = Encoding({"m": Merged(rule, cells, tuple("xyz"[: max(cells) + 1]))})
    counted = aggregate(ROWS, ["m"], order=1, encoding=encoding)["m"].counts
    assert counted.tolist() == np.bincount(encoding.codes(ROWS)["m"], minlength=max(cells) + 1).tolist()


def test_unseen_values_go_to_other_where_there_is_one():
    new = pd.DataFrame({"city": ["Paris", None, "Bern"]})
    with_other = Encoding({"city": Merged(CITY, (0, 1, 1), ("Bern", "other"), other="other")})
    assert with_other.codes(new)["city"].tolist() == [1, 1, 0]
    assert aggregate(new, ["city"], order=1, encoding=with_other)["city"].counts.tolist() == [1, 2]
    assert with_other.describe()["city"]["unseen"] == "other"
    without = Encoding({"city": Merged(CITY, (0, 1, 1), ("Bern", "rest"))})
    assert without.codes(new, unseen="code")["city"].tolist() == [-1, -1, 0]
    with pytest.raises(DataError, match="no level for 2 of 3 rows"):
        without.codes(new)


def test_files_and_json_keep_the_rule(tmp_path):
    encoding = Encoding({n: Merged(r, c, tuple("xyz"[: max(c) + 1]), other="x") for n, (r, c) in RULES.items()})
    assert Encoding.from_dict(encoding.to_dict()) == encoding
    sumwise.save(encoding, tmp_path / "e.sumwise")
    assert sumwise.load(tmp_path / "e.sumwise") == encoding


@pytest.mark.parametrize(
    ("rule", "cells", "names", "other", "words"),
    [
        (Cross(("a", "b"), 5), (0,) * 5, ("x",), None, "merged of"),
        ("city", (0,), ("x",), None, "merged of"),
        (CITY, (0, 1), ("x", "y"), None, "has 3 levels"),
        (CITY, (0, 1, 2), ("x", "y"), None, "from 0 to 1"),
        (CITY, (0.0, 0.0, 0.0), ("x",), None, "dtype float64"),
        (CITY, (0, 0, 0), ("x", "x"), None, "distinct names"),
        (CITY, (0, 0, 0), (), None, "distinct names"),
        (CITY, (0, 0, 0), ("x",), "y", "none of the merged levels"),
    ],
)
def test_bad_merges_are_refused(rule, cells, names, other, words):
    with pytest.raises(DataError, match=words):
        Merged(rule, cells, names, other)
