// SPDX-License-Identifier: Apache-2.0
//
// Engines of solvers/factor/rounding_sweep.h. Rows are rounded on the host; an engine keeps the
// factor and the errors, and does the products: with tiles on the cpu, with panels on a GPU.
#ifndef BB_SOLVERS_FACTOR_ROUNDING_ENGINE_H
#define BB_SOLVERS_FACTOR_ROUNDING_ENGINE_H

#include "solvers/factor/rounding_sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The columns [first, first + width) of a sweep, in the host's memory, the engine's.
typedef struct bb_rounding_panel {
    bb_index first, width;
    const double *diagonal; ///< L of them, [width][width] row-major
    double *fed;            ///< row i: fed + i fed_stride, of column `first` on; what the columns
                            ///< behind the panel feed on entry, and its own ones once it is rounded
    bb_index fed_stride;
    double *errors; ///< row i: errors + i errors_stride, [width] E of the panel, written
    bb_index errors_stride;
} bb_rounding_panel;

/// Panels are taken from the last to the first.
typedef struct bb_rounding_engine {
    bb_index n;
    bb_index panels;
    void *context;
    /// Readies panel `index`. Called by one thread.
    bb_status (*begin_panel)(void *context, bb_index index, bb_rounding_panel *out);
    /// Takes E of rows [begin, end) of the panel as soon as they are rounded. Safe for different
    /// rows at once; NULL: nothing.
    bb_status (*take_rows)(void *context, const bb_rounding_panel *panel, bb_index begin,
                           bb_index end);
    /// Takes E of the whole panel. Called by one thread; NULL: nothing.
    bb_status (*end_panel)(void *context, const bb_rounding_panel *panel);
    /// L_kk of any column.
    double (*pivot)(const void *context, bb_index column);
    /// L of the panel's rows in an earlier column that shares a block with it, `*stride` values
    /// from row to row; that column's `fed` stands before the panel's. NULL: panels begin with a
    /// block.
    const double *(*column)(const void *context, const bb_rounding_panel *panel, bb_index column,
                            bb_index *stride);
} bb_rounding_engine;

/// Sweeps r [m][n] on an engine, as bb_rounding_sweep says. Errors: BB_INVALID (a block too wide),
/// BB_MEMORY, the engine's.
BB_CHECKED bb_status bb_rounding_engine_run(const bb_rounding_engine *engine,
                                            const bb_rounding_step *step, bb_index m, double *r,
                                            double *excess);

#ifdef __cplusplus
}
#endif

#endif
