"""The result folder appears whole or not at all."""

from __future__ import annotations

import hashlib
import os

import pytest

from messages import raises
from sumwise.cli.study.folder import ResultFolder, file_facts, versions
from sumwise.errors import DataError


def write(out, content="1", key="k", **options):
    with ResultFolder(out, key, **options) as folder:
        for name in ("provenance.json", "summary.json"):
            (folder.files / name).write_text(content)
        folder.finish()


def interrupt(out, key="k", **options):
    with pytest.raises(KeyboardInterrupt), ResultFolder(out, key, **options) as folder:
        (folder.files / "summary.json").write_text("half")
        (folder.steps / "a.step").write_text("kept")
        raise KeyboardInterrupt


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_nothing_is_there_until_it_is_finished(tmp_path):
    interrupt(tmp_path / "r")
    assert names(tmp_path) == [".r.partial"]


def test_finished_results_leave_no_steps(tmp_path):
    write(tmp_path / "r")
    assert names(tmp_path) == ["r"]
    assert names(tmp_path / "r") == ["provenance.json", "summary.json"]


def test_an_interrupted_run_needs_a_word(tmp_path):
    out = tmp_path / "r"
    interrupt(out)
    with raises(DataError, "run-interrupted-continue"):
        write(out)
    with ResultFolder(out, "k", resume=True) as folder:
        assert (folder.steps / "a.step").read_text() == "kept"
        assert names(folder.files) == []  # the half-written file is gone
    with ResultFolder(out, "k", resume=True, restart=True) as folder:  # of the same problem
        assert names(folder.steps) == ["a.step"]
    with ResultFolder(out, "other", resume=True, restart=True) as folder:
        assert names(folder.steps) == []


def test_resume_is_for_the_same_problem_only(tmp_path):
    interrupt(tmp_path / "r")
    with raises(DataError, "unfinished-run-another"):
        write(tmp_path / "r", key="other", resume=True)
    with raises(DataError, "no-unfinished-run"):
        write(tmp_path / "s", resume=True)
    write(tmp_path / "s", resume=True, restart=True)  # together: go on if there is something to go on with


def test_an_earlier_result_is_replaced_only_when_asked(tmp_path):
    out = tmp_path / "r"
    write(out, "1")
    with raises(DataError, "result-already-add"):
        write(out, "2")
    interrupt(out, replace=True)
    assert (out / "summary.json").read_text() == "1"
    write(out, "2", replace=True, resume=True)
    assert (out / "summary.json").read_text() == "2"
    assert names(tmp_path) == ["r"]


def test_folders_with_other_files_are_never_touched(tmp_path):
    out = tmp_path / "r"
    out.mkdir()
    (out / "thesis.doc").touch()
    with raises(DataError, "folder-contains-other"):
        write(out, replace=True)
    assert names(out) == ["thesis.doc"]


def test_a_link_that_leads_nowhere_is_refused_before_the_work(tmp_path):
    (tmp_path / "r").symlink_to(tmp_path / "gone")
    with raises(DataError, "link-nothing-written"):
        write(tmp_path / "r", replace=True)
    assert names(tmp_path) == ["r"]


def test_a_kill_between_the_two_renames_loses_nothing(tmp_path):
    out = tmp_path / "r"
    write(out, "1")
    os.rename(out, tmp_path / ".r.old")
    with raises(DataError, "result-already-add"):
        write(out, "2")
    assert (out / "summary.json").read_text() == "1"


def test_a_run_that_did_nothing_leaves_nothing(tmp_path):
    with pytest.raises(DataError), ResultFolder(tmp_path / "r", "k"):
        raise DataError("bad input")
    assert names(tmp_path) == []


def test_two_runs_do_not_mix(tmp_path):
    with ResultFolder(tmp_path / "r", "k"), raises(DataError, "another-run-writing"):
        write(tmp_path / "r")
    write(tmp_path / "r")


def test_a_folder_in_no_folder_is_refused(tmp_path):
    with raises(DataError, "no-folder-make"):
        write(tmp_path / "x" / "r")


def test_two_that_start_at_once_lose_nothing(tmp_path):
    """The second once moved the first one's earlier result about while the first was putting its own in place."""
    out = tmp_path / "r"
    write(out, "0")
    with ResultFolder(out, "k", replace=True) as first:
        for name in ("provenance.json", "summary.json"):
            (first.files / name).write_text("1")
        os.rename(out, first.old)  # in the middle of `finish`
        with raises(DataError, "another-run-writing"):
            write(out, "2", replace=True)
        os.rename(first.old, out)
        first.finish()
    assert (out / "summary.json").read_text() == "1"
    assert names(tmp_path) == ["r"]


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
