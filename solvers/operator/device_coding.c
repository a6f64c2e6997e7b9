// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/device_coding.h"

#include "solvers/operator/stream/stream_encoder.h"

#include <math.h>

bool bb_device_coding_available(const bb_codec_config *storage)
{
    return bb_stream_encoder_available(storage);
}

bb_status bb_device_coding_encode(bb_device *device, const bb_device_coding *coding,
                                  bb_coding_loss *loss, bb_row_certificate *certificates,
                                  bb_device_matrix **out)
{
    bb_status status = BB_OK;
    const bb_matrix_layout *layout = coding->layout;
    bb_coded_stream *stream = NULL;
    bb_device_matrix_shape shape = {.rows = layout->rows, .columns = layout->columns};
    *out = NULL;
    BB_REQUIRE(bb_device_kind_of(device) == BB_DEVICE_CUDA &&
                   bb_device_coding_available(coding->storage),
               BB_UNSUPPORTED, "storage %s: not encoded on device %s, expected cuda and %s",
               bb_codec_name(coding->storage->codec), bb_device_names[bb_device_kind_of(device)],
               "a codec with an encoder there");
    BB_TRY(bb_stream_encoder_encode(device, coding, loss, certificates, &shape.storage, &stream));
    // The error of a NaN is NaN; limbs are asked of words that saturate alone.
    shape.finite = !isnan(loss->norms.sum_squares);
    BB_TRY(bb_device_matrix_of_stream(&stream, &shape, out));
done:
    bb_coded_stream_destroy(&stream);
    return status;
}

bb_need bb_device_coding_need(const bb_codec_config *storage, double rows, double columns)
{
    return bb_stream_encoder_need(storage, rows, columns);
}
