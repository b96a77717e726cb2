"""``sumwise docs``: the pages of the documentation, which come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sumwise.cli import output

ORDER = 80


def command(
    page: Annotated[str | None, typer.Argument(help="The page to print; without it all pages are listed.")] = None,
    path: Annotated[bool, typer.Option("--path", help="Print where the page lies instead of its text.")] = False,
    json: output.Json = False,
) -> None:
    """List the pages of the documentation, or print one.

    $ sumwise docs
    $ sumwise docs read-your-files
    """
    from sumwise import checks

    found = pages()
    if page is None:
        rows = [(name, title_of(file)) for name, file in found.items()]
        if json:
            output.write_json([{"page": name, "title": title} for name, title in rows])
        else:
            output.write_table(["page", "title"], rows)
            output.write("Print one: sumwise docs PAGE")
        return
    name = page.removeprefix("docs/").removesuffix(".md").rpartition("/")[2]
    checks.known(name, list(found), "page")
    if json:
        output.write_json({"page": name, "path": str(found[name]), "text": found[name].read_text("utf-8")})
    else:
        output.write(str(found[name]) if path else found[name].read_text("utf-8"))


def pages() -> dict[str, Path]:
    """The pages by name: bundled with the package, or those of the source tree."""
    from sumwise.errors import DataError

    package = Path(__file__).parents[2]
    for folder in (package / "bundled_docs", package.parents[1] / "docs"):
        if (folder / "index.md").exists():
            files = sorted(p for p in folder.rglob("*.md") if "_build" not in p.parts)
            return {(p.parent.name if p.stem == "index" and p.parent != folder else p.stem): p for p in files}
    raise DataError("The pages are not installed.", hint="install sumwise from a wheel, or read docs/ of its source.")


def title_of(file: Path) -> str:
    """The first heading of a page."""
    lines = (line for line in file.read_text("utf-8").splitlines() if line.startswith("# "))
    return next(lines, f"# {file.stem}").removeprefix("# ")
