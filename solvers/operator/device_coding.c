// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/device_coding.h"

#include "solvers/operator/stream/stream_encoder.h"
#include "solvers/operator/transform_encoder.h"

#include <math.h>

bool bb_device_coding_available(const bb_codec_config *storage)
{
    return bb_stream_encoder_available(storage) || bb_transform_encoder_available(storage);
}

static bb_status encode_stream(bb_device *device, const bb_device_coding *coding,
                               bb_coding_loss *loss, bb_row_certificate *certificates,
                               bb_device_matrix **out)
{
    bb_status status = BB_OK;
    bb_coded_stream *stream = NULL;
    bb_device_matrix_shape shape = {.rows = coding->layout->rows,
                                    .columns = coding->layout->columns};
    BB_TRY(bb_stream_encoder_encode(device, coding, loss, certificates, &shape.storage, &stream));
    // The error of a NaN is NaN. Lost magnitudes exist only for words that saturate.
    shape.finite = !isnan(loss->norms.sum_squares);
    BB_TRY(bb_device_matrix_of_stream(&stream, &shape, out));
done:
    bb_coded_stream_destroy(&stream);
    return status;
}

// Nonzero coefficients are few, so the host lays them out.
static bb_status encode_coefficients(bb_device *device, const bb_device_coding *coding,
                                     bb_coding_loss *loss, bb_row_certificate *certificates,
                                     bb_device_matrix **out)
{
    bb_status status = BB_OK;
    bb_coded_matrix *matrix = NULL;
    BB_TRY(bb_transform_encoder_encode(device, coding, loss, certificates, &matrix));
    BB_TRY(bb_device_matrix_create(device, matrix, 0, coding->layout->rows, out));
done:
    bb_coded_matrix_destroy(&matrix);
    return status;
}

bb_status bb_device_coding_encode(bb_device *device, const bb_device_coding *coding,
                                  bb_coding_loss *loss, bb_row_certificate *certificates,
                                  bb_device_matrix **out)
{
    bb_status status = BB_OK;
    *out = NULL;
    BB_REQUIRE(
        bb_device_kind_of(device) == BB_DEVICE_CUDA && bb_device_coding_available(coding->storage),
        BB_UNSUPPORTED,
        "storage %s cannot be encoded on device %s: use device cuda and a codec with a GPU encoder",
        bb_codec_name(coding->storage->codec), bb_device_names[bb_device_kind_of(device)]);
    BB_TRY(bb_transform_encoder_available(coding->storage)
               ? encode_coefficients(device, coding, loss, certificates, out)
               : encode_stream(device, coding, loss, certificates, out));
done:
    return status;
}

bb_need bb_device_coding_need(const bb_codec_config *storage, double rows, double columns)
{
    return bb_codec_form_of(storage).kind == BB_FORM_COEFFICIENTS
               ? bb_transform_encoder_need(rows, columns)
               : bb_stream_encoder_need(storage, rows, columns);
}
