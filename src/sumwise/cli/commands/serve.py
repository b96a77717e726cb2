"""``sumwise serve``: the local app, or a finished result, in the browser of this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from sumwise.cli import output


def command(
    folder: Annotated[
        str, typer.Argument(help="Where studies are kept, or a folder that sumwise fit wrote.")
    ] = "sumwise-studies",
    port: Annotated[int, typer.Option(help="0 takes any free port.", min=0, max=65535)] = 8765,
    idle: Annotated[
        float | None,
        typer.Option(
            help="Minutes without a request or a job after which it stops by itself; by default never.", min=0
        ),
    ] = None,
    quiet: output.Quiet = False,
    json: output.Json = False,
) -> None:
    """Open the app in the browser: choose a file, check how it is read, run, read the report. Ctrl-C ends it.

    Only this machine can reach it (127.0.0.1), and only with the token in the address. Every study is a folder that
    the command line understands: data, problem.toml and result/.

      $ sumwise serve
      $ sumwise serve result/
      $ sumwise serve --idle 30
    """
    import sys

    from sumwise.app.server import serve

    def ready(address: str) -> None:
        if json:
            output.write_json({"url": address})
        else:
            output.write(address if quiet else f"{address}  (Ctrl-C ends it)")
        sys.stdout.flush()

    serve(folder, port, ready, None if idle is None else 60 * idle)
    if not (quiet or json):
        output.write("The app has stopped.")
