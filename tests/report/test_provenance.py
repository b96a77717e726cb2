"""Provenance on the page."""

from __future__ import annotations

from sumwise.report.provenance import with_provenance
from sumwise.report.summary import Summary, text

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
