"""Tables and figures of a report as files for offices and journals."""

import importlib.util
import re
import shutil
import stat
import subprocess

import numpy as np
import pytest

from messages import raises
from sumwise import Margins
from sumwise.ecological import Goodman
from sumwise.errors import DataError, MissingExtra
from sumwise.report import Report, export_figures, export_tables, report
from sumwise.report.exports import BROWSERS, Sheet, _sheet_name, latex_text, shown, tables_of, write_pdf


@pytest.fixture(scope="module")
def found():
    x = np.linspace(50, 450, 30).round()
    rows = np.stack([x, 500 - x], axis=1)
    yes = (0.7 * rows[:, 0] + 0.2 * rows[:, 1]).round()
    names = {"row_names": ["=1+1", "R&D_50%"], "col_names": ["yes", "no"]}
    margins = Margins(rows, np.stack([yes, 500 - yes], axis=1), **names)
    return report(Goodman(constrained=True).fit(margins), margins)


def test_every_table_has_a_sheet_with_numbers_and_no_formulas(found, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(export_tables(found, tmp_path / "t.xlsx"))
    assert len(book.sheetnames) == len({sheet.title for sheet in tables_of(found)})
    cells = [cell for page in book for line in page.iter_rows() for cell in line]
    assert not [cell for cell in cells if cell.data_type == "f"]
    assert any(cell.value == "=1+1" for cell in cells)
    assert any(isinstance(cell.value, float) and cell.number_format == "0.0%" for cell in cells)
    assert all(page.freeze_panes == "A2" for page in book)


def test_latex_escapes_names_and_repeats_heads(found, tmp_path):
    text = export_tables(found, tmp_path / "t.tex").read_text("utf-8")
    assert r"R\&D\_50\%" in text
    titles = {sheet.title for sheet in tables_of(found)}
    found_tables = re.findall(r"begin{longtable}{((?:[lr]|p{[\d.]+em})+)}\n(.*?)\\end{longtable}", text, re.DOTALL)
    assert len(found_tables) == len(titles)
    for table in found_tables:
        rows = [line for line in table[1].splitlines() if line.endswith((r"\\", r"\hline")) and "caption" not in line]
        bare = [re.sub(r"\\\\ *(\\hline)?$", "", line) for line in rows]
        assert {len(re.findall(r"(?<!\\)&", line)) + 1 for line in bare} == {len(re.sub(r"{.*?}", "", table[0]))}
        assert not any(re.search(r"(?<!\\)[%$#_^~<>]", line) for line in bare)
        assert all(line.count("{") == line.count("}") for line in bare)
    assert text.count(r"\endhead") == text.count(r"\begin{longtable}") == len(titles)
    assert latex_text("[x] <y>") == r"{[}x{]} \textless{}y\textgreater{}"
    assert latex_text("a\\b{~}^$#") == r"a\textbackslash{}b\{\textasciitilde{}\}\textasciicircum{}\$\#"


@pytest.mark.check
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_latex_takes_the_tables_and_they_fit_on_the_page(found, tmp_path):
    export_tables(found, tmp_path / "t.tex")
    text = (
        r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{longtable}\begin{document}\input{t}\end{document}"
    )
    (tmp_path / "a.tex").write_text(text)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    said = done.stdout.decode("latin-1")
    assert done.returncode == 0, said[-2000:]
    assert not [w for w in re.findall(r"Overfull .hbox \(([\d.]+)pt", said) if float(w) > 3]


def test_documents_have_a_table_each_with_a_repeated_head(found, tmp_path):
    docx = pytest.importorskip("docx")
    document = docx.Document(str(export_tables(found, tmp_path / "t.docx")))
    assert len(document.tables) == len({sheet.title for sheet in tables_of(found)})
    assert all("tblHeader" in table.rows[0]._tr.xml for table in document.tables)
    reasons = [finding["because"] for finding in found.summary["findings"]]
    assert reasons
    assert all(any(p.text.endswith(because) for p in document.paragraphs) for because in reasons)


def test_tables_that_the_page_cuts_are_whole(found, tmp_path):
    units = next(sheet for sheet in tables_of(found) if sheet.title == "Every unit")
    assert isinstance(units, Sheet)
    assert len(units.rows) == 30 * 4


def test_figures_are_written_as_vector_graphics(found, tmp_path):
    files = export_figures(found, tmp_path / "figures")
    assert len(files) == 2 * len(found.figures)
    assert files[0].read_text("utf-8").lstrip().startswith("<")
    assert files[1].read_bytes().startswith(b"%PDF")
    with raises(DataError, "figures-cant-written", "png"):
        export_figures(found, tmp_path, ("png",))


def test_other_endings_are_refused_and_leave_nothing(found, tmp_path):
    with raises(DataError, "tables-cant-written", ".odt"):
        export_tables(found, tmp_path / "t.odt")
    assert not list(tmp_path.iterdir())


def test_values_read_as_on_the_page_and_sheet_names_are_distinct():
    pairs = [(0.25, "share"), (1234.0, "count"), (None, "number"), (True, "yes"), (0.1, "points")]
    assert [shown(v, kind) for v, kind in pairs] == ["25.0%", "1,234", "", "yes", "+10.0"]
    taken: set[str] = set()
    assert _sheet_name("a/b: " + "c" * 40, taken) != _sheet_name("a/b: " + "c" * 40, taken)
    assert all(len(name) <= 31 for name in taken)


def test_a_table_is_written_once_and_probabilities_never_read_as_certainty(tmp_path):
    columns = [{"name": "group", "kind": "text"}, {"name": "probability", "kind": "chance"}]
    block = {"kind": "table", "title": "First choice", "columns": columns, "n_rows": 2}
    block["rows"] = [["a", 1.0], ["b", 0.4]]
    made = Report({"title": "t", "sections": [{"blocks": [block]}, {"blocks": [dict(block)]}]}, {})
    text = export_tables(made, tmp_path / "tables.tex").read_text("utf-8")
    assert text.count("begin{longtable}") == 1
    assert r"\textgreater{}0.99" in text
    assert "0.40" in text


def browser(folder, monkeypatch, script):
    """A stand-in for the browser: a shell script of its name."""
    path = folder / "chromium"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(shutil, "which", lambda name: str(path) if name == "chromium" else None)


def test_the_browser_prints_to_the_file(tmp_path, monkeypatch):
    script = 'for a in "$@"; do case "$a" in --print-to-pdf=*) echo "%PDF $*" > "${a#--print-to-pdf=}";; esac; done'
    browser(tmp_path, monkeypatch, script)
    (tmp_path / "page.html").write_text("x")
    made = write_pdf(tmp_path / "page.html", tmp_path / "out.pdf").read_text()
    assert made.startswith("%PDF")
    assert "page.html" in made
    assert "--disable-background-networking" in made


def test_a_browser_that_fails_is_reported(tmp_path, monkeypatch):
    browser(tmp_path, monkeypatch, "echo broken >&2; exit 3")
    with raises(DataError, "could-not-print", "chromium", "broken"):
        write_pdf(tmp_path / "page.html", tmp_path / "out.pdf")
    assert not (tmp_path / "out.pdf").exists()


def test_without_any_printer_the_message_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with raises(MissingExtra, "pdf-needs-chromium"):
        write_pdf(tmp_path / "page.html", tmp_path / "out.pdf")
    assert "chromium" in BROWSERS
