"""Names for the content of files."""

import numpy as np

from sumwise.storage.file_digest import file_digest


def test_rows_are_known_by_their_content(tmp_path):
    for folder, values in (("a", "x=1"), ("b", "x=1"), ("c", "x=2")):
        (tmp_path / folder / values).mkdir(parents=True)
        (tmp_path / folder / values / "part.csv").write_text("y\n1\n")
    first, copy, other = (file_digest(str(tmp_path / f)) for f in "abc")
    assert first == copy != other
    one = file_digest(str(tmp_path / "a" / "x=1" / "part.csv"))
    assert one == file_digest(str(tmp_path / "c" / "*" / "*.csv"))
    assert file_digest("s3://bucket/rows.parquet") is None


def test_large_rows_are_known_by_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("sumwise.storage.file_digest.WHOLE", 2**18)
    content = bytearray(np.random.default_rng(0).bytes(10 * 2**16))
    for name in ("rows.csv", "copy.csv"):
        (tmp_path / name).write_bytes(content)
    content[-1] ^= 1
    (tmp_path / "other.csv").write_bytes(content)
    (tmp_path / "longer.csv").write_bytes(content + b"\n")
    names = [file_digest(str(tmp_path / f"{n}.csv")) for n in ("rows", "copy", "other", "longer")]
    assert names[0] == names[1]
    assert len(set(names)) == 3
