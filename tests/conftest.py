"""What every test has: a place of its own for what sumwise notes about a user's ledgers, and no clock."""

import itertools

import pytest
from hypothesis import HealthCheck, settings

NUMBERS = itertools.count()

# How long an example takes, or the making of one, depends on what else the machine does.
CHECKS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("sumwise", deadline=None, derandomize=True, database=None, suppress_health_check=CHECKS)
settings.load_profile("sumwise")


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SUMWISE_STATE", str(tmp_path_factory.getbasetemp() / f"state-{next(NUMBERS)}"))
