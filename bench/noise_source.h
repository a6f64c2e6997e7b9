// SPDX-License-Identifier: Apache-2.0
//
// A random symmetric matrix to time factorizations on, whose blocks are alike wherever they lie:
//     a_ij = u_ij sqrt(3 / n) / 2.5,  a_ii = 1,
// u_ij = u_ji uniform in [-1, 1) by a hash of i and j. Off the diagonal the variance is 1 / (2.5^2
// n), so the eigenvalues lie within 1 -+ 2 / 2.5 (Wigner's semicircle): condition 9.
#ifndef BB_BENCH_NOISE_SOURCE_H
#define BB_BENCH_NOISE_SOURCE_H

#include "core/device/device_source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_noise {
    double scale; ///< of u_ij
} bb_noise;

/// Of n rows.
bb_noise bb_noise_make(bb_index n);

/// `noise` must outlive the source.
bb_matrix_source bb_noise_source(const bb_noise *noise, bb_index n);

/// Fills a block on a device, see bb_device_fill; in noise_source_cuda.cu.
BB_CHECKED bb_status bb_noise_fill_cuda(const bb_device_source *source, bb_queue *stream,
                                        bb_index row, bb_index column, bb_view out);

#ifdef __cplusplus
}
#endif

#endif
