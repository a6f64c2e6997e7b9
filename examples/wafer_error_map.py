#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wafer map of each pipeline: the numerical overlay error of every field in colour.

    bitbudget run wafer/whole-wafer --device cuda -o whole.h5
    python3 examples/wafer_error_map.py whole.h5 map.svg

The error of a field is abs(mean) + 3 sigma of the length of the difference between the
displacements of a pipeline and of the reference (`field_m3s_nm` of /results). The colours of each
map range from its smallest error (light) to its largest (dark).
"""
import sys

import xarray

SIDE = 150.0  # of a map, in user units of the SVG
COLUMNS = 4


def shade(value, low, high):
    """Colour from light yellow to dark blue, ordered by brightness for greyscale print."""
    part = 0.5 if high == low else (value - low) / (high - low)
    light, dark = (255, 247, 188), (8, 48, 107)
    return "#%02x%02x%02x" % tuple(round(a + (b - a) * part) for a, b in zip(light, dark))


def main():
    path, picture = sys.argv[1:3]
    results = xarray.open_dataset(path, group="results")
    study = xarray.open_dataset(path, group="study")
    radius = 0.5 * float(study.wafer_diameter_mm)
    size = [float(study.scan_field_width_mm), float(study.scan_field_height_mm)]
    errors = results.field_m3s_nm.sel(error="numerical", direction="vector")
    names = [str(name) for name in results.pipeline.values 
             if float(errors.sel(pipeline=name).max()) > 0.0]
    rows = -(-len(names) // COLUMNS)
    scale = 0.45 * SIDE / radius
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {COLUMNS * SIDE:g} {rows * (SIDE + 30):g}" '
           'font-family="sans-serif" font-size="9">']
    for place, name in enumerate(names):
        x0 = (place % COLUMNS + 0.5) * SIDE
        y0 = place // COLUMNS * (SIDE + 30) + 0.5 * SIDE
        one = errors.sel(pipeline=name)
        low, high = float(one.min()), float(one.max())
        for value, x, y in zip(one.values, one.field_x_mm.values, one.field_y_mm.values):
            colour = shade(float(value), low, high) if value == value else "#ffffff"
            out.append(f'<rect x="{x0 + scale * (x - 0.5 * size[0]):.2f}" y="{y0 - scale * (y + 0.5 * size[1]):.2f}" '
                       f'width="{scale * size[0]:.2f}" height="{scale * size[1]:.2f}" fill="{colour}" '
                       'stroke="#777" stroke-width="0.3"/>')
        out.append(f'<circle cx="{x0:g}" cy="{y0:g}" r="{scale * radius:g}" fill="none" stroke="#000" stroke-width="0.5"/>')
        out.append(f'<text x="{x0:g}" y="{y0 + 0.5 * SIDE + 8:g}" text-anchor="middle">{name}</text>')
        out.append(f'<text x="{x0:g}" y="{y0 + 0.5 * SIDE + 19:g}" text-anchor="middle">'
                   f'{low:.2g} to {high:.2g} nm</text>')
    out.append("</svg>")
    with open(picture, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")
    print(f"{len(names)} maps of {errors.sizes['field']} fields")


if __name__ == "__main__":
    main()
