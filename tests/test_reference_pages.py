"""The reference has every command with its options, and a page for every public module."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "_ext"))

import reference_pages

from sumwise.cli.app import command_names


@pytest.fixture(scope="module")
def page():
    return reference_pages.command_line_page()


def test_every_command_has_a_section(page):
    assert [name for name in command_names() if f"## `sumwise {name}`" not in page] == []


def test_options_arguments_and_defaults_are_listed(page):
    assert "| `PROBLEM` | The problem file; sumwise init DATA writes one. | required |" in page
    assert "| `--out` | The folder to write. | `result` |" in page
    assert "[bold]" not in page


def test_described_makes_a_block_of_commands():
    assert list(reference_pages.described("Do it.\n\n$ a\n$ b")) == ["Do it.", "```console\n$ a\n$ b\n```"]


def test_plots_have_a_page_for_users_and_kernels_do_not():
    found = reference_pages.modules()
    assert found["sumwise.plots"]
    assert not [name for name, used in found.items() if used and ".kernels" in name]
