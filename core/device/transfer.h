// SPDX-License-Identifier: Apache-2.0
//
// Copies of large arrays between the host's own memory and a device, through two page-locked
// buffers that take turns: while the device copies one, the pool's threads copy the other. A copy
// from or to pageable memory goes through one thread of the driver at a few GB/s, and the first
// touch of fresh pages by that thread alone; here all threads share both.
#ifndef BB_CORE_DEVICE_TRANSFER_H
#define BB_CORE_DEVICE_TRANSFER_H

#include "core/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_transfer bb_transfer;

/// Takes two buffers of `bytes` each, 0: 32 MiB, which on cuda serve later transfers too. Errors:
/// BB_MEMORY. Owner: the caller, who destroys it before closing the device.
BB_CHECKED bb_status bb_transfer_create(bb_device *device, size_t bytes, bb_transfer **out);
void bb_transfer_destroy(bb_transfer **transfer);

/// `bytes` from the device's memory to the host's, in the device's order of work; waits. From the
/// thread that starts loops. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_transfer_download(bb_transfer *transfer, void *to_host, const void *source,
                                          size_t bytes);

/// The way back; waits. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_transfer_upload(bb_transfer *transfer, void *target, const void *from_host,
                                        size_t bytes);

/// One of several arrays on their way to devices; all borrowed.
typedef struct bb_transfer_part {
    bb_transfer *transfer; ///< of this part alone
    void *target;          ///< memory of its device
    const void *from_host;
    size_t bytes;
} bb_transfer_part;

/// Uploads `count` arrays piece by piece in turn, so that several devices copy at once; waits. From
/// the thread that starts loops. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_transfer_upload_parts(bb_index count, const bb_transfer_part *parts);

#ifdef __cplusplus
}
#endif

#endif
