"""Everything on disk goes through one writer: no other file of the source makes, opens or renames one to write."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "sumwise"
THE_WRITER = {"io/writer.py", "io/locks.py", "io/scratch.py"}
OTHERS = {  # what else writes, and why it may
    ("aggregate/csv_lines.py", "copy.open"): "to a file of a scratch folder",
    ("cli/entry.py", "open"): "to nowhere",
    ("io/parsers/hdf5.py", "save"): "to memory",
    ("io/remote.py", "makedirs"): "on another machine",
    ("io/saved/archive.py", "open"): "to read",
    ("cli/gallery.py", "savefig"): "to memory",
    ("app/server.py", "ZipFile"): "to a temporary file without a name",
    ("io/child.py", "fdopen"): "to standard output",
    ("io/saved/archive.py", "ZipFile"): "to a file of the writer's",
    ("io/saved/archive.py", "archive.open"): "to a member of that file",
    ("plots/flow_animation.py", "savefig"): "to memory",
    ("io/formats/text.py", "copy.open"): "to a scratch file, which may lie in memory",
    ("report/exports.py", "savefig"): "to a file of the writer's",
    ("report/svg.py", "savefig"): "to memory",
    ("cli/study/folder.py", "rename"): "of folders that were found to be no links",
    ("inference/kernels/private_folder.py", "mkdir"): "kernels know nothing but arrays; it has checks of its own",
    ("cli/commands/predict.py", "to_csv"): "to standard output",
    ("spark.py", "mkdtemp"): "a private folder of Spark's",
}
METHODS = {"mkdir", "makedirs", "mkdtemp", "mkstemp", "savefig", "symlink_to", "to_csv", "to_excel", "to_feather"}
METHODS |= {"to_json_file", "to_parquet", "touch", "write_bytes", "write_image", "write_text", "NamedTemporaryFile"}
OF_MODULES = {"os": {"link", "mkfifo", "open", "rename", "renames", "replace", "symlink", "truncate"}}
OF_MODULES |= {"shutil": {"copy", "copy2", "copyfile", "copytree", "move"}, "np": {"save", "savez", "savez_compressed"}}


def mode_of(call: ast.Call, place: int) -> str:
    """The mode that a call of `open` gives, "r" by default."""
    named = {k.arg: k.value for k in call.keywords}
    node = call.args[place] if len(call.args) > place else named.get("mode")
    return (
        node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "r" if node is None else "?"
    )


def written_by(call: ast.Call) -> str | None:
    """What a call writes with; None where it writes nothing."""
    name = call.func
    if isinstance(name, ast.Name):
        first = {"open": 1, "ZipFile": 1}.get(name.id)
        if name.id in ("write_text", "write_bytes"):  # the writer's
            return None
        return name.id if first is not None and set(mode_of(call, first)) & set("wax+?") else None
    if not isinstance(name, ast.Attribute):
        return None
    owner = name.value.id if isinstance(name.value, ast.Name) else ""
    if owner == "writer":
        return None
    if name.attr in METHODS or name.attr in OF_MODULES.get(owner, ()):
        return name.attr
    if name.attr in ("open", "ZipFile", "fdopen"):
        place = 0 if name.attr == "open" and owner not in ("gzip", "io", "codecs", "archive") else 1
        if set(mode_of(call, place)) & set("wax+") and len(mode_of(call, place)) < 4:
            return f"{owner}.open" if name.attr == "open" else name.attr
    return None


def writers(root: Path) -> set[tuple[str, str]]:
    """(file, call) of every call that writes to disk."""
    found = set()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and (what := written_by(node)) is not None and name not in THE_WRITER:
                found.add((name, what))
    return found


def test_nothing_else_writes():
    found = writers(SOURCE)
    assert found - set(OTHERS) == set(), "use sumwise.io.writer"
    assert set(OTHERS) - found == set(), "no longer there: take it off the list"


@pytest.mark.parametrize(
    "line",
    [
        "open(path, 'w')",
        "open(path, mode='ab')",
        "path.open('w')",
        "path.open(mode='x')",
        "path.write_text('x')",
        "path.mkdir()",
        "os.replace(a, b)",
        "os.open(path, flags)",
        "gzip.open(path, 'wt')",
        "zipfile.ZipFile(path, 'w')",
        "shutil.copy(a, b)",
        "frame.to_parquet(path)",
        "np.savez(path, a)",
    ],
)
def test_a_write_is_found(tmp_path, line):
    (tmp_path / "x.py").write_text(f"{line}\nopen(path)\npath.open('rb')\nframe.rename(columns=x)\n")
    assert len(writers(tmp_path)) == 1
