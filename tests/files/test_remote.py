"""Files behind an address: on fsspec's file system in memory, and on an S3 server where moto and s3fs are installed."""

import os
import sys

import numpy as np
import pandas as pd
import pytest

from killed import kill_after
from messages import raises
from sumwise import synthetic
from sumwise.aggregate import aggregate
from sumwise.errors import DataError
from sumwise.io.checkpoint import Checkpoint
from sumwise.io.formats.files import open_sheet
from sumwise.io.remote import RemoteFile, is_remote

fsspec = pytest.importorskip("fsspec", reason="the extra 'remote' isn't installed")


@pytest.mark.parametrize("path", ["s3://b/x", "memory://x", "hdfs://h:8020/x", "abfs+x://y"])
def test_addresses_are_remote(path):
    assert is_remote(path)


def test_a_hadoop_client_that_is_missing_is_named(monkeypatch):
    def missing(address):
        raise OSError("Unable to load libjvm\ndlopen(/usr/lib/jvm/libjvm.so) failed")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    with raises(DataError, "cant-reached", "Unable to load libjvm"):
        Checkpoint("hdfs://h/x", key="k").load()


@pytest.mark.parametrize("path", ["x", "/a/b", "c:/x", "C://x", None, 3])
def test_files_are_not(path):
    assert not is_remote(path)


def test_a_checkpoint_is_kept_behind_an_address():
    address = "memory://runs/a.checkpoint"
    first = Checkpoint(address, key="k")
    assert first.load() is None
    first.save({"step": 1, "theta": np.arange(3.0)})
    first.save({"step": 2, "theta": np.arange(4.0)})
    again = Checkpoint(address, key="k").load()
    assert again["step"] == 2
    assert np.array_equal(again["theta"], np.arange(4.0))
    with raises(DataError, "checkpoint-written-other"):
        Checkpoint(address, key="other").load()
    first.clear()
    assert Checkpoint(address, key="k").load() is None
    first.clear()


def test_a_failed_write_leaves_the_file_as_it_was():
    file = RemoteFile("memory://runs/b")
    with file.replaced() as local:
        local.write_bytes(b"whole")
    with pytest.raises(ZeroDivisionError), file.replaced() as local:
        local.write_bytes(b"half")
        _ = 1 / 0
    with file.fetched() as local:
        assert local.read_bytes() == b"whole"
    file.remove()
    assert not file.exists()


def test_what_is_damaged_or_unknown_is_an_error():
    file = RemoteFile("memory://runs/c")
    with file.replaced() as local:
        local.write_bytes(b"nonsense")
    with raises(DataError, "not-sumwise-file-cut"):
        Checkpoint("memory://runs/c").load()
    file.remove()
    with raises(DataError, "cant-reached", "nowhere"):
        RemoteFile("nowhere://x")
    with raises(DataError, "cant-reached-look"), RemoteFile("memory://runs/none").fetched():
        pass


def test_an_address_without_its_package_says_which():
    try:
        import s3fs  # noqa: F401
    except ImportError:
        with raises(DataError, "cant-reached", "s3fs"):
            RemoteFile("s3a://b/x.parquet")


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.integers(0, 3, 50), "b": rng.choice(["x", "y"], 50), "label": rng.integers(0, 2, 50)})


def put(address, frame, write):
    file = RemoteFile(address)
    with file.replaced() as local:
        write(frame, local)
    return file


def test_files_behind_an_address_are_read(rows):
    file = put("memory://data/rows.csv", rows, lambda frame, path: frame.to_csv(path, index=False))
    sheet = open_sheet("memory://data/rows.csv")
    assert sheet.columns == ("a", "b", "label")
    assert sheet.name == "'memory://data/rows.csv'"
    with raises(DataError, "databases-none-leave", "memory://data/rows.csv"):
        open_sheet("memory://data/rows.csv", table="t")
    with raises(DataError, "cant-reached-look", "/data/none.csv"):
        open_sheet("memory://data/none.csv")
    file.remove()


def test_parquet_behind_an_address_is_counted_in_place(rows):
    parts = [
        put(f"memory://data/part-{i}.parquet", half, lambda f, p: f.to_parquet(p))
        for i, half in enumerate((rows[:30], rows[30:]))
    ]
    here = aggregate(rows, ["a", "b"], "label")
    assert aggregate("memory://data/part-*.parquet", ["a", "b"], "label") == here
    assert aggregate("memory://data", ["a", "b"], "label") == here
    with raises(DataError, "no-file-look", "memory://data/none.parquet"):
        aggregate("memory://data/none.parquet", ["a", "b"])
    with raises(DataError, "read-place-parquet"):
        aggregate("memory://data/rows.csv", ["a", "b"])
    for file in parts:
        file.remove()


@pytest.fixture(scope="module")
def bucket():
    """An empty bucket of an S3-compatible server on 127.0.0.1, which this process and its children find."""
    pytest.importorskip("s3fs", reason="a server of S3 needs s3fs and moto[server], which aren't requirements")
    server = pytest.importorskip("moto.server", reason="a server of S3 needs moto[server], which isn't a requirement")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    running.start()
    host, port = running.get_host_and_port()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            environment.setenv(name, "nobody")
        RemoteFile("s3://runs/x").system.mkdir("runs")
        yield "s3://runs"
    running.stop()


def test_objects_are_replaced_whole_and_no_bucket_is_made(bucket):
    first = Checkpoint(f"{bucket}/deep/a.checkpoint", key="k")
    assert first.load() is None
    first.save({"step": 1})
    first.save({"step": 2})
    again = Checkpoint(f"{bucket.replace('s3', 's3a')}/deep/a.checkpoint", key="k")
    assert again.load() == {"step": 2}
    system = RemoteFile(bucket).system
    assert [p.rpartition("/")[2] for p in system.find("runs")] == ["a.checkpoint"]
    first.clear()
    assert again.load() is None
    with pytest.raises(DataError, match=r"'s3://other/a' can't be reached: .*bucket.*Hint: look at the address"):
        Checkpoint("s3://other/a").save({"step": 1})
    assert system.ls("") == ["runs"]


def test_parquet_and_csv_of_a_bucket_are_read(bucket, rows):
    put(f"{bucket}/rows/1.parquet", rows[:30], lambda f, p: f.to_parquet(p))
    put(f"{bucket}/rows/2.parquet", rows[30:], lambda f, p: f.to_parquet(p))
    put(f"{bucket}/rows.csv", rows, lambda f, p: f.to_csv(p, index=False))
    here = aggregate(rows, ["a", "b"], "label")
    for address in (f"{bucket}/rows", f"{bucket}/rows/*.parquet", "s3a://runs/rows"):
        assert aggregate(address, ["a", "b"], "label") == here
    assert open_sheet(f"{bucket}/rows.csv").columns == ("a", "b", "label")
    with pytest.raises(DataError, match=r"no file 's3://runs/none.parquet'"):
        aggregate(f"{bucket}/none.parquet", ["a", "b"])


FIT = """
from sumwise import synthetic
from sumwise.maxent import MaxEntClassifier, SolverOptions, trainers
trainers.SECONDS = 0.0
tables = synthetic.rows(500, sizes=[3, 4], rate=0.3, random_state=0).tables()
options = SolverOptions(n_chains=100, max_iter=25, tol=0.0)
MaxEntClassifier(engine="gibbs", options=options, random_state=0).fit(tables, checkpoint=sys.argv[1])
"""


@pytest.mark.filterwarnings("ignore:Stopped after")
def test_a_killed_fit_goes_on_from_a_checkpoint_in_a_bucket(bucket):
    from sumwise.maxent import MaxEntClassifier, SolverOptions

    address = f"{bucket}/fit.checkpoint"
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path if p)}
    assert kill_after(1, FIT, address, env=path) < 0
    assert RemoteFile(address).exists()
    tables = synthetic.rows(500, sizes=[3, 4], rate=0.3, random_state=0).tables()
    options = SolverOptions(n_chains=100, max_iter=25, tol=0.0)
    whole = MaxEntClassifier(engine="gibbs", options=options, random_state=0).fit(tables)
    resumed = MaxEntClassifier(engine="gibbs", options=options, random_state=0).fit(tables, checkpoint=address)
    assert np.array_equal(resumed.theta_, whole.theta_)
    assert not RemoteFile(address).exists()
