"""The command line: parse, call, write. Every file of ``sumwise/cli/commands`` is one command."""

from sumwise.cli.entry import main

__all__ = ["main"]
