"""Hashes and versions."""

from __future__ import annotations

import hashlib

from sumwise.study.provenance import file_facts, versions


def test_file_facts_are_those_of_the_bytes(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x" * 3_000_000)
    told = file_facts(tmp_path / "a.csv", "data/a.csv")
    assert told == {"file": "data/a.csv", "bytes": 3_000_000, "sha256": hashlib.sha256(b"x" * 3_000_000).hexdigest()}


def test_a_folder_changes_with_its_files_and_their_names(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "a").write_text("1")
    first = file_facts(folder, "t")["sha256"]
    (folder / "a").rename(folder / "b")
    assert file_facts(folder, "t")["sha256"] != first
    assert file_facts(folder, "t")["bytes"] == 1


def test_versions_name_what_computes():
    assert {"sumwise", "python", "numpy", "scipy", "duckdb"} <= set(versions())
