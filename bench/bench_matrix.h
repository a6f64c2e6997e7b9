// SPDX-License-Identifier: Apache-2.0
//
// Symmetric positive definite matrices of timed factorizations, on a cuda device.
#ifndef BB_BENCH_BENCH_MATRIX_H
#define BB_BENCH_BENCH_MATRIX_H

#include "bench/bench_sky.h"
#include "bench/bench_source.h"

/// By `--set`; the time of a product depends on what it multiplies, as the GPU is at its power cap.
typedef enum bb_bench_matrix_kind {
    BB_BENCH_DECAY,      ///< far blocks vanish, condition 1e3; little power
    BB_BENCH_RANDOM,     ///< blocks alike everywhere, condition 9; the most power
    BB_BENCH_COVARIANCE, ///< Cmm of nine sensors, scaled to a unit diagonal: the program's purpose
    BB_BENCH_MATRICES,
} bb_bench_matrix_kind;

extern const char *const bb_bench_matrix_names[BB_BENCH_MATRICES];

/// Zero-initialise, and do not move once it is open.
typedef struct bb_bench_matrix {
    bb_matrix_source source;
    bb_device_source *twin;
    double *scale; ///< [n] of the covariance, as bb_panel_cholesky_factor takes it; else NULL
    bb_noise noise;
    bb_bench_sky sky;
} bb_bench_matrix;

/// Opens a matrix of n rows. Errors: BB_INVALID (a covariance of another n than 1368, 34128 and
/// 100368), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_bench_matrix_open(bb_bench_matrix_kind kind, bb_index n, bb_device *device,
                                          bb_bench_matrix *out);
void bb_bench_matrix_close(bb_bench_matrix *matrix);

#endif
