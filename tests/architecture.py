"""Who may import whom: the layers, and how to read imports off the source. `test_layers.py` checks every import."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "sumwise"

FAMILIES = {"ecological", "proportions", "distribution", "collective", "maxent"}
DOORS = {"schema", "aggregate", "privacy", "io/formats", "datasets", "synthetic"}
SUPPORT = {"io", "progress", "extras", "spark"}
TOP = {"app", "cli", "__main__"}

# What each place is part of; files at the root that are not named here are nouns.
LAYER = {
    "errors": "errors",
    "checks": "checks",
    "inference/kernels": "kernels",  # shared by two families or more
    "inference": "inference",  # what families share between kernels and answers
    "voting": "voting",  # what analysts do with an ecological fit
    "flows": "voting",  # what those who count over time do with collective models
    "metrics": "measures",
    "plots": "plots",
    "report": "report",
    "cli/study": "study",  # a problem file to a report
    "__init__": "front",
    **dict.fromkeys(SUPPORT, "support"),
    **dict.fromkeys(FAMILIES, "family"),
    **dict.fromkeys(DOORS, "door"),
    **dict.fromkeys(TOP, "top"),
}

BASE = {"errors", "checks", "noun", "support"}
ALLOWED = {
    "errors": set(),
    "checks": {"errors"},
    "noun": {"errors", "checks", "noun"},
    "support": {"errors", "checks", "noun", "support"},
    "kernels": {"errors", "kernels"},
    "inference": BASE | {"kernels", "inference"},
    "family": BASE | {"kernels", "inference"},
    "voting": BASE | {"kernels", "inference", "family", "voting"},
    "door": BASE | {"kernels"},  # counting rows fast is mathematics too
    "measures": BASE | {"kernels", "inference", "family", "voting", "measures"},
    "plots": BASE | {"kernels", "inference", "family", "voting", "measures", "plots"},
    "report": BASE | {"kernels", "inference", "family", "voting", "measures", "plots", "report"},
    "study": {*BASE, "inference", "measures", "plots", "report", "family", "voting", "door", "study"},
    "top": {
        *BASE,
        "kernels",
        "inference",
        "measures",
        "plots",
        "report",
        "family",
        "voting",
        "door",
        "study",
        "top",
        "front",
    },
    "front": BASE,
}
# Packages that use a door, each for a reason.
FRIENDS = {
    ("margins", "schema"),  # from_frame: the way from columns to a container is the schema's
    ("bags", "schema"),
    ("tables", "schema"),
    ("schema", "io/formats"),
    ("schema", "aggregate"),  # rows of individuals are counted into tables
    ("aggregate", "io/formats"),  # a path as source is opened the way every file is
    ("privacy", "io/formats"),
    ("privacy", "aggregate"),  # declared rows are counted and released in one step
    ("report", "io/formats"),  # its tables are written as every file is
}

KNOWN = {p.stem for p in SOURCE.iterdir()} | set(LAYER)
LIGHT = {"numpy"}  # what a noun may load when it is imported
HEAVY = {"duckdb", "fastavro", "h5py", "jinja2", "matplotlib", "narwhals", "opendp", "ot", "polars", "pyarrow"}
HEAVY |= {"pyspark", "torch"}  # loaded when used, never when a module is imported


def place_of(parts: tuple[str, ...]) -> str:
    """Return the file or folder of the root that a module lives in, or the folder with a layer of its own."""
    if len(parts) > 1 and (parts[1] == "kernels" or "/".join(parts[:2]) in LAYER):
        return "/".join(parts[:2])
    return parts[0].removesuffix(".py")


def layer(name: str) -> str:
    """Return the layer of a place."""
    return "kernels" if name.endswith("/kernels") else LAYER.get(name, "noun")


def imports(path: Path) -> list[tuple[str, bool, int]]:
    """Return (module, at import time?, line) of every import in a file, those for type checkers apart."""
    found: list[tuple[str, bool, int]] = []

    def visit(node: ast.AST, top: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                continue  # an import is a statement
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            if isinstance(child, ast.Import):
                found.extend((alias.name, top, child.lineno) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                if child.level:
                    found.append(("." * child.level, top, child.lineno))
                elif child.module == "sumwise":
                    found.extend((f"sumwise.{alias.name}", top, child.lineno) for alias in child.names)
                else:
                    found.append((child.module or "", top, child.lineno))
            inner = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            visit(child, top and not inner)

    visit(ast.parse(path.read_text()), True)
    return found


def offences(root: Path = SOURCE) -> list[str]:
    """Return every import that runs against the direction, as `file:line what`."""
    wrong = []
    for path in sorted(root.rglob("*.py")):
        here = place_of(path.relative_to(root).parts)
        for module, at_import, line in imports(path):
            place = f"{path.relative_to(root)}:{line}"
            if module.startswith("."):
                wrong.append(f"{place} relative import")
            elif module.split(".")[0] == "sumwise":
                there = place_of(tuple(module.split(".")[1:])) if "." in module else "__init__"
                wrong.extend(_inner_offence(here, there, place))
            elif at_import:
                wrong.extend(_outer_offence(here, module.split(".")[0], place))
    return wrong


def _inner_offence(here: str, there: str, place: str) -> list[str]:
    if there.split("/", maxsplit=1)[0] not in KNOWN:
        there = "__init__"  # a public name: `from sumwise import Margins`
    if here == there or (here, there) in FRIENDS:
        return []
    owner = there.removesuffix("/kernels")
    if owner not in (
        there,
        "inference",
    ):  # a family's mathematics: for the family itself and for what measures or shows it
        allowed = here == owner or layer(here) in ("voting", "measures", "plots", "report", "top")
        return [] if allowed else [f"{place} {here} ({layer(here)}) imports the kernels of {owner}"]
    if layer(there) == "front" and layer(here) != "top":
        return [f"{place} {here} takes a name from the package's front; import it from its own module"]
    if layer(there) not in ALLOWED[layer(here)]:
        return [f"{place} {here} ({layer(here)}) imports {there} ({layer(there)})"]
    return []


def _outer_offence(here: str, package: str, place: str) -> list[str]:
    import sys

    if package in sys.stdlib_module_names:
        return []
    if package in HEAVY:
        return [f"{place} loads {package} when imported"]
    light = layer(here) in ("errors", "checks", "noun", "support", "front") and here not in ("estimator", "splitters")
    if light and package not in LIGHT:
        return [f"{place} loads {package}, but {here} must stay light"]
    return []
