// SPDX-License-Identifier: Apache-2.0
//
// A matrix source whose blocks are filled in the memory of a cuda device, in its queue.
//
// A source of core/matrix_source.h with a device version fills blocks by its own kernels, equal to
// its host blocks up to rounding. Any other source is filled on the host and copied block by block.
#ifndef BB_CORE_DEVICE_DEVICE_SOURCE_H
#define BB_CORE_DEVICE_DEVICE_SOURCE_H

#include "core/device/device.h"
#include "core/matrix_source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_device_source bb_device_source;

/// Fills `out` (BB_F64 or BB_F32, rank 2, device memory, unit column stride) with the block whose
/// first entry is (row, column), in the order of `queue`; may return before the block is filled.
/// BB_F32 is the fp64 entry rounded once. An entry must not depend on the requested block.
typedef bb_status (*bb_device_fill)(const bb_device_source *source, bb_queue *queue, bb_index row,
                                    bb_index column, bb_view out);

struct bb_device_source {
    bb_index rows, columns;
    bool symmetric;
    const char *name;
    bb_device *device; ///< borrowed
    bb_device_fill fill;
    void (*release)(bb_device_source *source); ///< frees what `context` owns; may be NULL
    void *context;
    const bb_matrix_source *host; ///< borrowed
};

/// Creates the device version of a source, or a source whose blocks are filled on the host and
/// copied. The source must outlive it. Errors: BB_UNSUPPORTED (not a cuda device), BB_MEMORY,
/// BB_DEVICE. Owner: the caller, who destroys it before closing the device.
BB_CHECKED bb_status bb_device_source_create(const bb_matrix_source *source, bb_device *device,
                                             bb_device_source **out);
void bb_device_source_destroy(bb_device_source **source);

/// Fills a block after checking that it lies inside the matrix. Errors: BB_INVALID, or the fill's.
BB_CHECKED bb_status bb_device_source_fill(const bb_device_source *source, bb_queue *queue,
                                           bb_index row, bb_index column, bb_view out);

/// Creates the device version of a dense source: the whole matrix is copied once, in fp64. Errors:
/// BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_device_source_dense(const bb_matrix_source *source, bb_device *device,
                                            bb_device_source **out);

/// Creates the device version of bb_matrix_source_identity. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_device_source_identity(const bb_matrix_source *source, bb_device *device,
                                               bb_device_source **out);

/// Returns a view [rows][columns] on device memory with `stride` items between rows; BB_F64 or
/// BB_F32.
bb_view bb_device_matrix(void *data, bb_type type, bb_index rows, bb_index columns,
                         bb_index stride);

#ifdef __cplusplus
}
#endif

#endif
