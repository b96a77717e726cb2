"""save and load: whole or not at all, the same object back, and nothing but a DataError for a bad file."""

import functools
import io
import json
import os
import stat
import sys
import tracemalloc
import types
import zipfile
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sumwise
from messages import raises
from sumwise import Bags, Domain, Estimate, Fit, Margins, Table, Tables
from sumwise.encoding import Encoding
from sumwise.errors import DataError, SumwiseError
from sumwise.estimator import Estimator
from sumwise.io.persistence import load, save
from sumwise.io.saved import archive, classes
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Poisson


class Halver(Estimator):
    """An estimator as the families have them: parameters, and what is learned."""

    def __init__(self, level=0.5, inner=None):
        self.level = level
        self.inner = inner

    def fit(self, margins):
        self.shares_ = margins.col_shares.mean(axis=0) * self.level
        self.by_name_ = dict(zip(margins.col_names, self.shares_))
        self.fit_ = Fit(objective=float(self.shares_.sum()), n_iter=1, converged=True)
        return self

    def predict(self, margins):
        return margins.totals[:, None] * self.shares_


@dataclass(frozen=True)
class HalvingFit(Fit):
    """A record of a family, as CountsFit is."""

    nodes: dict | None = None


@pytest.fixture
def family(monkeypatch):
    """The two classes above as the public names of a family."""
    module = types.ModuleType("sumwise.halving")
    module.__all__ = ["Halver", "HalvingFit"]
    for cls in (Halver, HalvingFit):
        setattr(module, cls.__name__, cls)
        monkeypatch.setattr(cls, "__module__", "sumwise.halving.halver")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(classes, "PUBLIC", (*classes.PUBLIC, module.__name__))
    return module


def frame():
    return pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 2, 1], "hit": [0, 1, 1]})


CONTAINERS = {
    "domain": lambda: Domain({"age": 10, "sex": ["f", "m", None], "size": [1, 2.5, False]}),
    "margins": lambda: Margins(
        [[60, 40], [1, 2]], [[55, 45], [3, 0]], units=["u", "v"], weights=[1, 2], covariates=[[1.0], [2.0]]
    ),
    "bags": lambda: Bags.from_arrays([np.zeros((3, 2)), np.ones((5, 2))], ids=["a", "b"]),
    "one row": lambda: Bags.from_arrays([[[1.0]]]),
    "weighted bags": lambda: Bags.from_arrays([np.ones((2, 1), np.float32)], weights=[[0.5, 2]], features=["x"]),
    "bags with levels": lambda: Bags.from_frame(frame(), bag="b", features=["a", "hit"]),
    "table": lambda: Table(("a",), [1.0, np.nan], noise=Laplace(2.0), bounds=([0, 0], [5, 5])),
    "tables": lambda: Tables.from_frame(frame(), ["a", "b"], label="hit", order=2),
    "exact": Exact,
    "poisson": lambda: Poisson(2.0),
    "gaussian": lambda: Gaussian(np.array([1.0, 2.0])),
    "laplace": lambda: Laplace(0.1),
    "geometric": lambda: Geometric(3.0),
    "estimate": lambda: Estimate([[0.7, 0.3]], low=[[0.6, 0.2]], high=[[0.8, 0.4]], level=0.95, axes=["g", "v"]),
    "encoding": lambda: Encoding.fit(
        pd.DataFrame({"age": [20, 35, 50, 65], "city": ["Bern", "Bern", "Rome", None]}),
        {
            "age": {"kind": "quantiles", "bins": 2},
            "city": "levels",
            "x": {"kind": "cross", "of": ["age", "city"], "cells": 4},
        },
    ),
}


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_containers_come_back_equal(tmp_path, make):
    before = make()
    save(before, tmp_path / "x.sumwise")
    after = load(tmp_path / "x.sumwise")
    assert type(after) is type(before)
    assert after == before


def test_bags_without_weights_stay_without(tmp_path):
    for rows in (1, 2, 50_000):
        save(Bags(np.zeros((rows, 1)), [0, rows]), tmp_path / "x")
        assert not load(tmp_path / "x").weighted
    assert (tmp_path / "x").stat().st_size < 50_000 * 8 + 5000  # the ones aren't written out
    save(Bags(np.zeros((2, 1)), [0, 2], weights=[1.0, 2.0]), tmp_path / "x")
    assert load(tmp_path / "x").weighted


def test_fit_with_nested_answer_comes_back(tmp_path):
    before = Fit(answer={("a", "b"): np.eye(2), "n": 3}, objective=np.inf, gap=0.5, history={"gap": [1.0, 0.5]})
    save(before, tmp_path / "x")
    after = load(tmp_path / "x")
    assert list(after.answer) == [("a", "b"), "n"]
    np.testing.assert_array_equal(after.answer["a", "b"], np.eye(2))
    assert (after.objective, after.gap, after.history) == (np.inf, 0.5, {"gap": [1.0, 0.5]})


def test_record_of_a_family_comes_back(tmp_path, family):
    save(HalvingFit(nodes={"a": np.arange(3)}, n_iter=4), tmp_path / "x")
    after = load(tmp_path / "x")
    assert type(after) is HalvingFit
    assert after.n_iter == 4
    np.testing.assert_array_equal(after.nodes["a"], np.arange(3))


def test_estimator_predicts_the_same_bit_by_bit(tmp_path, family):
    margins = CONTAINERS["margins"]()
    before = Halver(level=1 / 3, inner=Halver()).fit(margins)
    save(before, tmp_path / "model.sumwise")
    after = sumwise.load(tmp_path / "model.sumwise")
    assert type(after) is Halver
    assert after.predict(margins).tobytes() == before.predict(margins).tobytes()
    assert after.get_params(deep=False).keys() == before.get_params(deep=False).keys()
    assert type(after.inner) is Halver
    assert after.fit_ == before.fit_
    assert list(after.by_name_) == list(before.by_name_)
    assert type(after.by_name_["col0"]) is np.float64


def test_parameter_that_the_file_does_not_have_takes_its_default(tmp_path, family):
    model = Halver(level=0.1)
    del model.inner  # as a version without it would have saved it
    save(model, tmp_path / "x")
    assert load(tmp_path / "x").inner is None


def test_same_object_gives_the_same_bytes(tmp_path, family):
    for name in ("one", "two"):
        save([Halver().fit(CONTAINERS["margins"]()), {3, 1, 2}, CONTAINERS["tables"]()], tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


# What can't be saved is named, and nothing is written


def refused(obj, path, match):
    path.write_text("old")
    with pytest.raises(DataError, match=match):
        save(obj, path)
    assert path.read_text() == "old"
    assert os.listdir(path.parent) == [path.name]


def test_unsupported_attribute_is_named_by_its_path(tmp_path, family):
    model = Halver(inner=Halver(level=lambda x: x))
    refused(model, tmp_path / "x", r"^Halver\.inner\.level: a function can't be saved\.")
    refused(Fit(answer=[{"f": np.sum}]), tmp_path / "x", r"^Fit\.answer\[0\]\['f'\]: ")
    refused(
        {"g": (i for i in range(3))},
        tmp_path / "x",
        r"dict\['g'\]: an object of class generator can't be saved",
    )


def test_private_and_foreign_classes_are_refused_by_name(tmp_path):
    refused(Halver(), tmp_path / "x", r"Halver: an object of class .*Halver can't be saved")
    refused(HalvingFit(), tmp_path / "x", r"HalvingFit can't be saved")
    refused(object(), tmp_path / "x", "an object of class object")
    refused(types.SimpleNamespace(), tmp_path / "x", "types.SimpleNamespace")


def test_attribute_that_is_neither_parameter_nor_learned_is_refused(tmp_path, family):
    model = Halver()
    model.scratch = 3
    refused(model, tmp_path / "x", r"Halver\.scratch: Halver has no such parameter.*ends in '_'")
    del model.scratch
    model.predict = 3
    refused(model, tmp_path / "x", r"Halver\.predict")


def test_object_that_holds_itself_is_refused(tmp_path):
    loop = []
    loop.append(loop)
    refused(loop, tmp_path / "x", "contains itself")


# Whole or not at all


def test_failed_write_keeps_the_old_file_and_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "x.sumwise"
    save(Domain({"a": 2}), path)
    old = path.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    for module, name in ((np.lib.format, "write_array"), (os, "fsync"), (os, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, full)
            with pytest.raises(OSError, match="No space left"):
                save(np.arange(5), path)
        assert path.read_bytes() == old
        assert os.listdir(tmp_path) == [path.name]


def test_interruption_while_writing_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.sumwise"
    save(Domain({"a": 2}), path)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(np.lib.format, "write_array", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(np.arange(5), path)
    assert load(path) == Domain({"a": 2})
    assert os.listdir(tmp_path) == [path.name]


def test_data_is_on_disk_before_the_name_changes(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("sync"), fsync(fd))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (calls.append("rename"), replace(a, b))[1])
    save(1, tmp_path / "x")
    assert calls == ["sync", "rename", "sync"]


def test_mode_of_an_earlier_file_is_kept(tmp_path):
    save(1, tmp_path / "x")
    (tmp_path / "x").chmod(0o640)
    save(2, tmp_path / "x")
    assert load(tmp_path / "x") == 2
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640


def test_folder_that_is_missing_or_given_as_file_is_refused(tmp_path):
    with raises(DataError, "no-folder-save"):
        save(1, tmp_path / "nowhere" / "x")
    with raises(DataError, "folder-name-file"):
        save(1, tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_links_in_a_circle_lead_nowhere_and_stay(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with raises(DataError, "leads-no-file", "symbolic links"):
        load(tmp_path / "a")
    with raises(DataError, "link-pipe-device"):
        save(1, tmp_path / "a")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_symlink()) == ["a", "b"]


@pytest.mark.skipif(sys.platform == "win32", reason="says so in other words")
@pytest.mark.parametrize("name", ["x" * 5000, "file/x"])
def test_name_that_no_file_can_have_is_refused(tmp_path, name):
    (tmp_path / "file").touch()
    with raises(DataError, "leads-no-file"):
        load(tmp_path / name)


# Bad files


@pytest.fixture
def model_file(tmp_path, family):
    path = tmp_path / "model.sumwise"
    save(Halver(inner=CONTAINERS["margins"]()).fit(CONTAINERS["margins"]()), path)
    return path


def rewrite(path, change=lambda document: None, drop=(), add=(), sign=False, compression=zipfile.ZIP_STORED):
    """Edit a file by hand: ``change`` edits the document; ``sign`` renews its checksum as a forger would."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    document = json.loads(members.pop("object.json"))
    members |= dict(add)
    change(document)
    if sign:
        document.pop("sha256", None)
        for name, content in members.items():
            document["members"][name] = {"size": len(content), "crc32": zipfile.crc32(content)}
        document["sha256"] = archive._digest(document)
    with zipfile.ZipFile(path, "w", compression) as new:
        for name, content in {**members, "object.json": json.dumps(document)}.items():
            if name not in drop:
                new.writestr(name, content)


def test_missing_file_is_refused(tmp_path):
    with raises(DataError, "no-file"):
        load(tmp_path / "nowhere")


def test_file_that_is_no_zip_is_refused(tmp_path):
    for content in (b"", b"hello", b"PK\x03\x04" + bytes(100)):
        (tmp_path / "x").write_bytes(content)
        with raises(DataError, "not-sumwise-file-cut"):
            load(tmp_path / "x")


def test_other_zip_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.arange(3))
    with raises(DataError, "zip-file-not", "object.json"):
        load(tmp_path / "x.npz")


def test_every_truncation_is_refused(model_file):
    whole = model_file.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 60).astype(int):
        model_file.write_bytes(whole[:length])
        with pytest.raises(DataError):
            load(model_file)


def test_flipped_bytes_are_refused_or_harmless(model_file, family):
    whole = bytearray(model_file.read_bytes())
    rng = np.random.default_rng(7)
    expected = load(model_file).shares_
    refusals = 0
    for _ in range(400):
        damaged = whole.copy()
        for at in rng.integers(len(whole), size=rng.integers(1, 4)):
            damaged[at] ^= int(rng.integers(1, 256))
        model_file.write_bytes(damaged)
        try:
            after = load(model_file)
        except SumwiseError:
            refusals += 1
        else:  # only bytes that zip doesn't use, such as times, may differ
            np.testing.assert_array_equal(after.shares_, expected)
    assert refusals > 300


def test_too_new_a_format_is_refused_with_both_versions(model_file):
    rewrite(model_file, lambda d: d.update(format=99, sumwise="7.0"))
    with raises(DataError, "format-written-sumwise", 99, "7.0"):
        load(model_file)


@pytest.mark.parametrize("version", [None, "1", 0, -1, 1.0, True, [1]])
def test_odd_format_is_refused(model_file, version):
    rewrite(model_file, lambda d: d.update(format=version))
    with raises(DataError, "not-sumwise-file-format"):
        load(model_file)


@pytest.mark.parametrize("part", ["sumwise", "kind", "members", "object", "sha256"])
def test_header_without_a_part_is_refused(model_file, part):
    rewrite(model_file, lambda d: d.pop(part))
    with raises(DataError, "damaged-lacks-parts", part):
        load(model_file)


def test_missing_member_is_refused_by_name(model_file):
    rewrite(model_file, drop=["array-1.npy"])
    with raises(DataError, "member-missing-copy", "array-1.npy"):
        load(model_file)


def test_other_array_in_a_member_is_refused(model_file):
    with zipfile.ZipFile(model_file) as file:
        other = file.read("array-1.npy")
    rewrite(model_file, add={"array-0.npy": other})
    with raises(DataError, "member-changed-after", "array-0.npy"):
        load(model_file)


def test_document_edited_by_hand_is_refused(model_file):
    rewrite(model_file, lambda d: d["object"]["estimator"]["attributes"].update(level=0.9))
    with raises(DataError, "changed-after-saved"):
        load(model_file)


def test_number_beyond_all_floats_is_refused(tmp_path):
    save([0.5], tmp_path / "x")
    with zipfile.ZipFile(tmp_path / "x") as file:
        text = file.read("object.json").replace(b"0.5", b"1e999")
    with zipfile.ZipFile(tmp_path / "x", "w") as file:
        file.writestr("object.json", text)
    with pytest.raises(DataError):
        load(tmp_path / "x")


def test_repacked_and_compressed_file_loads(model_file):
    before = load(model_file)
    rewrite(model_file, compression=zipfile.ZIP_DEFLATED)
    np.testing.assert_array_equal(load(model_file).shares_, before.shares_)


@pytest.mark.parametrize(
    "name",
    [
        "sumwise.domain.Nothing",
        "sumwise.domain.checks",
        "sumwise.errors.DataError",
        "sumwise.fit.warn_not_converged",
        "sumwise.cli.main",
        "os.system",
        "subprocess.Popen",
        "antigravity.x",
        "builtins.eval",
        "Halver",
        "",
        7,
        None,
        ["sumwise.domain.Domain"],
    ],
)
def test_unknown_class_is_refused_and_never_imported(model_file, name):
    rewrite(model_file, lambda d: d["object"]["estimator"].update({"class": name}), sign=True)
    with raises(DataError, "file-holds-object"):
        load(model_file)
    assert "antigravity" not in sys.modules


def test_constructor_checks_what_a_forger_signs(tmp_path):
    path = tmp_path / "x"
    save(Domain({"a": ["x", "y"]}), path)

    def change(document):
        document["object"]["noun"]["fields"]["spec"]["dict"]["a"]["tuple"] = ["x", "x"]

    rewrite(path, change, sign=True)
    with raises(DataError, "holds-duplicates-first", 1):
        load(path)


def test_margins_with_forged_counts_are_refused(tmp_path):
    path = tmp_path / "x"
    save(Margins([[60, 40]], [[55, 45]]), path)
    rewrite(path, lambda d: d["object"]["noun"]["fields"].update(rows=[[1, 2]]), sign=True)
    with raises(DataError, "row-column-totals"):
        load(path)


@pytest.mark.parametrize(
    "attributes",
    [{"predict": 1}, {"__class__": "x"}, {"scratch": 1}, {"not a name": 1}],
)
def test_attributes_that_no_estimator_has_are_refused(model_file, attributes):
    rewrite(model_file, lambda d: d["object"]["estimator"]["attributes"].update(attributes), sign=True)
    with raises(DataError, "estimator-class-no|no-such-parameter", next(iter(attributes))):
        load(model_file)


def test_noun_as_estimator_and_back_is_refused(model_file):
    rewrite(model_file, lambda d: d["object"]["estimator"].update({"class": "sumwise.domain.Domain"}), sign=True)
    with raises(DataError, "file-holds", "Domain", "estimator"):
        load(model_file)


@pytest.mark.parametrize(
    "node",
    [
        {"noun": None},
        {"noun": {}},
        {"noun": {"class": "sumwise.domain.Domain"}},
        {"noun": {"class": "sumwise.domain.Domain", "fields": []}},
        {"noun": {"class": "sumwise.domain.Domain", "fields": {}}},
        {"noun": {"class": "sumwise.domain.Domain", "fields": {"spec": 3}}},
        {"noun": {"class": "sumwise.domain.Domain", "fields": {"other": 3}}},
        {"noun": {"class": "sumwise.bags.Bags", "fields": {"values": "x", "offsets": {"dict": {}}}}},
        {"estimator": {"class": "sumwise.halving.Halver", "attributes": 3}},
        {"python": "print(1)"},
        {"dict": {}, "tuple": []},
        {},
        {"dict": 3},
        {"items": [[1]]},
        {"items": [[{"dict": {}}, 1]]},
        {"items": [[1, 1], [1, 2]]},
        {"tuple": 5},
        {"array": "array-99.npy"},
        {"array": ["array-0.npy"]},
        {"array": None},
    ],
    ids=json.dumps,
)
def test_nonsense_nodes_are_refused(model_file, node):
    rewrite(model_file, lambda d: d.update(object=node), sign=True)
    with pytest.raises(DataError):
        load(model_file)


@pytest.mark.parametrize("text", ["", "no", "[]", "3", '{"format": NaN}', '{"format": 1' + "0" * 5000 + "}"])
def test_document_that_is_no_object_is_refused(tmp_path, text):
    with zipfile.ZipFile(tmp_path / "x", "w") as file:
        file.writestr("object.json", text)
    with pytest.raises(DataError):
        load(tmp_path / "x")


def test_deeply_nested_document_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x", "w") as file:
        file.writestr("object.json", "[" * 100_000 + "]" * 100_000)
    with raises(DataError, "cant-loaded-parts"):
        load(tmp_path / "x")


NUMBERS = {"array": "numbers.npy"}
BOMB = {"constant": {"shape": [10**12], "value": "number.npy"}}
BOMBS = {
    "a constant": {"constant": {"shape": [10**9], "value": "number.npy"}},
    "margins of constants": {
        "noun": {
            "class": "sumwise.margins.Margins",
            "fields": {side: {"constant": {"shape": [10**8, 2], "value": "number.npy"}} for side in ("rows", "cols")},
        }
    },
    "bags of constants": {
        "noun": {
            "class": "sumwise.bags.Bags",
            "fields": {"values": {"constant": {"shape": [10**9, 2], "value": "number.npy"}}, "offsets": NUMBERS},
        }
    },
    "many constants": [{"constant": {"shape": [10**6], "value": "number.npy"}}] * 100,
    "one array in many places": [NUMBERS] * 100_000,
    "rows of no length": {"array": "rows.npy"},
    "objects of no length": {"objects": {"shape": [10**10, 0], "order": "C", "items": []}},
    "a range": {"index": {"range": [0, 10**12, 1], "name": None}},
    "a sparse matrix": {
        "sparse": {"class": "coo_matrix", "shape": [10**12, 1], "data": NUMBERS, "row": NUMBERS, "col": NUMBERS}
    },
    "a negative shape": {"constant": {"shape": [-1, -1], "value": "number.npy"}},
    "a shape of long numbers": {"constant": {"shape": [10**4000] * 9, "value": "number.npy"}},
    "a shape of many axes": {"constant": {"shape": [1] * 10**5, "value": "number.npy"}},
    "long names in each other": functools.reduce(lambda inner, _: {"dict": {"k" * 10_000: inner}}, range(200), BOMB),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_sizes_that_a_small_file_declares_are_refused_before_anything_is_made(tmp_path, bomb):
    """A file of 731 bytes once took 8.2 GB and 73 s."""
    path = tmp_path / "x"
    save([], path)
    arrays = {"number.npy": np.ones(1), "numbers.npy": np.arange(1000.0), "rows.npy": np.empty((10**10, 0))}
    members = {}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        members[name] = buffer.getvalue()
    rewrite(path, lambda d: d.update(object=BOMBS[bomb]), add=members.items(), sign=True)
    tracemalloc.start()
    with raises(DataError, "file-says-shape-2|file-says-shape-axes|file-small-declares"):
        load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 2**20


def test_checkpoint_is_no_object(tmp_path):
    archive.write(tmp_path / "x", "checkpoint", {"dict": {}}, [])
    with raises(DataError, "holds-sumwise-file", "checkpoint", "object"):
        load(tmp_path / "x")


# Any value made of what we support

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | hnp.from_dtype(np.dtype("f4"))
    | hnp.from_dtype(np.dtype("u1"))
)
ARRAYS = hnp.arrays(
    hnp.boolean_dtypes() | hnp.integer_dtypes() | hnp.floating_dtypes() | hnp.unicode_string_dtypes(),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
KEYS = st.text(max_size=3) | st.integers() | st.tuples(st.text(max_size=2), st.integers(0, 9))
VALUES = st.recursive(
    SCALARS | ARRAYS,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return a == b or (a != a and b != b)


@settings(max_examples=150, deadline=None)
@given(value=VALUES)
def test_any_value_comes_back(tmp_path, value):
    save(value, tmp_path / "x")
    assert same(load(tmp_path / "x"), value)


@pytest.mark.parametrize("index", [[], [1, 1, 0]])
def test_parts_with_repeated_units_or_none_come_back(tmp_path, index):
    margins = Margins([[1, 2], [3, 4]], [[2, 1], [7, 0]], units=["a", "b"], weights=[1, 2], covariates=[[1.0], [5.0]])
    bags = Bags([[0.0, 1.5], [1.0, 2.5], [0.0, 3.5]], [0, 2, 3], [1, 2, 3], ["a", "b"], ["s", "x"], {"s": ["f", "m"]})
    for whole in (margins, bags, Bags.from_arrays([[1.0], [2.0]])):
        save(whole[index], tmp_path / "part.sumwise")
        assert load(tmp_path / "part.sumwise") == whole[index]


@pytest.mark.parametrize(
    "change", [{"rows": np.ones((3, 2))}, {"units": np.array(["a"] * 3)}, {"row_names": ("a", "a")}]
)
def test_parts_are_checked_too(change):
    part = Margins([[1, 2], [3, 4]], [[2, 1], [7, 0]])[[0, 0]]
    fields = {name: getattr(part, name) for name in Margins.__slots__} | change
    with pytest.raises(DataError):
        Margins._restored(**fields)


@pytest.mark.parametrize(
    "change", [{"ids": np.array([0] * 3)}, {"features": ("a", "a")}, {"offsets": np.array([0, 9, 2])}]
)
def test_parts_of_bags_are_checked_too(change):
    part = Bags([[0.0, 1.0], [2.0, 3.0]], [0, 1, 2])[[0, 0]]
    fields = {name: getattr(part, name) for name in Bags.__slots__} | change
    with pytest.raises(DataError):
        Bags._restored(**fields)
