"""BirdFlow files: written, read back, and read as others write them."""

import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise import synthetic
from sumwise.collective import TreeModel, map_counts
from sumwise.errors import DataError
from sumwise.io.formats import BirdFlow, read_birdflow, write_birdflow

h5py = pytest.importorskip("h5py", reason="the extra 'birds' brings h5py")
MASK = np.array([[True, False, True], [True, True, True]])


def geometry(**changes):
    return {
        "nrow": 2,
        "ncol": 3,
        "res": [10.0, 5.0],
        "ext": [0.0, 30.0, 100.0, 110.0],
        "crs": "laea",
        "mask": MASK,
        **changes,
    }


def model(weeks=3):
    rng = np.random.default_rng(0)
    distr = rng.dirichlet(np.ones(5), weeks).T
    distr[1, 1] = np.nan
    distr[2, 0] = 0.0
    dates = pd.DataFrame({"timestep": np.arange(1, weeks + 1), "date": [f"2021-01-{d + 1:02d}" for d in range(weeks)]})
    flows = {(k + 1, k + 2): rng.random((5, 5)) for k in range(weeks - 1)}
    return BirdFlow(geometry(), distr, dates, flows, {"common_name": "Wood Thrush"}, {"hyperparameters": {"ent": 0.1}})


def test_a_file_comes_back_as_it_went(tmp_path):
    made = model()
    write_birdflow(made, tmp_path / "m.hdf5")
    back = read_birdflow(tmp_path / "m.hdf5")
    np.testing.assert_array_equal(back.distr, made.distr)  # a missing share is NaN still, and a zero is zero
    assert np.array_equal(back.geom["mask"], MASK)
    assert back.geom["crs"] == "laea"
    assert back.dates.equals(made.dates)
    assert list(back.marginals) == [(1, 2), (2, 3)]
    np.testing.assert_array_equal(back.marginals[2, 3], made.marginals[2, 3])
    assert back.species == {"common_name": "Wood Thrush"}
    assert back.metadata["hyperparameters"] == {"ent": 0.1}
    assert back.metadata["birdflow_version"] == 3
    with h5py.File(tmp_path / "m.hdf5") as file:
        assert [t.decode() for t in file["transitions"]] == ["Week1_to_2", "Week2_to_3"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.hdf5"]
    assert "Wood Thrush" in repr(back)


def test_cells_lie_row_by_row_from_the_top_left():
    np.testing.assert_array_equal(model().positions[:3], [[5.0, 107.5], [25.0, 107.5], [5.0, 102.5]])


def test_flows_over_the_cells_in_use_are_spread(tmp_path):
    made = model()
    write_birdflow(made, tmp_path / "m.hdf5")
    here, there = (np.flatnonzero(made.distr[:, k] > 0) for k in (0, 1))
    with h5py.File(tmp_path / "m.hdf5", "r+") as file:
        del file["marginals/Week1_to_2"]
        file["marginals/Week1_to_2"] = made.marginals[1, 2][np.ix_(here, there)]
        weeks = file["distr"][()].T
        del file["distr"]
        file["distr"] = weeks  # the other way round, as some write it
    back = read_birdflow(tmp_path / "m.hdf5")
    np.testing.assert_array_equal(back.marginals[1, 2][np.ix_(here, there)], made.marginals[1, 2][np.ix_(here, there)])
    assert back.marginals[1, 2][2].sum() == 0
    np.testing.assert_array_equal(back.distr, made.distr)


def test_a_fit_becomes_a_model_and_a_model_tables(tmp_path):
    season = synthetic.birds(3, 4, 500, random_state=0)
    shares = np.column_stack([season.nodes[f"t{t}"] / 500 for t in range(4)])
    geom = geometry(nrow=3, ncol=3, ext=[0, 3, 0, 3], mask=np.ones((3, 3)))
    bare = BirdFlow(geom, shares, pd.DataFrame({"timestep": range(1, 5)}))
    np.testing.assert_allclose(bare.tables(500)["week2"].counts, season.nodes["t1"])
    fit = map_counts(TreeModel(season.domain, season.edges, season.log_potentials), season.tables)
    full = bare.with_flows(fit)
    write_birdflow(full, tmp_path / "f.hdf5")
    np.testing.assert_allclose(
        read_birdflow(tmp_path / "f.hdf5").marginals[1, 2] * 500, fit.edges["t0", "t1"], atol=1e-9
    )
    with raises(DataError, "fit-weeks-model", 4, 3):
        model().with_flows(fit)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"geom": {"nrow": 2}}, ("geom-lacks-holds", "ncol")),
        ({"geom": geometry(nrow=3)}, ("mask-grid-x",)),
        ({"distr": np.ones((4, 3))}, ("distr-cells-mask", 4, 5)),
        ({"distr": -np.ones((5, 3))}, ("distr-shares-below",)),
        ({"dates": pd.DataFrame({"timestep": [1]})}, ("dates-weeks", 1, 3)),
        ({"marginals": {(1, 2): np.ones((2, 2))}}, ("flows-week-cells", 1, 2)),
    ],
)
def test_bad_models_are_refused(change, words):
    made = model()
    given = {"geom": made.geom, "distr": made.distr, "dates": made.dates, "marginals": made.marginals, **change}
    with raises(DataError, *words):
        BirdFlow(**given)


def test_bad_files_are_refused(tmp_path):
    with raises(DataError, "no-file-check"):
        read_birdflow(tmp_path / "none.hdf5")
    (tmp_path / "text.hdf5").write_text("no")
    with raises(DataError, "cant-read-file-complete"):
        read_birdflow(tmp_path / "text.hdf5")
    with h5py.File(tmp_path / "empty.hdf5", "w") as file:
        file["distr"] = [1.0]
    with raises(DataError, "isnt-birdflow-model", "geom, dates"):
        read_birdflow(tmp_path / "empty.hdf5")
    write_birdflow(model(), tmp_path / "m.hdf5")
    with h5py.File(tmp_path / "m.hdf5", "r+") as file:
        file["marginals/Next"] = np.ones((5, 5))
    with raises(DataError, "marginals-names-week", "Next"):
        read_birdflow(tmp_path / "m.hdf5")


def test_nothing_is_left_of_a_write_that_fails(tmp_path):
    broken = model()
    object.__setattr__(broken, "species", {"name": object()})
    with pytest.raises(TypeError):
        write_birdflow(broken, tmp_path / "m.hdf5")
    assert list(tmp_path.iterdir()) == []


def _linked(path, other, kind):
    """A BirdFlow file one part of which lies in another file."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "a") as file:
        del file["distr"]
        if kind == "link":
            file["distr"] = h5py.ExternalLink(str(other), "/distr")
        elif kind == "raw":
            file.create_dataset("distr", (2, 2), "f8", external=[(str(other), 0, 32)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout((2, 2), "f8")
            layout[:] = h5py.VirtualSource(str(other), "distr", (2, 2))
            file.create_virtual_dataset("distr", layout)
        elif kind == "soft":
            file["distr"] = h5py.SoftLink("/z/e")
            file.create_group("z")["e"] = h5py.ExternalLink(str(other), "/distr")
        elif kind == "loop":
            file["geom/again"] = file["geom"]
        else:
            file.create_dataset("distr", (10**9, 2), "f8", chunks=(1000, 2))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("link", ("link-another-place",)),
        ("soft", ("link-another-place",)),
        ("raw", ("lies-another-file",)),
        ("virtual", ("lies-another-file",)),
        ("loop", ("group-linked-more",)),
        ("huge", ("bytes-declares-isnt",)),
    ],
)
def test_what_leads_elsewhere_or_nowhere_is_refused(tmp_path, kind, words):
    geom = {"nrow": 1, "ncol": 2, "res": [1.0, 1.0], "ext": [0.0, 2.0, 0.0, 1.0], "crs": "", "mask": [[True, True]]}
    model = BirdFlow(geom, np.array([[0.5, 0.4], [0.5, 0.6]]), pd.DataFrame({"timestep": [1, 2]}))
    for name in ("a.hdf5", "b.hdf5"):
        write_birdflow(model, tmp_path / name)
    _linked(tmp_path / "a.hdf5", tmp_path / "b.hdf5", kind)
    with raises(DataError, *words):
        read_birdflow(tmp_path / "a.hdf5")


def _small(path):
    geom = {"nrow": 1, "ncol": 2, "res": [1.0, 1.0], "ext": [0.0, 2.0, 0.0, 1.0], "crs": "", "mask": [[True, True]]}
    write_birdflow(BirdFlow(geom, np.array([[0.5, 0.4], [0.5, 0.6]]), pd.DataFrame({"timestep": [1, 2]})), path)
    return path


def test_a_text_that_is_named_again_and_again_is_refused_before_it_is_read(tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    monkeypatch.setattr("sumwise.io.formats.birdflow.FREE_SIZE", 2**16)
    monkeypatch.setattr("sumwise.io.formats.birdflow.EXPANSION", 4)
    path = _small(tmp_path / "a.hdf5")
    with h5py.File(path, "a") as file:
        texts = file.create_dataset("metadata/x", (2000,), h5py.string_dtype())
        texts[0], texts[1:] = "A" * 10_000, "b"
        file.flush()
        place = texts.id.get_offset()
    assert read_birdflow(path).metadata["x"][0] == "A" * 10_000
    with open(path, "r+b") as raw:
        raw.seek(place)
        first = raw.read(16)
        raw.seek(place)
        raw.write(first * 2000)
    with raises(DataError, "bytes-declares-isnt"):
        read_birdflow(path)


@pytest.mark.parametrize("name", ["Week0_to_1", "Week3_to_1", "Week99999999999999999999_to_1"])
def test_flows_from_a_week_that_is_not_there_are_refused(name, tmp_path):
    h5py = pytest.importorskip("h5py")
    path = _small(tmp_path / "a.hdf5")
    with h5py.File(path, "a") as file:
        file[f"marginals/{name}"] = np.eye(2)
    with raises(DataError, "marginals-weeks", 2):
        read_birdflow(path)


def test_the_dynamic_mask_says_which_cells_flows_are_stored_over(tmp_path):
    h5py = pytest.importorskip("h5py")
    geom = {"nrow": 1, "ncol": 3, "res": [1.0, 1.0], "ext": [0.0, 3.0, 0.0, 1.0], "crs": "", "mask": [[1, 1, 1]]}
    distr = np.array([[0.5, 0.2, 0.5], [0.5, 0.8, 0.5], [0.0, 0.0, 0.0]])
    used = np.array([[1, 1], [1, 1], [0, 1]], dtype=bool)  # cell 3 is in use in week 2, although its share is zero
    path = tmp_path / "year.hdf5"
    with h5py.File(path, "w") as file:
        for name, value in geom.items():
            file[f"geom/{name}"] = value
        file["geom/dynamic_mask"] = used.astype(np.int8)
        file["distr"] = distr
        file["dates"] = np.array([(1, 1.0), (2, 8.0), (3, 1.0)], dtype=[("timestep", int), ("doy", float)])
        file["marginals/Week1_to_2"] = np.full((2, 3), 1 / 6)
        file["marginals/Week2_to_3"] = np.full((3, 2), 1 / 6)
        file["distances"] = np.array([1.0, 2.0, 3.0])  # (2, 1), (3, 1), (3, 2)
    model = read_birdflow(path)
    assert model.distr.shape == (3, 2)  # the week that repeats the first is gone
    assert list(model.marginals) == [(1, 2), (2, 1)]
    np.testing.assert_allclose(model.marginals[1, 2][:2], 1 / 6)
    np.testing.assert_array_equal(model.marginals[1, 2][2], 0.0)
    np.testing.assert_array_equal(model.dynamic_mask, used)
    np.testing.assert_array_equal(model.distances, [[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    write_birdflow(model, tmp_path / "again.hdf5")
    again = read_birdflow(tmp_path / "again.hdf5")
    np.testing.assert_array_equal(again.dynamic_mask, used)
    np.testing.assert_array_equal(again.distances, model.distances)
