"""Committed results say how they were made, and a table that compares systems has our figures of one commit.

Every part of a file under benchmarks/results has the command, the commit and the seeds of its run: in the file, in the
part, in each of its records, or under ``runs``. Seeds that a script fixes are in benchmarks/seeds.toml. What was made
before commits were recorded is in `STORED`, with the commit that stored it in stored.json; nothing may be added there.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
sys.path[:0] = [str(ROOT / "docs")]
from write_book import results, run_of, stored_by  # noqa: E402

NO_RUNS = {"stored.json", "published.json"}  # made from the history, and what others published, with its source
KEYS = {"commit": ("commit", "commits"), "command": ("command",), "seeds": ("seed", "seeds", "first_draw")}
SEEDS = tomllib.loads((ROOT / "benchmarks" / "seeds.toml").read_text("utf-8"))
COMMIT = re.compile(r"[0-9a-f]{7,8}")
STORED = {  # parts whose run recorded no commit
    "bare_cluster.json": {"aggregate", "maxent", "bags", "result_size"},
    "cgm_figures.json": {"methods", "places", "averages"},
    "growth_between.json": {"families"},
    "place_process.json": {"rows"},
    "distribution.json": {"gamma", "variable", "election", "points", "verdicts"},
}
SUMMARIES = ("summary", "means")  # of the parts beside them


def says(held: object, keys: tuple[str, ...]) -> bool:
    """Whether a part has one of these keys, at some depth; of a list, every entry."""
    if isinstance(held, dict) and any(key in held for key in keys):
        return True
    if isinstance(held, dict):
        return any(says(v, keys) for v in held.values() if isinstance(v, (dict, list)))
    return bool(held) and all(isinstance(v, (dict, list)) and says(v, keys) for v in held)


def missing(file: str, held: dict) -> dict[str, list[str]]:
    """By part of a file, what isn't known about its run."""
    found: dict[str, list[str]] = {}
    runs = held.get("runs", {})
    parts = {k: v for k, v in held.items() if isinstance(v, (dict, list)) and k not in ("runs", "seeds", *SUMMARIES)}
    for what, keys in KEYS.items():
        if any(key in held for key in keys) or (what == "seeds" and Path(file).stem in SEEDS):
            continue
        for name, part in parts.items():
            made = runs.get(name.removesuffix(" means"), {})
            if not any(key in made for key in keys) and not says(part, keys):
                found.setdefault(name, []).append(what)
    return found


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.name)
def test_results_say_command_commit_and_seeds(path):
    if path.name in NO_RUNS:
        return
    found = missing(path.name, json.loads(path.read_text("utf-8")))
    old = STORED.get(path.name, set())
    assert found.keys() == old
    assert all("commit" in lacks for lacks in found.values())
    for name in old:
        assert stored_by(path.name, name), f"{name} has changed since it was stored: record the commit of its run"


def test_results_without_a_record_are_found():
    bare = {"rows": [{"score": 1.0}], "other": {"score": 2.0, "commit": "abc1234", "command": "python x.py", "seed": 0}}
    assert missing("made.json", bare) == {"rows": ["commit", "command", "seeds"]}
    assert missing("made.json", bare | {"runs": {"rows": bare["other"]}}) == {}


# --- tables that compare ------------------------------------------------------------------------------------


def tables() -> list[dict]:
    """Tables of the comparison book."""
    items = tomllib.loads((ROOT / "docs" / "book" / "comparison.toml").read_text("utf-8"))["item"]
    return [item for item in items if "rows" in item or "each" in item]


def is_ours(column: str, row: str) -> bool:
    """Whether a cell is a figure of ours: by its column where columns name systems, else by its row."""
    return "ours" in column or column == "sumwise" or row.startswith("sumwise")


def commits_of_ours(item: dict) -> set[str]:
    """The commits that our figures in a table come from."""
    if "each" in item:
        file, _, path = item["each"].partition(" ")
        return {str(run_of(file, path.partition("/")[0]).get("commit"))}
    head, *rows = item["rows"]
    cells = [cell for row in rows for name, cell in zip(head, row) if is_ours(name, str(row[0]))]
    found = set()
    for cell in (str(cell)[1:] for cell in cells if str(cell).startswith("@")):
        file, _, path = cell.partition(" ")
        found.add(commit_at(results(file), path.rpartition(" ")[0]))
    return found


def commit_at(held: dict, path: str) -> str:
    """The commit of a value: of the innermost record on its path that names one, or of its part's run."""
    found = held.get("commit")
    found = held.get("runs", {}).get(path.partition("/")[0], {}).get("commit", found)
    for key in path.split("/"):
        held = held[int(key)] if isinstance(held, list) else held[key]
        found = held.get("commit", found) if isinstance(held, dict) else found
    return str(found)


@pytest.mark.parametrize("item", tables(), ids=lambda item: item["what"])
def test_a_comparison_has_our_figures_of_one_commit(item):
    found = commits_of_ours(item)
    assert len(found) <= 1, f"run our rows again: {sorted(found)}"
    assert all(COMMIT.fullmatch(commit) for commit in found), f"name one commit of ours, not {found}"


def test_a_mixed_table_is_found():
    mixed = [["system", "a"], ["sumwise, x", "@beside_others.json senc/sumwise, King/error .2f"],
             ["sumwise, y", "@contest_correction.json index/alone/all .2f"]]  # fmt: skip
    assert len(commits_of_ours({"rows": mixed})) == 2
    assert commits_of_ours({"rows": mixed[:2]}) == {commit_at(results("beside_others.json"), "senc")}


def test_a_section_that_is_run_alone_leaves_the_others_in_the_file():
    from distribution.tables import with_stored  # of benchmarks, which write_book puts on the path

    before = {"ridge": [{"a": 1}], "gamma": [{"b": 2}], "command": "python x.py"}
    assert with_stored({"ridge": [{"a": 3}], "clouds": []}, before) == {"ridge": [{"a": 3}], "gamma": [{"b": 2}]}
