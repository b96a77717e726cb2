"""Every method of the papers is public, runs as its page says, and has the test that the page names."""

from __future__ import annotations

import importlib
import tomllib
import warnings
from pathlib import Path

import pytest

pytestmark = pytest.mark.check

ROOT = Path(__file__).parents[1]
PAGE = tomllib.loads((ROOT / "docs" / "book" / "items.toml").read_text("utf-8"))
SETUP = PAGE["intro"].partition("```python\n")[2].partition("```")[0]
ROWS = [[cell.strip("`") for cell in row] for item in PAGE["item"] for row in item["rows"][1:]]


def test_every_name_is_public_and_named_by_its_test():
    assert len(ROWS) > 80
    for _, what, name, call, test in ROWS:
        package, *parts = name.split(".")
        found = importlib.import_module(f"sumwise.{package}")
        for part in parts:
            found = getattr(found, part)
        assert parts[-1] in (ROOT / test).read_text("utf-8"), (what, test)
        assert parts[-1] in call or parts[0] in call, (what, call)


def test_every_call_runs():
    shown: dict = {}
    exec(SETUP, shown)
    for section, what, _, call, _ in ROWS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fits this small say that they leave much open
            try:
                exec(call, shown)
            except Exception as error:
                pytest.fail(f"{section}, {what}: {type(error).__name__}: {error}")
