"""``sumwise serve``: a result folder in the browser of this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from sumwise.cli import output

ORDER = 18


def command(
    result: Annotated[str, typer.Argument(help="A folder that sumwise fit wrote.")],
    port: Annotated[int, typer.Option(help="0 takes any that is free.", min=0, max=65535)] = 8765,
    json: output.Json = False,
) -> None:
    """Show a result folder in the browser, until Ctrl-C.

    Only this machine can reach it (127.0.0.1), and only under that name. The report is one file that needs no
    server: open report.html, or send it.

      $ sumwise serve result/
    """
    import sys

    from sumwise.cli.server import server_for
    from sumwise.errors import DataError
    from sumwise.study.fitting import read_result

    read_result(result)
    try:
        server = server_for(result, port)
    except OSError as error:
        raise DataError(f"Port {port} can't be used: {error.strerror}.", hint="--port 0 takes a free one.") from None
    with server:
        place = f"http://127.0.0.1:{server.server_address[1]}/"
        if json:
            output.write_json({"url": place})
        else:
            output.write(f"{place}  (Ctrl-C ends it)")
        sys.stdout.flush()
        server.serve_forever()
