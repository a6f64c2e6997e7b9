#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens a file of tests/sim/fixture.h with both xarray engines and checks what they see."""
import sys

try:
    import h5netcdf  # noqa: F401
    import netCDF4  # noqa: F401
    import numpy as np
    import xarray as xr
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

for engine in ("netcdf4", "h5netcdf"):
    with xr.open_dataset(sys.argv[1], engine=engine) as root:
        assert root.attrs["title"] == "a fixture", root.attrs
        assert root.attrs["status"] == "complete", root.attrs
        assert sorted(root.coords) == ["pipeline", "wavelength"], root
        assert list(root.status.values) == ["ok", "ok", "ok", "not_spd"]
        assert root.overlay_error_x_nm.dims == ("pipeline",) and "series" not in root, root
        assert float(root.overlay_error_x_nm.sel(pipeline="fp16")) == 0.5
    with xr.open_dataset(sys.argv[1], engine=engine, group="results") as data:
        assert list(data.pipeline.values) == ["reference", "fp32", "fp16", "hp3"]
        assert list(data.status.values) == ["ok", "ok", "ok", "not_spd"]
        assert data.overlay_error_x_nm.dims == ("pipeline",)
        assert data.overlay_error_x_nm.attrs["units"] == "nm"
        assert np.isnan(data.overlay_error_x_nm.sel(pipeline="hp3"))
        assert float(data.overlay_error_x_nm.sel(pipeline="fp16")) == 0.5
        assert data.series.dims == ("pipeline", "step")
        assert "step_ms" in data.coords and "step_ms" in data.series.coords, data
        assert data.step_ms.attrs["units"] == "ms", data
        assert np.allclose(data.series.values.ravel(), np.sin(1e-3 * np.arange(12000)), 0, 1e-15)
        assert data.by.dims == ("pipeline", "wavelength") and float(data.by[3, 1]) == 8.0
        assert data.solve_time_s.dtype == np.float64, data.solve_time_s
        assert np.isnan(data.energy_j).all() and float(data.total) == 1.0
    # As they stand in the file: of what has the coordinate's axes alone.
    with xr.open_dataset(sys.argv[1], engine=engine, group="results", decode_coords=False) as raw:
        assert raw.series.attrs["coordinates"] == "step_ms", raw.series
        for name in ("by", "total", "step_ms", "step", "overlay_error_x_nm"):
            assert "coordinates" not in raw[name].attrs, raw[name]
    with xr.open_dataset(sys.argv[1], engine=engine, group="provenance") as record:
        assert record.attrs["host"] == "nowhere" and float(record.attrs["seed"]) == 1.0
        assert str(record.config_resolved.values).startswith("experiment:")
        assert len(str(record.config_as_typed.values[0])) > 70000
print("both engines agree")
