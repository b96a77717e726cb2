"""BucketKey: what a key file can say, and what it can't."""

import json

import pytest

from sumwise.errors import DataError
from sumwise.io.formats.bucket_key import BucketKey, Part
from sumwise.noise import Exact, Gaussian, Poisson

TOML = """
bucket = "key"
value = "metric"
threshold = 20
factor = 8
noise = { kind = "gaussian", scale = 17.0 }
withheld = { "*" = [1, 9], "c" = [0] }

[[parts]]
name = "geo"
bits = [0, 8]
size = 200

[[parts]]
name = "what"
role = "measure"
bits = [8, 9]
values = ["count", "label_sum"]
"""


def test_toml_and_json_files_say_the_same(tmp_path):
    (tmp_path / "key.toml").write_text(TOML)
    import tomllib

    (tmp_path / "key.json").write_text(json.dumps(tomllib.loads(TOML)))
    key = BucketKey.read(tmp_path / "key.toml")
    assert key == BucketKey.read(str(tmp_path / "key.json"))
    assert key.noise == Gaussian(17.0)
    assert key.withheld == {"*": (1, 9), "c": (0, float("inf"))}
    assert [p.name for p in key.attributes] == ["geo"]
    assert key.part("measure").values == {"0": "count", "1": "label_sum"}
    assert key.part("table") is None
    assert BucketKey.read(key) is key


def test_key_spread_over_columns_has_no_bucket():
    assert BucketKey.read({"parts": [{"name": "a", "column": "a"}]}).bucket is None


def test_noise_by_default_is_exact():
    assert BucketKey.read({"parts": [{"name": "a", "bits": [0, 2]}]}).noise == Exact()
    assert BucketKey.read({"parts": [{"name": "a", "bits": [0, 2]}], "noise": {"kind": "exact"}}).noise == Exact()
    rate = {"kind": "poisson", "rate": 0.5}
    assert BucketKey.read({"parts": [{"name": "a", "bits": [0, 2]}], "noise": rate}).noise == Poisson(0.5)


A = {"name": "a", "bits": [0, 2]}


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (3, "The key is of type int"),
        ({}, "no list of parts"),
        ({"parts": []}, "no parts"),
        ({"parts": [3]}, "A part of the key is 3"),
        ({"parts": [A], "nose": 1}, "no entry of the key 'nose'"),
        ({"parts": [{**A, "bit": 1}]}, "no entry of part 'a' 'bit'"),
        ({"parts": [{"name": "a"}]}, "needs one of bits, position and column; it has 0"),
        ({"parts": [{**A, "column": "x"}]}, "it has 2"),
        ({"parts": [{"name": "a", "position": 0}]}, "no separator"),
        ({"parts": [{"name": "a", "position": -1}], "separator": "|"}, "position of 'a' is -1"),
        ({"parts": [{"name": "a", "bits": [2, 1]}]}, "go from 2 to 1"),
        ({"parts": [{"name": "a", "bits": "0-2"}]}, "bits of 'a' are '0-2'"),
        ({"parts": [{"name": "a", "bits": [0, 64]}]}, "64 bits and no size"),
        ({"parts": [{**A, "size": 0}]}, "size of 'a' is 0"),
        ({"parts": [{**A, "values": 3}]}, "values of 'a' are 3"),
        ({"parts": [{**A, "values": {"0": "x", "1": "x"}}]}, "duplicates"),
        ({"parts": [A, {"name": "b", "bits": [1, 3]}]}, "overlap"),
        ({"parts": [A, A]}, "duplicates"),
        ({"parts": [{**A, "role": "key"}]}, "role of 'a' is 'key'"),
        ({"parts": [{**A, "role": "measure"}]}, "has no values"),
        ({"parts": [{**A, "role": "measure", "values": ["sum"]}]}, "is 'sum'"),
        ({"parts": [{**A, "role": "measure", "values": ["count"]}]}, "No part of the key is an attribute"),
        (
            {"parts": [A, {"name": "t", "role": "table", "bits": [2, 3], "values": {"0": ["a"], "1": ["z"]}}]},
            "no attribute of the key 'z'",
        ),
        (
            {
                "parts": [
                    {"name": n, "role": "measure", "bits": [i, i + 1], "values": ["count"]} for i, n in enumerate("xy")
                ]
            },
            "two parts that say the measure",
        ),
        ({"parts": [A], "noise": "laplace"}, "noise is 'laplace'"),
        ({"parts": [A], "noise": {"kind": "cauchy", "scale": 1}}, "is 'cauchy'"),
        ({"parts": [A], "noise": {"kind": "laplace"}}, "needs a scale"),
        ({"parts": [A], "noise": {"kind": "laplace", "scale": -1}}, "scale"),
        ({"parts": [A], "factor": 0}, "factor is 0"),
        ({"parts": [A], "threshold": -1}, "threshold is -1"),
        ({"parts": [A], "withheld": "*"}, "withheld is"),
        ({"parts": [A], "withheld": {"*": 3}}, "says 3"),
        ({"parts": [A], "withheld": {"*": [3, 1]}}, "goes from 3 to 1"),
    ],
)
def test_key_refuses(key, words):
    with pytest.raises(DataError, match=words):
        BucketKey.read(key)


def test_parts_of_a_key_need_its_column():
    with pytest.raises(DataError, match="no column contains it"):
        BucketKey((Part("a", bits=(0, 2)),), bucket=None)


def test_file_that_is_broken_or_absent_is_named(tmp_path):
    (tmp_path / "key.toml").write_text("parts = [")
    for path in (tmp_path / "key.toml", tmp_path / "none.toml"):
        with pytest.raises(DataError, match=r"The key file '.*toml' can't be read"):
            BucketKey.read(path)
    (tmp_path / "key.json").write_text("[]")
    with pytest.raises(DataError, match="contains no entries"):
        BucketKey.read(tmp_path / "key.json")
