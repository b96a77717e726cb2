"""``sumwise docs``: the documentation, which comes with the package and needs no network."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from sumwise.cli import output

START = "index"


def command(
    page: Annotated[str | None, typer.Argument(help="The page to open; without it, the first.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List all pages instead.")] = False,
    text: Annotated[bool, typer.Option("--text", help="Print the page's text instead.")] = False,
    quiet: output.Quiet = False,
    json: output.Json = False,
) -> None:
    """Open the documentation in the browser: tutorials, guides, explanations, reference. No network is needed.

    On a terminal the browser opens; elsewhere the address of the page is printed. In a source tree without make docs,
    the page itself is printed.

      $ sumwise docs
      $ sumwise docs read-your-files
      $ sumwise docs --list
    """
    from sumwise import checks

    found = pages()
    name = START if page is None else page.removeprefix("docs/").removesuffix(".md").rpartition("/")[2]
    if not list_:
        checks.known(name, list(found), "page")
    if json:
        rows = found.items() if list_ else [(name, found[name])]
        shown = [{"page": n, "title": title_of(file), **places(file)} for n, file in rows]
        output.write_json(shown if list_ else {**shown[0], "text": text_of(found[name])})
    elif list_ and quiet:
        output.write("\n".join(found))
    elif list_:
        output.write_table(["page", "title"], [(n, title_of(file)) for n, file in found.items()])
    else:
        show(found[name], text)


def show(file: Path, as_text: bool) -> None:
    """Open a page in the browser, or print it if only its text is installed."""
    html = places(file)["html"]
    if as_text or html is None:
        _print(text_of(file))
        return
    address = Path(html).as_uri()
    if sys.stdout.isatty():
        import webbrowser

        webbrowser.open(address)
    output.write(address)


def _print(text: str) -> None:
    if not sys.stdout.isatty():
        output.write(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


def folders() -> tuple[Path, Path]:
    """Where the text of the pages is, and where they are as HTML: in the package, or in the source tree."""
    from sumwise.errors import DataError

    package = Path(__file__).parents[2]
    source = package.parents[1] / "docs"
    for text, html in ((package / "bundled_docs", package / "bundled_docs" / "html"), (source, source / "_build/html")):
        if (text / "index.md").exists():
            return text, html
    raise DataError("The pages are not installed.", hint="install sumwise from a wheel, or read docs/ of its source.")


def pages() -> dict[str, Path]:
    """The pages by name."""
    folder, _ = folders()
    files = sorted(p for p in folder.rglob("*.md") if "_build" not in p.parts)
    return {(p.parent.name if p.stem == "index" and p.parent != folder else p.stem): p for p in files}


def places(file: Path) -> dict[str, str | None]:
    """Where a page lies, as text and as HTML."""
    text, html = folders()
    built = html / file.relative_to(text).with_suffix(".html")
    return {"path": str(file), "html": str(built) if built.exists() else None}


def text_of(file: Path) -> str:
    """A page without what only the build reads: comments, such as the sources of figures, and entries of the index."""
    build_only = r"^<!--.*?-->\n+|<!--.*?-->|^```{index}[^\n]*\n```\n+"
    return re.sub(build_only, "", file.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def title_of(file: Path) -> str:
    """The first heading of a page."""
    lines = (line for line in file.read_text("utf-8").splitlines() if line.startswith("# "))
    return next(lines, f"# {file.stem}").removeprefix("# ")
