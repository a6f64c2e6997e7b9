// SPDX-License-Identifier: Apache-2.0
//
// Options and preparation of factorizations, for every device.
#ifndef BB_LIB_FACTORIZATION_H
#define BB_LIB_FACTORIZATION_H

#include "core/arena.h"
#include "core/matrix_source.h"
#include "lib/library.h"
#include "precision/policy.h"
#include "solvers/factor/refinement.h"

/// Parsed options.
typedef struct bb_factor_config {
    int arithmetic; ///< bb_variant
    bb_policy_config policy;
    bb_refine_config refine;
    bb_index tile; ///< BB_INTEGER_UNSET: auto
    int scale;     ///< 0: unit diagonal, 1: none
    double dither;
    bb_index seed;
    double noise_floor; ///< NaN: not given
    bb_index accumulate_k;
    int accumulate_from; ///< 0: zero, 1: c
    int sweeps;          ///< bb_policy_sweeps
    double sweep_energy;
} bb_factor_config;

/// Handle of the public interface.
struct bb_factorization {
    bb_arena arena; ///< lists of the options
    bb_factor_config config;
    bb_view view; ///< of the borrowed matrix
    bb_matrix_source matrix;
    double *scale; ///< [n] diagonal of D, NULL: none
    bb_policy_map *map;
    bb_tile_matrix *factor; ///< of D A D; NULL if the outcome is not ok
    double norm;            ///< ||A||_F
    bb_factorization_report report;
};

/// Creates a handle with options, matrix and scale but no factor; a diagonal that cannot be scaled
/// is its outcome. Errors: those of bb_factorization_create.
BB_CHECKED bb_status bb_factorization_begin(bb_index n, const double *matrix, const char *options,
                                            bb_factorization **out);

/// Factors A scaled by D and solves X <- X A^-1 for x [count][n] on GPU `ordinal`, by panels. Sets
/// outcome, tile, bytes and seconds of the report. CUDA builds only. Errors: BB_UNSUPPORTED (an
/// option), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_factor_config_solve_panels(const bb_factor_config *config,
                                                   const bb_matrix_source *matrix,
                                                   const double *scale, bb_index ordinal,
                                                   bb_index count, double *x,
                                                   bb_factorization_report *report);

#endif
