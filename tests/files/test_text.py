"""Text files before they are read."""

import gzip

import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.io.formats.text import as_utf8, encoding_remark, inspect_text


def found(tmp_path, body, **options):
    path = tmp_path / "x.csv"
    path.write_bytes(body)
    return inspect_text(path, **options)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"a,b\n1,2\n", "utf-8"),
        ("a,ü\n1,2\n".encode(), "utf-8"),
        ("a,ü\n1,2\n".encode("latin-1"), "latin-1"),
        (b"\xef\xbb\xbfa,b\n", "utf-8-sig"),
        ("a,b\n".encode("utf-16"), "utf-16"),
        ("a,b\n1,2\n".encode("utf-16-le"), "utf-16-le"),
        ("a,b\n1,2\n".encode("utf-16-be"), "utf-16-be"),
        (b"a,b\n1,\xc3", "latin-1"),
    ],
)
def test_encoding_is_found(tmp_path, body, encoding):
    assert found(tmp_path, body).encoding == encoding


@pytest.mark.parametrize(
    ("body", "separator"),
    [
        (b"a,b\n", ","),
        (b"a;b\n1,5;2\n", ";"),
        (b"a\tb\n", "\t"),
        (b'"a,b";c\n', ";"),
        (b"a,x;b\n1;2\n3;4\n", ";"),
        (b"alone\n1\n", ","),
        (b"sep=|\na|b\n", "|"),
    ],
)
def test_separator_is_found(tmp_path, body, separator):
    assert found(tmp_path, body).separator == separator


def test_lines_are_counted_with_blank_and_quoted_ones(tmp_path):
    file = found(tmp_path, b'\na,b\n1,2\n\n"x\ny",2\n3,4\n')
    assert [file.line(i) for i in range(3)] == [3, 5, 7]
    assert file.ragged() is None
    assert found(tmp_path, b"a,b\n1,2\n\n3\n").ragged() == (4, 1)


def test_unnamed_columns_get_a_name(tmp_path):
    assert found(tmp_path, b",a,\n0,1,\n").columns == ("(unnamed 1)", "a", "(unnamed 3)")


def test_only_line_ends_end_a_line(tmp_path):
    file = found(tmp_path, "a\u2028b,c\x0b\n1,2\n".encode())
    assert file.columns == ("a\u2028b", "c")


def test_copies_are_made_only_where_needed(tmp_path):
    plain = found(tmp_path, b"a,b\n1,2\n")
    with as_utf8(plain) as same:
        assert same is plain
    with as_utf8(found(tmp_path, "a,ü\n1,2\n".encode("latin-1"))) as copy:
        assert copy.path.read_text(encoding="utf-8") == "a,ü\n1,2\n"
    assert not copy.path.exists()


def test_a_wrong_encoding_is_refused(tmp_path):
    file = found(tmp_path, "a,ü\n".encode("latin-1"), encoding="ascii")
    with raises(DataError, "not-encoding", "ascii"), as_utf8(file):
        pass


def test_a_gzip_that_breaks_off_is_refused(tmp_path):
    body = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)[:-20]
    with raises(DataError, "cant-read-file"):
        found(tmp_path, body)


def test_records_of_a_gzip_that_breaks_off_behind_its_beginning_are_refused(tmp_path):
    rows = "".join(f"{i},{str(7919 * i) * 150}\n" for i in range(3000))  # more than is inspected
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(f"a,b\n{rows}".encode())[:-2000])
    file = inspect_text(tmp_path / "cut.csv.gz", encoding="utf-8")
    with raises(DataError, "cant-read-file"):
        list(file.records())


def test_utf_32_is_not_taken_for_utf_16(tmp_path):
    assert found(tmp_path, "a,b\n1,2\n".encode("utf-32")).columns == ("a", "b")


def test_encoding_that_the_file_has_not_is_refused(tmp_path):
    with raises(DataError, "not-encoding-leave", "utf-16", 16):
        found(tmp_path, b"a,b\n1,2\n", encoding="utf-16")


def test_files_without_a_header_have_numbered_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("\n1,x\n2,y\n")
    found = inspect_text(path, header=False)
    assert found.columns == ("c1", "c2")
    assert (found.line(0), found.line(1), found.line(9)) == (2, 3, 10)
    with raises(DataError, "header-true-false", "no"):
        inspect_text(path, header="no")


def test_mixed_encodings_are_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("unit,n\nZürich,1\n".encode("latin-1") + "Genève,2\n".encode())
    with raises(DataError, "mixes-encodings-row", 3):
        inspect_text(path)
    assert inspect_text(path, encoding="latin-1").encoding == "latin-1"


def test_titles_above_the_header_are_skipped_and_kept(tmp_path):
    file = found(tmp_path, b"Results, 2020\nsource;;\n\nunit;a;b\nx;1;2\ny;3;4\n")
    assert file.columns == ("unit", "a", "b")
    assert file.title == "Results, 2020 source"
    assert file.line(1) == 6
    plain = found(tmp_path, b"a;b;c\n1,5;2,5;3\n1,5;2,5;4\n")  # decimal commas make no title of the header
    assert plain.columns == ("a", "b", "c")


@pytest.mark.parametrize(("word", "encoding"), [("合计选区", "gb18030"), ("участок", "cp1251")])
def test_other_alphabets_are_not_taken_for_latin(tmp_path, word, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(f"{word},n\nA,1\n".encode(encoding))
    with raises(DataError, "neither-utf-nor", 1):
        inspect_text(path)
    assert inspect_text(path, encoding).columns == (word, "n")


def test_names_that_are_alike_get_the_heading_above_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("People,,,Votes,,\nold,young,Total,yes,no,Total\n1,2,3,2,1,3\n4,5,9,4,5,9\n")
    assert inspect_text(path).columns == ("old", "young", "People Total", "yes", "no", "Votes Total")


def test_zero_bytes_are_refused_by_row(tmp_path):
    with raises(DataError, "contains-zero-bytes", 2):
        found(tmp_path, b"a,b\n1,\x00\n")


@pytest.mark.parametrize(
    "name", ["O’Neil", "men’s", "“North” 2", "2 – 3", "Smith–Jones", "€5 fee", "d’Étage – œuvre’s"]
)
def test_windows_1252_is_read_where_its_signs_show_it(tmp_path, name):
    file = found(tmp_path, f"unit,n\n{name},1\nPeña,2\n".encode("cp1252"))
    assert file.encoding == "cp1252"
    assert encoding_remark(file.path, file.encoding)[0].endswith(
        f"was read as Windows-1252 (cp1252): row 2 has {name!r}."
    )


@pytest.mark.parametrize(
    ("name", "encoding"), [("García", "mac_roman"), ("Peña", "mac_roman"), ("Malmö", "cp850"), ("Łódź’s", "cp1250")]
)
def test_other_encodings_are_not_taken_for_windows_1252(tmp_path, name, encoding):
    with raises(DataError, "neither-utf-nor"):
        found(tmp_path, f"unit,n\n{name},1\n".encode(encoding))
