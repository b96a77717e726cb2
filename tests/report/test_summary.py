"""The summary: blocks of plain values in a fixed order."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from sumwise.report.summary import MOST_ROWS, SECTIONS, Summary, figure, finding, plain, table, text, with_provenance

FACTS = {
    "command": "sumwise fit p.toml",
    "method": "King",
    "seed": 3,
    "options": {"erho": 0.5},
    "problem": "family = 1",
    "data": [{"file": "a.csv", "bytes": 12, "sha256": "ff"}],
    "versions": {"sumwise": "1"},
    "written": "now",
    "seconds": 1.0,
}


def test_sections_come_in_their_order_whatever_the_order_of_adding():
    summary = Summary("t", "f", "m", ["lead"])
    for key in reversed(SECTIONS):
        summary.add(key, text(key), None)
    told = summary.to_dict()
    assert [section["key"] for section in told["sections"]] == list(SECTIONS)
    assert all(len(section["blocks"]) == 1 for section in told["sections"])


def test_unknown_section_is_refused():
    with pytest.raises(KeyError):
        Summary("t", "f", "m").add("epilogue", text("x"))


def test_summary_is_json_whatever_it_holds():
    summary = Summary("t", "f", "m", record={"a": np.array([1.0, np.inf]), "b": np.int64(3), "c": (1, np.nan)})
    summary.add("found", figure("training_curve", {"values": [np.arange(2.0)]}, "c"))
    read = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    assert read["record"] == {"a": [1.0, None], "b": 3, "c": [1, None]}
    assert read["sections"][0]["blocks"][0]["numbers"] == {"values": [[0.0, 1.0]]}


def test_table_keeps_the_first_rows_and_tells_how_many_there_are():
    block = table(pd.DataFrame({"x": range(MOST_ROWS + 5), "ok": [True] * (MOST_ROWS + 5)}), "T", file="x.csv")
    assert len(block["rows"]) == MOST_ROWS
    assert block["n_rows"] == MOST_ROWS + 5
    assert [c["kind"] for c in block["columns"]] == ["number", "yes"]


def test_plain_keeps_text_and_turns_the_unknown_into_text():
    assert plain({"a": pd.Timestamp("2020-01-02"), "b": None, "c": "x"}) == {
        "a": "2020-01-02 00:00:00",
        "b": None,
        "c": "x",
    }


def test_a_finding_without_estimate_gives_its_bounds():
    found = finding("a who chose x", None, lower_bound=0.2, upper_bound=0.9)
    assert found["line"] == "a who chose x: 20.0% to 90.0%, whatever the model."


def test_findings_of_counts_and_numbers_are_written_as_such():
    assert finding("Birds", 1234.0, "count", ends=(1000.0, 1500.0))["line"] == "Birds: 1,234 (1,000 to 1,500)."
    assert finding("R squared", 0.5, "number")["line"] == "R squared: 0.500."


def test_provenance_is_the_last_section_and_leaves_the_summary_alone():
    summary = Summary("t", "f", "m")
    summary.add("provenance", text("Rescaled."))
    told = summary.to_dict()
    section = with_provenance(told, FACTS)["sections"][-1]
    assert section["blocks"][0] == text("Rescaled.")
    shown = str(section)
    for word in ("sumwise fit p.toml", "a.csv", "ff", "erho", "family = 1"):
        assert word in shown
    assert len(told["sections"][-1]["blocks"]) == 1


def test_provenance_makes_its_section_where_there_is_none():
    assert with_provenance({"sections": []}, FACTS)["sections"][0]["key"] == "provenance"
