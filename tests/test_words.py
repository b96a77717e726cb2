"""Words that we don't use in source, pages and templates: the field has better ones (see CONTRIBUTING.md)."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
UNWANTED = {
    r"told": "observed, reported, given, implied by",
    r"tells": "is informative about, shows, says",
    r"hangs? together": "are correlated",
    r"mended": "fixed",
    r"as dark as": "",
    r"outcomes? bends?": "group behaviour varies with composition",
    r"the house": "the architecture",
    r"how many they are": "how many there are",
    r"(?:which|that) (?:is|are) no (?!longer|more|less|better|fewer|larger|smaller|promise)\w+": "is not a",
    r"took \w+ for alike": "assumes that they are alike",
    r"by a little": "slightly",
    r"to who [a-z]+s": "to those who",
    r"is no (?:JSON|TOML|CSV|FeatureCollection|GeoJSON|sumwise)": "is not valid JSON, is not a FeatureCollection",
    r"goes? in version": "will be removed in version",
    r"(?:file|it|packages|and) whole\?": "complete",
    r"one (?:bag|class|file|value) only": "only one",
    r"(?:is|was|were) not said": "is not given",
    r"(?:sets?|set) (?:it|them) right": "corrects, calibrates",
    r"which share of": "what share of",
    r"has nearly everybody": "nearly everybody belongs to",
    r"(?:take|takes|took) \w+ (?:\w+ )?for (?:true|independent)": "treat as",
}
PATTERN = re.compile(r"(?<![A-Za-z])(" + "|".join(UNWANTED) + r")(?![A-Za-z])", re.IGNORECASE)
KINDS = {".py", ".md", ".html", ".css", ".js", ".toml", ".jinja"}


def pages() -> list[Path]:
    """Everything that a reader or user may see."""
    found = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile")]
    for folder in ("src", "docs"):
        found += [p for p in sorted((ROOT / folder).rglob("*")) if p.suffix in KINDS and "_build" not in p.parts]
    return [p for p in found if p.is_file()]


def unwanted(text: str) -> list[tuple[int, str]]:
    """Line and word of every unwanted word."""
    lines = enumerate(text.splitlines(), 1)
    return [(i, match[0]) for i, line in lines for match in PATTERN.finditer(line.replace("_", " "))]


def test_no_page_uses_a_word_that_we_replaced():
    found = [f"{p.relative_to(ROOT)}:{i} {word!r}" for p in pages() for i, word in unwanted(p.read_text("utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "We were told.",
        "told_sums = 1",
        "Told",
        "attributes hang together",
        "Mended: x",
        "x, which is no name",
        "it is no JSON",
    ],
)
def test_each_word_is_found(line):
    assert unwanted(f"fine\n{line}")[0][0] == 2


@pytest.mark.parametrize(
    "line", ["untold", "stolid", "a bendable pipe", "emended", "housed", "it, which is no longer so"]
)
def test_other_words_pass(line):
    assert unwanted(line) == []


REFERENCE = re.compile(r"(?<![`\w])`([A-Za-z_][\w.]*)`(?![`\w])")
OF_OTHERS = {  # names of other packages
    "CalibratedClassifierCV", "CalibrationDisplay", "DataArray", "FlowDataFrame", "FrozenEstimator", "GeoDataFrame",
    "GridSearchCV", "RocCurveDisplay", "cross_validate", "frozen", "geopandas", "inspection", "mbi", "set_output",
    "sklearn", "xarray", "default0", "default1", "names_file",
}  # fmt: skip


def names_in(tree: ast.AST) -> set[str]:
    """Every name that a file defines or uses."""
    found: set[str] = set()
    for node in ast.walk(tree):
        for field in ("name", "id", "attr", "arg"):
            if isinstance(value := getattr(node, field, None), str):
                found |= set(value.split("."))
        if isinstance(node, ast.ImportFrom):
            found |= set((node.module or "").split("."))
    return found


def test_names_in_docstrings_exist():
    """A function or file that is renamed is renamed where others refer to it, too."""
    texts = {p: p.read_text("utf-8") for p in sorted((ROOT / "src").rglob("*.py"))}
    known = OF_OTHERS | {part for p in texts for part in (p.stem, p.parent.name)}
    for text in texts.values():
        known |= names_in(ast.parse(text))
    used = [(p.name, name) for p, text in texts.items() for name in REFERENCE.findall(text)]
    lost = [f"{file}: {name}" for file, name in used if not known >= {*name.split(".")}]
    assert lost == []


def test_a_lost_name_is_found():
    assert REFERENCE.findall("As `old_name.direct`, not ``code`` nor `two words`.") == ["old_name.direct"]
    assert "old_name" not in names_in(ast.parse("import numpy.linalg\ndef direct(x): return x.mean()"))
