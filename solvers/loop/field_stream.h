// SPDX-License-Identifier: Apache-2.0
//
// Stream of a field's matrices to a GPU while the matrices of the previous field are in use: the
// streamed mode of Bamakhrama et al. (wafer feed-forward), in compressed form. Matrices are copied
// in their device storage and applied from it without decoding (T_dec is 0). Period and latency of
// a field are then max(T_tr / R, T_comp) and T_tr / R + T_comp (Table 1 there).
//
// A value of an image that is not finite makes the product of its row NaN or infinite; which of the
// two may depend on the matrix from which the slot was created (coded_operator.h, limbs).
//
// Two slots of operators alternate. A copy waits for the products queued before
// bb_field_stream_end_use of its slot; products wait for the copy. Both waits use events; the host
// waits for neither.
#ifndef BB_SOLVERS_LOOP_FIELD_STREAM_H
#define BB_SOLVERS_LOOP_FIELD_STREAM_H

#include "solvers/operator/coded_operator.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BB_FIELD_SLOTS = 2 };

typedef struct bb_field_stream bb_field_stream;

/// Matrices of one field in pinned host memory, in device storage.
typedef struct bb_field_image bb_field_image;

/// Creates a stream into `slots` [BB_FIELD_SLOTS][axes], operators of one device, borrowed; their
/// initial contents do not matter. Errors: BB_UNSUPPORTED (a build without CUDA, a storage of
/// data-dependent size, which is small enough to stay on the device), BB_INVALID (slots that
/// differ), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_field_stream_create(bb_device *device, int axes,
                                            bb_coded_operator *const *slots, bb_field_stream **out);
void bb_field_stream_destroy(bb_field_stream **stream);

/// Creates an image of `operators` [axes], which have the slots' shapes and storage and may be
/// destroyed afterwards. Errors: BB_INVALID (other shapes or storage), BB_MEMORY (pinned memory),
/// BB_DEVICE.
BB_CHECKED bb_status bb_field_image_create(bb_field_stream *stream,
                                           bb_coded_operator *const *operators,
                                           bb_field_image **out);
void bb_field_image_destroy(bb_field_image **image);

/// Bytes copied per image.
size_t bb_field_image_bytes(const bb_field_image *image);

/// Queues the copy of an image into a slot, after all work queued before bb_field_stream_end_use of
/// the slot. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_field_stream_fetch(bb_field_stream *stream, int slot,
                                           const bb_field_image *image);

/// True if the slot's last copy has ended; does not wait. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_field_stream_ready(bb_field_stream *stream, int slot, bool *ready);

/// Makes all later device work wait for the slot's copy. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_field_stream_begin_use(bb_field_stream *stream, int slot);

/// Allows the slot to be overwritten once all work queued so far is done. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_field_stream_end_use(bb_field_stream *stream, int slot);

/// Times [s] from the start of the slot's last copy: to its end, and to the last
/// bb_field_stream_end_use, NaN if there was none since. Waits for both. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_field_stream_seconds(bb_field_stream *stream, int slot, double *copied,
                                             double *remainder);

#ifdef __cplusplus
}
#endif

#endif
