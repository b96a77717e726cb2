import re
import tomllib
from pathlib import Path

import sumwise
from sumwise.version import __version__

ROOT = Path(__file__).parent.parent


def test_the_version_has_one_home():
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/sumwise/version.py"
    assert sumwise.__version__ == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_the_citation_names_this_version():
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {__version__}\n" in text
    assert re.search(r"\ndate-released: \d{4}-\d\d-\d\d\n", text)


def test_workflows_call_targets_that_exist():
    targets = set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for name in (".github/workflows/ci.yml", ".gitlab-ci.yml", ".ci/run"):
        called = re.findall(r"\bmake ([a-z]+)", (ROOT / name).read_text())
        assert called or ".ci/run" in (ROOT / name).read_text()
        assert set(called) <= targets, name
    assert {"test", "quick", "check", "fuzz", "matrix", "dist", "docs"} <= targets


def test_every_core_dependency_has_a_lower_bound():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [d for d in project["dependencies"] if ">=" not in d] == []
