#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens every group of result files with both xarray engines, with netCDF4 and with ncdump:
readers.py FILE.h5 ...

All must find the same datasets with the same values. Every number has a unit and a name, and
positions are coordinates.
"""
import shutil
import subprocess
import sys

import h5py
import netCDF4
import numpy
import xarray

# Coordinates that are not axes, required in groups that have the given axis.
COORDINATES = {
    ("results", "point"): {"point_x_mm", "point_y_mm", "point_field"},
    ("results", "field"): {"field_x_mm", "field_y_mm"},
    ("results", "parameter"): {"parameter_unit"},
    ("results", "target"): {"target_x_arcsec", "target_y_arcsec"},
    ("system", "star"): {"star_x_arcsec", "star_y_arcsec"},
    ("view", "point"): {"point_mm"},
    ("energy", "exposure"): {"wafer"},
    ("statistics", "choice"): {"choice_pipeline", "setting"},
}


def groups_of(path):
    with h5py.File(path, "r") as file:
        return [""] + [name for name, node in file.items() if isinstance(node, h5py.Group)]


def is_same(one, other):
    """Whether values, including NaN, and axes agree exactly."""
    if one.dims != other.dims or one.dtype.kind != other.dtype.kind:
        return False
    if one.dtype.kind == "f":
        return numpy.array_equal(one.values, other.values, equal_nan=True)
    return (numpy.asarray(one.values) == numpy.asarray(other.values)).all()


def check_group(path, group):
    """Names of the datasets found by both xarray engines, which must agree."""
    place = f"{path}/{group}"
    with xarray.open_dataset(path, engine="netcdf4", group=group or None) as one, \
            xarray.open_dataset(path, engine="h5netcdf", group=group or None) as other:
        assert set(one.variables) == set(other.variables), f"{place}: engines differ"
        assert set(one.coords) == set(other.coords), f"{place}: coordinates differ"
        for name, variable in one.variables.items():
            assert is_same(variable, other.variables[name]), f"{place}/{name}: engines differ"
            assert variable.attrs.get("long_name"), f"{place}/{name} has no long_name"
            if variable.dtype.kind == "f":
                assert variable.attrs.get("units"), f"{place}/{name} has no units"
        is_collection = "choice" in one.dims or "sweep_plan" in one.attrs
        for (owner, axis), names in COORDINATES.items():
            if owner == group and axis in one.dims and not is_collection or owner == group == "statistics":
                assert names <= set(one.coords), f"{place}: {names - set(one.coords)} are no coordinates"
        return set(one.variables)


def check_study(path):
    """Checks the group `study` against the resolved configuration."""
    study = xarray.open_dataset(path, group="study")
    kind = str(study.experiment.values)
    key = {"ao": "telescope_diameter_m", "wafer": "scan_dose_mj_per_cm2", "product": "vectors"}[kind]
    assert (study[key].values > 0.0).all() and study[key].attrs["key"].replace(".", "_") == key, study
    assert list(study.pipeline.values)[0] == "reference", study
    with h5py.File(path, "r") as file:
        text = file["provenance/config_resolved"][()].decode()
    assert f"seed: {int(study.seed)}\n" in text, path


def check_netcdf(path, seen):
    with netCDF4.Dataset(path) as file:
        for group, names in seen.items():
            own = set((file[group] if group else file).variables)
            assert own <= names, f"{path}/{group}: netCDF4 sees {own - names} more"
            assert own or group == "provenance", f"{path}/{group}: netCDF4 sees nothing"


def check_ncdump(path):
    done = subprocess.run(["ncdump", "-h", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with h5py.File(path, "r") as file:
        has_points = "point_x_mm" in file["results"] and "sweep_plan" not in file.attrs
        has_targets = "target_x_arcsec" in file["results"]
    if has_points:
        assert 'displacement_nm:coordinates = "point_x_mm point_y_mm point_field" ;' in done.stdout
    if has_targets:
        assert 'strehl_by:coordinates = "target_x_arcsec target_y_arcsec" ;' in done.stdout
    assert "group: study {" in done.stdout, path


def main():
    has_ncdump = shutil.which("ncdump") is not None
    for path in sys.argv[1:]:
        seen = {group: check_group(path, group) for group in groups_of(path)}
        check_study(path)
        check_netcdf(path, seen)
        if has_ncdump:
            check_ncdump(path)
        print(f"{path}: {sum(map(len, seen.values()))} datasets in {len(seen)} groups"
              f"{'' if has_ncdump else ' (no ncdump here)'}")


if __name__ == "__main__":
    main()
