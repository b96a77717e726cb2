"""The reference has every command with its options, and a page for every public module."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "_ext"))

pytest.importorskip("sphinx", reason="the extra 'docs' isn't installed")
import reference_pages

import sumwise
from sumwise.cli.app import COMMANDS


@pytest.fixture(scope="module")
def page():
    return reference_pages.command_line_page()


def test_every_command_has_a_section(page):
    assert [name for name in COMMANDS if f"## `sumwise {name}`" not in page] == []


def test_options_arguments_and_defaults_are_listed(page):
    assert "| `PROBLEM` | The problem file; sumwise init DATA writes one. | required |" in page
    assert "| `--out` | The folder to write. | `result` |" in page
    assert "0 takes any free port. From 0 to 65535. | `8765` |" in page
    assert "| `--resume` | Continue an interrupted run. | off |" in page
    assert "[bold]" not in page


def test_described_makes_a_block_of_commands():
    assert list(reference_pages.described("Do it.\n\n$ a\n$ b")) == ["Do it.", "```console\n$ a\n$ b\n```"]


def test_plots_have_a_page_for_users_and_kernels_do_not():
    found = reference_pages.modules()
    assert "sumwise.plots" in found
    assert not [name for name in found if ".kernels" in name]


def estimators():
    """Every public class with a fit, by name, and its family."""
    for family in ("ecological", "proportions", "distribution", "collective", "maxent"):
        package = importlib.import_module(f"sumwise.{family}")
        for name in package.__all__:
            found = getattr(package, name)
            if inspect.isclass(found) and hasattr(found, "fit"):
                yield pytest.param(found, package, id=f"{family}.{name}")


@pytest.mark.parametrize(("estimator", "package"), list(estimators()))
def test_estimators_name_others_and_the_default_of_every_parameter(estimator, package):
    text = inspect.getdoc(estimator)
    _, found, rest = text.partition("See Also\n--------\n")
    assert found, "See Also is missing"
    others = [line.split(" :")[0] for line in rest.split("\n\n")[0].splitlines() if line[0] != " "]
    assert others
    assert all(hasattr(package, name) for name in others), others
    for name, parameter in inspect.signature(estimator.__init__).parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            line = re.search(rf"^(?:\w+, )*{name}(?:, \w+)* :\s(.*)$", text, re.MULTILINE)
            assert line, f"{name} is not documented"
            assert re.search("default|optional|[Aa]s in `", line[1]), f"the default of {name} is missing"


@pytest.mark.parametrize("name", sumwise.__all__)
def test_names_of_the_package_point_to_others_that_exist(name):
    found = getattr(sumwise, name)
    if not callable(found):
        return
    others = re.search(r"See Also\n-+\n(.*?)\n\n", inspect.getdoc(found), re.S)
    assert others, "See Also is missing"
    for line in re.findall(r"^\S.*", others[1], re.MULTILINE):
        module, _, last = f"sumwise.{line.split(' :')[0].removeprefix('sumwise.')}".rpartition(".")
        assert hasattr(importlib.import_module(module), last), line


def test_every_see_also_says_what_the_other_is():
    bare = []
    for path in sorted((Path(__file__).parents[1] / "src").rglob("*.py")):
        for names in re.findall(r"See Also\n +-{8}\n((?: +\S.*\n)+)", path.read_text("utf-8")):
            bare += [f"{path.name}: {line.strip()}" for line in names.splitlines() if re.fullmatch(r" +\w+", line)]
    assert bare == []


def test_parameters_of_another_class_are_written_out():
    from sumwise.proportions import MeanMap

    lines = inspect.getdoc(MeanMap).split("\n")
    assert any(": as in `MeanEmbeddingClassifier`" in line and "tol" in line for line in lines), "nothing to write out"
    reference_pages.describe_borrowed(None, "class", "", MeanMap, None, lines)
    assert "tol : float > 0, default 1e-3" in lines
    assert "    Distance to the maximum, in standard errors, at which the fit stops." in lines
    assert "coef_, intercept_, penalty_, fit_ : as in `MeanEmbeddingClassifier`." in lines


def test_defaults_made_anew_are_shown_as_values():
    from sumwise import Tables
    from sumwise.collective import Counts

    def shown(thing, signature):
        return reference_pages.show_defaults(None, "class", "", thing, None, signature, None)

    assert (
        shown(Counts, "(nodes, edges=<factory>, n=1.0, cliques=<factory>)")[0] == "(nodes, edges={}, n=1.0, cliques={})"
    )
    assert shown(Tables, "(tables, provenance=<factory>)")[0] == "(tables, provenance=Provenance())"
    assert shown(Counts, "(nodes)") is None
