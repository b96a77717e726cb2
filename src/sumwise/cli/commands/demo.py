"""``sumwise demo``: one small story per family, with known truth."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from sumwise.cli import output

ORDER = 90


def command(
    families: Annotated[
        list[str] | None, typer.Argument(help="Tell these families' stories only.", show_default=False)
    ] = None,
    out: Annotated[str, typer.Option(help="The folder for report.html, with every story and its figures.")] = "demo",
    quiet: output.Quiet = False,
    json: output.Json = False,
) -> None:
    """Tell one small story per family, on generated data with known truth.

    Each story ends in what was estimated, what is true, and whether the interval covers the truth; demo/report.html
    shows them all. Together they take less than two minutes on two cores.
    """

    from sumwise.demo import choose, stories

    begin, shown = time.perf_counter(), []
    for story in choose(stories(), families or []):
        if not json and not quiet:
            output.write(f"{story.name} ({story.family})", style="bold")
        shown.append(tell(story, json or quiet))
    path = write_report(shown, out)
    if json:
        for story in shown:
            del story["figure"]  # on the page
        output.write_json({"stories": shown, "report": str(path), "seconds": round(time.perf_counter() - begin, 1)})
        return
    if quiet:
        output.write(str(path))
        return
    output.write(f"{len(shown)} {'story' if len(shown) == 1 else 'stories'} in {time.perf_counter() - begin:.0f} s.")
    output.write(f"All of it as a page: {path}")
    output.write("Next: sumwise init YOURFILE.csv, then sumwise fit problem.toml; in Python: sumwise docs first-steps.")


def write_report(stories: list[dict], out: str):
    """Write one page of all stories."""
    from pathlib import Path

    from sumwise.demo.page import stories_page
    from sumwise.errors import DataError

    folder = Path(out)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise DataError(
            f"The folder {out!r} can't be created: {error.strerror}.", hint="name another with --out."
        ) from None
    path = folder / "report.html"
    path.write_text(stories_page(stories), "utf-8")
    return path


def tell(story, silent: bool) -> dict:
    """Run one story, writing as it goes unless it is to be silent, and give back its record."""

    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        if not silent:
            output.write(f"  {line}")

    begin = time.perf_counter()
    findings = story.run(say)
    seconds = time.perf_counter() - begin
    if not silent:
        for finding in findings:
            output.write(f"  {finding.line()}", style="green" if finding.covers is not False else "yellow")
        output.write(f"  {seconds:.1f} s\n", style="dim")
    return {
        "name": story.name,
        "family": story.family,
        "lines": lines,
        "findings": [finding.record() for finding in findings],
        "figure": getattr(findings, "figure", None),
        "seconds": round(seconds, 1),
    }
