// SPDX-License-Identifier: Apache-2.0
//
// Matrix with a low-rank update, A + V W^T, filled on a device.
#ifndef BB_SOLVERS_FACTOR_UPDATED_SOURCE_H
#define BB_SOLVERS_FACTOR_UPDATED_SOURCE_H

#include "core/device/device_source.h"
#include "core/need.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Creates the source of A + V W^T on a cuda device, for a bb_matrix_twin: `base` is A, on the
/// host, and must outlive it; `v` [rows][rank] and `w` [columns][rank] are on the host, fp64, and
/// may be freed on return. An entry is A's in fp64, plus the products of V and W in order, rounded
/// once if fp32 is requested. One queue at a time, because fp32 uses a shared buffer. Errors:
/// BB_UNSUPPORTED, BB_MEMORY, BB_DEVICE. Owner: the caller, by bb_device_source_destroy.
BB_CHECKED bb_status bb_updated_source_create(const bb_matrix_source *base, bb_device *device,
                                              bb_index rank, const double *v, const double *w,
                                              bb_device_source **out);

/// Device memory without that of `base`.
bb_need bb_updated_source_need(bb_index rows, bb_index columns, bb_index rank);

enum { BB_UPDATED_SOURCE_ITEMS = 1 << 23 }; ///< size of the buffer for fp32

#ifdef __cplusplus
}
#endif

#endif
