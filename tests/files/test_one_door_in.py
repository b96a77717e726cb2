"""Every ending is read by DuckDB or by a parser in the sandbox: no other module imports what parses native formats."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from sumwise.io.endings import KINDS

SOURCE = Path(__file__).parents[2] / "src" / "sumwise"
PARSERS = SOURCE / "io" / "parsers"
NATIVE = {"fastavro", "h5py", "netCDF4", "openpyxl", "pyreadstat", "rasterio", "sqlite3", "xarray", "geopandas", "docx"}
NATIVE |= {"pyarrow.csv", "pyarrow.dataset", "pyarrow.feather", "pyarrow.json", "pyarrow.orc", "pyarrow.parquet"}
READERS = {"read_excel", "read_feather", "read_hdf", "read_json", "read_orc", "read_parquet", "read_sas", "read_spss"}
READERS |= {"read_stata", "read_metadata", "read_table", "read_schema", "open_file", "open_stream", "ParquetFile"}
OTHERS = {  # what else names one of them, and why it may
    ("aggregate/on_duckdb.py", "pyarrow.dataset"): "asks what it was given; a data set is its maker's",
    ("aggregate/sources.py", "pyarrow.dataset"): "streams from another machine, larger than this one may hold",
    ("flows/flow_exchange.py", "geopandas"): "makes a frame of flows",
    ("flows/flow_exchange.py", "xarray"): "makes a data set of flows",
    ("io/formats/birdflow.py", "h5py"): "writes",
    ("io/sandbox.py", "open_stream"): "what the sandbox answers",
    ("maxent/synthetic_rows.py", "pyarrow.parquet"): "writes",
    ("report/exports.py", "docx"): "writes",
    ("report/exports.py", "openpyxl"): "writes",
    ("synthetic/row_stream.py", "pyarrow.parquet"): "writes",
    ("datasets/microdata.py", "read_parquet"): "of the catalogue, whose checksum is compared first",
    ("cli/study/contests.py", "read_parquet"): "written by the same fit",
    ("cli/study/editions.py", "read_parquet"): "of a result of the user's own",
    ("cli/study/fitting.py", "read_parquet"): "of a result of the user's own",
}


def named_by(tree: ast.AST) -> set[str]:
    """Native parsers that a module imports to use, and functions of others that it reads with.

    A call of `require` that nothing keeps only says which package is missing before the sandbox starts.
    """
    found = set()
    only_asked = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("require", "import_module") and node.args and id(node) not in only_asked:
                found |= {node.args[0].value} if isinstance(node.args[0], ast.Constant) else set()
            found |= {name} & READERS if isinstance(node.func, ast.Attribute) else set()
    native = {name for name in found if name in NATIVE or name.partition(".")[0] in NATIVE}
    return {name if name in NATIVE else name.partition(".")[0] for name in native} | (found & READERS)


def users(root: Path) -> set[tuple[str, str]]:
    """(file, parser) of every module that reads a native format, or could."""
    return {
        (path.relative_to(root).as_posix(), name)
        for path in sorted(root.rglob("*.py"))
        if PARSERS not in path.parents
        for name in named_by(ast.parse(path.read_text("utf-8")))
    }


def test_nothing_else_parses():
    found = users(SOURCE)
    assert found - set(OTHERS) == set(), "give it to sumwise.io.sandbox.parse"
    assert set(OTHERS) - found == set(), "no longer there: take it off the list"


@pytest.mark.parametrize(
    "line",
    [
        "import h5py",
        "import pyarrow.parquet as pq",
        "from openpyxl import load_workbook",
        "rasterio = require('rasterio')",
        "pd.read_stata(path)",
        "pa.ipc.open_file(path)",
    ],
)
def test_a_parser_is_found(tmp_path, line):
    (tmp_path / "x.py").write_text(f"{line}\nrequire('h5py')\nimport pyarrow as pa\n")
    assert len(users(tmp_path)) == 1


def test_every_parser_is_started_by_the_sandbox_and_every_ending_has_a_kind():
    text = "\n".join(p.read_text("utf-8") for p in SOURCE.rglob("*.py") if PARSERS not in p.parents)
    started = set(re.findall(r'parse\(\s*"sumwise\.io\.parsers\.(\w+)"', text))
    assert started == {p.stem for p in PARSERS.glob("*.py") if "\ndef parse(" in p.read_text("utf-8")}
    endings = [ending for of_kind in KINDS.values() for ending in of_kind]
    assert len(endings) == len(set(endings))
