"""Count lines of code, without docstrings, comments and blanks: `python tests/code_size.py` prints them by package.

Below the packages it prints what the lines are: statements, signatures, imports, messages of errors, and so on.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "sumwise"
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
DEFINED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (*DEFINED, ast.If, ast.For, ast.While, ast.With, ast.Try)


def numbered(text: str) -> set[int]:
    """Numbers of the lines of a Python text that hold code."""
    documented = [
        n for n in ast.walk(ast.parse(text)) if isinstance(n, DOCUMENTED) and ast.get_docstring(n) is not None
    ]
    docstrings = {line for n in documented for line in range(n.body[0].lineno, (n.body[0].end_lineno or 0) + 1)}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {line for t in tokens if t.type not in NO_CODE for line in range(t.start[0], t.end[0] + 1)}
    return code - docstrings


def code_lines(text: str) -> int:
    """Lines of a Python text that hold code."""
    return len(numbered(text))


def spans(node: ast.AST) -> Iterator[tuple[str, int, int]]:
    """The kinds of lines that a node's lines are, each with its first and last line; the first that fits counts."""
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    exported = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
    if isinstance(node, (ast.Import, ast.ImportFrom)) or exported:
        yield "imports and __all__", first, last
    elif isinstance(node, DEFINED):
        yield "signatures and decorators", min([first, *(d.lineno for d in node.decorator_list)]), first
        yield "signatures and decorators", first, node.body[0].lineno - 1
    elif isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and "warn" in ast.unparse(node.func)):
        yield "errors and warnings", first, last
    if isinstance(node, (ast.ClassDef, ast.Module)):
        for part in node.body:
            if isinstance(part, ast.AnnAssign if isinstance(node, ast.ClassDef) else (ast.Assign, ast.AnnAssign)):
                yield "fields and constants", part.lineno, part.end_lineno or 0
    if isinstance(node, ast.stmt) and not isinstance(node, BLOCKS):
        yield "further lines of a statement", first + 1, last


def kinds(text: str) -> Counter[str]:
    """Lines of code of a Python text by what they are."""
    found: dict[int, str] = {}
    every = [span for node in ast.walk(ast.parse(text)) for span in spans(node)]
    for kind, first, last in sorted(every, key=lambda span: span[0] == "further lines of a statement"):
        for line in range(first, last + 1):
            found.setdefault(line, kind)
    return Counter(found.get(line, "statements") for line in numbered(text))


def by_package(source: Path = SOURCE) -> Counter[str]:
    """Lines of code of every package; those of the files at the root are under "."."""
    counted: Counter[str] = Counter()
    for path in source.rglob("*.py"):
        inside = path.relative_to(source).parts
        counted[inside[0] if len(inside) > 1 else "."] += code_lines(path.read_text("utf-8"))
    return counted


def by_kind(source: Path = SOURCE) -> Counter[str]:
    """Lines of code of all packages by what they are."""
    return sum((kinds(path.read_text("utf-8")) for path in source.rglob("*.py")), Counter())


if __name__ == "__main__":
    found = by_package()
    print(f"{sum(found.values()):,} lines of code")
    for table in (found, by_kind()):
        print()
        for name, lines in table.most_common():
            print(f"{lines:>8,}  {name}")
