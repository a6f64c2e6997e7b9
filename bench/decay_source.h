// SPDX-License-Identifier: Apache-2.0
//
// The matrix that factorizations are timed on, as a source for the host and for a cuda device:
//     a_ij = 1 / (1 + d^2) + ridge [d = 0],    d = (step i + shift - j) / 32
// With step 1, shift 0 and ridge 0.1 it is symmetric, with eigenvalues from 0.1 to about 101, the
// integral of 1 / (1 + (x / 32)^2) and the ridge. Rows of another step are right-hand sides.
#ifndef BB_BENCH_DECAY_SOURCE_H
#define BB_BENCH_DECAY_SOURCE_H

#include "core/device/device_source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_decay {
    double step, shift, ridge;
} bb_decay;

/// The symmetric one.
extern const bb_decay bb_decay_matrix;

/// `decay` must outlive the source.
bb_matrix_source bb_decay_source(const bb_decay *decay, bb_index rows, bb_index columns,
                                 const char *name);

/// Fills a block on a device, see bb_device_fill; in decay_source_cuda.cu.
BB_CHECKED bb_status bb_decay_fill_cuda(const bb_device_source *source, bb_queue *stream,
                                        bb_index row, bb_index column, bb_view out);

#ifdef __cplusplus
}
#endif

#endif
