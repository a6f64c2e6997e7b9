// SPDX-License-Identifier: Apache-2.0
//
// A block of right-hand sides under refinement: rows of one scaled system, each with its own state.
// Internal to solvers/factor/refinement*.
#ifndef BB_SOLVERS_FACTOR_REFINEMENT_BLOCK_H
#define BB_SOLVERS_FACTOR_REFINEMENT_BLOCK_H

#include "solvers/factor/refinement.h"

typedef enum bb_refine_state {
    BB_REFINE_ACTIVE,
    BB_REFINE_PAUSED, ///< the method considers the row converged, or the row waits for the end of a
                      ///< cycle
    BB_REFINE_DONE,
    BB_REFINE_LIMIT,
    BB_REFINE_STAGNATED,
    BB_REFINE_BROKEN,     ///< the curvature is not positive
    BB_REFINE_NON_FINITE, ///< NaN or infinity
} bb_refine_state;

typedef struct bb_refine_row {
    bb_refine_state state;
    bb_index iterations;
    double target;     ///< tolerance times ||b||
    double norm;       ///< last known norm of the residual
    double best;       ///< smallest true residual
    bb_index restarts; ///< successive restarts that reduced it by less than a tenth
} bb_refine_row;

typedef struct bb_refine_block {
    const bb_refinement *refinement;
    bb_index rows, n;
    double *b, *y, *r;         ///< [rows][n]
    double *gathered, *result; ///< [rows][n]: active rows, packed
    double *panel;             ///< [n][BB_REFINE_PANEL] of A
    bb_refine_row *state;      ///< [rows]
    bb_index *active;          ///< [rows] row numbers of the packed rows
    bb_index active_count;
} bb_refine_block;

enum { BB_REFINE_PANEL = 1024 };

/// Lists the rows in a state and returns their number.
bb_index bb_refinement_block_collect(bb_refine_block *block, bb_refine_state state);

/// result <- gathered S, and gathered <- gathered (L L^T)^-1, for the packed rows.
BB_CHECKED bb_status bb_refinement_block_multiply(bb_refine_block *block);
BB_CHECKED bb_status bb_refinement_block_precondition(bb_refine_block *block);

/// r <- b - y S of the listed rows, with their norms. Sets their states: done, stagnated,
/// non-finite, at the limit, or active.
BB_CHECKED bb_status bb_refinement_block_inspect(bb_refine_block *block);

/// Row of an array [rows][n].
double *bb_refine_row_of(const bb_refine_block *block, double *values, bb_index row);

double bb_refinement_block_dot(bb_index n, const double *x, const double *y);

/// Methods: iterate from y, whose residual has been computed, until no row is active.
BB_CHECKED bb_status bb_refinement_block_ir(bb_refine_block *block);
BB_CHECKED bb_status bb_refinement_block_cg(bb_refine_block *block);
BB_CHECKED bb_status bb_refinement_block_gmres(bb_refine_block *block);

/// Memory of the methods without the block; ir needs none.
bb_need bb_refinement_block_cg_need(bb_index n, bb_index rows);
bb_need bb_refinement_block_gmres_need(bb_index n, bb_index rows);

#endif
