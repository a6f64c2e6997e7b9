#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pipelines of a sweep that succeed at every point, the worst loss of each with its point, and a
map of the loss over the first two swept keys.

    bitbudget sweep sweeps/ao-conditions -o conditions.h5
    python3 examples/sweep_worst_by_pipeline.py conditions.h5 [loss dataset]
"""
import sys

import numpy as np
import xarray

LOSSES = ("strehl_loss", "overlay_error_x_nm", "variance_loss", "qoi_relative_error")


def main():
    table = xarray.open_dataset(sys.argv[1])
    loss = sys.argv[2] if len(sys.argv) > 2 else next(p for p in LOSSES if p in table)
    swept = [axis for axis in table[loss].dims if axis != "pipeline"]
    states, counts = np.unique(table.point_status.values.astype(str), return_counts=True)
    print(f"{table.point_status.size} points:", ", ".join(f"{n} {s}" for s, n in zip(states, counts)))
    print(f"{loss} [{table[loss].units}] over {', '.join(swept)}")
    for name in table.pipeline.values:
        one = table.sel(pipeline=name)
        failed = int((one.status_flag != 0).sum())
        values = one[loss].where(one.status_flag == 0)
        if failed == values.size:
            print(f"  {name}: fails everywhere")
            continue
        # Keys that vary together are coordinates of one axis; print all of them.
        worst = values.isel(values.argmax(dim=swept))
        place = ", ".join(f"{key} {worst[key].values}" for key in worst.coords if "key" in worst[key].attrs)
        print(f"  {name}: fails at {failed} of {values.size}, at worst {float(worst):.3g} at {place}")
    if len(swept) >= 2:
        # The map shows the worst case over the remaining axes.
        name = table.pipeline.values[min(1, table.pipeline.size - 1)]
        shown = table[loss].sel(pipeline=name).max(dim=swept[2:])
        print(f"{name}, rows {swept[0]}, columns {swept[1]}:")
        print(np.array2string(shown.values, formatter={"float": "{:.3g}".format}))


if __name__ == "__main__":
    main()
