"""Tables that are mostly empty: a Table in all respects, held by its filled cells."""

import pickle

import numpy as np
import pytest

import sumwise
from messages import raises
from sumwise import DataError, Domain, Table, Tables
from sumwise.aggregate import aggregate
from sumwise.io.checkpoint import fingerprint
from sumwise.io.formats import read_tables, write_tables
from sumwise.sparse_table import SparseTable, pays, table_of_cells


def rows(n=3000, levels=200, seed=0):
    rng = np.random.default_rng(seed)
    site = rng.integers(0, levels, n)
    page = (site + (rng.random(n) < 0.05) * rng.integers(0, levels, n)) % levels
    return {"site": site, "page": page, "age": rng.integers(0, 3, n), "click": rng.integers(0, 2, n)}


DOMAIN = Domain({"site": 200, "page": 200, "age": 3})


@pytest.fixture(scope="module")
def tables():
    return Tables.from_frame(rows(), ["site", "page", "age"], label="click", domain=DOMAIN)


def in_full(tables):
    return tables.with_tables([Table(t.attributes, t.counts, t.label_sums) for t in tables])


def test_large_empty_tables_are_held_sparse_and_others_in_full(tables):
    assert [isinstance(t, SparseTable) for t in tables] == [True, False, False]
    assert pays(2**14, 2**11)
    assert not pays(2**14, 2**11 + 1)
    assert not pays(2**14 - 1, 1)
    assert pays(2**16, 2**15)
    assert not pays(2**16, 2**15 + 1)
    assert not pays(2**16 - 1, 2**15 - 1)


def test_a_sparse_table_answers_like_the_full_one(tables):
    sparse, full = tables["site", "page"], in_full(tables)["site", "page"]
    assert sparse == full
    assert full == sparse
    assert (sparse.shape, sparse.total, sparse.n_classes) == (full.shape, full.total, full.n_classes)
    assert sparse.describe() == full.describe()
    assert sparse.transpose(("page", "site")) == full.transpose(("page", "site"))
    assert sparse.project("page") == full.project("page")
    assert sparse.label_totals.tolist() == full.label_totals.tolist()
    for mine, theirs in zip(sparse.filled(), full.filled()):
        assert np.array_equal(mine, theirs)
    assert tables == in_full(tables)
    assert sparse.nbytes < 0.1 * (full.counts.nbytes + full.label_sums.nbytes)


def test_classes_are_kept_on_an_axis_of_their_own():
    data = {**rows(), "click": np.random.default_rng(1).choice(list("pqr"), 3000)}
    table = Tables.from_frame(data, ["site", "page"], label="click")["site", "page"]
    assert isinstance(table, SparseTable)
    assert table.label_sums.shape == (200, 200, 3)
    assert np.array_equal(table.label_sums.sum(axis=-1), table.counts)
    assert table.project("site").n_classes == 3


def test_every_way_in_holds_the_same_tables(tables, tmp_path):
    counted = aggregate(rows(), ["site", "page", "age"], label="click", domain=DOMAIN)
    assert isinstance(counted["site", "page"], SparseTable)
    assert counted == tables
    write_tables(tables, tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text("utf-8").count("\n")
    assert lines == 1 + len(tables["site", "page"].cells) + 2 * 600
    back = read_tables(tmp_path / "t.csv", domain=DOMAIN, label="click")
    assert isinstance(back["site", "page"], SparseTable)
    assert back == tables


def test_files_of_filled_cells_alone_are_read_sparse(tmp_path):
    (tmp_path / "t.csv").write_text("site,page,count,label_sum\n3,4,5,1\n199,0,2,2\n", "utf-8")
    domain = Domain({"site": 200, "page": 200})
    table = read_tables(tmp_path / "t.csv", absent="zero", domain=domain, label="click")["site", "page"]
    assert isinstance(table, SparseTable)
    assert table.cells.tolist() == [604, 39800]
    (tmp_path / "t.csv").write_text("site,page,count,absent\n3,4,5,nought\n", "utf-8")
    with raises(DataError, "column-says-nothing", "absent"):
        read_tables(tmp_path / "t.csv", domain=domain)


def test_saved_loaded_pickled_and_fingerprinted(tables, tmp_path):
    sumwise.save(tables, tmp_path / "t.sumwise")
    back = sumwise.load(tmp_path / "t.sumwise")
    assert back == tables
    assert isinstance(back["site", "page"], SparseTable)
    assert fingerprint(back) == fingerprint(tables)
    other = SparseTable(("site", "page"), (200, 200), [0], [3000.0], [1500.0])
    assert fingerprint(other) != fingerprint(tables["site", "page"])
    assert pickle.loads(pickle.dumps(other)) == other
    data = bytearray((tmp_path / "t.sumwise").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "t.sumwise").write_bytes(bytes(data))
    with pytest.raises(DataError):
        sumwise.load(tmp_path / "t.sumwise")


def test_release_gives_noise_to_empty_cells_too():
    pytest.importorskip("opendp")
    from sumwise.privacy import release

    table = SparseTable(("a", "b"), (130, 130), [5], [4.0])
    noisy = release(Tables([table], Domain({"a": 130, "b": 130})), epsilon=1.0, bounds=1, budget=None)
    assert not isinstance(noisy[0], SparseTable)  # which cells are empty is private
    assert np.count_nonzero(noisy[0].counts) > 1000


def test_cells_may_come_in_any_order_and_empty_ones_go():
    table = SparseTable("a", (9,), [7, 2, 4], [1.0, 2.0, 0.0], [1.0, 0.0, 0.0])
    assert table.cells.tolist() == [2, 7]
    assert table.counts.tolist() == [0, 0, 2, 0, 0, 0, 0, 1, 0]
    assert table_of_cells("a", (3,), np.array([2, 2]), sums=np.array([1.0, 0.0])).label_sums.tolist() == [0, 0, 1]


def test_a_sparse_table_is_frozen():
    table = SparseTable("a", (9,), [7], [1.0])
    for name in ("cells", "noise"):
        with pytest.raises(AttributeError):
            setattr(table, name, None)
        with pytest.raises(AttributeError):
            delattr(table, name)
    with pytest.raises(ValueError, match="read-only"):
        table.cells[0] = 3
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0] = 3


@pytest.mark.parametrize(
    ("cells", "counts", "sums", "words"),
    [
        ([9], [1.0], None, ("counts-cells-go", 9)),
        ([-1], [1.0], None, ("counts-cells-go", -1)),
        ([1, 1], [1.0, 1.0], None, ("counts-cell-listed",)),
        ([1.5], [1.0], None, ("counts-cells-shape", "float64")),
        ([1, 2], [1.0], None, ("counts-cells-per", 1, 2)),
        ([1], [-1.0], None, ("negative-counts-start",)),
        ([1], [np.nan], None, ("drop-fill-such",)),
        ([1], [1.0], [2.0], ("cells-first-correct", 1, 2)),
        ([1], [1.0], [[1.0]], ("label-sums-shape",)),
        ([1], [1.0], [0.0, 0.0], ("label-sums-shape",)),
    ],
)
def test_bad_cells_are_refused(cells, counts, sums, words):
    with raises(DataError, *words):
        SparseTable("a", (9,), cells, counts, sums)


def test_a_bad_shape_is_refused():
    with raises(DataError, "shape-number-per"):
        SparseTable("a", (9, 2), [1], [1.0])
    with raises(DataError, "must-least", "levels"):
        SparseTable("a", (0,), [], [])
    with raises(DataError, "table-over-cant"):
        SparseTable(("a", "b"), (2, 2), [1], [1.0]).transpose(("a", "c"))


def test_a_table_too_large_to_be_an_array_says_so():
    table = SparseTable(("site", "page"), (100_000, 100_000), [5, 10**9], [3, 4], [1, 2])
    for ask in (lambda: table.counts, lambda: table.label_sums):
        with raises(DataError, "table-over-cells-them", "10,000,000,000", 2, 75):
            ask()
    assert table.project("site").counts[0] == 3
