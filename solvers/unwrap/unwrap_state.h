// SPDX-License-Identifier: Apache-2.0
//
// Fields and steps of an unwrapper, for solvers/unwrap only.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_STATE_H
#define BB_SOLVERS_UNWRAP_UNWRAP_STATE_H

#include "solvers/unwrap/unwrap.h"
#include "solvers/unwrap/unwrap_descent.h"

enum {
    BB_UNWRAP_THRESHOLDS = 16,
    BB_UNWRAP_LIMITS = 3,
    BB_UNWRAP_STRIDE = 4,
    BB_UNWRAP_WINDOW = 9
};

/// Sections of a run, each recorded once as a graph and replayed.
typedef enum bb_unwrap_section {
    BB_SECTION_PREPARE,    ///< from the wrapped phase on the device to the first weights
    BB_SECTION_FIRST_LOAD, ///< right-hand side and weights of the first least squares
    BB_SECTION_LOAD,       ///< right-hand side and weights after a reweighting
    BB_SECTION_CYCLE,      ///< one V-cycle
    BB_SECTION_CONGRUENCE, ///< from the solution to the phase
    BB_SECTION_COUNT
} bb_unwrap_section;

/// Value of d in the first reweighting [rad], and the number of halvings of d: further ones would
/// be below rounding.
#define BB_UNWRAP_FIRST_SOFTNESS 0.3
#define BB_UNWRAP_HALVINGS       11

/// Range of residual limits derived from the data [rad], and weight of a rejected edge in the first
/// least-squares solve.
#define BB_UNWRAP_LEAST_LIMIT 1.0
#define BB_UNWRAP_MOST_LIMIT  1.3
#define BB_UNWRAP_WEAK        0.001

/// Residual of a gradient [rad] that halves the weight of its edge in reweighting; a lower limit of
/// the scale of residuals.
#define BB_UNWRAP_SMOOTH 0.1

/// Largest coarse-grid corrections [rad]: of the last two cycles, and of the first cycle.
typedef struct bb_unwrap_contraction {
    double before, last, first;
} bb_unwrap_contraction;

struct bb_unwrap {
    bb_kernel_context *context;
    bb_unwrap_config config;
    double fixed_limit; // 0: derived from the data, INFINITY: none
    bb_unwrap_parts parts;
    bb_index edge_count;
    double *words; // [rows][columns] wrapped phase or result in the device's word format (float or
                   // double); from bb_device_host_allocate, like `found`
    double *found; // limits, last correction of a cycle [rad], rejected edges per row
    bool fetched;  // copies of the result are queued
    bb_unwrap_grids grids;
    bb_unwrap_contraction contraction;
    bool descends;             // true once cycles do not contract
    bool is_solved;            // true if the last least-squares solve converged
    bb_unwrap_descent descent; // created at first use
    bb_unwrap_field wrapped, inside, gx, gy, bx, by, mx, my, sums;
    bb_unwrap_field edges[2], shares[2]; // by axis: 1 for an edge; share of an edge among the edges
                                         // in 9 x 9
    bb_unwrap_field samples;             // every fourth edge of every fourth row
    bb_unwrap_field first_thresholds, thresholds[2], tallies, totals, limits;
    bb_unwrap_field rejected; // [rows]
    bb_unwrap_field held, width, settled, phase, kept, changed, jumps, least;
    bb_unwrap_field row_jumps; // [2 * rows] for edges to the right, then downwards
    bb_unwrap_field labels, order, starts, owners, heads, firsts, sizes;
    bb_unwrap_field cosines, sines, offsets;                   // values per run
    bb_unwrap_field group_cosines, group_sines, group_offsets; // values per group of runs
    bb_unwrap_field pistons;
    bb_unwrap_step gradient[2], bases[2], row_sums[2], means[2], sample, open_bracket, tally[2],
        total, bracket[2], limit, reject[2];
    bb_unwrap_step share, first_divergence, divergence, hold, settle, directions, cosine_groups,
        sine_groups, angles, offset, offset_groups, correct, congruent;
    bb_unwrap_step changes, count_jumps[2], total_jumps, keep, keep_jumps, select, lower, give;
    bb_device_graph *sections[BB_SECTION_COUNT]; // NULL before first use
    bb_unwrap_step *reweights; // [method.reweight], for bb_unwrap_queue; NULL before its first call
};

/// Creates the fields of an unwrapper whose context, config and parts are set, then its steps.
/// Release with bb_unwrap_state_release whatever the status. Errors: as bb_unwrap_create.
BB_CHECKED bb_status bb_unwrap_state_create(bb_unwrap *unwrap);
void bb_unwrap_state_release(bb_unwrap *unwrap);

/// Creates the step that computes weights from the solution for reweighting `round`, from 0
/// (unwrap.h, step 3). Owner: the caller.
BB_CHECKED bb_status bb_unwrap_state_reweight(bb_unwrap *unwrap, bb_index round,
                                              bb_unwrap_step *out);

/// Bytes of all floating-point fields, in their formats or, if `in_fp32`, in fp32.
double bb_unwrap_state_bytes(bb_unwrap *unwrap, bool in_fp32);

#endif
