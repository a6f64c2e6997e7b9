// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/assembled/assembled_product.h"

#include "core/memory.h"

#include <stdint.h>

enum { MATRIX, VECTOR, PRODUCT, BLOCKS }; // objects of the kernel, in its order

struct bb_assembled_product {
    bb_kernel_context *context;
    bb_kernel_use use;
    bb_index rows, columns;
    size_t word_bytes, factor_bytes;
    void *blocks[BLOCKS];
    double *scales; // [rows]
};

static const char *type_of(bb_format format)
{
    return format == BB_FORMAT_FP64 ? "DP" : "SP";
}

static bb_status copy_matrix(bb_assembled_product *product, const bb_coded_matrix *matrix)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(product->context);
    const size_t bytes = bb_assembled_product_bytes(product);
    const size_t sizes[BLOCKS] = {[MATRIX] = bytes,
                                  [VECTOR] = (size_t)product->columns * product->factor_bytes,
                                  [PRODUCT] = (size_t)product->rows * sizeof(double)};
    for (int i = 0; i < BLOCKS; ++i) {
        BB_TRY(bb_device_allocate(device, sizes[i] > 0 ? sizes[i] : 1, &product->blocks[i]));
    }
    if (bytes > 0) {
        BB_TRY(bb_device_upload(device, product->blocks[MATRIX], bb_coded_matrix_words(matrix, 0),
                                bytes));
    }
    BB_TRY(BB_ALLOCATE(product->rows, &product->scales));
    for (bb_index i = 0; i < product->rows; ++i) {
        product->scales[i] = bb_coded_matrix_row_scale(matrix, i);
    }
done:
    return status;
}

static bb_status run(bb_assembled_product *product, bb_index row, bb_index rows)
{
    const bb_program_data sizes[BLOCKS] = {[MATRIX] = {product->columns, product->rows, NULL},
                                           [VECTOR] = {product->columns, 1, NULL},
                                           [PRODUCT] = {rows, 1, NULL}};
    const bb_scalar first = {{(double)row, 0.0}, row};
    return bb_kernel_context_run(product->context, &product->use, sizes, &first, product->blocks);
}

// The first use of a kernel compiles it, on some devices at run time. One product is run here, so
// that no timed product includes the compilation.
static bb_status use_once(bb_assembled_product *product)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(product->context);
    BB_TRY(bb_device_zero(device, product->blocks[VECTOR],
                          (size_t)product->columns * product->factor_bytes));
    BB_TRY(run(product, 0, product->rows < 1 ? product->rows : 1));
    BB_TRY(bb_device_wait(device));
done:
    return status;
}

bb_status bb_assembled_product_create(bb_kernel_context *context, const bb_coded_matrix *matrix,
                                      bb_gemv_arithmetic arithmetic, bb_assembled_product **out)
{
    bb_status status = BB_OK;
    bb_assembled_product *product = NULL;
    const bb_codec_config *config = bb_coded_matrix_config(matrix);
    const char *absent = bb_codec_absent(config, BB_DEVICE_OPENCL);
    BB_REQUIRE(absent == NULL, BB_UNSUPPORTED, "storage %s: %s", bb_codec_name(config->codec),
               absent);
    const bb_format stored = bb_coded_matrix_format(matrix);
    BB_TRY(BB_ZEROED(1, &product));
    product->context = context;
    product->use = (bb_kernel_use){.file = "gemv_mixed.kernel",
                                   .types = {{"STORED", type_of(stored)},
                                             {"FACTOR", type_of(arithmetic.multiply)},
                                             {"SUM", type_of(arithmetic.accumulate)}},
                                   .type_count = 3};
    product->rows = bb_coded_matrix_rows(matrix);
    product->columns = bb_coded_matrix_columns(matrix);
    product->word_bytes = (size_t)bb_format_describe(stored)->bytes;
    product->factor_bytes = (size_t)bb_format_describe(arithmetic.multiply)->bytes;
    BB_REQUIRE(product->rows <= INT32_MAX, BB_UNSUPPORTED,
               "assembled product: the matrix has %td rows, expected fewer than 2^31",
               product->rows);
    BB_TRY(copy_matrix(product, matrix));
    BB_TRY(use_once(product));
    *out = product;
    product = NULL;
done:
    bb_assembled_product_destroy(&product);
    return status;
}

void bb_assembled_product_destroy(bb_assembled_product **product)
{
    if (*product == NULL) {
        return;
    }
    for (int i = 0; i < BLOCKS; ++i) {
        bb_device_release(bb_kernel_context_device((*product)->context), &(*product)->blocks[i]);
    }
    BB_RELEASE(&(*product)->scales);
    BB_RELEASE(product);
}

bb_status bb_assembled_product_multiply(bb_assembled_product *product, bb_index row, bb_index rows,
                                        const void *x, double *y)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(product->context);
    if (rows == 0) {
        return BB_OK;
    }
    if (product->columns > 0) {
        BB_TRY(bb_device_upload(device, product->blocks[VECTOR], x,
                                (size_t)product->columns * product->factor_bytes));
    }
    BB_TRY(run(product, row, rows));
    BB_TRY(bb_device_download(device, y, product->blocks[PRODUCT], (size_t)rows * sizeof *y));
    for (bb_index i = 0; i < rows; ++i) {
        y[i] /= product->scales[row + i];
    }
done:
    return status;
}

size_t bb_assembled_product_bytes(const bb_assembled_product *product)
{
    return (size_t)product->rows * (size_t)product->columns * product->word_bytes;
}

const char *bb_assembled_product_compiler(const bb_assembled_product *product)
{
    return bb_kernel_context_compiler(product->context);
}
