#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Overlay error of a pipeline over the wafer: by field, by radius, and after correction by the
scanner.

    bitbudget run wafer/quick -o quick.h5
    python3 examples/wafer_error_by_field.py quick.h5 [pipeline]
"""
import sys

import numpy as np
import xarray


def main():
    path = sys.argv[1]
    table = xarray.open_dataset(path)
    results = xarray.open_dataset(path, group="results")
    study = xarray.open_dataset(path, group="study")
    # Default: the pipeline with the fewest bytes among those with an error below 0.1 nm.
    error = np.maximum(table.overlay_error_x_nm, table.overlay_error_y_nm)
    small = table.where((error < 0.1) & (table.status == "ok"), drop=True)
    name = sys.argv[2] if len(sys.argv) > 2 else str(small.pipeline[int(small.operator_bytes.argmin())].values)
    one = results.sel(pipeline=name)

    print(f"{float(study.scan_dose_mj_per_cm2):g} mJ/cm2, mesh of {float(study.mesh_spacing_mm):g} mm,"
          f" pipeline {name}: {float(table.operator_bytes.sel(pipeline=name)) / 1e6:.3g} MB,"
          f" overlay error {float(error.sel(pipeline=name)):.3g} nm")

    print("by field, abs(mean) + 3 sigma of the length in nm")
    numerical = one.field_m3s_nm.sel(error="numerical", direction="vector")
    for field in numerical.field.values:
        at = numerical.sel(field=field)
        print(f"  field {field:g} at ({float(at.field_x_mm):g}, {float(at.field_y_mm):g}) mm: {float(at):.3g}")

    # The points have coordinates: average the length of the error over rings of the wafer.
    off = one.displacement_nm - results.displacement_nm.isel(pipeline=0)
    length = np.hypot(off.sel(axis="x"), off.sel(axis="y"))
    radius = np.hypot(length.point_x_mm, length.point_y_mm).rename("radius_mm")
    print("by radius, mean length in nm")
    for ring, mean in length.groupby_bins(radius, np.arange(0, 151, 25)).mean().to_series().dropna().items():
        print(f"  {ring.left:g} to {ring.right:g} mm: {mean:.3g}")

    print("after a model of the scanner, abs(mean) + 3 sigma of x and y in nm")
    left = one.nce_nm.sel(error="numerical")
    for model in left.model.values:
        x, y = (float(left.sel(model=model, direction=d)) for d in ("x", "y"))
        print(f"  {model}: {x:.3g}, {y:.3g}")


if __name__ == "__main__":
    main()
