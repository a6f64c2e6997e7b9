// SPDX-License-Identifier: Apache-2.0
//
// Matrices of a field that cross to a GPU while those of the field before are in use: the streamed
// mode of Bamakhrama et al. (wafer feed-forward), in compressed form. They cross as they lie on the
// device and are applied from there, so nothing is decoded on the way (their T_dec is 0); period
// and latency of a field are then max(T_tr / R, T_comp) and T_tr / R + T_comp (their Table 1).
//
// A value of an image that is not finite makes its row's product NaN or infinite, which of them may
// depend on the matrix that the slot was made with (coded_operator.h, limbs).
//
// Two slots of operators take turns. A copy waits for the products that were queued before its
// slot was given back, products wait for the copy; both by events, the host waits for neither.
#ifndef BB_SOLVERS_LOOP_FIELD_STREAM_H
#define BB_SOLVERS_LOOP_FIELD_STREAM_H

#include "solvers/operator/coded_operator.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BB_FIELD_SLOTS = 2 };

typedef struct bb_field_stream bb_field_stream;

/// One field's matrices in pinned memory of the host, as a device holds them.
typedef struct bb_field_image bb_field_image;

/// `slots` [BB_FIELD_SLOTS][axes] are operators of one device, borrowed; what they hold at first
/// does not matter. Errors: BB_UNSUPPORTED (a build without CUDA, storage whose bytes the data
/// decide, which is small enough to stay on the device), BB_INVALID (slots that differ), BB_MEMORY,
/// BB_DEVICE.
BB_CHECKED bb_status bb_field_stream_create(bb_device *device, int axes,
                                            bb_coded_operator *const *slots, bb_field_stream **out);
void bb_field_stream_destroy(bb_field_stream **stream);

/// Takes an image of `operators` [axes], like the slots', which may then be destroyed. Errors:
/// BB_INVALID (other shapes or storage), BB_MEMORY (pinned memory), BB_DEVICE.
BB_CHECKED bb_status bb_field_image_create(bb_field_stream *stream,
                                           bb_coded_operator *const *operators,
                                           bb_field_image **out);
void bb_field_image_destroy(bb_field_image **image);

/// Bytes that cross.
size_t bb_field_image_bytes(const bb_field_image *image);

/// Queues the copy of an image into a slot, once all that was queued before bb_field_stream_end_use
/// of the slot is done. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_field_stream_fetch(bb_field_stream *stream, int slot,
                                           const bb_field_image *image);

/// Whether the slot's last copy has ended; does not wait. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_field_stream_ready(bb_field_stream *stream, int slot, bool *ready);

/// What the device is given from now on waits for the slot's copy. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_field_stream_begin_use(bb_field_stream *stream, int slot);

/// The slot may be overwritten when what was queued so far is done. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_field_stream_end_use(bb_field_stream *stream, int slot);

/// Times of the slot's last copy from its start, s: to its end and to the last
/// bb_field_stream_end_use, NaN where the slot was not left since. Waits for both. Errors:
/// BB_DEVICE.
BB_CHECKED bb_status bb_field_stream_seconds(bb_field_stream *stream, int slot, double *copied,
                                             double *remainder);

#ifdef __cplusplus
}
#endif

#endif
