"""The command demo: figures of the gallery on one page."""

from __future__ import annotations

import json

import pytest

from sumwise.cli import main
from sumwise.cli.commands import docs
from sumwise.cli.gallery import FAMILIES

LINE = '"""A line\n\nIt rises & rises.\n"""\n\nimport matplotlib.pyplot as plt\n\nplt.plot([1, 2])\n'


@pytest.fixture
def lines(monkeypatch, tmp_path):
    (tmp_path / "gallery").mkdir()
    for family in ("ecological", "maxent"):
        (tmp_path / "gallery" / f"{family}_line.py").write_text(LINE, "utf-8")
    monkeypatch.setattr(docs, "folders", lambda: (tmp_path, tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_demo_draws_every_figure_with_its_code(lines, capsys):
    assert main(["demo", "--quiet"]) == 0
    assert capsys.readouterr().out == "demo/gallery.html\n"
    page = (lines / "demo" / "gallery.html").read_text("utf-8")
    assert page.count("data:image/png;base64,") == 2
    assert "It rises &amp; rises." in page
    assert "plt.plot([1, 2])" in page


def test_demo_of_a_family_as_json(lines, capsys):
    assert main(["demo", "maxent", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"] == ["maxent_line"]


def test_demo_refuses_an_unknown_family(lines, capsys):
    assert main(["demo", "birds"]) == 2
    complaint = capsys.readouterr().err
    assert "'birds'" in complaint
    assert all(family in complaint for family in FAMILIES)


def test_demo_names_another_folder_where_it_can_not_write(lines, capsys):
    (lines / "file").touch()
    assert main(["demo", "--out", "file"]) == 2
    assert "file' is a link or a file. Hint: remove it, or name a folder." in capsys.readouterr().err
    assert main(["demo", "--out", "file/under"]) == 2
    assert "The folder 'file/under' can't be made" in (complaint := capsys.readouterr().err)
    assert "Hint: name another by --out." in complaint
