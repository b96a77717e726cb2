"""PDF: by what is installed, and a clear message where nothing is."""

import importlib.util
import shutil
import stat

import pytest

from sumwise.errors import DataError, MissingExtra
from sumwise.report.pdf import BROWSERS, write_pdf


def browser(folder, monkeypatch, script):
    """A stand-in for the browser: a shell script of its name."""
    path = folder / "chromium"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(shutil, "which", lambda name: str(path) if name == "chromium" else None)


def test_the_browser_prints_to_the_file(tmp_path, monkeypatch):
    script = 'for a in "$@"; do case "$a" in --print-to-pdf=*) echo "%PDF $*" > "${a#--print-to-pdf=}";; esac; done'
    browser(tmp_path, monkeypatch, script)
    (tmp_path / "page.html").write_text("x")
    made = write_pdf(tmp_path / "page.html", tmp_path / "out.pdf").read_text()
    assert made.startswith("%PDF")
    assert "page.html" in made
    assert "--disable-background-networking" in made


def test_a_browser_that_fails_is_reported(tmp_path, monkeypatch):
    browser(tmp_path, monkeypatch, "echo broken >&2; exit 3")
    with pytest.raises(DataError, match=r"chromium could not print the page \(broken\)"):
        write_pdf(tmp_path / "page.html", tmp_path / "out.pdf")
    assert not (tmp_path / "out.pdf").exists()


def test_without_any_printer_the_message_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="needs Chromium .* print it from any browser"):
        write_pdf(tmp_path / "page.html", tmp_path / "out.pdf")
    assert "chromium" in BROWSERS
