"""What is fuzzed: for every ending of a file that sumwise reads, whole examples, and the calls that read one."""

from __future__ import annotations

import gzip
import io
import json
import random
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from sumwise.io.endings import ENDINGS, KINDS, PACKED

VOTERS = np.arange(12)
FRAME = pd.DataFrame(
    {
        "precinct": [f"p{i}" for i in range(12)],
        "white": VOTERS * 10 + 60,
        "black": 40 - VOTERS,
        "smith": VOTERS * 4 + 55,
        "jones": VOTERS * 5 + 45,
    }
)
DICTIONARY = FRAME.assign(
    precinct=FRAME["precinct"].astype("category"), smith=FRAME["smith"].astype(str), flag=FRAME["white"] > 90
)
LISTS = FRAME.assign(jones=[[i, i + 1] for i in range(12)], when=pd.date_range("2020-01-01", periods=12))


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
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as con:
        con.register("frame", FRAME)
        con.execute("CREATE TABLE rows AS FROM frame")
    return path.read_bytes()


def written(write: Callable, path: Path, **options: object) -> bytes:
    write(path, **options)
    return path.read_bytes()


def spss_bytes(path: Path, compress: bool = False) -> bytes:
    import pyreadstat

    pyreadstat.write_sav(FRAME, path, compress=compress)
    return path.read_bytes()


def geojson_bytes() -> bytes:
    features = [{"type": "Feature", "properties": row, "geometry": None} for row in FRAME.to_dict("records")]
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


def geopackage_bytes(folder: Path) -> bytes:
    import sqlite3
    from contextlib import closing

    (folder / "seed.gpkg").unlink(missing_ok=True)
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


def raster_bytes(folder: Path) -> bytes:
    import rasterio

    facts = {"count": 3, "height": 4, "width": 5, "dtype": "float32", "crs": "EPSG:4326", "compress": "deflate"}
    facts["transform"] = rasterio.Affine(1.0, 0.0, 0.0, 0.0, -1.0, 4.0)
    with rasterio.open(folder / "seed.tif", "w", driver="GTiff", **facts) as file:
        file.write(np.arange(60, dtype="float32").reshape(3, 4, 5))
    return (folder / "seed.tif").read_bytes()


def model_bytes(folder: Path) -> list[bytes]:
    """Files of containers of every sort, and of a fitted model."""
    import scipy.sparse as sp

    from sumwise import Bags, Domain, Margins, Tables, save
    from sumwise.ecological import Goodman
    from sumwise.encoding import Encoding

    margins = Margins.from_frame(FRAME, ["white", "black"], ["smith", "jones"])
    bags = Bags.from_frame(FRAME.assign(bag=[0, 1] * 6), bag="bag", features=["white", "black"])
    tables = Tables.from_frame(
        FRAME.assign(bag=[0, 1] * 6, z=[0, 0, 1] * 4, l=[1, 0, 0, 1] * 3), ["bag", "z"], label="l"
    )
    foreign = [sp.csr_matrix(np.eye(3)), FRAME.set_index("precinct"), np.random.default_rng(1), {1: (2.5, None)}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Goodman().fit(margins)
    rules = Encoding.fit(FRAME, {"white": [80.0, 100.0], "precinct": {"kind": "levels", "min_count": 1}})
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


def seeds_of_rows(folder: Path) -> dict[str, list[bytes]]:
    """Whole examples of files with rows, by ending; a kind that has several endings has the same for each."""
    text = csv_bytes()
    frames = [(f, c) for f in (FRAME, DICTIONARY, LISTS) for c in ("snappy", None)]
    arrow = [arrow_bytes(f, s, c) for f in (FRAME, DICTIONARY, LISTS) for s, c in ((False, None), (True, "zstd"))]
    parquet = [parquet_bytes(f, compression=c) for f, c in frames]
    texts = [text, csv_bytes(sep=";", decimal=","), csv_bytes(sep="\t"), text.decode().encode("utf-16")]
    workbook = [written(FRAME.to_excel, folder / "seed.xlsx", index=False)]
    database, geojson = [database_bytes(folder)], [geojson_bytes()]
    return {
        **dict.fromkeys((".csv", ".tsv", ".txt", ".tab", ".dat"), texts),
        **dict.fromkeys((".parquet", ".pq"), parquet),
        **dict.fromkeys((".arrow", ".feather", ".ipc", ".arrows"), arrow),
        **dict.fromkeys((".duckdb", ".ddb", ".db"), database),
        **dict.fromkeys((".xlsx", ".xlsm"), workbook),
        ".dta": [written(FRAME.to_stata, folder / "seed.dta", write_index=False)],
        ".sav": [spss_bytes(folder / "seed.sav")],
        ".zsav": [spss_bytes(folder / "seed.zsav", compress=True)],
        **dict.fromkeys((".geojson", ".json"), geojson),
        ".gpkg": [geopackage_bytes(folder)],
    }


def seeds(folder: Path) -> dict[str, tuple[str, list[bytes]]]:
    """Name of a target to the ending of its files and whole examples of them; rows of every ending of the one list."""
    folder.mkdir(exist_ok=True)
    rows = seeds_of_rows(folder)
    rows |= {f"{ending}{PACKED}": [gzip.compress(data) for data in rows[ending]] for ending in KINDS["text"]}
    toml = b'family = "ecological"\nmethod = "Goodman"\n[data]\nfile = "v.csv"\n[columns]\ngroups = ["a", "b"]\n'
    buckets = [{"bucket": "0x1", "value": 3}, {"bucket": "0x2", "value": 4.5}]
    models = model_bytes(folder)
    return {
        **{ending[1:]: (ending, rows[ending]) for ending in ROWS},
        "birds": (".hdf5", [bird_bytes(folder)]),
        "tif": (".tif", [raster_bytes(folder)]),
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


def _infer(path: Path) -> None:
    from sumwise.schema import Schema

    schema = Schema.infer(path)
    if not schema.questions:
        schema.read(path)


def _margins(path: Path) -> None:
    from sumwise.io.formats import read_margins

    read_margins(path, rows=["white", "black"], cols=["smith", "jones"], unit="precinct")


def _aggregate(path: Path) -> None:
    from sumwise.aggregate import aggregate

    aggregate(path, ["white", "smith"], order=1)


def _command(path: Path) -> None:
    """`sumwise init`, which answers what is wrong with a file by exit code 2."""
    from sumwise.cli import main
    from sumwise.errors import DataError

    with tempfile.TemporaryDirectory() as folder:
        code = main(["init", str(path), "--out", f"{folder}/problem.toml", "--quiet"])
        asked = Path(folder, "problem.toml").exists()  # with the questions that are open
    if code not in (0, 2):
        raise RuntimeError(f"exit code {code}")
    if code and not asked:
        raise DataError("see standard error")


DOORS = (_infer, _margins, _aggregate, _command)


def _rows(path: Path) -> None:
    """One of the ways in for a file of rows, by its content; each parses the file once."""
    DOORS[zlib.crc32(path.read_bytes()) % len(DOORS)](path)


def _birds(path: Path) -> None:
    from sumwise.io.formats import read_birdflow

    read_birdflow(path)


def _raster(path: Path) -> None:
    from sumwise.flows import read_raster

    read_raster(path)


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


ROWS = (*ENDINGS, *(f"{ending}{PACKED}" for ending in KINDS["text"]))
READ: dict[str, Callable[[Path], None]] = {
    **dict.fromkeys((ending[1:] for ending in ROWS), _rows),
    "birds": _birds,
    "tif": _raster,
    "records": _records,
    "avro": _records,
    "problem": _problem,
    "model": _model,
    "forged": _model,
}
"""What reads the files of a target."""
