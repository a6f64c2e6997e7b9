#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strehl loss of each pipeline of an ao study in each direction, and the pipeline with the fewest
bytes within a given loss.

    bitbudget run ao/quick -o quick.h5
    python3 examples/ao_strehl_by_pipeline.py quick.h5 [largest loss, 0.001]
"""
import sys

import xarray


def main():
    path = sys.argv[1]
    loss = float(sys.argv[2]) if len(sys.argv) > 2 else 1e-3
    table = xarray.open_dataset(path)
    results = xarray.open_dataset(path, group="results")
    study = xarray.open_dataset(path, group="study")

    print(f"{float(study.telescope_diameter_m):g} m telescope, {int(study.sensors_lenslets)} lenslets"
          f" across, {study.sizes['guide_star']} guide stars:"
          f" {', '.join(study.guide_star_kind.values)}")
    print("Strehl ratio of the reference at", " and ".join(f"{um:g} um" for um in results.wavelength.values))
    for target in results.target.values:
        at = results.sel(target=target)
        strehl = at.strehl_by.isel(pipeline=0).values
        print(f"  target {target:g} at ({float(at.target_x_arcsec):g}, {float(at.target_y_arcsec):g})"
              f" arcsec: {', '.join(f'{s:.4f}' for s in strehl)}")

    # Worst over directions and wavelengths; NaN of a failed pipeline remains NaN.
    lost = results.strehl_by.isel(pipeline=0) - results.strehl_by
    worst = lost.max(("target", "wavelength"), skipna=False)
    for name in table.pipeline.values:
        row = table.sel(pipeline=name)
        print(f"  {name}: {str(row.status.values)}, loses at most {float(worst.sel(pipeline=name)):.3g},"
              f" {float(row.operator_bytes) / 1e6:.3g} MB,"
              f" {str(study.pipeline_arithmetic.sel(pipeline=name).values)}")

    kept = table.where((worst <= loss) & (table.status == "ok"), drop=True)
    best = kept.isel(pipeline=int(kept.operator_bytes.argmin()))
    print(f"fewest bytes within {loss:g} of Strehl ratio: {str(best.pipeline.values)},"
          f" {float(best.compression_ratio):.3g} times fewer than fp32")


if __name__ == "__main__":
    main()
