"""Workbooks: titles above the header, several sheets, and the same checks as of text files."""

from __future__ import annotations

import zipfile

import pytest

from sumwise.errors import DataError, UnknownName
from sumwise.readers import read_margins
from sumwise.readers.excel import open_excel

openpyxl = pytest.importorskip("openpyxl")
SIDES = {"rows": ["young", "old"], "cols": ["yes", "no"], "unit": "precinct"}


@pytest.fixture
def book(tmp_path):
    made = openpyxl.Workbook()
    page = made.active
    page.title = "Votes"
    for row in (
        ["Results 2020"],
        [],
        ["precinct", "young", "old", "yes", "no"],
        ["007", 60, 40, 55, 45],
        ["B", 10.0, 90, 30, 70],
    ):
        page.append(row)
    made.create_sheet("Notes").append(["nothing"])
    made.create_sheet("Empty")
    made.save(tmp_path / "a.xlsx")
    return tmp_path / "a.xlsx"


def test_header_is_found_and_rows_are_counted_as_excel_does(book):
    sheet = open_excel(book)
    assert sheet.columns == ("precinct", "young", "old", "yes", "no")
    assert sheet.row(0) == "row 4"
    assert sheet.remarks[0] == "the rows above the header of a.xlsx were treated as a title: 'Results 2020'."
    assert "the others ('Notes', 'Empty') are not" in sheet.remarks[1]
    margins = read_margins(book, **SIDES)
    assert margins.rows.tolist() == [[60, 40], [10, 90]]
    assert margins.units.tolist() == ["007", "B"]
    assert read_margins(book, sheet="Votes", **SIDES) == read_margins(book, sheet=1, **SIDES) == margins


def test_sheets_that_are_not_there_are_refused(book):
    with pytest.raises(UnknownName, match="no sheet 'Vote'. Hint: did you mean 'Votes'"):
        open_excel(book, "Vote")
    with pytest.raises(DataError, match="has 3 sheets, and no sheet 4"):
        open_excel(book, 4)
    with pytest.raises(DataError, match="the sheet 'Empty' is empty"):
        open_excel(book, "Empty")


def test_flaws_are_named_by_row(book):
    made = openpyxl.load_workbook(book)
    made["Votes"]["C5"] = "*"
    made.save(book)
    with pytest.raises(DataError, match=r"column 'old' is withheld in 1 of 2 rows\. First: row 5 has '\*'"):
        read_margins(book, **SIDES)


def test_what_is_no_workbook_is_refused(tmp_path):
    (tmp_path / "a.xlsx").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="is text, and no workbook"):
        open_excel(tmp_path / "a.xlsx")
    (tmp_path / "a.xlsx").write_bytes(bytes(range(256)))
    with pytest.raises(DataError, match="can't be read"):
        open_excel(tmp_path / "a.xlsx")


def test_cells_of_a_sheet_without_names(book):
    assert open_excel(book, header=False).columns[:2] == ("c1", "c2")


def test_a_workbook_that_unpacks_to_anything_is_not_read(book, monkeypatch):
    monkeypatch.setattr("sumwise.readers.excel.FREE_SIZE", 10)
    monkeypatch.setattr("sumwise.readers.excel.EXPANSION", 1)
    with pytest.raises(DataError, match="unpacks to .*; it isn't read"):
        open_excel(book)


def test_a_cell_far_away_takes_no_memory(book, monkeypatch):
    made = openpyxl.load_workbook(book)
    made.active["XFD5"] = 1  # the last column; the sheet says that all its rows are that wide
    made.save(book)
    monkeypatch.setattr("sumwise.readers.excel.MOST_CELLS", 2**14 + 40)  # one wide row
    assert len(open_excel(book).frame) > 1
    monkeypatch.setattr("sumwise.readers.excel.MOST_ROWS", 4)
    with pytest.raises(DataError, match="more than 4 rows"):
        open_excel(book)


ENTITIES = '<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
LAUGHS = '<!DOCTYPE l [<!ENTITY a "' + "x" * 1000 + '"><!ENTITY b "' + "&a;" * 100 + '"><!ENTITY c "' + "&b;" * 100
SHEET, LINKS = "xl/worksheets/sheet1.xml", "xl/_rels/workbook.xml.rels"


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        (SHEET, "<worksheet", ENTITIES + "<worksheet"),
        (SHEET, "<worksheet", LAUGHS + '">]><worksheet'),
        (SHEET, 'r="B4"', 'r="ZZZZZZZZ4"'),
        (SHEET, "<v>60</v>", "<v>" + "9" * 5000 + "</v>"),
        (SHEET, "<v>60</v></c>", "<v>60</c>"),
        (LINKS, "worksheets/sheet", "../../../etc/sheet"),
    ],
)
def test_forged_parts_of_a_workbook_are_refused(book, part, old, new):
    with zipfile.ZipFile(book) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    assert old in parts[part].decode()
    value = b"<v>&a;&c;</v>" if "!ENTITY" in new else b"<v>40</v>"
    parts[part] = parts[part].replace(old.encode(), new.encode()).replace(b"<v>40</v>", value)
    with zipfile.ZipFile(book, "w") as forged:
        for name, content in parts.items():
            forged.writestr(name, content)
    with pytest.raises(DataError):
        open_excel(book)


@pytest.mark.parametrize(
    ("number", "place"), [("2", "row 2 after row 4"), ("-5", "row -5 after row 4"), ("4", "row 4 after")]
)
def test_rows_out_of_order_are_refused_and_not_passed_over(book, number, place):
    with zipfile.ZipFile(book) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    parts[SHEET] = parts[SHEET].replace(b'<row r="5"', f'<row r="{number}"'.encode())
    with zipfile.ZipFile(book, "w") as forged:
        for name, content in parts.items():
            forged.writestr(name, content)
    with pytest.raises(DataError, match=f"the sheet 'Votes' has {place}"):
        open_excel(book)
