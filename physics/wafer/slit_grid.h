// SPDX-License-Identifier: Apache-2.0
//
// Points at which displacements are computed: a grid over one field, of which a window of rows
// follows the slit.
//
// Columns stand edge to edge across the field (first and last on its edges), so that no scored
// point is extrapolated across the slit. Rows are the centres of `field_rows` equal slices of the
// field, pitch = height / field_rows, so that they tile it and the window moves by whole rows. One
// light step exposes a strip of height slit width + speed * step + sagitta; the window's slices
// cover it
// (`rows * pitch >= strip`), and its rows' centres hold the points that are scored. Unless given,
// field_rows is the most for which a quarter of a row is left over: 103 for 18 rows of the
// canonical fast scan. Give it where scans of several speeds share one matrix.
#ifndef BB_PHYSICS_WAFER_SLIT_GRID_H
#define BB_PHYSICS_WAFER_SLIT_GRID_H

#include "physics/wafer/scan.h"

/// Read-only to users. Point p of a field = row * columns + column, x fastest; rows count up along
/// y.
typedef struct bb_slit_grid {
    const bb_scan *scan; ///< borrowed
    bb_index columns;
    bb_index window_rows;
    bb_index field_rows;
    bb_index window_points; ///< columns * window_rows: M
    bb_index field_points;  ///< columns * field_rows: L
    double pitch_x;         ///< m
    double pitch_y;
    bb_index
        scored_columns; ///< metrology points of a field, which the window holds; 0: none are known
    bb_index scored_rows;
} bb_slit_grid;

/// Errors: BB_INVALID (fewer than 2 columns or rows, a window that is taller than the field or does
/// not cover the strip; the message names what would do). The scan must outlive the grid.
BB_CHECKED bb_status bb_slit_grid_make(const bb_response_config *config, const bb_scan *scan,
                                       bb_slit_grid *out);

/// Makes the window hold, in every light step, all metrology points that get dose in it, so that
/// none is extrapolated: it moves by whole rows from where it stands in the middle of the strip.
/// Where config leaves field_rows unset they are the most for which that is possible, at most those
/// of bb_slit_grid_make. Errors: BB_INVALID (no place of the window does; the message names what
/// would).
BB_CHECKED bb_status bb_slit_grid_fit_window(const bb_response_config *config,
                                             const bb_metrology_config *metrology,
                                             bb_slit_grid *grid);

/// Height of the strip that one light step exposes, m.
double bb_slit_grid_strip(const bb_scan *scan);

/// Wafer coordinates of point `point` of a field, m.
double bb_slit_grid_x(const bb_slit_grid *grid, const bb_field *field, bb_index point);
double bb_slit_grid_y(const bb_slit_grid *grid, const bb_field *field, bb_index point);

/// First row of the window in light step `step`: the rows [offset, offset + window_rows) of the
/// response matrix times columns are the ones to multiply.
bb_index bb_slit_grid_offset(const bb_slit_grid *grid, const bb_field *field, bb_index step);

/// Weights of the four window rows that give the value at (x, y) as bb_slit_grid_interpolate does,
/// up to rounding.
void bb_slit_grid_weights(const bb_slit_grid *grid, const bb_field *field, bb_index offset,
                          double x, double y, bb_index corner[4], double weight[4]);

/// The cell of window points around a place, or the nearest one, and where in it the place lies.
typedef struct bb_window_cell {
    bb_index corner; ///< lowest point
    double across, along;
} bb_window_cell;

/// The cell of (x, y) in the window that starts at row `offset`.
bb_window_cell bb_slit_grid_find(const bb_slit_grid *grid, const bb_field *field, bb_index offset,
                                 double x, double y);

/// Value in a cell of a window: bilinear, exact for linear fields, continued linearly outside,
/// where points of bb_slit_grid_fit_window never are. window [window_rows][columns].
double bb_slit_grid_value(const bb_slit_grid *grid, const bb_window_cell *cell,
                          const double *window);

/// Value at (x, y) of the window that starts at row `offset`.
double bb_slit_grid_interpolate(const bb_slit_grid *grid, const bb_field *field, bb_index offset,
                                const double *window, double x, double y);

#endif
