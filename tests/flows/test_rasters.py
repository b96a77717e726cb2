"""GeoTIFFs with a band per week, as eBird Status and Trends has them."""

from __future__ import annotations

import numpy as np
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.flows import FlowModel, Movement, read_raster
from sumwise.io.sandbox import parse

rasterio = pytest.importorskip("rasterio")
LAEA = "+proj=laea +lat_0=40 +lon_0=-95 +datum=WGS84 +units=m"


def written(path, bands, crs=LAEA, dates=None, cell=27_000.0):
    transform = rasterio.Affine(cell, 0.0, -3 * cell, 0.0, -cell, 3 * cell)
    shape = {"count": len(bands), "height": bands.shape[1], "width": bands.shape[2]}
    with rasterio.open(
        path, "w", driver="GTiff", dtype="float32", crs=crs, transform=transform, nodata=np.nan, **shape
    ) as file:
        file.write(bands.astype("float32"))
        for k, date in enumerate(dates or (), 1):
            file.set_band_description(k, date)
    return path


@pytest.fixture
def bands():
    out = np.random.default_rng(0).gamma(1.0, 2.0, (4, 6, 6))
    out[:, 0, :] = np.nan  # sea
    out[:, 5, :] = 0.0  # never there
    out[2, 1, 1] = np.nan
    return out


def test_cells_with_abundance_become_places(tmp_path, bands):
    path = written(tmp_path / "a.tif", bands, dates=["2022-01-04", "2022-01-11", "2022-01-18", "2022-01-25"])
    times, places, found = read_raster(path)
    assert times[1] == "2022-01-11"
    assert len(places) == 24
    np.testing.assert_allclose(found[0], bands[0, 1:5].ravel(), rtol=1e-6)
    assert np.isnan(found[2, 1])
    assert np.isnan(found).sum() == 1
    middle = places.names.index("row 3, column 3")
    assert places.lon[middle] < -95 < places.lon[middle + 1]
    assert places.distance(places.names[0], places.names[1]) == pytest.approx(27, rel=0.01)


def test_blocks_keep_the_sums(tmp_path, bands):
    _, places, found = read_raster(written(tmp_path / "a.tif", bands), block=4)
    np.testing.assert_allclose(found.sum(axis=1), np.nansum(bands, axis=(1, 2)), rtol=1e-6)
    assert len(places) == 4
    assert places.distance(places.names[0], places.names[1]) == pytest.approx(108, rel=0.01)


def test_a_model_is_fitted_to_the_file(tmp_path, bands):
    path = written(tmp_path / "a.tif", bands, crs="EPSG:4326", cell=0.5)
    model = FlowModel(movement=Movement(1.0, 60.0), cyclic=True, population="varying").fit(path)
    assert model.times_ == [1, 2, 3, 4]
    assert model.relative_
    assert model.transitions(1, 3).sum(axis=1) == pytest.approx(1.0)


def test_what_is_no_such_raster_is_refused(tmp_path, bands):
    with raises(DataError, "no-file"):
        read_raster(tmp_path / "none.tif")
    (tmp_path / "text.tif").write_text("week,cell\n")
    with pytest.raises(DataError, match="text.tif"):
        read_raster(tmp_path / "text.tif")
    with raises(DataError, "no-abundance-any"):
        read_raster(written(tmp_path / "a.tif", 0.0 * bands))
    with raises(DataError, "cells-negative-abundance"):
        read_raster(written(tmp_path / "b.tif", bands - 1.0))


def test_only_a_geotiff_is_opened_whatever_the_name(tmp_path, bands):
    """GDAL would follow this text, called .tif, to the file that it names, or to an address."""
    from rasterio.shutil import copy

    copy(written(tmp_path / "a.tif", bands), tmp_path / "b.vrt", driver="VRT")
    (tmp_path / "b.vrt").rename(tmp_path / "b.tif")
    with rasterio.open(tmp_path / "b.tif") as file:
        assert file.driver == "VRT"
    with pytest.raises(DataError, match="b.tif"):
        read_raster(tmp_path / "b.tif")


def test_a_reference_system_that_leads_nowhere_is_refused():
    from sumwise.flows import Places

    with raises(DataError, "crs-code-such", "nowhere"):
        Places.from_projected([1.0], [2.0], "nowhere")


def test_a_file_that_declares_more_than_its_size_is_worth_is_refused(tmp_path):
    path = written(tmp_path / "a.tif", np.ones((4, 6, 6)))
    with raises(DataError, "declares-bands-x", 4, 6):
        parse("sumwise.io.parsers.raster", path, 2**30, block=1, most_bytes=8 * 4 * 36 - 1)
