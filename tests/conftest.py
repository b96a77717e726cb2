"""What every test has: a place of its own for what sumwise notes about a user's ledgers, and no clock."""

import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
NUMBERS = itertools.count()

# How long an example takes, or the making of one, depends on what else the machine does.
CHECKS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("sumwise", deadline=None, derandomize=True, database=None, suppress_health_check=CHECKS)
settings.load_profile("sumwise")


# Folders whose tests fit models, start processes or build pages; the kernels below them are quick.
SLOW = {"collective", "datasets", "demo", "distribution", "ecological", "fuzz", "maxent", "networks", "plots"}
SLOW |= {"privacy", "proportions", "report", "study", "synthetic"}
SLOW_FILES = {"test_contract.py", "test_documentation.py", "test_light_import.py", "test_spark.py"}


def pytest_collection_modifyitems(items):
    """Mark what `make quick` leaves out."""
    for item in items:
        place = item.path.relative_to(HERE) if item.path.is_relative_to(HERE) else None
        if place is None:
            continue
        slow = place.parts[0] in SLOW and "kernels" not in place.parts
        if slow or place.name in SLOW_FILES:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SUMWISE_STATE", str(tmp_path_factory.getbasetemp() / f"state-{next(NUMBERS)}"))
