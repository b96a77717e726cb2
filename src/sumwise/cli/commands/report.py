"""``sumwise report``: the page of a result folder, made again; as PDF too."""

from __future__ import annotations

from typing import Annotated

import typer

from sumwise.cli import output


def command(
    result: Annotated[str, typer.Argument(help="A folder that sumwise fit or compare wrote.")],
    out: Annotated[str | None, typer.Option(help="Write it there. Default: report.html or .pdf in the folder.")] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="Print to PDF (needs Chromium or WeasyPrint).")] = False,
    full: Annotated[bool, typer.Option("--full", help="Print every row of long tables on paper.")] = False,
    edition: Annotated[str, typer.Option(help="plain, or court: court.html, tables and figures.")] = "plain",
    quiet: output.Quiet = False,
    json: output.Json = False,
) -> None:
    """Write the report of a result or a comparison again, from summary.json, without a fit.

    With --pdf it is printed, and page numbers are added; several contests make one document. The court edition has
    numbered paragraphs, citations and every unit.

      $ sumwise report result/
      $ sumwise report result/ --pdf
      $ sumwise report result/ --edition court --pdf
    """
    import tempfile
    from pathlib import Path

    from sumwise import checks
    from sumwise.cli.study.editions import EDITIONS, write_edition
    from sumwise.cli.study.fitting import write_page

    checks.choice(edition, "edition", EDITIONS)
    if edition != "plain":
        _edition(write_edition(result, edition), out, pdf, json, quiet)
        return
    if pdf:
        from sumwise.report.exports import write_pdf

        with tempfile.TemporaryDirectory() as folder:
            page = write_page(result, Path(folder) / "report.html", full)
            path = write_pdf(page, Path(result) / "report.pdf" if out is None else out)
    else:
        path = write_page(result, out, full)
    if json:
        output.write_json({"report": str(path), "bytes": path.stat().st_size})
    else:
        output.write(str(path) if quiet else f"The report: {path}")


def _edition(made: list, out: str | None, pdf: bool, json: bool, quiet: bool) -> None:
    """Say what an edition consists of; print its page to PDF where that is asked for."""
    pages = [path for path in made if path.name == "court.html"]
    if pdf:
        from sumwise.report.exports import write_pdf

        made = [*made, *(write_pdf(page, page.with_suffix(".pdf") if out is None else out) for page in pages)]
    if json:
        output.write_json({"report": str(pages[0]), "files": [str(path) for path in made]})
        return
    if quiet:
        output.write("\n".join(map(str, pages)))
        return
    output.write(f"The report: {', '.join(map(str, pages))}")
    output.write(f"All files:  {', '.join(path.name for path in made)}")
