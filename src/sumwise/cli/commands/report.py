"""``sumwise report``: the page of a result folder, made again."""

from __future__ import annotations

from typing import Annotated

import typer

from sumwise.cli import output

ORDER = 16


def command(
    result: Annotated[str, typer.Argument(help="A folder that sumwise fit wrote.")],
    out: Annotated[str | None, typer.Option(help="Write the page there. Default: report.html in the folder.")] = None,
    json: output.Json = False,
) -> None:
    """Make the report of a result folder again, from its summary.json; nothing is fitted.

    $ sumwise report result/
    """
    from sumwise.study.fitting import write_page

    path = write_page(result, out)
    if json:
        output.write_json({"report": str(path), "bytes": path.stat().st_size})
    else:
        output.write(f"The report: {path}")
