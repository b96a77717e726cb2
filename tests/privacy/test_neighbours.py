"""Audit: pipelines on neighbouring rows succeed or fail alike, say the same, and write files of the same names.

A pair of data sets differs in one row, which is added, left out, or changed to hostile values. What is compared is all
that is not noise: success, message, exit code, standard output and error, file names, shapes, and types of levels.
"""

import csv
import json
import os

import numpy as np
import pandas as pd
import pytest

from sumwise.aggregate import aggregate
from sumwise.aggregate.sources import table_by_row
from sumwise.cli import main
from sumwise.encoding import Declaration
from sumwise.io.formats.tables_folder import read_tables_folder
from sumwise.privacy import Budget, private_encoding, release_rows

COLUMNS = ("id", "age", "town", "code", "ill", "kind", "w")
HOSTILE = (
    *("", " ", "x9", "forty", "NaN", "nan", "inf", "-inf", "1e308", "-1e400", "9" * 400, "1.0", "01", "0x10", "1_000"),
    *("٣", "٪", "2024-01-01", "true", "FALSE", "other", "missing", "None", "it's", '"', 'a"b', "a,b", "x\ny", "x\r\ny"),
    *("\x00", "\ufeff", "é", "-1", "0", "1", "2", "3", "2.5", "1e3", "12:30", "[]", "#", "\t", ";", "|", "y" * 70_000),
)
OBJECTS = (*HOSTILE, None, 0, 1, -1, 2.5, float("inf"), 10**30, True, (1, 2), {"a": 1}, pd.NaT, "\udcff", b"\xff", 1j)
ASKED = {
    "age": {"kind": "quantiles", "bins": 3, "range": [0, 120]},
    "town": {"kind": "levels", "max_levels": 5},
    "code": {"kind": "levels", "values": [1, 2, 3]},
}
LABELS = ({"label": "ill"}, {"label": "kind", "classes": ["a", "b", "c"]}, {})
BOUNDS = ({}, {"person": "id", "max_rows": 2}, {"person": "id", "weight": "w", "max_weight": 2.0})


def rows(rng, n=12):
    parts = rng.integers(0, 4, n), rng.integers(0, 99, n), rng.choice(["Bern", "Rome"], n), rng.integers(1, 4, n)
    outcomes = rng.integers(0, 2, n), rng.choice(list("abc"), n), rng.random(n)
    return [[v.item() for v in row] for row in zip(*parts, *outcomes)]


def neighbour(rng, given, values):
    """The rows with one of them added, left out or changed."""
    hostile = [values[i] if rng.random() < 0.6 else given[0][c] for c, i in enumerate(rng.integers(0, len(values), 7))]
    at, rest = int(rng.integers(0, len(given))), list(given)
    how = rng.integers(0, 4)
    if how == 0:
        return [*rest[:at], hostile, *rest[at:]]
    if how == 1:
        return rest[:at] + rest[at + 1 :]
    return [*rest[:at], hostile, *rest[at + 1 :]] if how == 2 else [*rest, hostile]


def declaration(rng):
    more = LABELS[rng.integers(len(LABELS))] | BOUNDS[rng.integers(len(BOUNDS))]
    return Declaration({**ASKED, "old": {"kind": "cuts", "column": "age", "at": [40]}}, **more)


def in_python(rng):
    """Shapes, types and errors of a release of frames, on both sides."""
    base = rows(rng, int(rng.integers(1, 12)))
    declared = declaration(rng)
    mechanism = "gaussian" if declared.weight else ("gaussian", "geometric")[rng.integers(2)]
    return [
        seen(lambda r=r: shown(release_rows(frame(r), declared, 1.0, 1e-6, mechanism, Budget(1.0, 1e-6), order=1)))
        for r in (base, neighbour(rng, base, OBJECTS))
    ]


def frame(given):
    """A frame whose columns have the type that all their values have, if they have one."""
    columns = {c: [row[i] for row in given] for i, c in enumerate(COLUMNS)}
    kinds = {c: {object if v == 10**30 else type(v) for v in values} for c, values in columns.items()}
    plain = {c: kinds[c].pop() if len(kinds[c]) == 1 else object for c in columns}
    dtype = {c: kind if kind in (int, float, bool) else object for c, kind in plain.items()}
    return pd.DataFrame({c: pd.Series(values, dtype=dtype[c]) for c, values in columns.items()})


def levels_in_python(rng):
    base = rows(rng, int(rng.integers(1, 12)))
    sides = (base, neighbour(rng, base, OBJECTS))
    return [seen(lambda r=r: sorted(private_encoding(frame(r), ASKED, 1.0, 1e-6, None).rules)) for r in sides]


def shown(tables):
    """What doesn't depend on noise: attributes, label, classes, kinds of noise, promise, kinds of public levels."""
    levels = [type(v).__name__ for v in tables.domain.levels("code")]
    noise = [(t.attributes, type(t.noise).__name__, t.counts.dtype.name) for t in tables]
    return noise, tables.label, tables.classes, tables.provenance.releases, levels, tables.n


def seen(work):
    try:
        return work()
    except Exception as error:  # every class of error counts
        return type(error).__name__, str(error)


def by_command(rng, folder, capsys):
    """All that the command says and leaves behind, for files of both sides: output, names, ledger, what isn't noise."""
    base = rows(rng, int(rng.integers(1, 12)))
    declared = {"label": "ill", "person": "id", "max_rows": 2} if rng.random() < 0.5 else {"label": "ill"}
    write = (as_csv, as_lines, as_parquet)[rng.integers(3)]
    sides = base, neighbour(rng, base, OBJECTS if write is as_parquet else HOSTILE)
    return [_command(folder / side, r, declared, write, capsys) for side, r in zip("ab", sides)]


def as_csv(given, path):
    with open(path := path.with_suffix(".csv"), "w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([COLUMNS, *given])
    return path


def as_lines(given, path):
    """Lines as nobody should write them: no quotes, an encoding and an end of each line's own."""
    data = ",".join(COLUMNS).encode() + b"\n"
    for i, row in enumerate(given):
        text = ",".join(map(str, row))
        data += text.encode("cp1252" if "é" in text else "utf-8", "replace") + (b"\r\n" if i % 3 == 2 else b"\n")
    (path := path.with_suffix(".csv")).write_bytes(data)
    return path


def as_parquet(given, path):
    table = frame(given)
    mixed = {c: table[c].map(_as_text) for c in table if table[c].dtype == object}
    table.assign(**mixed).to_parquet(path := path.with_suffix(".parquet"))
    return path


def _as_text(value):
    return None if value is None else str(value).encode("utf-8", "replace").decode()


def _command(folder, given, declared, write, capsys):
    folder.mkdir(parents=True)
    os.environ["SUMWISE_STATE"] = f"{folder}-state"  # ledgers of other pairs may be of equal rows, as of none
    path = write(given, folder / "rows")
    lines = [f"{k} = {json.dumps(v)}" for k, v in declared.items()]
    lines += [
        f"attributes.{a} = {{{', '.join(f'{k} = {json.dumps(v)}' for k, v in asked.items())}}}"
        for a, asked in ASKED.items()
    ]
    (folder / "schema.toml").write_text("\n".join(lines), "utf-8")
    files = ["--rows", str(path), "--schema", str(folder / "schema.toml"), "--out", str(folder / "out")]
    code = main(["release", *files, "--mechanism", "gaussian", "--delta", "1e-6"])
    said = capsys.readouterr()
    names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))
    output = [text.replace(str(folder), ".") for text in (said.out, said.err)]
    return code, output, names, _left(folder, path) if code == 0 else None


def _left(folder, path):
    """The ledger without its times and names, and the facts of a summary that are no noise."""
    ledger = json.loads(path.with_name(f"{path.name}.budget.json").read_text())
    spent = [{k: v for k, v in entry.items() if k not in ("what", "when")} for entry in ledger["entries"]]
    summary = json.loads((folder / "out" / "summary.json").read_text())
    noisy = shown(read_tables_folder(folder / "out"))
    return ledger["epsilon"], ledger["delta"], spent, sorted(summary), summary["provenance"], noisy


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("SUMWISE_STATE", str(tmp_path / "state"))


def audit(n, seed, tmp_path, capsys):
    rng = np.random.default_rng(seed)
    for i in range(n):
        kind = i % 4
        pair = (
            in_python(rng)
            if kind < 2
            else levels_in_python(rng)
            if kind == 2
            else by_command(rng, tmp_path / str(i), capsys)
        )
        assert pair[0] == pair[1], i
        assert pair[0][0] != "DataError", pair[0]  # the pipelines work
        assert kind != 3 or pair[0][0] == 0


def test_pipelines_on_neighbours_differ_by_noise_alone(tmp_path, capsys):
    audit(16, 0, tmp_path, capsys)


@pytest.mark.check
@pytest.mark.parametrize("seed", range(1, 9))
def test_pipelines_on_2000_neighbours_differ_by_noise_alone(tmp_path, capsys, seed):
    audit(250, seed, tmp_path, capsys)


NAMES = ["1", 1, 1.0, "1.0", "01", " 1", "p", True, "true", None, 2, "2"]
WEIGHTS = [1, 0.5, 3, "nan", "7", -1, float("inf"), None]


def check_sensitivity(n, seed):
    """Exact counts of frames with and without all rows of one person, whose bound is 2 rows of weight 1.5."""
    rng = np.random.default_rng(seed)
    rules = {
        "age": {"kind": "width", "bins": 3, "range": [-1, 4]},
        "code": {"kind": "levels", "values": [1, 2, 3]},
        "town": {"kind": "levels", "values": ["Bern", "1"]},
        "old": {"kind": "levels", "column": "kind", "values": [True, False]},
    }
    declared = Declaration(rules, label="ill", weight="w", max_weight=1.5, person="id", max_rows=2)

    def pick(values):
        return values[rng.integers(len(values))]

    for _ in range(n):
        some = [
            [pick(NAMES), pick(OBJECTS), pick([*OBJECTS, "Bern", "Bern"]), pick(OBJECTS), pick([0, 1, "1"]),
             pick(OBJECTS), pick(WEIGHTS)] for _ in range(rng.integers(2, 14))
        ]  # fmt: skip
        some.append(["nobody", 1, "Bern", 1, 1, True, 1.0])
        keys = table_by_row({"id": [row[0] for row in some]}, ("id",)).column("id").to_pylist()
        one = pick(keys[:-1])
        both = [aggregate(frame(g), declared) for g in (some, [r for r, k in zip(some, keys) if k != one])]
        for with_them, without in zip(*both):
            sums = [np.stack([t.counts - t.label_sums, t.label_sums]) for t in (with_them, without)]
            assert np.abs(sums[0] - sums[1]).sum() <= 3.0 + 1e-9, (one, some)


def test_all_rows_of_a_person_move_each_table_within_the_bound():
    check_sensitivity(12, 0)


@pytest.mark.check
def test_all_rows_of_any_person_move_each_table_within_the_bound():
    check_sensitivity(400, 1)
