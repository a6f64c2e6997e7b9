// SPDX-License-Identifier: Apache-2.0
//
// Method and number formats of phase unwrapping: the slots of a pipeline.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_CONFIG_H
#define BB_SOLVERS_UNWRAP_UNWRAP_CONFIG_H

#include "core/schema.h"
#include "precision/format.h"

/// Keys of `unwrap:`.
typedef struct bb_unwrap_method {
    const char *reject;       ///< "auto", "off", or a limit in rad
    bb_index cycles;          ///< V-cycles of the first least-squares solve, at most
    bb_index reweight;        ///< reweightings, at most
    bb_index reweight_cycles; ///< V-cycles after each reweighting
} bb_unwrap_method;

extern const bb_schema bb_unwrap_method_schema;

/// Parses `reject`: the limit in rad, 0 for a limit from the data, INFINITY for no rejection.
/// Errors: BB_INVALID.
BB_CHECKED bb_status bb_unwrap_method_limit(const bb_unwrap_method *method, double *limit);

/// Validates the method; messages begin with the key, "unwrap.reject". Errors: BB_INVALID.
BB_CHECKED bb_status bb_unwrap_method_check(const bb_unwrap_method *method);

/// Slots: the data that each computes and stores.
typedef enum bb_unwrap_slot {
    BB_UNWRAP_GRADIENT,   ///< wrapped differences, weights and their divergence
    BB_UNWRAP_SMOOTHER,   ///< solution on every grid
    BB_UNWRAP_RESIDUAL,   ///< right-hand sides of coarse grids
    BB_UNWRAP_TRANSFER,   ///< weights of coarse grids, and corrections added to fine ones
    BB_UNWRAP_CONGRUENCE, ///< resulting phase
    BB_UNWRAP_SLOTS,
} bb_unwrap_slot;

/// NULL-terminated names of the slots, in order.
extern const char *const bb_unwrap_slot_names[];

/// Arithmetic is fp32 or fp64; storage is any format, kept in words of fp32 or fp64 and rounded by
/// each step that writes it. fp64 arithmetic with fp32 storage is single precision with sums in
/// double.
typedef struct bb_unwrap_numbers {
    bb_format arithmetic, storage;
} bb_unwrap_numbers;

typedef struct bb_unwrap_config {
    bb_unwrap_method method;
    bb_unwrap_numbers slots[BB_UNWRAP_SLOTS];
} bb_unwrap_config;

/// True if conjugate gradients can solve in the formats of the slots: gradient and solution of at
/// least fp32, residuals and coarse weights with at least the exponent range of bf16. Narrower
/// formats round the residuals so that the system has no solution, or to zero while the solution is
/// still wrong.
bool bb_unwrap_config_supports_cg(const bb_unwrap_config *config);

/// Default method with one format throughout, fp32 or fp64.
bb_unwrap_config bb_unwrap_config_plain(bb_format format);

#endif
