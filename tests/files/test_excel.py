"""Workbooks: titles above the header, several sheets, and the same checks as of text files."""

from __future__ import annotations

import zipfile

import pytest

from messages import raises
from sumwise.errors import DataError, UnknownName
from sumwise.io.formats import read_margins
from sumwise.io.formats.excel import open_excel
from sumwise.io.formats.grid import Strict
from sumwise.io.parsers import workbook

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
    sheet = open_excel(book, {}, Strict())
    assert sheet.columns == ("precinct", "young", "old", "yes", "no")
    assert sheet.row(0) == "row 4"
    assert sheet.remarks[0] == "row 1 of a.xlsx is treated as a title: 'Results 2020'."
    margins = read_margins(book, **SIDES)
    assert margins.rows.tolist() == [[60, 40], [10, 90]]
    assert margins.units.tolist() == ["007", "B"]
    assert read_margins(book, sheet="Votes", **SIDES) == read_margins(book, sheet=1, **SIDES) == margins


def test_sheets_that_are_not_there_are_refused(book):
    with raises(UnknownName, "no-did-you", "sheet", "Vote", "Votes"):
        open_excel(book, {"sheet": "Vote"}, Strict())
    with raises(DataError, "sheets-no-sheet", 3, 4):
        open_excel(book, {"sheet": 4}, Strict())
    with raises(DataError, "sheet-empty-name", "Empty"):
        open_excel(book, {"sheet": "Empty"}, Strict())


def test_flaws_are_named_by_row(book):
    made = openpyxl.load_workbook(book)
    made["Votes"]["C5"] = "*"
    made.save(book)
    with raises(DataError, "rows-first-withheld", "old", 1, 2, 5, "*"):
        read_margins(book, **SIDES)


def test_what_is_no_workbook_is_refused(tmp_path):
    (tmp_path / "a.xlsx").write_text("a,b\n1,2\n")
    with raises(DataError, "text-no-workbook"):
        open_excel(tmp_path / "a.xlsx", {}, Strict())
    (tmp_path / "a.xlsx").write_bytes(bytes(range(256)))
    with raises(DataError, "cant-read-complete-xlsx"):
        open_excel(tmp_path / "a.xlsx", {}, Strict())


def test_cells_of_a_sheet_without_names(book):
    assert open_excel(book, {"header": False}, Strict()).columns[:2] == ("c1", "c2")


def test_a_workbook_that_unpacks_to_anything_is_not_read(book, monkeypatch):
    monkeypatch.setattr("sumwise.io.formats.excel.FREE_SIZE", 10)
    monkeypatch.setattr("sumwise.io.formats.excel.EXPANSION", 1)
    with raises(DataError, "bytes-unpacks-isnt"):
        open_excel(book, {}, Strict())


def test_a_cell_far_away_takes_no_memory(book, monkeypatch):
    made = openpyxl.load_workbook(book)
    made.active["XFD5"] = 1  # the last column; the sheet says that all its rows are that wide
    made.save(book)
    monkeypatch.setattr(workbook, "MOST_CELLS", 2**14 + 40)  # one wide row
    assert workbook.parse(str(book), None, 2**28).num_rows > 1
    monkeypatch.setattr(workbook, "MOST_ROWS", 4)
    with raises(DataError, "sheet-more-rows", 4):
        workbook.parse(str(book), None, 2**28)


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
        open_excel(book, {}, Strict())


@pytest.mark.parametrize("number", [2, -5, 4])
def test_rows_out_of_order_are_refused_and_not_passed_over(book, number):
    with zipfile.ZipFile(book) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    parts[SHEET] = parts[SHEET].replace(b'<row r="5"', f'<row r="{number}"'.encode())
    with zipfile.ZipFile(book, "w") as forged:
        for name, content in parts.items():
            forged.writestr(name, content)
    with raises(DataError, "sheet-row-after", number, 4, "Votes"):
        open_excel(book, {}, Strict())


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"D5": "=B5-70"}, ("cells-sheet-hold", 1, "Votes", "D5", "B5-70")),
        ({f"{c}{r}": f"=Notes!{c}{r}" for c in "BCDE" for r in (4, 5)}, ("cells-sheet-hold", 8, "B4", "Notes!B4")),
        ({"A6": "=1+1", "G9": "=SUM(B4:B5)"}, ("cells-sheet-hold", 2, "A6")),
        ({"F4": openpyxl.worksheet.formula.ArrayFormula("F4:F5", "=B4:B5*2")}, ("cells-sheet-hold", 1, "F4")),
    ],
)
def test_formulas_without_values_are_refused(book, cells, said):
    made = openpyxl.load_workbook(book)
    for place, formula in cells.items():
        made["Votes"][place] = formula
    made.save(book)
    with raises(DataError, *said):
        open_excel(book, {}, Strict())
    with raises(DataError, "columns-no-rows"):  # another sheet's formulas are its own
        open_excel(book, {"sheet": "Notes"}, Strict())


def _with_values(book, values):
    """The workbook as a program that computes saves it: every formula with a value beside it."""
    with zipfile.ZipFile(book) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    for empty, cached in values.items():
        assert empty in parts[SHEET].decode()
        parts[SHEET] = parts[SHEET].replace(empty.encode(), cached.encode())
    with zipfile.ZipFile(book, "w") as saved:
        for name, content in parts.items():
            saved.writestr(name, content)


def test_formulas_with_values_are_read(book):
    made = openpyxl.load_workbook(book)
    made["Votes"]["E5"] = "=100-30"
    made["Votes"]["F5"] = '=""'
    made.save(book)
    with raises(DataError, "cells-sheet-hold", 2, "E5"):
        open_excel(book, {}, Strict())
    _with_values(book, {"<f>100-30</f><v></v>": "<f>100-30</f><v>70</v>", '<c r="F5">': '<c r="F5" t="str">'})
    assert read_margins(book, **SIDES).cols.tolist() == [[55, 45], [30, 70]]
