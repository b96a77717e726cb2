"""BucketKey: what a key file can say, and what it can't."""

import json

import pytest

from messages import raises
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
        (3, ("key-type-dict", "int")),
        ({}, ("no-list-parts",)),
        ({"parts": []}, ("key-no-parts",)),
        ({"parts": [3]}, ("part-key-name", 3)),
        ({"parts": [A], "nose": 1}, ("no-did-you", "entry", "nose")),
        ({"parts": [{**A, "bit": 1}]}, ("no-did-you", "entry", "a", "bit")),
        ({"parts": [{"name": "a"}]}, ("needs-bits-position", 0)),
        ({"parts": [{**A, "column": "x"}]}, ("needs-bits-position", 2)),
        ({"parts": [{"name": "a", "position": 0}]}, ("position-key-no",)),
        ({"parts": [{"name": "a", "position": -1}], "separator": "|"}, ("must-least", -1)),
        ({"parts": [{"name": "a", "bits": [2, 1]}]}, ("bits-go-low", 2, 1)),
        ({"parts": [{"name": "a", "bits": "0-2"}]}, ("bits-lowest-past", "a", "0-2")),
        ({"parts": [{"name": "a", "bits": [0, 64]}]}, ("bits-no-size", 64)),
        ({"parts": [{**A, "size": 0}]}, ("must-least", 0)),
        ({"parts": [{**A, "values": 3}]}, ("values-map-raw", "a", 3)),
        ({"parts": [{**A, "values": {"0": "x", "1": "x"}}]}, ("holds-duplicates-first",)),
        ({"parts": [A, {"name": "b", "bits": [1, 3]}]}, ("bits-overlap",)),
        ({"parts": [A, A]}, ("holds-duplicates-first",)),
        ({"parts": [{**A, "role": "key"}]}, ("is-takes", "key")),
        ({"parts": [{**A, "role": "measure"}]}, ("no-values-say",)),
        ({"parts": [{**A, "role": "measure", "values": ["sum"]}]}, ("is-takes", "sum")),
        ({"parts": [{**A, "role": "measure", "values": ["count"]}]}, ("no-part-key",)),
        (
            {"parts": [A, {"name": "t", "role": "table", "bits": [2, 3], "values": {"0": ["a"], "1": ["z"]}}]},
            ("there-is-no", "attribute", "z"),
        ),
        (
            {
                "parts": [
                    {"name": n, "role": "measure", "bits": [i, i + 1], "values": ["count"]} for i, n in enumerate("xy")
                ]
            },
            ("key-two-parts", "measure"),
        ),
        ({"parts": [A], "noise": "laplace"}, ("noise-kind-scale", "laplace")),
        ({"parts": [A], "noise": {"kind": "cauchy", "scale": 1}}, ("kind-noise",)),
        ({"parts": [A], "noise": {"kind": "laplace"}}, ("noise-needs-nothing",)),
        ({"parts": [A], "noise": {"kind": "laplace", "scale": -1}}, ("not-above-zero", "scale")),
        ({"parts": [A], "factor": 0}, ("factor-must-above", 0)),
        ({"parts": [A], "threshold": -1}, ("must-least", "threshold", -1)),
        ({"parts": [A], "withheld": "*"}, ("withheld-map-texts",)),
        ({"parts": [A], "withheld": {"*": 3}}, ("withheld-says-low", 3)),
        ({"parts": [A], "withheld": {"*": [3, 1]}}, ("withheld-goes", 3)),
    ],
)
def test_key_refuses(key, words):
    with raises(DataError, *words):
        BucketKey.read(key)


def test_parts_of_a_key_need_its_column():
    with raises(DataError, "part-key-no"):
        BucketKey((Part("a", bits=(0, 2)),), bucket=None)


def test_file_that_is_broken_or_absent_is_named(tmp_path):
    (tmp_path / "key.toml").write_text("parts = [")
    for path in (tmp_path / "key.toml", tmp_path / "none.toml"):
        with raises(DataError, "cant-read-6"):
            BucketKey.read(path)
    (tmp_path / "key.json").write_text("[]")
    with raises(DataError, "holds-no-entries"):
        BucketKey.read(tmp_path / "key.json")
