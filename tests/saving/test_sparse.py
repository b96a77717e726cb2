"""Sparse matrices keep their class, format, dtype and entries."""

import numpy as np
import pytest
from scipy import sparse

from messages import raises
from sumwise.errors import DataError
from sumwise.io.persistence import load, save
from sumwise.io.saved.json_tree import Decoder, Encoder
from sumwise.io.saved.sparse import PARTS

DENSE = np.array([[0, 1.5, 0, 2], [0, 0, 0, 0], [3, 0, -1, 0], [0, 0, 4, 0]])


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("file_format", PARTS)
def test_matrix_comes_back(tmp_path, file_format, kind):
    before = getattr(sparse, f"{file_format}_{kind}")(DENSE.astype(np.float32))
    save(before, tmp_path / "x")
    after = load(tmp_path / "x")
    assert type(after) is type(before)
    assert (after.shape, after.dtype, after.nnz) == (before.shape, before.dtype, before.nnz)
    np.testing.assert_array_equal(after.toarray(), before.toarray())


@pytest.mark.parametrize("file_format", PARTS)
def test_empty_matrix_comes_back(tmp_path, file_format):
    save(getattr(sparse, f"{file_format}_array")((3, 2)), tmp_path / "x")
    assert load(tmp_path / "x").shape == (3, 2)


@pytest.mark.parametrize("value", [sparse.lil_matrix(DENSE), sparse.dok_array(DENSE), sparse.coo_array([1, 0, 2])])
def test_other_formats_are_refused_with_a_way_out(value):
    with raises(DataError, "cant-saved-convert"):
        Encoder().encode(value, "x")


def test_other_scipy_objects_are_refused():
    from scipy.interpolate import interp1d

    with raises(DataError, "cant-saved"):
        Encoder().encode(interp1d([0, 1], [0, 1]), "x")


def damaged(file_format, **parts):
    encoder = Encoder()
    tree = encoder.encode(getattr(sparse, f"{file_format}_array")(DENSE), "x")
    arrays = {f"array-{i}.npy": np.array(a) for i, a in enumerate(encoder.arrays)}
    for name, change in parts.items():
        if callable(change):
            member = tree["sparse"][name]["array"]
            arrays[member] = change(arrays[member])
        else:
            tree["sparse"][name] = change
    with pytest.raises(DataError):
        Decoder(arrays.__getitem__).decode(tree, "x")


def out_of_range(array):
    return array + 10**6


def negative(array):
    return array - 10


@pytest.mark.parametrize("change", [out_of_range, negative, lambda a: a.astype(float), lambda a: a[:-1]])
def test_damaged_indices_are_refused(change):
    for file_format, names in PARTS.items():
        for name in names[1:]:
            if file_format == "dia" and change in (out_of_range, negative):
                continue  # a diagonal outside the matrix is empty, and does no harm
            damaged(file_format, **{name: change})


def test_damaged_descriptions_are_refused():
    for changes in (
        {"class": "spmatrix"},
        {"class": "csr_evil"},
        {"class": None},
        {"shape": [1, 1]},
        {"shape": [-1, 4]},
        {"shape": [4]},
        {"shape": ["4", 4]},
        {"shape": None},
        {"data": [1, 2]},
    ):
        damaged("csr", **changes)
