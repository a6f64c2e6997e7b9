#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens collections of test_collection.c with both xarray engines and checks what they see."""
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
    with xr.open_dataset(sys.argv[1], engine=engine) as data:  # one line, no group
        assert data.toy_error.dims == ("r0_m", "width", "pipeline"), data
        assert list(data.pipeline.values) == ["reference", "a", "b"], data
        assert list(data.r0_m.values) == [1, 2] and list(data.width.values) == [3, 5, 7], data
        assert data.r0_m.attrs["units"] == "m", data.r0_m
        assert float(data.toy_error.sel(r0_m=2, width=5, pipeline="a")) == 2 / 32
        assert (data.status.values == "ok").all() and (data.point_status.values == "done").all()
        assert len(np.unique(data.point_id.values)) == 6
        assert list(data.step.values) == [10, 20, 30]
    with xr.open_dataset(sys.argv[1], engine=engine, group="results") as data:
        assert data.series.dims == ("r0_m", "width", "pipeline", "step"), data
        assert data.series.values[1, 2, 1, 2] == 104, data.series
    with xr.open_dataset(sys.argv[1], engine=engine, group="study") as study:
        # What was swept has all of its values; a single pipeline's is as the plan has it.
        assert study.air_r0_m.dims == ("r0_m",) and list(study.air_r0_m.values) == [1, 2], study
        assert study.air_r0_m.attrs["units"] == "m" and study.air_r0_m.attrs["key"] == "air.r0_m"
        assert study.pipeline_width.dims == ("pipeline",) and "pipelines_a_width" not in study, study
    with xr.open_dataset(sys.argv[2], engine=engine, group="study") as study:
        assert study.length_m.dims == ("zip",) and list(study.length_m.values) == [1, 2], study
    with xr.open_dataset(sys.argv[3], engine=engine, group="study") as study:
        assert study.seed.dims == ("seed",) and list(study.seed.values) == [1, 2], study
        assert list(study["count"].values) == [3, 4] and float(study.length_m) == 3.0, study
    with xr.open_dataset(sys.argv[2], engine=engine) as data:
        assert data.toy_error.dims == ("r0_m", "zip", "pipeline"), data
        assert list(data.length_m.values) == [1, 2] and data["count"].dims == ("zip",), data
        assert {"length_m", "count"} <= set(data.toy_error.coords), data
print("both engines agree")
