// SPDX-License-Identifier: Apache-2.0
//
// Stands in for field_stream_cuda.cu in a build without CUDA: no stream is ever made.
#include "solvers/loop/field_stream.h"

static bb_status absent(void)
{
    return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                         "matrices that are streamed to a cuda device: this build has no CUDA");
}

bb_status bb_field_stream_create(bb_device *device, int axes, bb_coded_operator *const *slots,
                                 bb_field_stream **out)
{
    (void)device;
    (void)axes;
    (void)slots;
    *out = NULL;
    return absent();
}

void bb_field_stream_destroy(bb_field_stream **stream)
{
    *stream = NULL;
}

bb_status bb_field_image_take(bb_field_stream *stream, bb_coded_operator *const *operators,
                              bb_field_image **out)
{
    (void)stream;
    (void)operators;
    *out = NULL;
    return absent();
}

void bb_field_image_destroy(bb_field_image **image)
{
    *image = NULL;
}

size_t bb_field_image_bytes(const bb_field_image *image)
{
    (void)image;
    return 0;
}

bb_status bb_field_stream_fetch(bb_field_stream *stream, int slot, const bb_field_image *image)
{
    (void)stream;
    (void)slot;
    (void)image;
    return absent();
}

bb_status bb_field_stream_ready(bb_field_stream *stream, int slot, bool *ready)
{
    (void)stream;
    (void)slot;
    *ready = false;
    return absent();
}

bb_status bb_field_stream_enter(bb_field_stream *stream, int slot)
{
    (void)stream;
    (void)slot;
    return absent();
}

bb_status bb_field_stream_leave(bb_field_stream *stream, int slot)
{
    (void)stream;
    (void)slot;
    return absent();
}

bb_status bb_field_stream_seconds(bb_field_stream *stream, int slot, double *copied, double *left)
{
    (void)stream;
    (void)slot;
    *copied = *left = 0.0;
    return absent();
}
