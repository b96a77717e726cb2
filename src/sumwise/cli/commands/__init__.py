"""One command per file; to add a command, add a file, and its name to `sumwise.cli.app.COMMANDS`.

The file ``commands/NAME.py`` defines the command ``sumwise NAME`` (an underscore becomes a dash)::

    \"\"\"``sumwise count``: one line that says what the command does.\"\"\"

    from typing import Annotated

    import typer

    from sumwise.cli import output


    def command(
        path: Annotated[str, typer.Argument(help="The file to count.")],
        quiet: output.Quiet = False,
        json: output.Json = False,
    ) -> None:
        \"\"\"Count the rows of a file.

        One or two paragraphs for ``sumwise count --help``, with an example.
        \"\"\"
        from sumwise.io.formats import read_bags  # heavy imports stay inside: --help must be quick

        result = {"rows": read_bags(path).n_rows}
        if json:
            output.write_json(result)
        else:
            output.write(str(result["rows"]) if quiet else f"{result['rows']:,} rows")

Results go to standard output by ``output.write``, ``output.write_table`` or, with ``--json``,
``output.write_json``; progress and warnings go to standard error. A command raises ``DataError`` where the input
is wrong, and prints no error itself: ``sumwise.cli.entry`` shows one line and sets the exit code.
Its test is ``tests/cli/commands/test_NAME.py``.
"""
