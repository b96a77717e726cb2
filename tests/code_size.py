"""Count lines of code, without docstrings, comments and blanks: `python tests/code_size.py` prints them by package."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "sumwise"
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(text: str) -> int:
    """Lines of a Python text that hold code."""
    documented = [
        n for n in ast.walk(ast.parse(text)) if isinstance(n, DOCUMENTED) and ast.get_docstring(n) is not None
    ]
    docstrings = {line for n in documented for line in range(n.body[0].lineno, (n.body[0].end_lineno or 0) + 1)}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {line for t in tokens if t.type not in NO_CODE for line in range(t.start[0], t.end[0] + 1)}
    return len(code - docstrings)


def by_package(source: Path = SOURCE) -> Counter[str]:
    """Lines of code of every package; those of the files at the root are under "."."""
    counted: Counter[str] = Counter()
    for path in source.rglob("*.py"):
        inside = path.relative_to(source).parts
        counted[inside[0] if len(inside) > 1 else "."] += code_lines(path.read_text("utf-8"))
    return counted


if __name__ == "__main__":
    found = by_package()
    print(f"{sum(found.values()):,} lines of code")
    for package, lines in found.most_common():
        print(f"{lines:>8,}  {package}")
