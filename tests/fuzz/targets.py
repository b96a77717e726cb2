"""What is fuzzed: for every reader and for the model file, whole examples, and the call that reads one."""

from __future__ import annotations

import gzip
import io
import json
import random
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

FRAME = pd.DataFrame(
    {
        "unit": [f"p{i}" for i in range(12)],
        "a": np.arange(12) * 10 + 60,
        "b": 40 - np.arange(12),
        "y": np.arange(12) * 4 + 55,
        "n": np.arange(12) * 5 + 45,
        "x": np.linspace(-1, 1, 12),
    }
)
DICTIONARY = FRAME.assign(unit=FRAME["unit"].astype("category"), y=FRAME["y"].astype(str), flag=FRAME["a"] > 90)
LISTS = FRAME.assign(y=[[i, i + 1] for i in range(12)], when=pd.date_range("2020-01-01", periods=12))


def csv_bytes(**options) -> bytes:
    return FRAME.to_csv(index=False, **options).encode()


def parquet_bytes(frame: pd.DataFrame = FRAME, **options) -> bytes:
    stream = io.BytesIO()
    frame.to_parquet(stream, **options)
    return stream.getvalue()


def arrow_bytes(frame: pd.DataFrame = FRAME, stream: bool = False, compression: str | None = None) -> bytes:
    import pyarrow as pa

    table, sink = pa.Table.from_pandas(frame), io.BytesIO()
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=5)
    return sink.getvalue()


def database_bytes(folder: Path) -> bytes:
    import duckdb

    path = folder / "seed.duckdb"
    with duckdb.connect(str(path)) as con:
        con.register("frame", FRAME)
        con.execute("CREATE TABLE rows AS FROM frame")
    return path.read_bytes()


def written(write: Callable, path: Path, **options: object) -> bytes:
    write(path, **options)
    return path.read_bytes()


def spss_bytes(folder: Path) -> bytes:
    import pyreadstat

    pyreadstat.write_sav(FRAME, folder / "seed.sav")
    return (folder / "seed.sav").read_bytes()


def geojson_bytes() -> bytes:
    features = [{"type": "Feature", "properties": row, "geometry": None} for row in FRAME.to_dict("records")]
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


def geopackage_bytes(folder: Path) -> bytes:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(folder / "seed.gpkg")) as con, con:
        con.execute("CREATE TABLE gpkg_contents (table_name TEXT, data_type TEXT)")
        con.execute("INSERT INTO gpkg_contents VALUES ('rows', 'attributes')")
        FRAME.to_sql("rows", con, index=False)
    return (folder / "seed.gpkg").read_bytes()


def bird_bytes(folder: Path) -> bytes:
    from sumwise.io.formats import BirdFlow, write_birdflow

    ext = [0.0, 2.0, 0.0, 1.0]
    geom = {"nrow": 1, "ncol": 2, "res": [1.0, 1.0], "ext": ext, "crs": "x", "mask": [[True, True]]}
    flows = {(1, 2): np.array([[0.3, 0.2], [0.1, 0.4]])}
    model = BirdFlow(geom, np.array([[0.5, 0.4], [0.5, 0.6]]), pd.DataFrame({"timestep": [1, 2]}), flows)
    write_birdflow(model, folder / "seed.hdf5")
    return (folder / "seed.hdf5").read_bytes()


def model_bytes(folder: Path) -> list[bytes]:
    """Files of containers of every sort, and of a fitted model."""
    import scipy.sparse as sp

    from sumwise import Bags, Domain, Margins, Tables, save
    from sumwise.ecological import Goodman
    from sumwise.encoding import Encoding

    margins = Margins.from_frame(FRAME.assign(n=FRAME["a"] + FRAME["b"] - FRAME["y"]), ["a", "b"], ["y", "n"])
    bags = Bags.from_frame(FRAME.assign(bag=[0, 1] * 6), bag="bag", features=["x", "a"])
    tables = Tables.from_frame(
        FRAME.assign(bag=[0, 1] * 6, z=[0, 0, 1] * 4, l=[1, 0, 0, 1] * 3), ["bag", "z"], label="l"
    )
    foreign = [sp.csr_matrix(np.eye(3)), FRAME.set_index("unit"), np.random.default_rng(1), {1: (2.5, None)}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Goodman().fit(margins)
    rules = Encoding.fit(FRAME, {"a": [80.0, 100.0], "unit": {"kind": "levels", "min_count": 1}})
    out = []
    for thing in (margins, bags, tables, Domain({"a": 3, "b": ["x", "y"]}), model, foreign, rules):
        save(thing, folder / "seed.sumwise")
        out.append((folder / "seed.sumwise").read_bytes())
    return out


def forged(data: bytes, rng: random.Random) -> bytes:
    """A model file with some values of its document changed and its checksums renewed, as a forger would."""
    from sumwise.io.saved import archive

    with zipfile.ZipFile(io.BytesIO(data)) as old:
        members = {name: old.read(name) for name in old.namelist()}
    document = json.loads(members.pop("object.json"))
    for _ in range(rng.randint(1, 3)):
        _change(document["object"], rng)
    document.pop("sha256")
    document["sha256"] = archive._digest(document)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        for name, content in {**members, "object.json": json.dumps(document)}.items():
            new.writestr(name, content)
    return out.getvalue()


def _change(node: object, rng: random.Random) -> None:
    """Change one value somewhere below a node of JSON."""
    odd = [0, -1, 2**31, 10**9, 10**12, 10**18, 1e308, True, None, "", "x" * 50, [], {}, [[]], {"tuple": []}]
    odd += [{"int": "0x" + "f" * 40}, {"float": "nan"}, {"array": "array-0.npy"}, {"dict": {}}, {"dtype": "<U9"}]
    places: list[tuple] = []

    def visit(here: object) -> None:
        items = here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ()
        for key, value in items:
            places.append((here, key, value))
            visit(value)

    visit(node)
    here, key, value = rng.choice(places)
    other = rng.choice(places)[2] if rng.random() < 0.3 else rng.choice(odd)
    if isinstance(value, int) and rng.random() < 0.5:
        other = rng.choice([value + 1, -value, 10**9, 10**12, 2**62, 0])
    here[key] = json.loads(json.dumps(other))


def seeds(folder: Path) -> dict[str, tuple[str, list[bytes]]]:
    """Name of a target to the ending of its files and whole examples of them."""
    text = csv_bytes()
    toml = b'family = "ecological"\nmethod = "Goodman"\n[data]\nfile = "v.csv"\n[columns]\ngroups = ["a", "b"]\n'
    buckets = [{"bucket": "0x1", "value": 3}, {"bucket": "0x2", "value": 4.5}]
    models = model_bytes(folder)
    frames = [(f, c) for f in (FRAME, DICTIONARY, LISTS) for c in ("snappy", None)]
    arrow = [arrow_bytes(f, s, c) for f in (FRAME, DICTIONARY, LISTS) for s, c in ((False, None), (True, "zstd"))]
    return {
        "csv": (".csv", [text, csv_bytes(sep=";", decimal=","), text.decode().encode("utf-16")]),
        "gzip": (".csv.gz", [gzip.compress(text)]),
        "parquet": (".parquet", [parquet_bytes(f, compression=c) for f, c in frames]),
        "arrow": (".arrow", arrow),
        "database": (".duckdb", [database_bytes(folder)]),
        "workbook": (".xlsx", [written(FRAME.to_excel, folder / "seed.xlsx")]),
        "stata": (".dta", [written(FRAME.to_stata, folder / "seed.dta", write_index=False)]),
        "spss": (".sav", [spss_bytes(folder)]),
        "geojson": (".geojson", [geojson_bytes()]),
        "geopackage": (".gpkg", [geopackage_bytes(folder)]),
        "birds": (".hdf5", [bird_bytes(folder)]),
        "records": (".json", [json.dumps(buckets).encode(), b'{"records": [{"bucket": 1}]}']),
        "avro": (".avro", [avro_bytes()]),
        "problem": (".toml", [toml]),
        "model": (".sumwise", models),
        "forged": (".sumwise", models),
    }


def avro_bytes() -> bytes:
    import fastavro

    kinds = [{"name": "bucket", "type": "bytes"}, {"name": "value", "type": "long"}]
    schema = fastavro.parse_schema({"type": "record", "name": "r", "fields": kinds})
    out = io.BytesIO()
    fastavro.writer(out, schema, [{"bucket": b"\0\1", "value": 3}, {"bucket": b"\0\2", "value": 4}])
    return out.getvalue()


def _sheet(path: Path) -> None:
    """Every way in for a file of rows."""
    from sumwise.aggregate import aggregate
    from sumwise.errors import SumwiseError
    from sumwise.io.formats import read_margins
    from sumwise.schema import Schema

    refused = None
    for read in (
        Schema.infer,
        lambda p: read_margins(p, rows=["a", "b"], cols=["y", "n"], unit="unit"),
        lambda p: aggregate(p, ["a", "y"], order=1),
    ):
        try:
            read(path)
        except SumwiseError as error:
            refused = error
    if refused is not None:
        raise refused


def _birds(path: Path) -> None:
    from sumwise.io.formats import read_birdflow

    read_birdflow(path)


def _records(path: Path) -> None:
    from sumwise.io.formats.bucket_records import bucket_records

    bucket_records(path, ["bucket", "value"])


def _problem(path: Path) -> None:
    from sumwise.schema.problem import Problem

    Problem.from_file(path)


def _model(path: Path) -> None:
    import sumwise

    thing = sumwise.load(path)
    repr(thing)


READ: dict[str, Callable[[Path], None]] = {
    **dict.fromkeys(
        ("csv", "gzip", "parquet", "arrow", "database", "workbook", "stata", "spss", "geojson", "geopackage"), _sheet
    ),
    "birds": _birds,
    "records": _records,
    "avro": _records,
    "problem": _problem,
    "model": _model,
    "forged": _model,
}
