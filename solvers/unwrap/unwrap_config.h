// SPDX-License-Identifier: Apache-2.0
//
// How a phase is unwrapped, and in which numbers: the slots of a pipeline.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_CONFIG_H
#define BB_SOLVERS_UNWRAP_UNWRAP_CONFIG_H

#include "core/schema.h"
#include "precision/format.h"

/// Keys of `unwrap:`.
typedef struct bb_unwrap_method {
    const char *reject;       ///< "auto", "off", or a limit in rad
    bb_index cycles;          ///< V-cycles of the first least squares, at most
    bb_index reweight;        ///< times that weights are made anew, at most
    bb_index reweight_cycles; ///< V-cycles after each
} bb_unwrap_method;

extern const bb_schema bb_unwrap_method_schema;

/// Reads `reject`: the limit in rad, 0 where it comes from the data, INFINITY where nothing is
/// rejected. Errors: BB_INVALID.
BB_CHECKED bb_status bb_unwrap_method_limit(const bb_unwrap_method *method, double *limit);

/// Holds the method to its rules; the message begins with the key, "unwrap.reject". Errors:
/// BB_INVALID.
BB_CHECKED bb_status bb_unwrap_method_check(const bb_unwrap_method *method);

/// What each slot computes and stores.
typedef enum bb_unwrap_slot {
    BB_UNWRAP_GRADIENT,   ///< wrapped differences, weights and their divergence
    BB_UNWRAP_SMOOTHER,   ///< the solution on every grid
    BB_UNWRAP_RESIDUAL,   ///< right-hand sides of coarse grids
    BB_UNWRAP_TRANSFER,   ///< weights of coarse grids; what is added to fine ones
    BB_UNWRAP_CONGRUENCE, ///< the phase that comes out
    BB_UNWRAP_SLOTS,
} bb_unwrap_slot;

/// NULL-terminated names of the slots, in order.
extern const char *const bb_unwrap_slot_names[];

/// Arithmetic is fp32 or fp64; storage any format (kept in words of fp32, or of fp64, rounded to
/// the format by each step that writes). fp64 over storage fp32 is single precision with sums in
/// double.
typedef struct bb_unwrap_numbers {
    bb_format arithmetic, storage;
} bb_unwrap_numbers;

typedef struct bb_unwrap_config {
    bb_unwrap_method method;
    bb_unwrap_numbers slots[BB_UNWRAP_SLOTS];
} bb_unwrap_config;

/// Whether conjugate gradients can solve in the formats of the slots: gradient and solution of at
/// least fp32, residuals and coarse weights with at least the exponents of bf16. Rounding of
/// narrower ones leaves residuals without a solution, or none where the solution is wrong.
bool bb_unwrap_config_descends(const bb_unwrap_config *config);

/// The default method in one format throughout, fp32 or fp64.
bb_unwrap_config bb_unwrap_config_plain(bb_format format);

#endif
