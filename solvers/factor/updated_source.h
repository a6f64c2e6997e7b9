// SPDX-License-Identifier: Apache-2.0
//
// A matrix with a low-rank update, A + V W^T, filled on a device.
#ifndef BB_SOLVERS_FACTOR_UPDATED_SOURCE_H
#define BB_SOLVERS_FACTOR_UPDATED_SOURCE_H

#include "core/device/device_source.h"
#include "core/need.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Makes the source of A + V W^T on a cuda device, for a bb_matrix_twin: `base` is A, on the host,
/// and outlives it; `v` [rows][rank] and `w` [columns][rank] on the host, fp64, free on return. An
/// entry is A's in fp64, plus V's and W's products one after another from the first, then rounded
/// once where fp32 is asked for. One queue at a time: fp32 passes through memory of its own.
/// Errors: BB_UNSUPPORTED, BB_MEMORY, BB_DEVICE. Owner: the caller, by bb_device_source_destroy.
BB_CHECKED bb_status bb_updated_source_create(const bb_matrix_source *base, bb_device *device,
                                              bb_index rank, const double *v, const double *w,
                                              bb_device_source **out);

/// What that takes of the device beside what `base` does there.
bb_need bb_updated_source_need(bb_index rows, bb_index columns, bb_index rank);

enum { BB_UPDATED_SOURCE_ITEMS = 1 << 23 }; ///< of the memory that fp32 passes through

#ifdef __cplusplus
}
#endif

#endif
