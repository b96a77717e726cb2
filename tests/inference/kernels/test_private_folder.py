"""The temporary folder is ours alone, or it isn't taken."""

import os

import pytest

from sumwise.inference.kernels.private_folder import FOLDERS, private_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes are of Unix")


def test_the_same_folder_is_found_again(tmp_path):
    path = private_folder("x", (str(tmp_path),))
    assert path is not None
    assert os.stat(path).st_mode & 0o777 == 0o700
    assert private_folder("x", ("/no/such/place", str(tmp_path))) == path


def test_one_that_others_can_write_to_is_not_taken(tmp_path):
    path = private_folder("x", (str(tmp_path),))
    os.chmod(path, 0o777)
    assert private_folder("x", (str(tmp_path),)) is None


def test_link_and_file_are_not_taken(tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    os.symlink(tmp_path / "elsewhere", tmp_path / f"sumwise-x-{os.geteuid()}")
    assert private_folder("x", (str(tmp_path),)) is None
    (tmp_path / f"sumwise-y-{os.geteuid()}").touch(mode=0o600)
    assert private_folder("y", (str(tmp_path),)) is None


def test_tmpdir_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert private_folder("x", FOLDERS).startswith(str(tmp_path))


def test_nowhere_is_none():
    assert private_folder("x", ("/no/such/place",)) is None
