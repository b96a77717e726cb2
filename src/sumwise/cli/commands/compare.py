"""``sumwise compare``: two or more results side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from sumwise.cli import output


def command(
    results: Annotated[list[str], typer.Argument(help="Folders that sumwise fit wrote, two or more.")],
    out: Annotated[str, typer.Option(help="The folder to write.")] = "comparison",
    quiet: output.Quiet = False,
    json: output.Json = False,
) -> None:
    """Compare results: two methods, two elections, before and after.

    Estimates are matched by their names. The folder gets report.html, comparison.csv and summary.json.

      $ sumwise compare result-2016/ result-2020/
    """
    from sumwise.cli.study.fitting import compare_folders

    summary, folder = compare_folders(results, out)
    if json:
        kept = ("title", "lead", "findings")
        output.write_json({**{key: summary[key] for key in kept}, "folder": str(folder)})
        return
    if quiet:
        output.write(str(folder / "report.html"))
        return
    output.write_findings(summary)
    output.write(f"\nThe report: {folder / 'report.html'}")
