"""Records are passed whole, or field by field: no call takes a NamedTuple apart by position.

A field that is added to a record would shift every argument after it. The test reads the source: which names hold a
record follows from annotations, and from calls of the record's class or of a function that is annotated to return one.
"""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "sumwise"


def trees() -> dict[Path, ast.Module]:
    """Modules that define a record, or star an argument."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    return {path: ast.parse(t) for path, t in texts.items() if "NamedTuple" in t or re.search(r"[(, ]\*[a-z_]", t)}


def records(modules) -> set[str]:
    """Names of the NamedTuple classes."""
    classes = (node for tree in modules for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {node.name for node in classes if any("NamedTuple" in ast.unparse(base) for base in node.bases)}


def makers(tree: ast.Module, classes: set[str]) -> set[str]:
    """Functions of a module that are annotated to return a record, and the classes themselves."""
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return classes | {f.name for f in functions if f.returns is not None and _named(f.returns) in classes}


def _named(annotation: ast.expr) -> str:
    """The class that an annotation names, without its module, quotes and a None beside it."""
    words = ast.unparse(annotation).replace("'", "").replace(" | None", "").split(".")
    return words[-1]


def _called(value: ast.expr) -> str:
    """The function of the module, or the class, that an expression calls."""
    return value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""


def taken_apart(tree: ast.Module, classes: set[str], made_by: set[str]) -> list[tuple[int, str]]:
    """Line and text of every call that takes a record apart, by a star or a starred slice."""
    found = []
    owners = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in classes]
    own = {id(function) for owner in owners for function in owner.body}
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        held = {"self"} if id(function) in own else set()
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        held |= {a.arg for a in arguments if a.annotation is not None and _named(a.annotation) in classes}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and _called(node.value) in made_by:
                held |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            for argument in call.args:
                if isinstance(argument, ast.Starred):
                    value = argument.value
                    inner = value.value if isinstance(value, ast.Subscript) else value
                    by_name = isinstance(inner, ast.Name) and inner.id in held
                    if by_name or _called(inner) in made_by:
                        found.append((call.lineno, ast.unparse(call)))
    return found


def test_no_call_takes_a_record_apart_by_position():
    modules = trees()
    classes = records(modules.values())
    made_by = {path: makers(tree, classes) for path, tree in modules.items()}
    public = {name for names in made_by.values() for name in names if not name.startswith("_")}
    assert len(classes) > 50
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {text[:100]}"
        for path, tree in modules.items()
        for line, text in taken_apart(tree, classes, made_by[path] | public)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "def f(plan: Plan):\n    return kernel(*plan)",
        "def f(plan: Plan | None):\n    return kernel(*plan[:3])",
        "def f():\n    plan = Plan(1, 2)\n    return kernel(0, *plan)",
        "def f():\n    return kernel(*made())",
        "class Plan(NamedTuple):\n    def run(self):\n        return kernel(*self)",
    ],
)
def test_the_reader_sees_records_that_are_taken_apart(text):
    tree = ast.parse(text)
    assert taken_apart(tree, {"Plan"}, {"Plan", "made"})


@pytest.mark.parametrize(
    "text",
    [
        "def f(plan: Plan):\n    return kernel(plan.sizes, plan)",
        "def f(plan: Plan):\n    return Plan(*(a.copy() for a in plan))",  # every field, whatever their number
        "def f(shape: tuple):\n    return kernel(*shape)",
    ],
)
def test_the_reader_lets_whole_records_pass(text):
    assert not taken_apart(ast.parse(text), {"Plan"}, {"Plan"})
