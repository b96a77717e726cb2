"""Names that the packages export, with their parameters: `python tests/public_names.py > FILE` prints them as JSON."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import warnings
from pathlib import Path
from typing import Any


def packages(folder: Path) -> list[str]:
    """Every package of a source folder that exports names, and the module of noise models."""
    found = [p.parent for p in sorted(folder.rglob("__init__.py")) if "__all__" in p.read_text("utf-8")]
    return [".".join(p.relative_to(folder.parent).parts) for p in found] + ["sumwise.noise"]


def parameters(called: Any) -> list[str]:
    """Parameters in their order; after ``*`` those that are given by keyword only."""
    found = inspect.signature(called).parameters.values()
    by_place = [p.name for p in found if p.kind <= inspect.Parameter.POSITIONAL_OR_KEYWORD]
    return [*by_place, "*", *(p.name for p in found if p.kind is inspect.Parameter.KEYWORD_ONLY)]


def signatures(name: str, exported: Any) -> dict[str, list[str]]:
    """Parameters of a function, or of a class and its public methods that are written here, by name."""
    if inspect.ismodule(exported) or not callable(exported):
        return {name: []}
    try:
        found = {name: parameters(exported)}
    except ValueError:  # an exception's signature is Python's own
        found = {name: []}
    for key in dir(exported) if inspect.isclass(exported) else ():
        method = getattr(exported, key)
        ours = str(getattr(method, "__module__", "")).startswith("sumwise")
        if inspect.isroutine(method) and ours and not key.startswith("_"):
            found[f"{name}.{key}"] = parameters(method)
    return found


def public_names(folder: Path) -> dict[str, list[str]]:
    """Every exported name of a source folder."""
    found: dict[str, list[str]] = {}
    for package in packages(folder):
        module = importlib.import_module(package)
        for name in module.__all__:
            found |= signatures(f"{package}:{name}", getattr(module, name))
    return found


if __name__ == "__main__":
    import sumwise

    warnings.simplefilter("ignore")
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in public_names(Path(sumwise.__file__).parent).items()]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")
