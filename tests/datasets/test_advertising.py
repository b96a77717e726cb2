"""Logs that users bring: streamed in chunks, refused with words where they aren't what they should be."""

import gzip

import pytest

from sumwise import datasets
from sumwise.datasets.advertising import ATTRIBUTION, HASHES, PAIRS, SINGLES
from sumwise.errors import DataError, UnknownName


def write(path, header, rows, separator=","):
    lines = [separator.join(header), *(separator.join(map(str, row)) for row in rows)]
    body = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(body) if path.suffix == ".gz" else body)
    return path


@pytest.mark.parametrize("suffix", ["log.tsv", "log.tsv.gz"])
def test_attribution_comes_in_chunks(tmp_path, suffix):
    rows = [[i] * len(ATTRIBUTION) for i in range(5)]
    path = write(tmp_path / suffix, ATTRIBUTION, rows, "\t")
    chunks = list(datasets.criteo_attribution(path, columns=["cat1", "click"], chunk_rows=2))
    assert [len(c) for c in chunks] == [2, 2, 1]
    assert list(chunks[0].columns) == ["cat1", "click"]
    assert [x for c in chunks for x in c["click"]] == [0, 1, 2, 3, 4]


def test_adkdd_rows_with_and_without_labels(tmp_path):
    labelled = write(tmp_path / "small_train.csv", (*HASHES, "click", "sale"), [range(21)])
    blind = write(tmp_path / "X_test.csv.gz", HASHES, [range(19)])
    assert next(datasets.adkdd_rows(labelled)).shape == (1, 21)
    assert next(datasets.adkdd_rows(blind)).shape == (1, 19)


def test_adkdd_aggregates_of_singles_and_pairs(tmp_path):
    singles = write(tmp_path / "singles.csv", SINGLES, [[7, 0, 100.5, 3.2, -1.0]])
    pairs = write(tmp_path / "pairs.csv", PAIRS, [[7, 8, 0, 1, 50.5, 3.2, -1.0]])
    assert next(datasets.adkdd_aggregates(singles))["count"].item() == 100.5
    assert next(datasets.adkdd_aggregates(pairs))["sale"].item() == -1.0


def test_other_columns_are_refused_at_the_call(tmp_path):
    path = write(tmp_path / "log.tsv", ["a", "b"], [[1, 2]], "\t")
    with pytest.raises(DataError, match="has the columns a, b; expected timestamp, uid"):
        datasets.criteo_attribution(path)


def test_an_unknown_column_is_refused(tmp_path):
    path = write(tmp_path / "log.tsv", ATTRIBUTION, [], "\t")
    with pytest.raises(UnknownName, match="no column 'cat10'"):
        datasets.criteo_attribution(path, columns=["cat10"])


def test_an_empty_file_and_no_file_are_refused(tmp_path):
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(DataError, match="can't be read"):
        datasets.adkdd_rows(tmp_path / "empty.csv")
    with pytest.raises(DataError, match=r"There is no file .*arXiv:2201\.13123"):
        datasets.adkdd_rows(tmp_path / "none.csv")


@pytest.mark.parametrize("chunk_rows", [0, -1, True, 1.5])
def test_chunk_rows_must_be_positive(tmp_path, chunk_rows):
    path = write(tmp_path / "x.csv", HASHES, [])
    with pytest.raises(DataError, match="chunk_rows"):
        datasets.adkdd_rows(path, chunk_rows=chunk_rows)


def test_a_gzip_that_breaks_off_is_refused(tmp_path):
    path = write(tmp_path / "x.csv.gz", HASHES, [range(19)] * 20_000)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"breaks off|can't be read"):
        list(datasets.adkdd_rows(path, chunk_rows=1000))


@pytest.mark.parametrize("path", [None, 3])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(DataError, match="The path is"):
        datasets.adkdd_rows(path)
