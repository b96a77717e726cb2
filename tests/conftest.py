"""What every test has: a place of its own for what sumwise notes about a user's ledgers."""

import itertools

import pytest

NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SUMWISE_STATE", str(tmp_path_factory.getbasetemp() / f"state-{next(NUMBERS)}"))
