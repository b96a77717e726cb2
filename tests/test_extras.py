"""An optional package is imported when used, or the error says which extra to install."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from messages import raises
from sumwise.errors import MissingExtra, SumwiseError
from sumwise.extras import EXTRAS, require


def test_present_package_is_returned():
    assert require("json") is json


def test_submodule_is_returned():
    assert require("importlib.metadata").__name__ == "importlib.metadata"


def test_missing_package_names_the_extra_given():
    with raises(MissingExtra, "needs-package-isnt", "nowhere_to_be_found"):
        require("nowhere_to_be_found", extra="torch")


def test_missing_package_without_extra_names_itself():
    with raises(MissingExtra, "needs-package-isnt-installed", "nowhere_to_be_found"):
        require("nowhere_to_be_found.deep")


@pytest.mark.parametrize(("package", "extra"), EXTRAS.items())
def test_missing_package_finds_its_extra(monkeypatch, package, extra):
    monkeypatch.setitem(sys.modules, package, None)  # as if it weren't installed
    with raises(ImportError, "needs-package-isnt", extra) as caught:
        require(package)
    assert isinstance(caught.value, SumwiseError)


def test_missing_submodule_of_present_package_is_told_apart():
    with raises(MissingExtra, "needs-installed-doesnt", "json.nowhere", "json"):
        require("json.nowhere")


@pytest.mark.parametrize("body", ["import nowhere_to_be_found", "raise ImportError('boom')", "raise OSError('lib')"])
def test_broken_package_is_told_apart_from_a_missing_one(tmp_path, monkeypatch, body):
    (tmp_path / "sumwise_broken_package.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    with raises(MissingExtra, "package-installed-cant"):
        require("sumwise_broken_package")


def test_extras_are_those_of_the_package():
    project = Path(__file__).parents[1] / "pyproject.toml"
    offered = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS.values()) <= set(offered)


def test_import_of_extras_loads_no_optional_package():
    code = f"import sys, sumwise.extras; print([m for m in {list(EXTRAS)} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
