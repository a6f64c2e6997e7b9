// SPDX-License-Identifier: Apache-2.0
//
// Nine types of symmetric positive definite matrices of LAPACK's test program for potrf, and its
// test ratios (dchkpo: 1 diagonal; 2 condition 2; 3, 4, 5 the same with the first, last or middle
// row and column zero, not positive definite; 6 condition sqrt(0.1 / eps); 7 condition 0.1 / eps; 8
// scaled near underflow; 9 scaled near overflow). eps is the unit roundoff of the tested
// arithmetic. All matrices are fp64, row-major and equal on every machine, so devices can share
// them.
#ifndef BB_TESTS_SOLVERS_SPD_MATRICES_H
#define BB_TESTS_SOLVERS_SPD_MATRICES_H

#include "tests/solvers/dense.h"

enum { SPD_TYPES = 9, SPD_REFLECTIONS = 3 };

typedef struct spd_matrix {
    int type; ///< counted from 1
    bb_index n;
    double condition;
    bb_index zero_row; ///< that makes it indefinite, -1: none
    double *a;         ///< [n][n]
} spd_matrix;

/// A <- H A H with H = I - 2 v v^T / v^T v of random v: A becomes dense and keeps its eigenvalues.
static inline void spd_reflect(bb_index n, uint64_t seed, double *a)
{
    autofree double *v = dense_new(n);
    autofree double *w = dense_new(n);
    double squared = 0.0;
    double vw = 0.0;
    dense_random(n, seed, v);
    for (bb_index i = 0; i < n; ++i) {
        squared += v[i] * v[i];
    }
    for (bb_index i = 0; i < n; ++i) {
        for (bb_index j = 0; j < n; ++j) {
            w[i] += a[i * n + j] * v[j];
        }
        vw += v[i] * w[i];
    }
    double factor = 2.0 / squared;
    for (bb_index i = 0; i < n; ++i) {
        for (bb_index j = 0; j < n; ++j) {
            a[i * n + j] -=
                factor * (v[i] * w[j] + w[i] * v[j]) - factor * factor * vw * v[i] * v[j];
        }
    }
}

/// Eigenvalues from 1 down to 1 / condition, geometric; `a` [n][n] is overwritten.
static inline void spd_spectrum(bb_index n, double condition, uint64_t seed, double *a)
{
    memset(a, 0, (size_t)(n * n) * sizeof *a);
    for (bb_index i = 0; i < n; ++i) {
        double place = n > 1 ? (double)i / (double)(n - 1) : 0.0;
        a[i * n + i] = pow(condition, -place);
    }
    for (int k = 0; k < SPD_REFLECTIONS && n > 1; ++k) {
        spd_reflect(n, seed + (uint64_t)k, a);
    }
    for (bb_index i = 0; i < n; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            a[j * n + i] = a[i * n + j];
        }
    }
}

/// Type 1..9 for a unit roundoff. Release `out->a`.
static inline void spd_create(int type, bb_index n, double roundoff, spd_matrix *out)
{
    const double conditions[SPD_TYPES] = {
        2.0, 2.0, 2.0, 2.0, 2.0, sqrt(0.1 / roundoff), 0.1 / roundoff, 2.0, 2.0};
    const bb_index zeros[SPD_TYPES] = {-1, -1, 0, n - 1, n / 2, -1, -1, -1, -1};
    *out = (spd_matrix){.type = type,
                        .n = n,
                        .condition = fmax(conditions[type - 1], 1.0),
                        .zero_row = zeros[type - 1],
                        .a = dense_new(n * n)};
    spd_spectrum(n, out->condition, 100 + (uint64_t)type, out->a);
    double scale = type == 8 ? 1e-290 : type == 9 ? 1e290 : 1.0;
    for (bb_index i = 0; i < n * n; ++i) {
        bool diagonal = i / n == i % n;
        bool zero = i / n == out->zero_row || i % n == out->zero_row;
        out->a[i] *= zero || (type == 1 && !diagonal) ? 0.0 : scale;
    }
    for (bb_index i = 0; type == 1 && i < n; ++i) {
        double place = n > 1 ? (double)i / (double)(n - 1) : 0.0;
        out->a[i * n + i] = pow(2.0, -place);
    }
}

/// Largest sum of magnitudes of a row.
static inline double spd_norm(bb_index rows, bb_index columns, const double *a)
{
    double largest = 0.0;
    for (bb_index i = 0; i < rows; ++i) {
        double sum = 0.0;
        for (bb_index j = 0; j < columns; ++j) {
            sum += fabs(a[i * columns + j]);
        }
        largest = isnan(sum) ? NAN : fmax(largest, sum);
    }
    return largest;
}

#endif
