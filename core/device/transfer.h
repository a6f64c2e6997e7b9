// SPDX-License-Identifier: Apache-2.0
//
// Copies of large arrays between ordinary host memory and a device, through two alternating
// page-locked buffers: while the device copies one, the pool's threads copy the other. A direct
// copy of pageable memory goes through one driver thread at a few GB/s, which also touches fresh
// pages alone; here all threads share both.
#ifndef BB_CORE_DEVICE_TRANSFER_H
#define BB_CORE_DEVICE_TRANSFER_H

#include "core/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_transfer bb_transfer;

/// Allocates two buffers of `bytes` each, 0: 32 MiB; on cuda later transfers reuse them. Errors:
/// BB_MEMORY. Owner: the caller, who destroys it before closing the device.
BB_CHECKED bb_status bb_transfer_create(bb_device *device, size_t bytes, bb_transfer **out);
void bb_transfer_destroy(bb_transfer **transfer);

/// Copies `bytes` from device to host memory, in the device's queue; waits. Call from the thread
/// that starts loops. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_transfer_download(bb_transfer *transfer, void *to_host, const void *source,
                                          size_t bytes);

/// Copies host to device memory; waits. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_transfer_upload(bb_transfer *transfer, void *target, const void *from_host,
                                        size_t bytes);

/// One of several arrays to upload; all borrowed.
typedef struct bb_transfer_part {
    bb_transfer *transfer; ///< used by this part only
    void *target;          ///< device memory
    const void *from_host;
    size_t bytes;
} bb_transfer_part;

/// Uploads `count` arrays in alternating pieces, so that several devices copy at once; waits. Call
/// from the thread that starts loops. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_transfer_upload_parts(bb_index count, const bb_transfer_part *parts);

#ifdef __cplusplus
}
#endif

#endif
