"""The direction of imports, held by a test; when it must change, `architecture.py` changes in the open."""

import ast

import pytest

from architecture import SOURCE, imports, offences


def test_nobody_imports_against_the_direction():
    assert offences() == []


@pytest.mark.parametrize(
    ("file", "line", "words"),
    [
        (
            "inference/kernels/a.py",
            "from sumwise.margins import Margins",
            "/kernels (kernels) imports margins (noun)",
        ),
        ("maxent/kernels/a.py", "from sumwise.tables import Tables", "maxent/kernels (kernels) imports tables (noun)"),
        ("maxent/kernels/a.py", "from sumwise.maxent import x", "maxent/kernels (kernels) imports maxent (family)"),
        ("maxent/a.py", "from sumwise.ecological.kernels import bounds", "imports the kernels of ecological"),
        (
            "inference/kernels/a.py",
            "from sumwise.ecological.kernels import bounds",
            "imports the kernels of ecological",
        ),
        ("margins.py", "from sumwise.inference.kernels import tree", "margins (noun) imports inference/kernels"),
        ("errors.py", "from sumwise import checks", "errors (errors) imports checks"),
        ("ecological/king.py", "from sumwise.proportions import x", "(family) imports proportions (family)"),
        ("ecological/king.py", "from sumwise.plots import tomography_numbers", "imports plots"),
        ("ecological/king.py", "from sumwise import Margins", "takes a name from the package's front"),
        ("metrics/a.py", "from sumwise.plots import x", "imports plots"),
        ("cli/study/a.py", "from sumwise.cli import main", "cli/study (study) imports cli (top)"),
        ("cli/study/a.py", "from sumwise.ecological.kernels import bounds", "imports the kernels of ecological"),
        (
            "cli/study/a.py",
            "from sumwise.inference.kernels import minimise",
            "imports inference/kernels (kernels)",
        ),
        ("plots/a.py", "import matplotlib.pyplot as plt", "loads matplotlib when imported"),
        ("io/writer.py", "from sumwise.io.formats import read_bags", "io (support) imports io/formats (door)"),
        ("io/formats/a.py", "from sumwise.ecological import King", "io/formats (door) imports ecological (family)"),
        ("bags.py", "import pandas", "loads pandas, but bags must stay light"),
        ("bags.py", "from . import checks", "relative import"),
        ("cli/fit.py", "import torch", "loads torch when imported"),
        ("maxent/a.py", "def f():\n    from sumwise.ecological import King", "(family) imports ecological (family)"),
    ],
)
def test_each_rule_can_fail(tmp_path, file, line, words):
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line + "\n")
    assert any(words in found for found in offences(tmp_path)), offences(tmp_path)


@pytest.mark.parametrize(
    ("file", "line"),
    [
        (
            "ecological/king.py",
            "import numba\nfrom sumwise.margins import Margins\nfrom sumwise.inference.kernels import threads",
        ),
        ("plots/a.py", "from sumwise.ecological.kernels import bounds"),
        (
            "ecological/kernels/a.py",
            "from sumwise.inference.kernels import chain_diagnostics\nfrom sumwise.ecological.kernels import king",
        ),
        ("plots/a.py", "def draw():\n    import matplotlib"),
        ("bags.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas"),
        ("cli/fit.py", "import typer\nfrom sumwise.ecological import King"),
    ],
)
def test_what_is_allowed_passes(tmp_path, file, line):
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line + "\n")
    assert offences(tmp_path) == []


def test_imports_are_read_with_their_time():
    found = {(module, top) for module, top, _ in imports(SOURCE / "domain.py")}
    assert ("numpy", True) in found
    assert ("pandas", False) in found


MOST_UNTYPED = 11  # parameters of kernels that may be anything; lower it when there are fewer


def test_parameters_of_kernels_have_types():
    """Strict checks prove nothing of a parameter that may be anything; what callables take and give is not counted."""
    untyped = []
    for path in sorted({*SOURCE.glob("kernels/*.py"), *SOURCE.glob("*/kernels/*.py")}):
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef):
                given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
                kinds = {a.arg: ast.unparse(a.annotation) for a in given if a.annotation is not None}
                names = [
                    name for name, kind in kinds.items() if kind == "Any" or kind.startswith(("list[Any", "tuple[A"))
                ]
                untyped += [f"{path.relative_to(SOURCE)}: {function.name}({name})" for name in names]
    assert len(untyped) <= MOST_UNTYPED, untyped


NO_TYPES = ("maxent/kernels/gibbs_triton.py", "maxent/kernels/row_products.py")  # written in Triton and LLVM


def without_return_type(text: str) -> list[str]:
    """Functions that don't say what they return; `__init__` and others with two underscores return what Python says."""
    functions = [f for f in ast.walk(ast.parse(text)) if isinstance(f, ast.FunctionDef)]
    return [f.name for f in functions if f.returns is None and not f.name.startswith("__")]


def test_every_kernel_says_what_it_returns():
    paths = sorted({*SOURCE.glob("kernels/*.py"), *SOURCE.glob("*/kernels/*.py")})
    texts = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in paths}
    assert [(k, found) for k, v in texts.items() if k not in NO_TYPES and (found := without_return_type(v))] == []


def test_a_function_without_return_type_is_found():
    assert without_return_type("def a() -> int: ...\ndef b():\n    def c(): ...") == ["b", "c"]
