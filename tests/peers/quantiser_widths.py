#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bits per value of a quantised matrix with one code width per window, for several window shapes,
and the share of pieces that a GPU's byte product splits into two stages
(solvers/operator/stream/coded_stream.h).

    bitbudget run STUDY ... --dump R -o FILE
    tests/peers/quantiser_widths.py FILE [DATASET]     in /operators, default R_1_0

The step of a column is its smallest nonzero magnitude. Columns with values that are not multiples
of their step are counted; they distort the results. Needs python3-netcdf4."""
import sys

import netCDF4
import numpy

MOST_PLANES, GROUP_ROWS, STAGE_UNITS, BAND, QUARTER = 16, 64, 2048, 16, 256


def codes_of(path, name):
    values = numpy.asarray(netCDF4.Dataset(path)["operators"][name][:], dtype=float)
    steps = numpy.where(values != 0.0, abs(values), numpy.inf).min(axis=0)
    quotients = values / steps
    codes = numpy.rint(quotients)
    odd = (abs(quotients - codes).max(axis=0) > 1e-3).sum()
    print(f"{name}: {values.shape[0]} x {values.shape[1]}, {odd} columns without a step")
    return codes.astype(int)


def widths_of(codes, rows, columns):
    """Bits of a signed code in each window, 0 for zeros only; incomplete windows are padded with
    zeros."""
    shape = [-(-size // step) * step for size, step in zip(codes.shape, (rows, columns))]
    filled = numpy.zeros(shape, int)
    filled[:codes.shape[0], :codes.shape[1]] = numpy.where(codes < 0, ~codes, codes)
    zeros = numpy.zeros(shape, bool)
    zeros[:codes.shape[0], :codes.shape[1]] = codes != 0
    cut = (shape[0] // rows, rows, shape[1] // columns, columns)
    largest = filled.reshape(cut).max(axis=(1, 3))
    live = zeros.reshape(cut).any(axis=(1, 3))
    return numpy.where(live, 1 + numpy.ceil(numpy.log2(largest + 1.0)).astype(int), 0)


def along_curve(x, y, edge=64):
    """Positions of points along a Hilbert curve over a square of `edge` x `edge` cells."""
    cells = [numpy.rint((c - c.min()) / (c.max() - c.min()) * (edge - 1)).astype(int)
             for c in (x, y)]
    places = numpy.zeros(x.size, int)
    for i, (column, row) in enumerate(zip(*cells)):
        size = edge // 2
        while size > 0:
            right, upper = int(column & size > 0), int(row & size > 0)
            places[i] += size * size * ((3 * right) ^ upper)
            if upper == 0:
                if right == 1:
                    column, row = edge - 1 - column, edge - 1 - row
                column, row = row, column
            size //= 2
    return places


def neighbours_together(path, codes):
    """Columns sorted by sensor, axis and position along a Hilbert curve over the lenslets."""
    slopes = netCDF4.Dataset(path)["slopes"]
    x, y, star, axis = (numpy.asarray(slopes[name][:]) for name in ("x_m", "y_m", "star", "axis"))
    return codes[:, numpy.lexsort((along_curve(x, y), axis, star))]


def main():
    codes = codes_of(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "R_1_0")
    for rows, columns in ((1, 32), (16, 32), (16, 64), (BAND, QUARTER)):
        widths = widths_of(codes, rows, columns)
        bits = widths.sum() * rows * columns / codes.size
        print(f"{rows:3} x {columns:3}: {bits:.2f} bits a value, {widths.max()} at most; "
              f"{MOST_PLANES} and fewer are multiplied as bytes")
    curved = widths_of(neighbours_together(sys.argv[1], codes), 1, 32)
    print(f"  1 x  32 of neighbours along a Hilbert curve: {curved.sum() * 32 / codes.size:.2f}")
    widths = widths_of(codes, BAND, QUARTER)
    units = numpy.where(widths >= 13, 16, numpy.where(widths % 4 == 3, widths + 1, widths)) * BAND
    units = numpy.pad(units, [(0, -units.shape[0] % 4), (0, -units.shape[1] % 4)])
    pieces = units.reshape(units.shape[0] // 4, 4, -1, 4).sum(axis=(1, 3))
    print(f"{100 * (pieces > STAGE_UNITS).mean():.1f} % of the pieces of {GROUP_ROWS} rows by "
          f"{4 * QUARTER} columns are two stages, above {32 * STAGE_UNITS} bytes")


if __name__ == "__main__":
    main()
