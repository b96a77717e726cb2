"""Bucketed reports: bits, pieces and columns; noise, factors, thresholds, other buckets and withheld values."""

import numpy as np
import pytest

from messages import raises
from sumwise.errors import DataError, UnknownName
from sumwise.io.formats import read_buckets
from sumwise.noise import Exact, Gaussian, Geometric, Laplace

BITS = {
    "parts": [
        {"name": "geo", "bits": [120, 122], "size": 3},
        {"name": "ad", "bits": [3, 4], "values": ["x", "y"]},
        {"name": "what", "role": "measure", "bits": [0, 1], "values": ["count", "label_sum"]},
    ]
}


def key_of(geo, ad, what):
    return geo << 120 | ad << 3 | what


CELLS = [(g, a, w) for g in range(3) for a in range(2) for w in range(2)]
VALUES = [100 + 10 * g + a if w == 0 else g + a for g, a, w in CELLS]


@pytest.mark.parametrize(
    "write",
    [str, lambda k: f"0x{k:032X}", lambda k: k.to_bytes(16, "big"), lambda k: k],
    ids=["decimal", "hex", "bytes", "int"],
)
def test_bits_of_large_numbers_become_attributes(write):
    report = {"bucket": [write(key_of(*c)) for c in CELLS], "value": VALUES}
    tables = read_buckets(report, BITS, label="sale")
    t = tables["geo", "ad"]
    assert t.counts.tolist() == [[100, 101], [110, 111], [120, 121]]
    assert t.label_sums.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert tables.domain.levels("ad") == ("x", "y")
    assert tables.label == "sale"
    assert t.noise == Exact()


def test_pieces_of_text_become_attributes_in_order():
    key = {"separator": "|", "parts": [{"name": "age", "position": 1}, {"name": "geo", "position": 0, "other": "rest"}]}
    report = {"bucket": ["b|10", "a|9", "rest|9", "rest|10", "a|10", "b|9"], "value": [1, 2, 3, 4, 5, 6]}
    tables = read_buckets(report, key)
    assert tables.domain.levels("age") == (9, 10)
    assert tables.domain.levels("geo") == ("a", "b", "other")
    assert tables["geo", "age"].counts.tolist() == [[2, 5], [6, 1], [3, 4]]


def test_columns_of_a_statistical_office():
    key = {"value": "persons", "parts": [{"name": "region", "column": "reg"}, {"name": "sex", "column": "sex"}],
           "withheld": {"c": [3, 9], "..": [0]}}  # fmt: skip
    report = {"reg": ["N", "N", "S", "S"], "sex": ["f", "m", "f", "m"], "persons": ["120", "<5", "c", ".."]}
    t = read_buckets(report, key)["region", "sex"]
    assert t.counts[0, 0] == 120
    assert np.isnan(t.counts).sum() == 3
    assert t.bounds[0].tolist() == [[120, 0], [3, 0]]
    assert t.bounds[1].tolist() == [[120, 4], [9, np.inf]]


def test_dropped_buckets_are_unknown_and_bounded_never_zero():
    key = {"threshold": 5, "parts": [{"name": "a", "bits": [0, 2]}]}
    t = read_buckets({"bucket": [0, 2], "value": [7, 9]}, key)["a"]
    assert np.array_equal(t.counts, [7, np.nan, 9, np.nan], equal_nan=True)
    assert t.bounds[1].tolist() == [7, 4, 9, 4]
    with raises(DataError, "buckets-below-dropped", 5):
        read_buckets({"bucket": [0], "value": [7]}, key, absent="zero")


def test_dropped_noisy_buckets_have_no_bounds():
    key = {"threshold": 5, "noise": {"kind": "laplace", "scale": 3}, "parts": [{"name": "a", "bits": [0, 1]}]}
    t = read_buckets({"bucket": [0], "value": [7.5]}, key)["a"]
    assert np.isnan(t.counts[1])
    assert t.bounds is None


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        ({"kind": "laplace", "scale": 32}, Laplace(4.0)),
        ({"kind": "geometric", "scale": 32}, Laplace(4.0)),
        ({"kind": "gaussian", "scale": 16}, Gaussian(2.0)),
    ],
)
def test_factor_divides_values_and_noise(noise, expected):
    key = {"factor": 8, "noise": noise, "parts": [{"name": "a", "bits": [0, 1]}]}
    t = read_buckets({"bucket": [0, 1], "value": [80, -8]}, key)["a"]
    assert t.counts.tolist() == [10, -1]
    assert t.noise == expected


def test_noise_without_a_factor_stays():
    key = {"noise": {"kind": "geometric", "scale": 2}, "parts": [{"name": "a", "bits": [0, 1]}]}
    assert read_buckets({"bucket": [0, 1], "value": [80, -8]}, key)["a"].noise == Geometric(2)


def test_one_report_of_several_tables():
    key = {
        "parts": [
            {"name": "a", "bits": [0, 1]},
            {"name": "b", "bits": [1, 2]},
            {"name": "t", "role": "table", "bits": [2, 4], "values": {"0": ["a", "b"], "1": ["a"], "2": "b"}},
        ]
    }
    report = {"bucket": [0, 1, 2, 3, 4, 5, 8, 10], "value": [1, 2, 3, 4, 4, 6, 3, 7]}
    tables = read_buckets(report, key, n=10)
    assert [t.attributes for t in tables] == [("a", "b"), ("a",), ("b",)]
    assert tables["a", "b"].counts.tolist() == [[1, 3], [2, 4]]
    assert tables["a"].counts.tolist() == [4, 6]
    assert tables["b"].counts.tolist() == [3, 7]


@pytest.mark.parametrize(
    ("report", "options", "words"),
    [
        ({"bucket": [], "value": []}, {}, ("report-no-buckets",)),
        ({"bucket": [0], "value": [1]}, {}, ("buckets-not-say", 1, 2, "a", "count")),
        ({"bucket": [0, 0], "value": [1, 2]}, {"absent": "zero"}, ("buckets-same-cell", 1, 2)),
        ({"bucket": ["zz"], "value": [1]}, {}, ("bucket-key-not", 1, "zz")),
        ({"bucket": [1.5], "value": [1]}, {}, ("bucket-key-not", 1, "1.5")),
        ({"bucket": ["-1"], "value": [1]}, {}, ("bucket-key-negative",)),
        ({"bucket": [0], "value": ["many"]}, {}, ("bucket-value-say", 1, "many")),
        ({"bucket": [0], "value": [np.inf]}, {}, ("bucket-value-leave", 1, "inf")),
        ({"bucket": [0], "value": [1]}, {"absent": "maybe"}, ("is-takes", "absent", "maybe")),
        ({"bucket": [0], "count": [1]}, {}, ("there-is-no", "value")),
    ],
)
def test_bad_reports_are_refused(report, options, words):
    with raises(DataError, *words):
        read_buckets(report, {"parts": [{"name": "a", "bits": [0, 1]}]}, **options)


def test_absent_zero_fills_zeros():
    t = read_buckets({"bucket": [1], "value": [3]}, {"parts": [{"name": "a", "bits": [0, 1]}]}, absent="zero")["a"]
    assert t.counts.tolist() == [0, 3]


@pytest.mark.parametrize(
    ("part", "bucket", "words"),
    [
        ({"name": "a", "bits": [0, 2], "size": 3}, 3, ("bucket-beyond-levels", 3, "a")),
        ({"name": "a", "bits": [0, 2], "values": {"0": "x"}}, 1, ("bucket-key-knows", 1, "a")),
    ],
)
def test_level_that_the_key_does_not_know_is_named(part, bucket, words):
    with raises(UnknownName, *words):
        read_buckets({"bucket": [bucket], "value": [1]}, {"parts": [part]}, absent="zero")


def test_key_with_too_few_pieces_is_named():
    key = {"separator": "/", "parts": [{"name": "a", "position": 2}]}
    with raises(DataError, "bucket-pieces-piece", 1, 2, "a"):
        read_buckets({"bucket": ["x/y"], "value": [1]}, key)


def test_level_called_other_beside_the_other_bucket_is_refused():
    key = {"separator": "/", "parts": [{"name": "a", "position": 0, "other": "*"}]}
    with raises(DataError, "level-other-besides"):
        read_buckets({"bucket": ["other", "*"], "value": [1, 2]}, key)


def test_poisson_counts_take_no_factor():
    key = {"factor": 2, "noise": {"kind": "poisson", "rate": 1.0}, "parts": [{"name": "a", "bits": [0, 1]}]}
    with raises(DataError, "cant-divided-factor"):
        read_buckets({"bucket": [0, 1], "value": [2, 4]}, key)


def test_withheld_values_are_divided_by_the_factor():
    key = {"value": "n", "factor": 4, "withheld": {"*": [8, 40]}, "parts": [{"name": "r", "column": "r"}]}
    table = read_buckets({"r": ["a", "b", "c"], "n": ["<9", "*", "20"]}, key)["r"]
    assert np.array_equal(table.bounds, ([0, 2, 5], [2, 10, 5]))


def test_withheld_noisy_values_bound_no_true_count():
    key = {"value": "n", "noise": {"kind": "laplace", "scale": 2.0}, "parts": [{"name": "r", "column": "r"}]}
    table = read_buckets({"r": ["a", "b"], "n": ["<5", "20"]}, key)["r"]
    assert np.isnan(table.counts[0])
    assert table.bounds is None


def test_bits_that_no_part_has_must_agree():
    key = {"parts": [{"name": "a", "bits": [0, 1]}]}
    with raises(DataError, "buckets-keys-differ", "0x0", "0x9"):
        read_buckets({"bucket": ["0x0", "0x9"], "value": [1, 2]}, key)
    assert read_buckets({"bucket": ["0x8", "0x9"], "value": [1, 2]}, key)["a"].counts.tolist() == [1, 2]


def test_json_of_lines_may_be_called_json(tmp_path):
    path = tmp_path / "report.json"
    path.write_text('{"bucket": "0", "value": 3}\n{"bucket": "1", "value": 4}\n')
    assert read_buckets(path, {"parts": [{"name": "a", "bits": [0, 1]}]})["a"].counts.tolist() == [3, 4]
    path.write_text('[{"bucket": "0", "value": 3},')
    with raises(DataError, "cant-read-complete"):
        read_buckets(path, {"parts": [{"name": "a", "bits": [0, 1]}]})


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        ({"kind": "gaussian", "scale": 3.0}, Gaussian(np.array([3.0, 3.0 * np.sqrt(2)]))),
        ({"kind": "exact"}, Exact()),
    ],
)
def test_buckets_of_one_cell_are_summed_on_request(noise, expected):
    key = {"parts": [{"name": "geo", "bits": [0, 1]}], "noise": noise}
    report = {"bucket": ["0x0", "0x1", "0x1"], "value": [40, 31, 2]}
    with raises(DataError, "buckets-same-cell"):
        read_buckets(report, key)
    table = read_buckets(report, key, duplicates="sum")["geo"]
    assert table.counts.tolist() == [40, 33]
    assert table.noise == expected


def test_summed_buckets_of_laplace_noise_have_as_many_draws():
    from sumwise.noise import Summed

    key = {"parts": [{"name": "geo", "bits": [0, 1]}], "noise": {"kind": "laplace", "scale": 3.0}}
    report = {"bucket": ["0x0", "0x1", "0x1", "0x0"], "value": [40, 31, 2, 1]}
    assert read_buckets(report, key, duplicates="sum")["geo"].noise == Summed(Laplace(3.0), 2)
    uneven = {name: column[:3] for name, column in report.items()}
    with raises(DataError, "cells-buckets-each", 1, 2):
        read_buckets(uneven, key, duplicates="sum")


@pytest.mark.parametrize("persons", [["70", "<5"], ["<5", "70"]])
@pytest.mark.parametrize("threshold", [{}, {"threshold": 10}])
def test_bounds_of_a_sum_do_not_depend_on_the_order_of_its_buckets(persons, threshold):
    key = {"value": "persons", "parts": [{"name": "region", "column": "region"}]} | threshold
    report = {"region": ["N", "N", "S"], "persons": [*persons, "84"]}
    low, high = read_buckets(report, key, duplicates="sum")["region"].bounds
    np.testing.assert_array_equal([low, high], [[70, 84], [74, 84]])
