"""The command docs."""

import json

import pytest

from sumwise.cli import main
from sumwise.cli.commands import docs


@pytest.fixture
def built(tmp_path, monkeypatch):
    """Two pages as text, one of them as HTML too."""
    (tmp_path / "how-to").mkdir()
    (tmp_path / "index.md").write_text("# Start\n")
    (tmp_path / "how-to" / "read-your-files.md").write_text("# Read your files\n\nText.\n")
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "index.html").write_text("<h1>Start</h1>")
    monkeypatch.setattr(docs, "folders", lambda: (tmp_path, tmp_path / "html"))
    return tmp_path


def test_all_pages_of_the_source_are_listed(capsys):
    assert main(["docs", "--list"]) == 0
    assert "read-your-files" in capsys.readouterr().out
    assert main(["docs", "--list", "--json"]) == 0
    assert {"page", "title", "path", "html"} == set(json.loads(capsys.readouterr().out)[0])


def test_a_page_that_was_built_has_an_address(built, capsys):
    assert main(["docs"]) == 0
    assert capsys.readouterr().out.strip() == (built / "html" / "index.html").as_uri()
    assert main(["docs", "index", "--text"]) == 0
    assert capsys.readouterr().out == "# Start\n\n"


def test_a_terminal_opens_the_browser(built, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    docs.show(built / "index.md", as_text=False)
    assert opened == [(built / "html" / "index.html").as_uri()]


def test_a_page_that_was_not_built_is_printed(built, capsys):
    assert main(["docs", "docs/how-to/read-your-files.md"]) == 0
    assert capsys.readouterr().out.startswith("# Read your files")
    assert main(["docs", "read-your-files", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["html"] is None
    assert found["text"].endswith("Text.\n")


def test_text_has_nothing_that_only_the_build_reads(built):
    page = built / "index.md"
    page.write_text("<!-- needs: data -->\n\n# Start\n\n```{index} !a, !b\n```\n\n| 7.65<!--a.json x .2f--> |\n| 2 |\n")
    assert docs.text_of(page) == "# Start\n\n| 7.65 |\n| 2 |\n"


def test_unknown_pages_get_the_nearest(capsys):
    assert main(["docs", "read-your-file"]) == 2
    assert "did you mean 'read-your-files'?" in capsys.readouterr().err
