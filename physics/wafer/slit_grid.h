// SPDX-License-Identifier: Apache-2.0
//
// Points at which displacements are computed: a grid over one field, of which a window of rows
// follows the slit.
//
// The first and last columns are on the field's edges, so that no scored point is extrapolated
// across the slit. Rows are the centres of `field_rows` equal slices of the field, pitch = height /
// field_rows, so that they tile it and the window moves by whole rows. One light step exposes a
// strip of height slit width + speed * step + sagitta; the window's slices cover it (`rows * pitch
// >= strip`), and its rows' centres enclose the scored points. By default field_rows is the maximum
// with a margin of a quarter of a row: 103 for 18 rows of the canonical fast scan. Set it if scans
// of several speeds share one matrix.
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
    bb_index scored_columns; ///< metrology points per field that the window covers; 0: unknown
    bb_index scored_rows;
} bb_slit_grid;

/// Lays out the grid. Errors: BB_INVALID (fewer than 2 columns or rows, a window that is taller
/// than the field or does not cover the strip; the message gives a valid choice). The scan must
/// outlive the grid.
BB_CHECKED bb_status bb_slit_grid_make(const bb_response_config *config, const bb_scan *scan,
                                       bb_slit_grid *out);

/// Makes the window cover, in every light step, all metrology points with dose in it, so that none
/// is extrapolated: it moves by whole rows from its position at the centre of the strip. If config
/// leaves field_rows unset, it is the maximum for which that is possible, at most that of
/// bb_slit_grid_make. Errors: BB_INVALID (no window position does; the message gives a valid
/// choice).
BB_CHECKED bb_status bb_slit_grid_fit_window(const bb_response_config *config,
                                             const bb_metrology_config *metrology,
                                             bb_slit_grid *grid);

/// Returns the height of the strip exposed by one light step, m.
double bb_slit_grid_strip(const bb_scan *scan);

/// Computes the wafer coordinates of point `point` of a field, m.
double bb_slit_grid_x(const bb_slit_grid *grid, const bb_field *field, bb_index point);
double bb_slit_grid_y(const bb_slit_grid *grid, const bb_field *field, bb_index point);

/// First row of the window in light step `step`: multiply the rows [offset, offset + window_rows)
/// times columns of the response matrix.
bb_index bb_slit_grid_offset(const bb_slit_grid *grid, const bb_field *field, bb_index step);

/// Weights of the four window rows for the value at (x, y), equal to bb_slit_grid_interpolate up to
/// rounding.
void bb_slit_grid_weights(const bb_slit_grid *grid, const bb_field *field, bb_index offset,
                          double x, double y, bb_index corner[4], double weight[4]);

/// The cell of window points around a position, or the nearest one, and the position in it.
typedef struct bb_window_cell {
    bb_index corner; ///< lowest point
    double across, along;
} bb_window_cell;

/// Finds the cell of (x, y) in the window that starts at row `offset`.
bb_window_cell bb_slit_grid_find(const bb_slit_grid *grid, const bb_field *field, bb_index offset,
                                 double x, double y);

/// Value in a cell of a window: bilinear, exact for linear fields, extrapolated linearly outside,
/// which never happens for points of bb_slit_grid_fit_window. window [window_rows][columns].
double bb_slit_grid_value(const bb_slit_grid *grid, const bb_window_cell *cell,
                          const double *window);

/// Interpolates the value at (x, y) in the window that starts at row `offset`.
double bb_slit_grid_interpolate(const bb_slit_grid *grid, const bb_field *field, bb_index offset,
                                const double *window, double x, double y);

#endif
