"""What every test and every example has: its own place for ledgers, and no figure left open by the one before.

Two workers begin at both ends of the tests, so that seldom both compile the same kernels, and meet in the middle.
"""

import itertools
import sys

import pytest

NUMBERS = itertools.count()
ON_SPARK = {
    "tests/aggregate/test_contributions.py",
    "tests/aggregate/test_counters.py",
    "tests/aggregate/test_on_spark.py",
    "tests/aggregate/test_rows_to_bags.py",
    "tests/aggregate/test_rows_to_tables.py",
    "tests/aggregate/test_survey.py",
    "tests/maxent/test_on_spark.py",
    "tests/proportions/test_on_spark.py",
    "tests/test_spark.py",
}


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


def pytest_collection_modifyitems(items):
    """Refuse a file whose tests need Spark and that `ON_SPARK` lacks: it would start a session of its own."""
    needs = {item.nodeid.split("::")[0] for item in items if item.get_closest_marker("spark")}
    if needs - ON_SPARK:
        raise pytest.UsageError(f"tests marked 'spark' in {sorted(needs - ON_SPARK)}: add the file to ON_SPARK here.")


@pytest.hookimpl(optionalhook=True)  # where pytest-xdist is installed
def pytest_xdist_make_scheduler(config, log):
    """Files go whole to a worker, from the first on or from the last on; those that need Spark share one session."""
    from xdist.scheduler import LoadFileScheduling

    class FromBothEnds(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return "spark" if file in ON_SPARK else file

        def _assign_work_unit(self, node):
            if int(node.gateway.id.removeprefix("gw")) % 2:
                self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
            super()._assign_work_unit(node)

    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return FromBothEnds(config, log)
