// SPDX-License-Identifier: Apache-2.0
//
// Engines of solvers/factor/rounding_sweep.h. Rows are rounded on the host; an engine stores the
// factor and the errors and performs the products: with tiles on the cpu, with panels on a GPU.
#ifndef BB_SOLVERS_FACTOR_ROUNDING_ENGINE_H
#define BB_SOLVERS_FACTOR_ROUNDING_ENGINE_H

#include "solvers/factor/rounding_sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Columns [first, first + width) of a sweep, in host memory of the engine.
typedef struct bb_rounding_panel {
    bb_index first, width;
    const double *diagonal; ///< [width][width] row-major block of L
    double *fed; ///< row i: fed + i fed_stride, from column `first` on; feedback of later panels on
                 ///< entry, including the panel's own after rounding
    bb_index fed_stride;
    double *errors; ///< row i: errors + i errors_stride, [width] E of the panel, written
    bb_index errors_stride;
} bb_rounding_panel;

/// Panels are processed from the last to the first.
typedef struct bb_rounding_engine {
    bb_index n;
    bb_index panels;
    void *context;
    /// Prepares panel `index`. Called by one thread.
    bb_status (*begin_panel)(void *context, bb_index index, bb_rounding_panel *out);
    /// Receives E of rows [begin, end) of the panel as soon as they are rounded. Thread-safe for
    /// different rows; NULL: not needed.
    bb_status (*take_rows)(void *context, const bb_rounding_panel *panel, bb_index begin,
                           bb_index end);
    /// Receives E of the whole panel. Called by one thread; NULL: not needed.
    bb_status (*end_panel)(void *context, const bb_rounding_panel *panel);
    /// Returns L_kk of any column.
    double (*pivot)(const void *context, bb_index column);
    /// Returns L of the panel's rows in an earlier column of the same block, `*stride` values
    /// between rows; `fed` of that column precedes that of the panel. NULL: panels start at block
    /// boundaries.
    const double *(*column)(const void *context, const bb_rounding_panel *panel, bb_index column,
                            bb_index *stride);
} bb_rounding_engine;

/// Sweeps r [m][n] on an engine, as described for bb_rounding_sweep. Errors: BB_INVALID (a block
/// too wide), BB_MEMORY, errors of the engine.
BB_CHECKED bb_status bb_rounding_engine_run(const bb_rounding_engine *engine,
                                            const bb_rounding_step *step, bb_index m, double *r,
                                            double *excess);

#ifdef __cplusplus
}
#endif

#endif
