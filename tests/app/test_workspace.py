"""Folders of studies, and what may be put into and read from them."""

import asyncio
import json

import pytest

from messages import raises
from sumwise.app.workspace import Workspace, is_result, read_json, safe_filename, write_json
from sumwise.errors import DataError


async def parts(*chunks):
    for chunk in chunks:
        yield chunk


def received(workspace, name, *chunks, study=None):
    return asyncio.run(workspace.receive(parts(*chunks), name, study))


@pytest.mark.parametrize(
    ("given", "safe"),
    [
        ("votes.csv", "votes.csv"),
        ("../../etc/x.csv", "x.csv"),
        ("C:\\data\\a b.xlsx", "a b.xlsx"),
        ("<script>.csv", "script.csv"),
        ("été.parquet", "été.parquet"),
        ("e\u0301te\u0301.parquet", "été.parquet"),  # as macOS writes it
        ("данные 2024.csv", "данные 2024.csv"),
        ("\N{GRINNING FACE}.CSV", "data.CSV"),
        ("a\u202egnp.csv", "a_gnp.csv"),
        (".hidden.csv", "hidden.csv"),
        ("-rf.csv.gz", "rf.csv.gz"),
        ("я" * 300 + ".csv", "я" * 60 + ".csv"),
    ],
)
def test_names_of_files_become_plain(given, safe):
    assert safe_filename(given) == safe


@pytest.mark.parametrize("given", ["a.exe", "csv", "a.csv.sh", "", "..csv/x"])
def test_other_endings_are_refused(given):
    with raises(DataError, "ending-sumwise-doesnt"):
        safe_filename(given)


def test_an_upload_appears_whole_and_makes_a_study(tmp_path):
    workspace = Workspace(tmp_path / "ws")
    assert received(workspace, "votes.csv", b"a,b\n", b"1,2\n") == "votes"
    assert received(workspace, "votes.csv", b"c\n") == "votes-2"
    assert received(workspace, "more.csv", b"d\n", study="votes") == "votes"
    assert workspace.data_files("votes") == ["more.csv", "votes.csv"]
    assert (tmp_path / "ws" / "votes" / "votes.csv").read_bytes() == b"a,b\n1,2\n"
    assert set(workspace.names()) == {"votes", "votes-2"}


def test_large_and_empty_uploads_leave_nothing(tmp_path, monkeypatch):
    workspace = Workspace(tmp_path)
    monkeypatch.setattr("sumwise.app.workspace.MOST_BYTES", 5)
    with raises(DataError, "file-larger-gib"):
        received(workspace, "big.csv", b"1234", b"5678")
    with raises(DataError, "file-empty-choose"):
        received(workspace, "none.csv")
    assert list(tmp_path.iterdir()) == []


def test_only_files_below_a_study_are_found(tmp_path):
    workspace = Workspace(tmp_path / "ws")
    received(workspace, "a.csv", b"x")
    folder = tmp_path / "ws" / "a"
    (folder / "result").mkdir()
    (folder / "result" / "report.html").write_text("hi")
    (folder / ".secret").write_text("no")
    (tmp_path / "outside").write_text("no")
    (folder / "link").symlink_to(tmp_path / "outside")
    assert workspace.file("a", "result/report.html").read_text() == "hi"
    for path in ("../../outside", "..", ".secret", "link", "result", "none", "result/../../../outside"):
        assert workspace.file("a", path) is None
    with raises(DataError, "no-study-go"):
        workspace.study("../ws")


def test_a_result_is_a_workspace_to_look_at(tmp_path):
    for name in ("summary.json", "provenance.json"):
        (tmp_path / name).write_text("{}")
    workspace = Workspace(tmp_path)
    assert is_result(tmp_path)
    assert workspace.names() == [tmp_path.name]
    assert workspace.result(tmp_path.name) == tmp_path.resolve()
    with raises(DataError, "finished-result-look"):
        received(workspace, "a.csv", b"x")


def test_json_is_written_whole_and_damage_reads_as_nothing(tmp_path):
    write_json(tmp_path / "a.json", {"x": 1})
    assert json.loads((tmp_path / "a.json").read_text()) == {"x": 1}
    (tmp_path / "b.json").write_text("{")
    assert read_json(tmp_path / "b.json") is None
    assert read_json(tmp_path / "none.json") is None
