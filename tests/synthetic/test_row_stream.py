import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from messages import raises
from sumwise import Tables, synthetic
from sumwise.errors import DataError
from sumwise.synthetic.row_model import BLOCK


@pytest.fixture(scope="module")
def data():
    return synthetic.rows(BLOCK + 5000, sizes=[2, 3, 7], random_state=0)


@pytest.mark.parametrize("size", [999, BLOCK, BLOCK + 1, 10**6])
def test_chunk_size_does_not_change_the_rows(data, size):
    joined = pd.concat(list(data.chunks(size, probability=True)), ignore_index=True)
    pd.testing.assert_frame_equal(joined, data.frame(probability=True))


def test_a_shorter_table_is_the_beginning_of_a_longer_one(data):
    short = synthetic.rows(1000, sizes=[2, 3, 7], random_state=0)
    pd.testing.assert_frame_equal(short.frame(), data.frame().iloc[:1000])


def test_take_gives_any_range(data):
    codes, labels, p = data.take(BLOCK - 3, BLOCK + 4)
    expected = data.frame(probability=True).iloc[BLOCK - 3 : BLOCK + 4]
    np.testing.assert_array_equal(codes, expected[["f0", "f1", "f2"]])
    np.testing.assert_array_equal(labels, expected["label"])
    np.testing.assert_array_equal(p, expected["probability"])
    for start, stop in ((-1, 3), (3, 3), (0, len(data) + 1)):
        with raises(DataError, "rows-asked-start"):
            data.take(start, stop)


def test_parquet_holds_the_same_rows(data, tmp_path):
    path = data.write_parquet(tmp_path / "rows.parquet", chunk_rows=30_000)
    pd.testing.assert_frame_equal(pd.read_parquet(path), data.frame())
    assert pq.ParquetFile(path).num_row_groups == 3
    assert [p.name for p in tmp_path.iterdir()] == ["rows.parquet"]


def test_a_failed_write_leaves_nothing(data, tmp_path, monkeypatch):
    def breaks(*_args, **_options):
        raise OSError("disk full")

    monkeypatch.setattr(pq.ParquetWriter, "write_batch", breaks)
    with pytest.raises(OSError, match="disk full"):
        data.write_parquet(tmp_path / "rows.parquet")
    assert not list(tmp_path.iterdir())


def test_formats_agree(data):
    frame = next(data.chunks(50))
    batch = next(data.chunks(50, format="arrow"))
    codes, labels, _ = next(data.chunks(50, format="numpy"))
    pd.testing.assert_frame_equal(batch.to_pandas(), frame)
    np.testing.assert_array_equal(codes, frame[["f0", "f1", "f2"]])
    np.testing.assert_array_equal(labels, frame["label"])


def test_tables_are_those_of_the_frame(data):
    streamed = data.tables(order=2)
    counted = Tables.from_frame(data.frame(), ["f0", "f1", "f2"], label="label", order=2, domain=data.domain)
    for pair in (("f0", "f1"), ("f0", "f2"), ("f1", "f2")):
        np.testing.assert_array_equal(streamed[pair].counts, counted[pair].counts)
        np.testing.assert_array_equal(streamed[pair].label_sums, counted[pair].label_sums)
    assert streamed.n == len(data)
    assert len(data.tables(order=3)) == 1


def test_probabilities_of_frames_and_matrices(data):
    frame = data.frame(probability=True).iloc[:100]
    np.testing.assert_allclose(data.probabilities(frame), frame["probability"], rtol=1e-12)
    np.testing.assert_allclose(data.probabilities(frame[["f0", "f1", "f2"]].to_numpy()), frame["probability"])


def test_probabilities_refuse_what_they_do_not_know(data):
    with raises(DataError, "frame-lacks-attributes", 1, 3):
        data.probabilities(pd.DataFrame({"f0": [0], "f1": [0]}))
    with raises(DataError, "x-columns-attributes", 2, 3):
        data.probabilities(np.zeros((1, 2)))
    with raises(DataError, "row-level", 3, "f1"):
        data.probabilities(np.array([[0, 3, 0]]))


def test_adkdd_has_its_shape():
    data = synthetic.rows(80_000_000, preset="adkdd", random_state=0)
    sizes = np.array(data.domain.shape)
    assert len(sizes) == 19
    assert (sizes < 100).sum() == 12
    assert sizes.max() == 1000
    codes, labels, _ = data.take(79_999_000, 80_000_000)
    assert (codes < sizes).all()
    assert 0.03 < labels.mean() < 0.2


def test_preset_can_be_changed_in_part():
    data = synthetic.rows(100, preset="adkdd", sizes=[2, 3], rate=0.4, random_state=0)
    assert data.domain.shape == (2, 3)


def test_same_seed_same_rows():
    a, b, c = (synthetic.rows(100, random_state=s).frame() for s in (0, 0, 1))
    pd.testing.assert_frame_equal(a, b)
    assert not a.equals(c)


def test_one_row_of_one_attribute_with_one_level():
    data = synthetic.rows(1, sizes=[1], random_state=0)
    assert data.frame()["f0"].tolist() == [0]
    assert len(data.tables(order=1)) == 1


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n": 0}, ("must-least", "n", 0)),
        ({"sizes": []}, ("sizes-empty-least",)),
        ({"sizes": "adkdd"}, ("sizes-number-levels", "adkdd")),
        ({"sizes": [2, 0]}, ("must-least",)),
        ({"preset": "criteo"}, ("is-takes", "preset", "criteo")),
        ({"main": -1.0}, ("must-least", "main")),
        ({"higher": np.nan}, ("must-least", "higher")),
        ({"skew": -1.0}, ("must-least", "skew")),
        ({"correlation": 1.0}, ("correlation-must-below",)),
        ({"rate": 0.0}, ("must-lie-between", "rate")),
        ({"joint_parents": -1}, ("must-least", "joint_parents")),
        ({"sizes": [2, 2], "joint_parents": 1}, ("joint-parents-attributes", 2, 0)),
    ],
)
def test_bad_parameters_are_refused(bad, message):
    with raises(DataError, *message):
        synthetic.rows(**bad)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.chunks(0), ("must-least", "size", 0)),
        (lambda d: d.chunks(10, format="csv"), ("is-takes", "format", "csv")),
        (lambda d: d.tables(order=0), ("must-least", "order")),
        (lambda d: d.tables(order=4), ("order-attributes-2", 3)),
    ],
)
def test_bad_requests_are_refused(data, call, message):
    with raises(DataError, *message):
        call(data)
