"""What every test and every example has: its own place for ledgers, and no figure left open by the one before."""

import itertools
import sys

import pytest

NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory, monkeypatch):
    """Keep what sumwise notes about a user's ledgers away from the user's, and from other tests."""
    monkeypatch.setenv("SUMWISE_STATE", str(tmp_path_factory.getbasetemp() / f"state-{next(NUMBERS)}"))


@pytest.fixture(autouse=True)
def closed_figures():
    """Close what was drawn: matplotlib warns from the 21st open figure on, whichever test happens to draw it."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
