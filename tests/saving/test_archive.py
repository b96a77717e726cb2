"""The file: what is in it, and which zips aren't read."""

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.io.saved import archive


def plain(tree, fetch):
    """Decode a tree that names arrays."""
    return [fetch(name) for name in tree]


def written(tmp_path, *arrays):
    path = tmp_path / "x.sumwise"
    archive.write(path, "object", [f"array-{i}.npy" for i in range(len(arrays))], list(arrays))
    return path


def signed(path, members, change=lambda document: None):
    """Write a zip with these members and a document that lists them as it should."""
    listed = {name: {"size": len(c), "crc32": zipfile.crc32(c)} for name, c in members.items()}
    document = {"format": 1, "sumwise": "0", "kind": "object", "members": listed, "object": list(members)}
    change(document)
    document["sha256"] = archive._digest(document)
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
        file.writestr("object.json", json.dumps(document))
    return path


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def test_file_is_a_zip_of_one_document_and_arrays_that_numpy_reads(tmp_path):
    path = written(tmp_path, np.arange(3), np.eye(2))
    with zipfile.ZipFile(path) as file:
        assert file.namelist() == ["array-0.npy", "array-1.npy", "object.json"]
        assert {info.date_time for info in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        document = json.loads(file.read("object.json"))
        np.testing.assert_array_equal(np.load(io.BytesIO(file.read("array-0.npy"))), np.arange(3))
    assert list(document) == ["format", "sumwise", "kind", "members", "object", "sha256"]
    assert document["format"] == archive.FORMAT


def test_numpy_alone_reads_the_arrays(tmp_path):
    with np.load(written(tmp_path, np.eye(2)), allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["array-0"], np.eye(2))


def test_arrays_come_back(tmp_path):
    one, two = archive.read(written(tmp_path, np.arange(3), np.eye(2)), "object", plain)
    np.testing.assert_array_equal(one, np.arange(3))
    np.testing.assert_array_equal(two, np.eye(2))


def test_sign_helper_of_these_tests_makes_good_files(tmp_path):
    (array,) = archive.read(signed(tmp_path / "x", {"array-0.npy": npy(np.eye(2))}), "object", plain)
    np.testing.assert_array_equal(array, np.eye(2))


class Evil:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (npy(np.array([Evil()], dtype=object), allow_pickle=True), ("member-holds-dtype",)),
        (npy(np.zeros(2, dtype=[("a", "f8")])), ("member-holds-dtype",)),
        (pickle.dumps(Evil()), ("damaged-copy-again-save", "magic")),
        (b"", ("damaged-copy-again-save", "magic")),
        (npy(np.eye(2))[:-8], ("member-says-shape",)),
        (npy(np.eye(2)) + b"more", ("member-says-shape",)),
        (npy(np.eye(2)).replace(b"(2, 2)", b"(9, 9)"), ("member-says-shape",)),
        (npy(np.eye(2)).replace(b"(2, 2), ", b"(-2,-2),"), ("member-says-shape",)),
        (npy(np.eye(2)).replace(b"(2, 2)", b"(2, x)"), ("damaged-copy-again-save",)),
        (npy(np.eye(2)).replace(b"<f8", b"|O8"), ("member-holds-dtype",)),
        (
            npy(np.zeros(9)).replace(b"<f8", b"<U0").replace(b"(9,), }    ", b"(99999,), }")[:-72],
            ("member-says-shape",),
        ),
        (npy(np.eye(2)).replace(b"NUMPY\x01", b"NUMPY\x03"), ("member-unknown-npy",)),
    ],
)
def test_member_that_is_no_plain_array_is_refused(tmp_path, content, match):
    path = signed(tmp_path / "x", {"array-0.npy": content})
    with raises(DataError, *match):
        archive.read(path, "object", plain)


def test_header_that_claims_terabytes_allocates_nothing(tmp_path):
    huge = npy(np.zeros(100)).replace(b"(100,), }        ", b"(999999999999,), }")
    assert b"999999999999" in huge
    with raises(DataError, "member-says-shape", "(999999999999,)"):
        archive.read(signed(tmp_path / "x", {"array-0.npy": huge}), "object", plain)


def test_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "FREE_SIZE", 2**20)
    path = tmp_path / "x"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("array-0.npy", bytes(2**25))
        file.writestr("object.json", "{}")
    with raises(DataError, "bytes-says-unpacks"):
        archive.read(path, "object", plain)


def test_compressed_file_of_ordinary_size_is_read(tmp_path):
    path = written(tmp_path, np.zeros(1000))
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    assert archive.read(path, "object", plain)[0].shape == (1000,)


def test_odd_compression_is_refused(tmp_path):
    path = tmp_path / "x"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as file:
        file.writestr("object.json", "{}")
    with raises(DataError, "holds-member-encrypted"):
        archive.read(path, "object", plain)


def test_member_twice_is_refused(tmp_path):
    path = written(tmp_path)
    with zipfile.ZipFile(path, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("object.json", "{}")
    with raises(DataError, "holds-member-twice"):
        archive.read(path, "object", plain)


@pytest.mark.parametrize("members", [None, [], "x", {"array-0.npy": None}, {"array-0.npy": {"size": 1}}])
def test_damaged_list_of_members_is_refused(tmp_path, members):
    path = signed(tmp_path / "x", {"array-0.npy": npy(np.eye(2))}, lambda d: d.update(members=members))
    with pytest.raises(DataError):
        archive.read(path, "object", plain)


def test_large_array_is_written_in_pieces(tmp_path):
    import tracemalloc

    array = np.zeros((2_000_000, 4))  # 64 MB
    tracemalloc.start()
    written(tmp_path, array)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < array.nbytes / 2


def test_folder_is_no_file(tmp_path):
    with raises(DataError, "folder-name-file"):
        archive.read(tmp_path, "object", plain)


@pytest.mark.parametrize("path", [None, 3, ["x"], "a\0b"])
def test_what_is_no_path_is_refused(path):
    with raises(DataError, "path-name-file-name"):
        archive.write(path, "object", {}, [])
    with raises(DataError, "path-name-file-name"):
        archive.read(path, "object", lambda tree, fetch: tree)


def test_path_of_bytes(tmp_path):
    archive.write(bytes(tmp_path / "x"), "object", {"a": 1}, [])
    assert archive.read(bytes(tmp_path / "x"), "object", lambda tree, fetch: tree) == {"a": 1}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name are of Unix")
def test_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x")
    with raises(DataError, "pipe-device-copy-what"):
        archive.read(tmp_path / "x", "object", plain)


def test_device_is_refused():
    if not os.path.exists("/dev/zero"):
        pytest.skip("no devices on this system")
    with raises(DataError, "pipe-device-copy-what"):
        archive.read("/dev/zero", "object", plain)


def test_document_that_unpacks_to_far_more_than_the_file_is_not_parsed(tmp_path):
    path = tmp_path / "x"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("object.json", "[" + "[]," * 2**21 + "[]]")
    with raises(DataError, "bytes-says-unpacks"):
        archive.read(path, "object", plain)


def test_document_of_more_values_than_a_file_of_its_size_holds_is_not_parsed(tmp_path):
    path = tmp_path / "x"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("object.json", "[" + "[]," * 10**6 + "[]]")  # 3 MB of text, 120 MB of lists
    with raises(DataError, "bytes-unpacks-values", 2000002):
        archive.read(path, "object", plain)


def test_lack_of_memory_is_said_in_one_line(tmp_path):
    def greedy(tree, fetch):
        raise MemoryError

    with raises(DataError, "needs-more-memory"):
        archive.read(written(tmp_path, np.zeros(3)), "object", greedy)
