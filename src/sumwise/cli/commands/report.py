"""``sumwise report``: the page of a result folder, made again; as PDF too."""

from __future__ import annotations

from typing import Annotated

import typer

from sumwise.cli import output

ORDER = 16


def command(
    result: Annotated[str, typer.Argument(help="A folder that sumwise fit wrote.")],
    out: Annotated[str | None, typer.Option(help="Write it there. Default: report.html or .pdf in the folder.")] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="Print to PDF (needs Chromium or WeasyPrint).")] = False,
    full: Annotated[bool, typer.Option("--full", help="Print every row of long tables on paper.")] = False,
    json: output.Json = False,
) -> None:
    """Make the report of a result folder again, from its summary.json; nothing is fitted.

    $ sumwise report result/
    $ sumwise report result/ --pdf
    """
    import tempfile
    from pathlib import Path

    from sumwise.study.fitting import write_page

    if pdf:
        from sumwise.report.pdf import write_pdf

        with tempfile.TemporaryDirectory() as folder:
            page = write_page(result, Path(folder) / "report.html", full)
            path = write_pdf(page, Path(result) / "report.pdf" if out is None else out)
    else:
        path = write_page(result, out, full)
    if json:
        output.write_json({"report": str(path), "bytes": path.stat().st_size})
    else:
        output.write(f"The report: {path}")
