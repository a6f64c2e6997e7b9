// SPDX-License-Identifier: Apache-2.0
//
// Counts the NaN and infinite values of an array in device memory.
#ifndef BB_CORE_DEVICE_NON_FINITE_H
#define BB_CORE_DEVICE_NON_FINITE_H

#include "core/device/device.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Counts the non-finite values among `count` of type F64 or F32 at `values` in the device's
/// memory. Errors: BB_INVALID (other types), BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_non_finite_count(bb_device *device, const void *values, bb_type type,
                                         bb_index count, uint64_t *out);

/// Arguments of both versions: shared by non_finite.c and non_finite_cuda.cu.
typedef struct bb_non_finite_arguments {
    const void *values;
    bb_type type;
    uint64_t *found; ///< device memory, zero at the start
} bb_non_finite_arguments;

bb_status bb_non_finite_cuda(bb_queue *stream, bb_index begin, bb_index items, void *arguments);

#ifdef __cplusplus
}
#endif

#endif
