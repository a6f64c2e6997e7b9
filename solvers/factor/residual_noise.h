// SPDX-License-Identifier: Apache-2.0
//
// Noise covariance of an estimate: R N R^T for a sparse N, in m^2 n operations, compared with m n^2
// for a residual over all of Cmm. All in fp64.
#ifndef BB_SOLVERS_FACTOR_RESIDUAL_NOISE_H
#define BB_SOLVERS_FACTOR_RESIDUAL_NOISE_H

#include "core/csr.h"

/// Computes out [m][m] = R N R^T, symmetric, for R `r` [m][n] and a symmetric N [n][n]. Panels have
/// a fixed width: the bits do not depend on the threads. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_residual_noise(const bb_csr *noise, bb_index m, const double *r,
                                       double *out);

/// Cost without its arguments.
bb_need bb_residual_noise_need(double n, double m, double threads);

#endif
