"""Writing frames: whole or not at all, in the format that the ending asks for."""

import errno
from pathlib import Path

import pandas as pd
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.io.formats import write
from sumwise.io.formats.write import harmless, write_frame


@pytest.mark.parametrize("ending", sorted(write.FORMATS))
def test_every_ending_is_read_back_by_pandas(tmp_path, ending):
    frame = pd.DataFrame({"a": [0.1, 1 / 3], "b": ["x", "'; --"], "c": pd.Series([1, 2], dtype=object)})
    path = tmp_path / f"it's x{ending}"
    write_frame(frame, path)
    if "sv" in ending:
        found = pd.read_csv(path, sep="\t" if "tsv" in ending else ",")
    else:
        found = pd.read_parquet(path) if ending == ".parquet" else pd.read_feather(path)
    assert found.to_dict("list") == {"a": [0.1, 1 / 3], "b": ["x", "'; --"], "c": [1, 2]}


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text("old")

    def fail(*args):
        raise RuntimeError("disk full")

    monkeypatch.setattr(write, "_write", fail)
    with pytest.raises(RuntimeError, match="disk full"):
        write_frame(pd.DataFrame({"a": [1]}), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


def test_an_unknown_ending_is_refused(tmp_path):
    with raises(DataError, "ending-cant-written"):
        write_frame(pd.DataFrame({"a": [1]}), tmp_path / "x.xlsx")


def test_harmless_leaves_numbers_alone():
    frame = pd.DataFrame({"a": [1.5], "=b": ["+x"]})
    assert harmless(frame).to_dict("list") == {"a": [1.5], "'=b": ["'+x"]}


@pytest.mark.parametrize("text", ["=1+1", "+x", "-x", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1"])
def test_texts_that_a_spreadsheet_would_run_stand_behind_an_apostrophe(text):
    assert harmless(pd.DataFrame({"a": [text, "-3", "x"]}))["a"].tolist() == [f"'{text}", "-3", "x"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_a_full_disk_is_an_error_of_the_system_in_every_format(ending):
    with pytest.raises(OSError, match="No space left on device") as raised:
        write._write(pd.DataFrame({"a": range(100_000)}), "/dev/full", ending)
    assert raised.value.errno == errno.ENOSPC
