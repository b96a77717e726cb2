"""Temporary files, and what is done where there is no folder for them."""

import os
import tempfile

import pytest

from sumwise import aggregate
from sumwise.errors import DataError
from sumwise.readers.files import open_sheet
from sumwise.storage.temporary import scratch_file, scratch_folder, temporary_files_beside


@pytest.fixture
def nowhere(monkeypatch):
    """No folder for temporary files, as in a read-only container."""

    def none():
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_get_default_tempdir", none)


def test_a_file_is_gone_afterwards():
    with scratch_file("x.csv") as path:
        path.write_text("a")
        assert path.name == "x.csv"
    assert not path.parent.exists()


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="files in memory are Linux's")
def test_files_are_read_without_a_folder(nowhere, tmp_path):
    assert scratch_folder() is None
    (tmp_path / "x.csv").write_bytes("café,b\n1,2\n3,4\n".encode("latin-1"))
    assert list(open_sheet(tmp_path / "x.csv").frame["café"]) == [1, 3]
    (tmp_path / "y.csv").write_text("a,b\nx,u\ny,v\nx,v\n")
    assert aggregate.aggregate(tmp_path / "y.csv", ["a", "b"]).n == 3


def test_without_a_folder_or_memory_the_error_names_the_variable(nowhere, monkeypatch):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    with pytest.raises(DataError, match="TMPDIR"), scratch_file("x.csv"):
        pass


def test_the_folder_of_the_result_serves_for_temporary_files(nowhere, tmp_path):
    temporary_files_beside(tmp_path / "new" / "result")
    assert tempfile.tempdir == str(tmp_path)


def test_a_folder_that_is_there_is_kept(tmp_path):
    before = tempfile.gettempdir()
    temporary_files_beside(tmp_path / "result")
    assert tempfile.gettempdir() == before
