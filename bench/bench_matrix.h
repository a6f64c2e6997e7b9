// SPDX-License-Identifier: Apache-2.0
//
// Symmetric positive definite matrices that factorizations are timed on, on a cuda device:
//   decay       decay_source.h: far blocks that vanish, condition 1e3; little power
//   random      noise_source.h: blocks alike everywhere, condition 9; as much power as products
//   take covariance  bench_sky.h: Cmm of nine sensors, scaled to a unit diagonal; what the
//   factorization
//               is for
#ifndef BB_BENCH_BENCH_MATRIX_H
#define BB_BENCH_BENCH_MATRIX_H

#include "bench/bench_sky.h"
#include "bench/decay_source.h"
#include "bench/noise_source.h"

typedef enum bb_bench_matrix_kind {
    BB_BENCH_DECAY,
    BB_BENCH_RANDOM,
    BB_BENCH_COVARIANCE,
} bb_bench_matrix_kind;

/// Zero-initialise, and do not move once it is open.
typedef struct bb_bench_matrix {
    bb_matrix_source source;
    bb_device_source *twin;
    double *scale; ///< [n] of the covariance, as bb_panel_cholesky_factor takes it; else NULL
    bb_noise noise;
    bb_bench_sky sky;
} bb_bench_matrix;

/// Lenslets across whose covariance has n rows; 0: there are none.
bb_index bb_bench_matrix_lenslets(bb_index n);

/// Opens a matrix of n rows. Errors: BB_INVALID (a covariance of another n), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_bench_matrix_open(bb_bench_matrix_kind kind, bb_index n, bb_device *device,
                                          bb_bench_matrix *out);
void bb_bench_matrix_close(bb_bench_matrix *matrix);

#endif
