# ---
# jupyter: {jupytext: {text_representation: {extension: .py, format_name: percent}}}
# ---
# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # A look at three results
#
# An adaptive-optics instrument, a wafer in an EUV scanner, and a sweep like one from a cluster.
# Needs `bitbudget` in `PATH` and xarray with netCDF4 or h5netcdf. The first cell computes the files
# in this folder, in a minute on two cores. Also runs as a script: `python3 walk_through.py`.

# %%
import pathlib
import subprocess

import numpy as np
import xarray

COMMANDS = {
    "ao.h5": "run ao/quick -q -o ao.h5",
    "wafer.h5": "run wafer/quick mesh.spacing_mm=4 response.axes=[x,y] -q -o wafer.h5",
    "doses.h5": "sweep sweeps/wafer-dose mesh.spacing_mm=4 response.axes=[x,y] scan.fields=[8]"
                " -q -o doses.h5",
}
for file, command in COMMANDS.items():
    if not pathlib.Path(file).exists():
        subprocess.run(["bitbudget", *command.split()], check=True, capture_output=True)

# %% [markdown]
# ## A telescope
#
# The root group of a file is its result table, indexed by `pipeline`, which pandas prints directly.

# %%
table = xarray.open_dataset("ao.h5")
columns = ["status", "strehl", "strehl_loss", "residual_rms_nm", "operator_bytes"]
print(table[columns].to_dataframe().to_string())

# %% [markdown]
# Results by direction and wavelength are in the group `results`, with the coordinates of targets.
# Which pipeline loses most Strehl, and in which direction?

# %%
results = xarray.open_dataset("ao.h5", group="results")
lost = results.strehl_by.sel(pipeline="reference") - results.strehl_by
worst = lost.isel(lost.argmax(dim=("pipeline", "target", "wavelength")))
print(f"{str(worst.pipeline.values)} loses {float(worst):.2g} of Strehl ratio at"
      f" ({float(worst.target_x_arcsec):g}, {float(worst.target_y_arcsec):g}) arcsec"
      f" and {float(worst.wavelength):g} um")

# %% [markdown]
# The group `study` contains the configuration as numbers with units, so no YAML has to be parsed.

# %%
study = xarray.open_dataset("ao.h5", group="study")
diameter = study.telescope_diameter_m
print(f"{diameter.attrs['long_name']} {float(diameter):g} {diameter.attrs['units']}")
stars = study[["guide_star_kind", "guide_star_x_arcsec", "guide_star_y_arcsec"]]
print(stars.to_dataframe().to_string())

# %% [markdown]
# The point-spread function has coordinates in mas. Its full width at half maximum in the central row:

# %%
row = results.psf.sel(pipeline="reference", psf_y=0)
half = row.psf_x.where(row >= 0.5 * row.max(), drop=True)
step = float(row.psf_x[1] - row.psf_x[0])
print(f"FWHM {float(results.fwhm_by_mas[0, 0, 0]):.1f} mas; {half.size} pixels of {step:.2f} mas"
      " reach half of the peak")

# %% [markdown]
# ## A wafer
#
# Overlay error of each storage format against its bytes. Unscaled fp16 underflows and loses the
# whole correction.

# %%
wafer = xarray.open_dataset("wafer.h5", group="results")
error = np.maximum(wafer.overlay_error_x_nm, wafer.overlay_error_y_nm)
for name in wafer.pipeline.values:
    print(f"{name:14s} {float(wafer.operator_bytes.sel(pipeline=name)) / 1e6:7.1f} MB"
          f" {float(error.sel(pipeline=name)):10.3g} nm")

# %% [markdown]
# Points have coordinates. The error vectors of one pipeline, and the position of the longest:

# %%
off = wafer.displacement_nm.sel(pipeline="bfp8") - wafer.displacement_nm.sel(pipeline="reference")
length = np.hypot(off.sel(axis="x"), off.sel(axis="y"))
peak = length.isel(point=int(length.argmax()))
print(f"longest {float(peak):.3g} nm at ({float(peak.point_x_mm):.1f}, {float(peak.point_y_mm):.1f}) mm"
      f" in field {float(peak.point_field):g}, mean {float(length.mean()):.3g} nm")

# %% [markdown]
# Share of this error that a scanner corrects with models of up to ten parameters:

# %%
share = wafer.variance_removed.sel(pipeline="bfp8", error="numerical")
for model in share.model.values[1:]:
    print(f"{model}: {100 * float(share.sel(model=model)):.1f} % of the mean square")

# %% [markdown]
# ## A sweep
#
# `bitbudget sweep` and, on a cluster, `sweep submit` and `sweep collect` write a single file. Its axes
# are the swept keys; the group `study` contains the other keys.

# %%
doses = xarray.open_dataset("doses.h5")
fixed = xarray.open_dataset("doses.h5", group="study")
print(f"{doses.point_status.size} points on a mesh of {float(fixed.mesh_spacing_mm):g} mm,"
      f" {int((doses.point_status == 'done').sum())} done")
loss = doses.overlay_error_x_nm
print(loss.sel(pipeline=["fp32-acc64", "fp16", "bfp8"]).to_pandas().to_string())

# %% [markdown]
# Heating is linear in the dose, and the rounded response does not depend on it, so the error of
# storage is proportional to the dose. In `fp32-acc64` (fp32 with fp64 sums) the rounding of inputs and
# products matters as much, and the error is not proportional.

# %%
for name in ("bfp8", "fp32-acc64"):
    slope = loss.sel(pipeline=name) / doses.dose_mj_per_cm2
    print(f"{name}: {float(slope.min()):.3g} to {float(slope.max()):.3g} nm for a mJ/cm2")

# %% [markdown]
# `statistics` has one row per choice, as printed by `bitbudget show doses.h5`.

# %%
choices = xarray.open_dataset("doses.h5", group="statistics")
safe = choices.where((choices.safe == 1) & (choices.loss_most < 0.1), drop=True)
best = safe.isel(choice=int(safe.operator_bytes.argmin()))
print(f"fewest bytes under 0.1 nm at every dose: {str(best.choice_pipeline.values)},"
      f" {float(best.operator_bytes) / 1e6:.3g} MB, at worst {float(best.loss_most):.2g} nm")
