// SPDX-License-Identifier: Apache-2.0
#include "solvers/coded_operator.h"

#include "core/memory.h"
#include "core/portable.h"
#include "solvers/coded_product.h"

#include <math.h>

static const bb_kernel kernel = {.name = "coded_product",
                                 .grain = BB_CODED_GRAIN,
                                 .cpu = bb_coded_multiply_rows,
                                 .cuda = BB_CUDA_TWIN(bb_coded_product_cuda)};

static const bb_kernel bfp8_kernel = {
    .name = "coded_bfp8_product", .grain = BB_CODED_GRAIN, .cpu = bb_coded_multiply_bfp8};

static const bb_kernel piece_kernel = {
    .name = "coded_piece_product", .grain = 1, .cpu = bb_coded_multiply_groups};

struct bb_coded_operator {
    bb_device *device;
    const bb_coded_matrix *matrix;
    bb_gemv_arithmetic arithmetic;
    float *x_f32;       // [columns] on the host, NULL for fp64 products
    bool finite;        // no stored value is NaN, infinite or large
    void *device_words; // a copy of the words on a GPU, NULL on the cpu
    void *device_x;     // [columns] in the multiply format on a GPU
    void *device_y;     // [rows] on a GPU
};

static size_t words_bytes(const bb_coded_matrix *matrix, bb_index rows)
{
    size_t word = (size_t)bb_format_describe(bb_coded_matrix_format(matrix))->bytes;
    return (size_t)rows * (size_t)bb_coded_matrix_columns(matrix) * word;
}

static bb_status copy_to_device(bb_coded_operator *operation)
{
    bb_status status = BB_OK;
    const bb_coded_matrix *matrix = operation->matrix;
    bb_index rows = bb_coded_matrix_rows(matrix);
    size_t word = (size_t)bb_format_describe(operation->arithmetic.multiply)->bytes;
    size_t bytes = words_bytes(matrix, rows);
    BB_TRY(bb_device_allocate(operation->device, bytes, &operation->device_words));
    BB_TRY(bb_device_allocate(operation->device, (size_t)bb_coded_matrix_columns(matrix) * word,
                              &operation->device_x));
    BB_TRY(
        bb_device_allocate(operation->device, (size_t)rows * sizeof(double), &operation->device_y));
    BB_TRY(bb_device_upload(operation->device, operation->device_words,
                            bb_coded_matrix_words(matrix, 0), bytes));
    BB_TRY(bb_device_wait(operation->device));
done:
    return status;
}

bb_status bb_coded_operator_create(bb_device *device, const bb_coded_matrix *matrix,
                                   bb_gemv_arithmetic arithmetic, bb_coded_operator **out)
{
    bb_status status = BB_OK;
    bb_coded_operator *operation = NULL;
    *out = NULL;
    BB_REQUIRE(arithmetic.multiply <= BB_FORMAT_FP32 &&
                   arithmetic.accumulate <= arithmetic.multiply,
               BB_UNSUPPORTED,
               "multiply %s with accumulate %s: expected fp64 or fp32, sums no narrower than "
               "products",
               bb_format_names[arithmetic.multiply], bb_format_names[arithmetic.accumulate]);
    BB_REQUIRE(bb_device_kind_of(device) == BB_DEVICE_CPU ||
                   bb_coded_matrix_words(matrix, 0) != NULL,
               BB_UNSUPPORTED,
               "storage %s: products on a GPU take plain formats so far, choose "
               "device: cpu",
               bb_codec_names[bb_coded_matrix_config(matrix)->codec]);
    BB_TRY(BB_ZEROED(1, &operation));
    operation->device = device;
    operation->matrix = matrix;
    operation->arithmetic = arithmetic;
    if (arithmetic.multiply == BB_FORMAT_FP32) {
        BB_TRY(BB_ALLOCATE(bb_coded_matrix_columns(matrix), &operation->x_f32));
        BB_TRY(bb_coded_is_finite(matrix, &operation->finite));
    }
    if (bb_device_kind_of(device) != BB_DEVICE_CPU) {
        BB_TRY(copy_to_device(operation));
    }
    *out = operation;
    operation = NULL;
done:
    bb_coded_operator_destroy(&operation);
    return status;
}

void bb_coded_operator_destroy(bb_coded_operator **operation)
{
    bb_coded_operator *whole = *operation;
    if (whole != NULL) {
        bb_device_release(whole->device, &whole->device_words);
        bb_device_release(whole->device, &whole->device_x);
        bb_device_release(whole->device, &whole->device_y);
        BB_RELEASE(&whole->x_f32);
        BB_RELEASE(operation);
    }
}

// x in fp32; whether its products with values below 2^BB_FINITE_EXPONENT are surely finite.
BB_CLONES static bool narrow_x(const double *x, bb_index count, float *out)
{
    int large = 0;
    for (bb_index j = 0; j < count; ++j) {
        out[j] = (float)x[j];
        large |= !(fabsf(out[j]) <= 0x1p50F); // NaN too
    }
    return large == 0;
}

// The product's arguments in the device's memory; on the cpu that is the host's.
static bb_status place(bb_coded_operator *operation, bb_index row, const double *x, double *y,
                       bb_coded_product *out)
{
    bb_status status = BB_OK;
    const bb_coded_matrix *matrix = operation->matrix;
    bb_index columns = bb_coded_matrix_columns(matrix);
    bool narrow = operation->x_f32 != NULL;
    *out = (bb_coded_product){.words = bb_coded_matrix_words(matrix, row),
                              .format = bb_coded_matrix_format(matrix),
                              .arithmetic = operation->arithmetic,
                              .columns = columns,
                              .x = x,
                              .x_f32 = operation->x_f32,
                              .y = y};
    if (narrow) {
        out->finite = narrow_x(x, columns, operation->x_f32) && operation->finite;
    }
    if (operation->device_words != NULL) {
        size_t bytes = (size_t)columns * (narrow ? sizeof(float) : sizeof(double));
        BB_TRY(bb_device_upload(operation->device, operation->device_x,
                                narrow ? (const void *)operation->x_f32 : x, bytes));
        out->words = (const char *)operation->device_words + words_bytes(matrix, row);
        out->x = operation->device_x;
        out->x_f32 = operation->device_x;
        out->y = operation->device_y;
    }
done:
    return status;
}

static bool fused_bfp8(const bb_coded_operator *operation)
{
    const bb_codec_config *config = bb_coded_matrix_config(operation->matrix);
    return config->codec == (int)BB_CODEC_BFP && config->bits == 8.0 && operation->x_f32 != NULL;
}

bb_status bb_coded_operator_apply(bb_coded_operator *operation, bb_index row, bb_index rows,
                                  const double *x, double *y, double *seconds)
{
    bb_status status = BB_OK;
    bb_coded_product product;
    double elapsed = 0.0;
    BB_REQUIRE(row >= 0 && rows >= 0 && rows <= bb_coded_matrix_rows(operation->matrix) - row,
               BB_INVALID, "rows %td to %td of a coded matrix of %td", row, row + rows,
               bb_coded_matrix_rows(operation->matrix));
    BB_TRY(bb_device_timer_start(operation->device));
    BB_TRY(place(operation, row, x, y, &product));
    if (product.words != NULL) {
        BB_TRY(bb_device_launch(operation->device, &kernel, rows, &product));
    } else {
        bb_piece_product pieces = {.matrix = operation->matrix,
                                   .arithmetic = operation->arithmetic,
                                   .row = row,
                                   .rows = rows,
                                   .x = x,
                                   .x_f32 = operation->x_f32,
                                   .finite = product.finite,
                                   .y = y};
        bool bfp8 = fused_bfp8(operation);
        BB_TRY(bb_device_launch(operation->device, bfp8 ? &bfp8_kernel : &piece_kernel,
                                bfp8 ? rows : bb_coded_matrix_group_count(operation->matrix),
                                &pieces));
    }
    if (operation->device_words != NULL) {
        BB_TRY(bb_device_download(operation->device, y, product.y, (size_t)rows * sizeof *y));
    }
    BB_TRY(bb_device_timer_stop(operation->device, &elapsed));
    *seconds += elapsed;
    for (bb_index i = 0; i < rows; ++i) {
        y[i] /= bb_coded_matrix_row_scale(operation->matrix, row + i);
    }
done:
    return status;
}

double bb_coded_operator_flops(bb_index rows, bb_index columns)
{
    return 2.0 * (double)rows * (double)columns;
}
