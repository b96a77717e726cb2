"""The command docs."""

import json

from sumwise.cli import main


def test_pages_are_listed_and_printed(capsys):
    assert main(["docs"]) == 0
    assert "read-your-files" in capsys.readouterr().out
    assert main(["docs", "docs/how-to/read-your-files.md"]) == 0
    assert capsys.readouterr().out.startswith("# ")
    assert main(["docs", "glossary", "--path"]) == 0
    assert capsys.readouterr().out.strip().endswith("glossary.md")
    assert main(["docs", "--json"]) == 0
    assert {"page", "title"} == set(json.loads(capsys.readouterr().out)[0])


def test_unknown_pages_get_the_nearest(capsys):
    assert main(["docs", "read-your-file"]) == 2
    assert "did you mean 'read-your-files'?" in capsys.readouterr().err
