// SPDX-License-Identifier: Apache-2.0
//
// Dense fp64 matrices for solver tests: covariance-like SPD matrices and their sources.
#ifndef BB_TESTS_SOLVERS_DENSE_H
#define BB_TESTS_SOLVERS_DENSE_H

#include "core/matrix_source.h"
#include "core/random.h"
#include "core/thread.h"
#include "tests/check.h"

/// 1 / (1 + ((i - j) / length)^2) + noise on the diagonal: a rational quadratic covariance, which
/// has a full factor. (The factor of an exponential covariance is banded and leaves little for the
/// products to do.)
static inline void dense_covariance(bb_index n, double length, double noise, double *a)
{
    for (bb_index i = 0; i < n; ++i) {
        for (bb_index j = 0; j < n; ++j) {
            double distance = (double)(i - j) / length;
            a[i * n + j] = 1.0 / (1.0 + distance * distance) + (i == j ? noise : 0.0);
        }
    }
}

static inline void dense_random(bb_index count, uint64_t seed, double *out)
{
    fill_array(out, count, i, bb_random_normal(seed, BB_STREAM_SELF_TEST, (uint64_t)i));
}

static inline double dense_norm(bb_index count, const double *a)
{
    double sum = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        sum += a[i] * a[i];
    }
    return sqrt(sum);
}

static inline double *dense_new(bb_index count)
{
    double *values = new_zeros(double, count);
    return values;
}

#endif
