"""`import sumwise` loads NumPy and nothing heavier, and is quick."""

import os
import subprocess
import sys

import pytest

HEAVY = ["pandas", "scipy", "sklearn", "numba", "matplotlib", "duckdb", "pyspark", "torch", "jinja2", "narwhals"]
HEAVY += ["pyarrow", "typer", "rich", "opendp"]
TIMED = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"  # not the clock's


def run(code: str) -> str:
    """Return what a fresh interpreter prints, started without the site's own start-up imports."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return done.stdout.strip()


def loaded(statement: str) -> set[str]:
    return set(run(f"import sys; {statement}; print(*[m for m in {HEAVY} if m in sys.modules])").split())


def test_import_loads_nothing_heavy():
    assert loaded("import sumwise") == set()
    assert loaded("import pandas") >= {"pandas"}  # the probe can see


@pytest.mark.parametrize("name", ["noise", "encoding", "io.persistence", "io.checkpoint", "progress", "extras"])
def test_nouns_and_support_stay_light(name):
    assert loaded(f"import sumwise.{name}") == set()


def test_families_leave_the_optional_packages_alone():
    optional = ["matplotlib", "duckdb", "pyspark", "torch", "opendp", "jinja2"]
    lines = [  # one process for all: the first family that loads one is named
        f"import sumwise.{name}; print('{name}', *[m for m in {optional} if m in sys.modules])"
        for name in ("ecological", "proportions", "distribution", "collective", "maxent")
    ]
    printed = run("; ".join(["import sys", *lines])).splitlines()
    assert printed == ["ecological", "proportions", "distribution", "collective", "maxent"]


def test_problem_files_are_written_without_the_methods():
    heavy = ["scipy", "sklearn", "numba", "matplotlib", "jinja2", "torch", "sumwise.report.model_report"]
    code = f"import sys, sumwise.cli.study.initialise, sumwise.report; print(*[m for m in {heavy} if m in sys.modules])"
    assert run(code) == ""
    assert (
        run("import sumwise.report; print(sumwise.report.Summary.__name__, 'page' in dir(sumwise.report))")
        == "Summary True"
    )


def test_import_takes_under_three_times_numpy():
    def best(module: str) -> float:
        return min(float(run(TIMED.format(module))) for _ in range(5))

    best("sumwise")  # byte-compile first
    ratios = []
    while len(ratios) < 3 and min(ratios, default=3.0) >= 3:  # a busy machine disturbs one measurement, not three
        ratios.append(best("sumwise") / best("numpy"))
    assert min(ratios) < 3, ratios


def test_submodules_load_when_named():
    assert run("import sumwise; print(sumwise.noise.Exact())") == "Exact()"
    assert run("import sumwise; print(hasattr(sumwise, 'nothing'), 'ecological' in dir(sumwise))") == "False True"
