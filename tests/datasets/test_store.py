"""Finding, verifying and checking files: every way it can go wrong has its own words."""

import inspect
import re
from pathlib import Path

import pytest

from messages import raises
from sumwise import datasets
from sumwise.datasets import store
from sumwise.errors import DataError, UnknownName


def test_catalogue_lists_a_function_for_every_set():
    sets = datasets.catalogue()
    assert sets["name"].is_unique
    assert len(sets) == len(store.entries())
    for name in sets["name"]:
        assert inspect.isfunction(getattr(datasets, name)), name
        assert name in datasets.__all__


def test_catalogue_names_source_licence_and_checksum_for_every_file():
    for entry in store.entries().values():
        assert entry.source
        assert entry.licence
        assert entry.files
        for file in entry.files:
            assert len(file.sha256) == 64
            int(file.sha256, 16)


def test_every_set_that_is_present_loads():
    present = list(datasets.catalogue().query("present")["name"])
    if not present:
        pytest.skip("no public data set is on this machine (set SUMWISE_DATA)")
    for name in present:
        assert getattr(datasets, name)() is not None


def test_an_absent_file_says_where_the_original_is_and_which_checksum(fake):
    fake(write=False, sha256="ab" * 32)
    with raises(DataError, "data-set-needs", "toy", "toy.csv") as caught:
        store.read_csv("toy")
    assert "A. Author 1999, doi:10.0/toy" in str(caught.value)
    assert "ab" * 32 in str(caught.value)
    assert "SUMWISE_DATA" in str(caught.value)


def test_a_wrong_checksum_is_refused(fake):
    path = fake(sha256="cd" * 32)
    with pytest.raises(DataError, match="expected " + "cd" * 32) as caught:
        store.read_csv("toy")
    assert str(path) in str(caught.value)


def test_wrong_columns_are_refused(fake):
    fake(columns=("a", "c"))
    with raises(DataError, "file-other-columns"):
        store.read_csv("toy")


def test_columns_in_another_order_are_refused(fake):
    fake(columns=("b", "a"))
    with raises(DataError, "file-other-columns"):
        store.read_csv("toy")


def test_a_wrong_number_of_rows_is_refused(fake):
    fake(rows=7)
    with raises(DataError, "file-rows-expected", 1, 7):
        store.read_csv("toy")


def test_a_file_that_is_no_csv_is_refused(fake):
    fake(b"")
    with raises(DataError, "file-cant-read"):
        store.read_csv("toy")


def test_a_good_file_is_read(fake):
    fake("a,b\n01,2\n")
    assert store.read_csv("toy", text=["a"]).to_dict("records") == [{"a": "01", "b": 2}]


def test_a_file_is_hashed_again_only_after_a_change(fake, monkeypatch):
    path = fake()
    store.read_csv("toy")
    calls = []
    true_digest = store.hashlib.file_digest
    monkeypatch.setattr(store.hashlib, "file_digest", lambda *args: calls.append(1) or true_digest(*args))
    store.read_csv("toy")
    assert not calls
    path.write_text("a,b\n1,22\n")
    with raises(DataError, "file-data-set"):
        store.read_csv("toy")
    assert calls == [1]


def test_the_folder_beside_the_current_one_is_searched_last(fake, tmp_path, monkeypatch):
    path = fake()
    monkeypatch.delenv("SUMWISE_DATA")
    beside = tmp_path / "shared" / "data"
    beside.mkdir(parents=True)
    path.rename(beside / "toy.csv")
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    assert store.folders()[-1] == beside
    assert len(store.read_csv("toy")) == 1


def test_the_variable_is_searched_first(monkeypatch, tmp_path):
    monkeypatch.setenv("SUMWISE_DATA", str(tmp_path))
    assert store.folders()[0] == tmp_path


def test_an_unknown_set_or_file_is_named():
    with raises(UnknownName, "no-data-set", "nothing"):
        store.entry("nothing")
    with raises(UnknownName, "set-no-file", "x.csv"):
        store.entry("senc").file("x.csv")


def test_the_reference_page_lists_every_set():
    page = Path(__file__).parents[2] / "docs" / "reference" / "datasets.md"
    listed = set(re.findall(r"^\| `(\w+)` \|", page.read_text("utf-8"), re.MULTILINE))
    assert listed == set(store.entries())
