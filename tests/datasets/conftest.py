"""Load a public set, or skip and say why."""

import hashlib

import pytest

from sumwise import datasets
from sumwise.datasets import store


@pytest.fixture
def load():
    def loaded(name, *args, **kwargs):
        if not store.entry(name).present:
            pytest.skip(f"the public data set {name!r} is not on this machine (set SUMWISE_DATA)")
        return getattr(datasets, name)(*args, **kwargs)

    return loaded


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Put a file of that text into a temporary data folder, as the only set of the catalogue."""

    def put(text="a,b\n1,2\n", name="toy", columns=("a", "b"), rows=1, sha256=None, write=True):
        folder = tmp_path / "data"
        folder.mkdir(exist_ok=True)
        body = text if isinstance(text, bytes) else text.encode()
        if write:
            (folder / "toy.csv").write_bytes(body)
        file = store.File("toy.csv", sha256 or hashlib.sha256(body).hexdigest(), rows, columns)
        entry = store.Entry(name, "ecological", "1 x 2", "CC0", "A. Author 1999, doi:10.0/toy", (file,))
        monkeypatch.setattr(store, "entries", lambda: {name: entry})
        monkeypatch.setenv("SUMWISE_DATA", str(folder))
        monkeypatch.chdir(tmp_path)
        return folder / "toy.csv"

    return put
