// SPDX-License-Identifier: Apache-2.0
//
// Matrices given by a formula of row i and column j, as sources on the host and on a cuda device.
//
// Decay: a_ij = 1 / (1 + d^2) + ridge [d = 0],  d = (step i + shift - j) / 32. With step 1, shift 0
// and ridge 0.1 it is symmetric, with eigenvalues from 0.1 to about 101, the integral of 1 / (1 +
// (x / 32)^2) plus the ridge. Rows with another step are right-hand sides.
//
// Noise: a_ij = u_ij sqrt(3 / n) / 2.5, a_ii = 1, u_ij = u_ji uniform in [-1, 1) by a hash of i and
// j. Off the diagonal the variance is 1 / (2.5^2 n), so that the eigenvalues are within 1 -+ 2 /
// 2.5 (Wigner's semicircle): condition 9.
#ifndef BB_BENCH_BENCH_SOURCE_H
#define BB_BENCH_BENCH_SOURCE_H

#include "core/device/device_source.h"
#include "core/portable.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_decay {
    double step, shift, ridge;
} bb_decay;

typedef struct bb_noise {
    double scale; ///< scale of u_ij
} bb_noise;

/// Parameters of the symmetric matrix: step 1, shift 0, ridge 0.1.
extern const bb_decay bb_decay_matrix;

/// Creates the source of a decaying matrix; `decay` must outlive it.
bb_matrix_source bb_decay_source(const bb_decay *decay, bb_index rows, bb_index columns,
                                 const char *name);

/// Creates the source of a noise matrix and sets `noise`, which must outlive it.
bb_matrix_source bb_noise_source(bb_noise *noise, bb_index n);

/// Fill a block on a device, see bb_device_fill. Both functions are in bench_source_cuda.cu.
BB_CHECKED bb_status bb_decay_fill_cuda(const bb_device_source *source, bb_queue *stream,
                                        bb_index row, bb_index column, bb_view out);
BB_CHECKED bb_status bb_noise_fill_cuda(const bb_device_source *source, bb_queue *stream,
                                        bb_index row, bb_index column, bb_view out);

BB_DEVICE_FUNCTION
double bb_decay_entry(bb_decay decay, bb_index row, bb_index column)
{
    const double place = decay.step * (double)row + decay.shift;
    const double distance = (place - (double)column) / 32.0;
    return 1.0 / (1.0 + distance * distance) + (distance == 0.0 ? decay.ridge : 0.0);
}

/// The mixing steps are those of splitmix64 (Steele, Lea and Flood 2014).
BB_DEVICE_FUNCTION
double bb_noise_entry(bb_noise noise, bb_index row, bb_index column)
{
    const uint64_t low = (uint64_t)(row < column ? row : column);
    const uint64_t high = (uint64_t)(row < column ? column : row);
    uint64_t bits = low * 0x9E3779B97F4A7C15U + high * 0xC2B2AE3D27D4EB4FU + 0x165667B19E3779F9U;
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EBU;
    bits ^= bits >> 31;
    return row == column ? 1.0 : noise.scale * ((double)(bits >> 11) * 0x1p-52 - 1.0);
}

#ifdef __cplusplus
}
#endif

#endif
