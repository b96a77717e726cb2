"""Matplotlib gets a folder where it has none of its own."""

import logging
import sys

import pytest

from sumwise.plots import font_cache
from sumwise.plots.font_cache import prepare_font_cache


@pytest.fixture
def unloaded(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "kept"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_home_that_can_be_written_is_left_to_matplotlib(unloaded):
    prepare_font_cache()
    assert "MPLCONFIGDIR" not in font_cache.os.environ
    assert list(unloaded.iterdir()) == []


def test_a_temporary_folder_takes_the_place_of_the_home(unloaded, monkeypatch):
    monkeypatch.setattr(font_cache, "_can_write", lambda folder: False)
    prepare_font_cache()
    assert font_cache.os.environ["MPLCONFIGDIR"].startswith(str(unloaded))
    monkeypatch.delenv("MPLCONFIGDIR")


def test_without_any_folder_matplotlib_is_kept_quiet(unloaded, monkeypatch):
    monkeypatch.setattr(font_cache, "_can_write", lambda folder: False)
    monkeypatch.setattr(font_cache, "private_folder", lambda name: None)
    logger, before = logging.getLogger("matplotlib"), logging.getLogger("matplotlib").level
    try:
        prepare_font_cache()
        assert logger.level == logging.ERROR
    finally:
        logger.setLevel(before)


def test_other_folders_are_asked_up_to_one_that_exists(unloaded, monkeypatch):
    assert font_cache._can_write(unloaded / "a" / "b")
    asked = []
    monkeypatch.setattr(font_cache.os, "access", lambda folder, mode: asked.append(folder) or False)
    assert not font_cache._can_write(unloaded / "a" / "b")
    assert asked == [unloaded]
