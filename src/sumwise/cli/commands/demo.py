"""``sumwise demo``: the figures of the gallery, drawn here and now, on one page."""

from __future__ import annotations

from typing import Annotated

import typer

from sumwise.cli import output


def command(
    families: Annotated[
        list[str] | None, typer.Argument(help="Only the figures of these families.", show_default=False)
    ] = None,
    out: Annotated[str, typer.Option(help="The folder for gallery.html.")] = "demo",
    quiet: output.Quiet = False,
    json: output.Json = False,
) -> None:
    """Run the gallery: a short script per figure, on generated data with known truth, shown with its code on one page.

    All together take about half a minute.

      $ sumwise demo
      $ sumwise demo ecological
    """
    from pathlib import Path

    from sumwise import checks
    from sumwise.cli.commands.docs import folders
    from sumwise.cli.gallery import FAMILIES, gallery_page, read_scripts
    from sumwise.errors import DataError
    from sumwise.io.writer import make_folder, write_text

    for family in families or []:
        checks.known(family, FAMILIES, "family")
    scripts = [s for s in read_scripts(folders()[0] / "gallery") if not families or s.family in families]
    path = Path(out) / "gallery.html"
    try:
        make_folder(path.parent)
    except OSError as error:
        raise DataError(f"The folder {out!r} can't be made: {error.strerror}.", hint="name another by --out.") from None
    with output.Stages(quiet or json) as say:
        say(f"draw {len(scripts)} figures")
        write_text(path, gallery_page(scripts))
    if json:
        output.write_json({"figures": [script.name for script in scripts], "page": str(path)})
        return
    output.write(str(path) if quiet else f"{len(scripts)} figures and their code: {path}")
    if not quiet:
        output.write("Next: sumwise init YOURFILE.csv, then sumwise fit problem.toml; in Python: sumwise docs.")
