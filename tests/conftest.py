"""How the tests run: without a clock, with marks for the slow ones, and skipped where an extra is missing."""

import importlib.util
import os
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sumwise.errors import MissingExtra
from sumwise.extras import EXTRAS

HERE = Path(__file__).parent
OPTIONAL = set(EXTRAS)

# How long an example takes, or the making of one, depends on what else the machine does.
CHECKS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
EXAMPLES = int(os.environ.get("SUMWISE_EXAMPLES", "50"))  # `make long` takes more
settings.register_profile(
    "sumwise", max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=CHECKS
)
settings.load_profile("sumwise")


# Folders whose tests compile kernels, fit models, start processes or build pages.
SLOW = {
    "cli",
    "collective",
    "corpus",
    "datasets",
    "distribution",
    "ecological",
    "fuzz",
    "maxent",
    "plots",
}
SLOW |= {"privacy", "proportions", "report", "schema", "synthetic"}
SLOW_FILES = {"test_contract.py", "test_documentation.py", "test_faults.py", "test_light_import.py", "test_spark.py"}
SLOW_FILES |= {"test_compiled.py", "test_on_spark.py", "test_reproducible.py", "test_gallery.py", "test_server.py"}
SLOW_FILES |= {"test_book.py", "test_executed.py", "test_quoted_figures.py", "test_search.py"}  # of the documentation
SLOW_FILES |= {"test_statistical.py"}  # each read starts a process
CORE_FILES = {"test_edge_fits.py"}  # every estimator: slow, and yet run on every Python and against the wheel
SLOW_FILES |= CORE_FILES

# Whole ways from a file to a page, new processes, figures, stories, the engine for GPUs: `make check` runs these,
# the pages, and single tests marked `check` in other files: simulations that judge how good an estimate is.
CHECKED = {
    "app/test_server.py",
    "cli/test_faults.py",
    "corpus/test_corpus.py",
    "fuzz/test_corpus.py",
    "fuzz/test_forged_models.py",
    "inference/kernels/test_compiled.py",
    "maxent/kernels/test_gibbs_device.py",
    "maxent/test_device_training.py",
    "report/test_model_report.py",
    "test_gallery.py",
    "test_light_import.py",
    "test_malformed.py",
    "test_reproducible.py",
}

# Half a minute and more: workers begin with these, so that none is left with a long one at the end.
LONGEST = ["test_spark.py", "test_contract.py", "test_edge_fits.py", "collective/test_em.py"]

UNDRAWN = {"cli", "schema", "corpus"}


def slow(place: Path) -> bool:
    """Whether a file of these tests, or a whole folder, is left out by `make quick`."""
    return place.parts[:1] != () and (place.parts[0] in SLOW or place.name in SLOW_FILES)


def pytest_ignore_collect(collection_path, config):
    """Don't even import what the marks asked for leave out: that takes longer than many a test."""
    if not collection_path.is_relative_to(HERE):
        return None
    place, asked = collection_path.relative_to(HERE), re.split(r" and | or |[()]", config.option.markexpr)
    if collection_path.suffix == ".py" and not collection_path.name.startswith("test_"):
        return True  # a module that tests share: importing each for its docstrings takes longer than those
    if "core" in asked and place.name in CORE_FILES:
        return None
    if "check" in asked and collection_path.is_file():
        return (place.as_posix() not in CHECKED and b"mark.check" not in collection_path.read_bytes()) or None
    left_out = ("not slow" in asked and slow(place)) or ("not check" in asked and place.as_posix() in CHECKED)
    return left_out or None


def pytest_collection_modifyitems(items):
    """Mark what `make quick` leaves out; a worker begins with what takes longest."""
    for item in items:
        place = item.path.relative_to(HERE) if item.path.is_relative_to(HERE) else None
        if place is None:
            continue
        if slow(place):
            item.add_marker(pytest.mark.slow)
        if place.name in CORE_FILES:
            item.add_marker(pytest.mark.core)
        if place.as_posix() in CHECKED:
            item.add_marker(pytest.mark.check)
    if "PYTEST_XDIST_WORKER" in os.environ:
        ranks = {HERE / name: rank for rank, name in enumerate(LONGEST)}
        items.sort(key=lambda item: ranks.get(item.path, len(ranks)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip a test that needs an extra which isn't installed: the wheel alone is tested too."""
    try:
        return (yield)
    except (MissingExtra, ModuleNotFoundError) as error:
        lacking = [p for p in OPTIONAL if repr(p) in str(error) and importlib.util.find_spec(p) is None]
        if not lacking:
            raise
        pytest.skip(f"the package {lacking[0]!r} isn't installed")


@pytest.fixture(autouse=True, scope="session")
def unsynced():
    """Don't wait for the disk: no test takes the power away, and those of what is written when watch the call."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True)
def undrawn(request, monkeypatch):
    """Leave the figures of pages out where commands and problems are tested: tests of report/ and plots/ draw them."""
    if request.path.is_relative_to(HERE) and request.path.relative_to(HERE).parts[0] in UNDRAWN:
        monkeypatch.setattr("sumwise.report.svg.draw", lambda plot, *numbers: f"<svg><title>{plot}</title></svg>")


@pytest.fixture(scope="session")
def spark():
    """One Spark session for all tests of a worker."""
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is none on this machine")
    pytest.importorskip("pyspark", reason="the extra 'spark' isn't installed")
    from sumwise.spark import spark_session, stop_session

    # One Python worker imports once, and compiling Java for queries over a few hundred rows costs most of their time.
    settings = {"spark.default.parallelism": "2", "spark.sql.shuffle.partitions": "2"}
    settings |= {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    with pytest.MonkeyPatch.context() as environment:
        given = " ".join(f"--conf {name}={value}" for name, value in settings.items())
        environment.setenv("PYSPARK_SUBMIT_ARGS", f"{given} pyspark-shell")
        session = spark_session("local[1]")
    yield session
    stop_session()
