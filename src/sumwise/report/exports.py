"""Tables of a report as xlsx, LaTeX or docx, its figures as SVG and PDF; a page as PDF by a browser or WeasyPrint."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from sumwise.errors import DataError, MissingExtra
from sumwise.extras import require
from sumwise.io.writer import make_folder, new_file, write_bytes, write_text
from sumwise.report.summary import sentences

LATEX_SIZES = {r"\normalsize": 62, r"\small": 68, r"\footnotesize": 76, r"\scriptsize": 88, r"\tiny": 104}
"""Letters that fit across a page of LaTeX's article, by their size."""
LATEX_BROKEN = (24, 16, 11)
"""Letters in a line of long texts: the fewer, the wider the table is."""
LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",  # plain ones print as inverted marks in LaTeX's own font encoding
    ">": r"\textgreater{}",
    "[": "{[}",  # after a line's end it would begin an option
    "]": "{]}",
}

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-pdf-header-footer",
)


class Sheet(NamedTuple):
    """A table of a report, with all of its rows."""

    title: str
    columns: list[dict[str, str]]
    rows: list[list[Any]]


def tables_of(report: Any) -> Iterator[Sheet]:
    """All tables of a report, those behind figures too; tables that the page cuts are whole here."""
    for section in report.summary["sections"]:
        for block in section["blocks"]:
            sheet = block if block["kind"] == "table" else block.get("table")
            if sheet:
                yield Sheet(sheet["title"], sheet["columns"], _all_rows(report, sheet))


def likely(columns: list[dict[str, str]], rows: list[list[Any]]) -> tuple[list, list]:
    """Columns and rows of a table, with probabilities that never read as certainty."""
    from sumwise.voting.candidates_of_choice import probability_text

    at = [k for k, c in enumerate(columns) if c["name"] == "probability"]
    if not at:
        return columns, rows
    said = [
        [probability_text(v) if k in at and isinstance(v, (int, float)) else v for k, v in enumerate(row)]
        for row in rows
    ]
    return [{**c, "kind": "text"} if k in at else c for k, c in enumerate(columns)], said


def _once(report: Any) -> list[Sheet]:
    """The tables to write: one that stands in two places of a page is written once."""
    sheets: list[Sheet] = []
    for sheet in tables_of(report):
        likely_sheet = Sheet(sheet.title, *likely(sheet.columns, sheet.rows))
        if likely_sheet not in sheets:
            sheets.append(likely_sheet)
    return sheets


def _all_rows(report: Any, block: dict[str, Any]) -> list[list[Any]]:
    name = Path(block.get("file") or "").stem
    if len(block["rows"]) == block["n_rows"] or name not in report.frames:
        return block["rows"]
    return report.frames[name].to_numpy(dtype=object).tolist()


def export_tables(report: Any, path: Any) -> Path:
    """Write every table of a report to one file: .xlsx, .tex or .docx by the path's ending.

    Parameters
    ----------
    report : Report
    path : path
        ``.xlsx`` has a sheet per table, with numbers as numbers; ``.tex`` a longtable each (package ``longtable``),
        whose head repeats on every page; ``.docx`` a heading and a table each. The first and the last need the extra
        ``office``.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import Goodman
    >>> from sumwise.report import export_tables, report
    >>> margins = synthetic.precincts(40, random_state=0).margins
    >>> found = report(Goodman(constrained=True).fit(margins), margins)
    >>> path = export_tables(found, pathlib.Path(tempfile.mkdtemp()) / "tables.tex")
    >>> "begin{longtable}" in path.read_text("utf-8")
    True
    """
    path = Path(path)
    writers = {".xlsx": _xlsx, ".tex": _latex, ".docx": _docx}
    if path.suffix not in writers:
        raise DataError(
            f"Tables can't be written as {path.suffix or 'a file without an ending'!r}.", hint=".xlsx, .tex or .docx."
        )
    sheets = _once(report)
    if not sheets:
        raise DataError("The report has no tables.", hint="nothing was written.")
    with new_file(path) as file:
        writers[path.suffix](report, sheets, file)
    return path


def shown(value: Any, kind: str) -> str:
    """A value as a reader sees it: shares in percent, counts whole."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool) or kind == "yes":
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        forms = {"share": "{:.1%}", "count": "{:,.0f}", "points": "{:+.1f}", "p": "{:.3f}"}
        scaled = 100 * value if kind == "points" else value
        return forms.get(kind, "{:.4g}").format(scaled)
    return str(value)


def _xlsx(report: Any, sheets: list[Sheet], file: IO[bytes]) -> None:
    openpyxl = require("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    taken: set[str] = set()
    for sheet in sheets:
        page = book.create_sheet(_sheet_name(sheet.title, taken))
        for r, line in enumerate([[c["name"] for c in sheet.columns], *sheet.rows], start=1):
            for c, value in enumerate(line, start=1):
                number = isinstance(value, (int, float)) and value == value
                cell = page.cell(r, c)
                cell.value = value if number else None if value is None or value != value else _clean(value)
                if isinstance(cell.value, str):
                    cell.data_type = "s"  # text stays text: a name that begins with "=" is no formula
                elif r > 1 and sheet.columns[c - 1]["kind"] == "share":
                    cell.number_format = "0.0%"
        page.freeze_panes = "A2"
        page.print_title_rows = "1:1"
    book.properties.title = report.title
    book.save(file)


def _clean(value: Any) -> str:
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", " ", str(value))


def _sheet_name(title: str, taken: set[str]) -> str:
    """A name that a spreadsheet takes: 31 characters, none of []:*?/\\, each once."""
    stem = re.sub(r"[\[\]:*?/\\\x00-\x1f']", " ", title).strip()[:28] or "table"
    name, k = stem, 1
    while name.lower() in taken:
        k += 1
        name = f"{stem[:27]} {k}"
    taken.add(name.lower())
    return name


def _latex(report: Any, sheets: list[Sheet], file: IO[bytes]) -> None:
    lines = [f"% {_clean(report.title).splitlines()[0]}" if report.title else "%"]
    lines.append(r"% for \input; needs \usepackage{longtable}")
    for sheet in sheets:
        head = " & ".join(latex_text(c["name"]) for c in sheet.columns) + r" \\ \hline"
        cells = [[latex_text(shown(v, c["kind"])) for v, c in zip(row, sheet.columns)] for row in sheet.rows]
        size, align = _layout(sheet, cells)
        lines += [
            rf"{{{size}\setlength{{\tabcolsep}}{{3pt}}",
            rf"\begin{{longtable}}{{{align}}}",
            rf"\caption{{{latex_text(sheet.title)}}} \\",
            head,
            r"\endfirsthead",
        ]
        lines += [head, r"\endhead"]
        lines += [" & ".join(row) + r" \\" for row in cells]
        lines += [r"\end{longtable}}", ""]
    file.write("\n".join(lines).encode())


def _layout(sheet: Sheet, cells: list[list[str]]) -> tuple[str, str]:
    """The letters and the columns of a table in LaTeX: as large as an article's page takes; long texts are broken."""
    columns = list(zip(*[[str(c["name"]) for c in sheet.columns], *cells]))
    align, needed = "", 0.0
    for most in LATEX_BROKEN:
        align, needed = "", 0.0
        for column, values in zip(sheet.columns, columns):
            width = max(map(len, values))
            broken = column["kind"] == "text" and width > most
            needed += 2 + (most if broken else width)
            align += f"p{{{0.55 * most:g}em}}" if broken else "l" if column["kind"] in ("text", "yes") else "r"
        if needed <= LATEX_SIZES[r"\tiny"]:
            break
    return next((size for size, fit in LATEX_SIZES.items() if needed <= fit), r"\tiny"), align


def latex_text(words: str) -> str:
    """Text with every character that LaTeX would read as a command escaped."""
    return "".join(LATEX.get(letter, letter) for letter in " ".join(_clean(words).split()))


def _docx(report: Any, sheets: list[Sheet], file: IO[bytes]) -> None:
    docx = require("docx")
    document = docx.Document()
    document.add_heading(_clean(report.title), 0)
    findings = [" ".join(sentences(found)) for found in report.summary["findings"]]
    for line in (*report.summary["lead"], *report.summary["checked"], *findings):
        document.add_paragraph(_clean(line))
    for sheet in sheets:
        document.add_heading(_clean(sheet.title), 2)
        grid = document.add_table(rows=1, cols=len(sheet.columns))
        grid.style = "Table Grid"
        for cell, column in zip(grid.rows[0].cells, sheet.columns):
            cell.text = _clean(column["name"])
        for row in sheet.rows:
            for cell, value, column in zip(grid.add_row().cells, row, sheet.columns):
                cell.text = _clean(shown(value, column["kind"]))
    of = docx.oxml.ns.qn
    for grid in document.element.body.iter(of("w:tbl")):  # heads repeat on every page
        grid.find(of("w:tr")).get_or_add_trPr().append(docx.oxml.OxmlElement("w:tblHeader"))
    document.save(file)


def export_figures(report: Any, folder: Any, formats: tuple[str, ...] = ("svg", "pdf")) -> list[Path]:
    """Write every figure of a report into a folder, as SVG and PDF.

    Parameters
    ----------
    report : Report
    folder : path
        Made if it isn't there.
    formats : tuple of {"svg", "pdf"}, default both

    Returns
    -------
    list of Path
        The files, numbered in the order of the page.

    Examples
    --------
    >>> import tempfile
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import Goodman
    >>> from sumwise.report import export_figures, report
    >>> margins = synthetic.precincts(40, random_state=0).margins
    >>> found = report(Goodman(constrained=True).fit(margins), margins)
    >>> export_figures(found, tempfile.mkdtemp(), ("svg",))[0].name[:2]
    '01'
    """
    unknown = [form for form in formats if form not in ("svg", "pdf")]
    if unknown:
        raise DataError(f"Figures can't be written as {unknown[0]!r}.", hint="svg or pdf.")
    from sumwise.plots.labels import wrapped_names

    folder = make_folder(folder)
    written = []
    with wrapped_names():
        for number, figure in enumerate(report.figures, start=1):
            name = folder / f"{number:02d}-{re.sub(r'[^a-z0-9]+', '-', figure.plot.lower())}"
            if "svg" in formats:
                written.append(name.with_suffix(".svg"))
                write_text(written[-1], figure.svg())
            if "pdf" in formats:
                written.append(name.with_suffix(".pdf"))
                _pdf(figure, written[-1])
    return written


def _pdf(figure: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    axes = figure.draw()
    drawn = axes.figure if hasattr(axes, "figure") else axes
    with new_file(path) as file:
        drawn.savefig(file, format="pdf", bbox_inches="tight", metadata={"CreationDate": None})
    plt.close(drawn)


def write_pdf(page: Any, out: Any, seconds: float = 120.0) -> Path:
    """Print an HTML file to a PDF file.

    Parameters
    ----------
    page : path
        The HTML file. It loads nothing from outside.
    out : path
        The file to write.
    seconds : float, default 120
        How long a browser may take.

    Raises
    ------
    MissingExtra
        Neither a Chromium browser nor WeasyPrint is installed.
    """
    page = Path(page).resolve()
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    with tempfile.TemporaryDirectory() as profile:
        printed = Path(profile) / "page.pdf"
        if browser is not None:
            command = [browser, *FLAGS, f"--user-data-dir={profile}/user", f"--print-to-pdf={printed}", page.as_uri()]
            try:
                done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)  # noqa: S603
            except subprocess.TimeoutExpired:
                raise DataError(
                    f"{Path(browser).name} did not print within {seconds:g} s.", hint="try again."
                ) from None
            if done.returncode or not printed.exists():
                said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no message"]
                raise DataError(f"{Path(browser).name} could not print the page ({said[0]}).")
        elif importlib.util.find_spec("weasyprint") is not None:
            import weasyprint  # type: ignore[import-not-found]

            weasyprint.HTML(filename=str(page)).write_pdf(str(printed))
        else:
            raise MissingExtra(
                "A PDF needs Chromium (or Chrome, Edge) or WeasyPrint; none is installed.",
                hint="install one of them, or open report.html and print it from any browser.",
            )
        return write_bytes(out, printed.read_bytes())
