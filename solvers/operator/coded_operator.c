// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/coded_operator.h"

#include "core/memory.h"
#include "core/portable.h"
#include "solvers/operator/assembled/assembled_product.h"
#include "solvers/operator/coded_product.h"
#include "solvers/operator/device_matrix.h"
#include "solvers/operator/low_rank_product.h"
#include "solvers/operator/transform_product.h"

#include <math.h>

static const bb_kernel kernel = {.name = "coded_product",
                                 .grain = BB_CODED_GRAIN,
                                 .run[BB_DEVICE_CPU] = bb_coded_product_multiply_rows};

static const bb_kernel bfp8_kernel = {.name = "coded_bfp8_product",
                                      .grain = BB_CODED_GRAIN,
                                      .run[BB_DEVICE_CPU] = bb_coded_product_multiply_bfp8};

static const bb_kernel piece_kernel = {.name = "coded_piece_product",
                                       .grain = 1,
                                       .run[BB_DEVICE_CPU] = bb_coded_product_multiply_groups};

static const bb_kernel device_kernel = {
    .name = "coded_product_there", .grain = 1, .run[BB_DEVICE_CUDA] = bb_device_matrix_multiply};

struct bb_coded_operator {
    bb_device *device;
    const bb_coded_matrix *matrix; // NULL on a GPU, which has its own copy
    bb_index first;                // first row in the matrix
    bb_codec_config config;        // codec of the matrix
    bb_codec_form form;            // form of its rows
    bb_index rows, columns;        // shape of the operator
    bb_gemv_arithmetic arithmetic;
    bb_index run;
    float *x_f32;            // [columns] on the host, NULL for fp64 products
    bool finite;             // no stored value is NaN, infinite or large
    bb_device_matrix *there; // the matrix on a GPU, NULL on the cpu
    void *device_x;          // [columns] in the multiply format on a GPU
    void *device_y;          // [rows] on a GPU
    // Product by a kernel of the kernel language, used instead of all members above.
    bb_assembled_product *assembled;
};

// Multiplies vectors by the matrix.
static bb_status allocate_vectors(bb_coded_operator *operation)
{
    bb_status status = BB_OK;
    size_t word = (size_t)bb_format_describe(operation->arithmetic.multiply)->bytes;
    const bb_coded_stream *stream = bb_device_matrix_stream(operation->there);
    BB_REQUIRE(stream == NULL || operation->arithmetic.multiply == BB_FORMAT_FP32 ||
                   bb_coded_stream_fits_fp32(stream),
               BB_UNSUPPORTED,
               "products in fp64 with a quantiser of more than 16 bits per quotient are not "
               "supported on a GPU: choose a larger tolerance, multiply: fp32 or device: cpu");
    BB_TRY(bb_device_allocate(operation->device, (size_t)operation->columns * word,
                              &operation->device_x));
    BB_TRY(bb_device_allocate(operation->device, (size_t)operation->rows * sizeof(double),
                              &operation->device_y));
done:
    return status;
}

// Creates an operator without a matrix.
static bb_status start(bb_device *device, const bb_codec_config *storage, bb_index rows,
                       bb_index columns, bb_gemv_arithmetic arithmetic, bb_coded_operator **out)
{
    bb_status status = BB_OK;
    bb_coded_operator *operation = NULL;
    *out = NULL;
    BB_REQUIRE(
        arithmetic.multiply <= BB_FORMAT_FP32 && arithmetic.accumulate <= arithmetic.multiply,
        BB_UNSUPPORTED,
        "multiply %s with accumulate %s: use fp64 or fp32, and sums no narrower than products",
        bb_format_names[arithmetic.multiply], bb_format_names[arithmetic.accumulate]);
    BB_TRY(BB_ZEROED(1, &operation));
    operation->device = device;
    operation->config = *storage;
    operation->form = bb_codec_form_of(&operation->config);
    operation->rows = rows;
    operation->columns = columns;
    operation->arithmetic = arithmetic;
    operation->run = 1;
    if (arithmetic.multiply == BB_FORMAT_FP32) {
        BB_TRY(BB_ALLOCATE(columns, &operation->x_f32));
    }
    *out = operation;
    operation = NULL;
done:
    bb_coded_operator_destroy(&operation);
    return status;
}

// Creates an operator for a coded matrix and initialises only its host members.
static bb_status start_coded(bb_device *device, const bb_coded_matrix *matrix,
                             bb_gemv_arithmetic arithmetic, bb_coded_operator **out)
{
    bb_status status = BB_OK;
    BB_TRY(start(device, bb_coded_matrix_config(matrix), bb_coded_matrix_rows(matrix),
                 bb_coded_matrix_columns(matrix), arithmetic, out));
    (*out)->matrix = matrix;
    if (arithmetic.multiply == BB_FORMAT_FP32) {
        BB_TRY(bb_coded_product_is_finite(matrix, &(*out)->finite));
    }
done:
    if (status != BB_OK) {
        bb_coded_operator_destroy(out);
    }
    return status;
}

bb_status bb_coded_operator_create(bb_device *device, const bb_coded_matrix *matrix,
                                   bb_gemv_arithmetic arithmetic, bb_coded_operator **out)
{
    return bb_coded_operator_create_rows(device, matrix, 0, bb_coded_matrix_rows(matrix),
                                         arithmetic, out);
}

bb_status bb_coded_operator_create_rows(bb_device *device, const bb_coded_matrix *matrix,
                                        bb_index row, bb_index rows, bb_gemv_arithmetic arithmetic,
                                        bb_coded_operator **out)
{
    bb_status status = BB_OK;
    bb_coded_operator *operation = NULL;
    *out = NULL;
    BB_REQUIRE(row >= 0 && rows >= 1 && rows <= bb_coded_matrix_rows(matrix) - row, BB_INVALID,
               "rows %td to %td are outside the coded matrix of %td rows", row, row + rows,
               bb_coded_matrix_rows(matrix));
    BB_REQUIRE(bb_device_kind_of(device) != BB_DEVICE_OPENCL, BB_UNSUPPORTED,
               "products on device opencl need bb_coded_operator_assemble");
    BB_TRY(start_coded(device, matrix, arithmetic, &operation));
    operation->first = row;
    operation->rows = rows;
    if (bb_device_kind_of(device) != BB_DEVICE_CPU) {
        BB_TRY(bb_device_matrix_create(device, matrix, row, rows, &operation->there));
        BB_TRY(allocate_vectors(operation));
        operation->matrix = NULL;
    }
    *out = operation;
    operation = NULL;
done:
    bb_coded_operator_destroy(&operation);
    return status;
}

bb_status bb_coded_operator_of_device_matrix(bb_device *device, bb_device_matrix **matrix,
                                             bb_gemv_arithmetic arithmetic, bb_coded_operator **out)
{
    bb_status status = BB_OK;
    const bb_device_matrix_shape *shape = bb_device_matrix_shape_of(*matrix);
    bb_coded_operator *operation = NULL;
    *out = NULL;
    BB_TRY(start(device, &shape->storage, shape->rows, shape->columns, arithmetic, &operation));
    operation->finite = shape->finite;
    operation->there = *matrix;
    *matrix = NULL;
    BB_TRY(allocate_vectors(operation));
    *out = operation;
    operation = NULL;
done:
    bb_coded_operator_destroy(&operation);
    bb_device_matrix_destroy(matrix);
    return status;
}

bb_status bb_coded_operator_assemble(bb_kernel_context *context, const bb_coded_matrix *matrix,
                                     bb_gemv_arithmetic arithmetic, bb_coded_operator **out)
{
    bb_status status = BB_OK;
    bb_coded_operator *operation = NULL;
    *out = NULL;
    BB_TRY(start_coded(bb_kernel_context_device(context), matrix, arithmetic, &operation));
    BB_TRY(bb_assembled_product_create(context, matrix, arithmetic, &operation->assembled));
    operation->matrix = NULL;
    *out = operation;
    operation = NULL;
done:
    bb_coded_operator_destroy(&operation);
    return status;
}

void bb_coded_operator_destroy(bb_coded_operator **operation)
{
    bb_coded_operator *coded = *operation;
    if (coded != NULL) {
        bb_device_matrix_destroy(&coded->there);
        bb_assembled_product_destroy(&coded->assembled);
        bb_device_release(coded->device, &coded->device_x);
        bb_device_release(coded->device, &coded->device_y);
        BB_RELEASE(&coded->x_f32);
        BB_RELEASE(operation);
    }
}

bb_status bb_coded_operator_sum_in_runs(bb_coded_operator *operation, bb_index run)
{
    bb_status status = BB_OK;
    const bb_gemv_arithmetic *arithmetic = &operation->arithmetic;
    bool mixed = arithmetic->multiply == BB_FORMAT_FP32 && arithmetic->accumulate == BB_FORMAT_FP64;
    bool is_whole =
        run >= BB_GEMV_RUN_STEP && run <= BB_GEMV_RUN_MOST && run % BB_GEMV_RUN_STEP == 0;
    BB_REQUIRE(run == 1 || operation->assembled == NULL, BB_UNSUPPORTED,
               "runs of %td products: assembled kernels support runs of 1 only", run);
    BB_REQUIRE(
        run == 1 || (mixed && is_whole), BB_UNSUPPORTED,
        "runs of %td products: use 1, or for fp32 products and fp64 sums a multiple of %d up to %d",
        run, (int)BB_GEMV_RUN_STEP, (int)BB_GEMV_RUN_MOST);
    operation->run = run;
done:
    return status;
}

// Rounds x to fp32; returns true if its products with values below 2^BB_FINITE_EXPONENT are certain
// to be finite.
BB_CLONES static bool narrow_x(const double *x, bb_index count, float *out)
{
    int large = 0;
    for (bb_index j = 0; j < count; ++j) {
        out[j] = (float)x[j];
        large |= !(fabsf(out[j]) <= 0x1p50F); // rejects NaN, too
    }
    return large == 0;
}

// Products of low-rank tiles use x in fp64, rounded if products are narrower; those of transformed
// blocks round x after its transform.
static bb_status multiply_tiles(const bb_coded_operator *operation, bb_index row, bb_index rows,
                                const double *x, double *y)
{
    bb_status status = BB_OK;
    bb_index columns = bb_coded_matrix_columns(operation->matrix);
    double *rounded = NULL;
    if (operation->x_f32 != NULL) {
        BB_TRY(BB_ALLOCATE(columns, &rounded));
        for (bb_index j = 0; j < columns; ++j) {
            rounded[j] = (double)(float)x[j];
        }
    }
    BB_TRY(bb_low_rank_product_multiply(operation->device, operation->matrix, operation->arithmetic,
                                        row, rows, rounded != NULL ? rounded : x, y));
done:
    BB_RELEASE(&rounded);
    return status;
}

static bb_status multiply_blocks(const bb_coded_operator *operation, bb_index row, bb_index rows,
                                 const double *x, double *y)
{
    return bb_transform_product_multiply(operation->device, operation->matrix,
                                         operation->arithmetic, row, rows, x, y);
}

// Rounds x if products are in fp32; returns true if they are certain to be finite.
static bool round_x(const bb_coded_operator *operation, const double *x)
{
    return operation->x_f32 != NULL && narrow_x(x, operation->columns, operation->x_f32) &&
           operation->finite;
}

static bb_status multiply_words(const bb_coded_operator *operation, bb_index row, bb_index rows,
                                const double *x, double *y)
{
    bb_coded_product plain = {.words = bb_coded_matrix_words(operation->matrix, row),
                              .format = bb_coded_matrix_format(operation->matrix),
                              .arithmetic = operation->arithmetic,
                              .run = operation->run,
                              .columns = operation->columns,
                              .x = x,
                              .x_f32 = operation->x_f32,
                              .finite = round_x(operation, x),
                              .y = y};
    return bb_device_launch(operation->device, &kernel, rows, &plain);
}

static bb_piece_product pieces_of(const bb_coded_operator *operation, bb_index row, bb_index rows,
                                  const double *x, double *y)
{
    return (bb_piece_product){.matrix = operation->matrix,
                              .arithmetic = operation->arithmetic,
                              .run = operation->run,
                              .row = row,
                              .rows = rows,
                              .x = x,
                              .x_f32 = operation->x_f32,
                              .finite = round_x(operation, x),
                              .y = y};
}

static bb_status multiply_pieces(const bb_coded_operator *operation, bb_index row, bb_index rows,
                                 const double *x, double *y)
{
    bb_piece_product pieces = pieces_of(operation, row, rows, x, y);
    return bb_device_launch(operation->device, &piece_kernel,
                            bb_coded_matrix_group_count(operation->matrix), &pieces);
}

// fp32 products of eight bits need no pieces.
static bb_status multiply_exponents(const bb_coded_operator *operation, bb_index row, bb_index rows,
                                    const double *x, double *y)
{
    if (operation->form.bits != 8 || operation->x_f32 == NULL) {
        return multiply_pieces(operation, row, rows, x, y);
    }
    bb_piece_product pieces = pieces_of(operation, row, rows, x, y);
    return bb_device_launch(operation->device, &bfp8_kernel, rows, &pieces);
}

// Products on the cpu by codec form; products on a GPU are in the table of device_matrix.c.
static bb_status (*const multiply[BB_FORM_KINDS])(const bb_coded_operator *operation, bb_index row,
                                                  bb_index rows, const double *x, double *y) = {
    [BB_FORM_PIECES] = multiply_pieces,    [BB_FORM_WORDS] = multiply_words,
    [BB_FORM_INTEGERS] = multiply_pieces,  [BB_FORM_STEPS] = multiply_pieces,
    [BB_FORM_BLOCKS] = multiply_exponents, [BB_FORM_QUOTIENTS] = multiply_pieces,
    [BB_FORM_TILES] = multiply_tiles,      [BB_FORM_COEFFICIENTS] = multiply_blocks,
    [BB_FORM_STREAMS] = multiply_pieces,
};

static bb_status multiply_here(const bb_coded_operator *operation, bb_index row, bb_index rows,
                               const double *x, double *y)
{
    bb_status status = BB_OK;
    const bb_index first = operation->first + row;
    BB_TRY(multiply[operation->form.kind](operation, first, rows, x, y));
    for (bb_index i = 0; i < rows; ++i) {
        y[i] /= bb_coded_matrix_row_scale(operation->matrix, first + i);
    }
done:
    return status;
}

bool bb_coded_operator_copies_rows(const bb_codec_config *storage)
{
    bb_stream_layout layout;
    return bb_stream_layout_of(storage, &layout);
}

bool bb_coded_operator_moves(const bb_codec_config *storage)
{
    bb_stream_layout layout;
    return bb_stream_layout_of(storage, &layout) && layout.row_bytes > 0;
}

// Device bytes per row on a GPU: y, scale and step, and a row's share of the partial sums of at
// least three products (bb_stream_partition: a row has at most g + 32 places per multiprocessor
// with `g` groups, 160 of them).
static const double row_bytes = 44.0;
static const double sums_bytes = 2.7e6;
// Products with x in limbs: counts tiles with the fewest columns. The quantiser's tiles have twice
// as many, which leaves room for upper tiles. Upper tiles (coded_stream.h) need less memory than
// the 32 bits per quotient of a plan: 16 bits for three quarters of the quotients, and 64 for the
// rest.
static const double cut_columns = 512.0;
// Bytes of a kernel of the kernel language, including its text.
static const double kernel_bytes = 1e6;

bb_need bb_coded_operator_need(const bb_codec_config *storage, double rows, double columns,
                               bb_device_kind device)
{
    bb_need need = {.host_bytes = sizeof(bb_coded_operator) + columns * sizeof(float)};
    if (device != BB_DEVICE_CPU) {
        const double value_bytes =
            bb_codec_bytes_per_value(storage) + bb_device_matrix_index_bits(storage) / 8.0;
        const double limbs = bb_coded_operator_has_limbs(storage)
                                 ? ceil(columns / cut_columns) * BB_STREAM_CUT_BYTES
                                 : 0.0;
        need.device_bytes = rows * columns * value_bytes + rows * row_bytes +
                            columns * sizeof(double) + limbs + sums_bytes;
    }
    if (device == BB_DEVICE_OPENCL) {
        need.host_bytes += rows * sizeof(double) + kernel_bytes;
    }
    return need;
}

// Plain words are multiplied in place. For tiles and blocks x and the sums are stored for all rows;
// otherwise each thread decodes a piece of a group.
bb_need bb_coded_operator_apply_need(const bb_codec_config *storage, double rows, double columns,
                                     double threads)
{
    static const double products_per_second = 1.5e9; // values per second of one core
    static const double least_columns = 8.0;         // size of a tile or block
    const double piece = BB_GROUP_ROWS * columns * sizeof(double);
    const double sums =
        (columns + (rows + BB_GROUP_ROWS) * columns / least_columns) * sizeof(double);
    bb_need need = {.seconds = rows * columns / (products_per_second * threads)};
    switch (bb_codec_form_of(storage).kind) {
    case BB_FORM_WORDS:
        break;
    case BB_FORM_TILES:
    case BB_FORM_COEFFICIENTS:
        need.host_bytes = sums;
        break;
    default:
        need.host_bytes = threads * piece;
    }
    return need;
}

bool bb_coded_operator_has_limbs(const bb_codec_config *storage)
{
    bb_stream_layout layout;
    return bb_stream_layout_of(storage, &layout) && bb_coded_stream_supports_limbs(layout.storage);
}

// Infinities of a matrix would be multiplied by zero limbs; only plain words can contain
// infinities.
static bool uses_limbs(const bb_coded_operator *operation)
{
    const bool never_infinite = operation->finite || operation->form.kind != BB_FORM_WORDS;
    const bb_coded_stream *stream =
        operation->there == NULL ? NULL : bb_device_matrix_stream(operation->there);
    return operation->run > 1 && never_infinite && stream != NULL &&
           bb_coded_stream_sums_in_limbs(stream);
}

static bb_stream_sums sums_of(const bb_coded_operator *operation)
{
    const bb_gemv_arithmetic *arithmetic = &operation->arithmetic;
    return arithmetic->multiply == BB_FORMAT_FP64     ? BB_STREAM_WIDE
           : arithmetic->accumulate == BB_FORMAT_FP32 ? BB_STREAM_NARROW
           : uses_limbs(operation)                    ? BB_STREAM_LIMBS
           : operation->run > 1                       ? BB_STREAM_RUNS
                                                      : BB_STREAM_EACH;
}

static bb_status multiply_there(bb_coded_operator *operation, bb_index row, bb_index rows,
                                const double *x, double *y)
{
    bb_status status = BB_OK;
    bb_device *device = operation->device;
    size_t columns = (size_t)operation->columns;
    bool single = operation->x_f32 != NULL;
    if (single) {
        (void)narrow_x(x, (bb_index)columns, operation->x_f32);
        BB_TRY(bb_device_upload(device, operation->device_x, operation->x_f32,
                                columns * sizeof(float)));
    } else {
        BB_TRY(bb_device_upload(device, operation->device_x, x, columns * sizeof *x));
    }
    double *y_there = operation->device_y;
    bb_device_product product = {.matrices = &operation->there,
                                 .count = 1,
                                 .sums = sums_of(operation),
                                 .run = operation->run,
                                 .row = row,
                                 .x = operation->device_x,
                                 .y = &y_there};
    BB_TRY(bb_device_launch(device, &device_kernel, rows, &product));
    BB_TRY(bb_device_download(device, y, operation->device_y, (size_t)rows * sizeof *y));
done:
    return status;
}

static bb_status multiply_assembled(bb_coded_operator *operation, bb_index row, bb_index rows,
                                    const double *x, double *y)
{
    const bool single = operation->x_f32 != NULL;
    if (single) {
        (void)narrow_x(x, operation->columns, operation->x_f32);
    }
    return bb_assembled_product_multiply(operation->assembled, row, rows,
                                         single ? (const void *)operation->x_f32 : x, y);
}

static bool on_gpu(const bb_coded_operator *operation)
{
    return operation->there != NULL;
}

static bb_status check_rows(const bb_coded_operator *operation, bb_index row, bb_index rows)
{
    bb_status status = BB_OK;
    BB_REQUIRE(row >= 0 && rows >= 0 && rows <= operation->rows - row, BB_INVALID,
               "rows %td to %td are outside the coded matrix of %td rows", row, row + rows,
               operation->rows);
done:
    return status;
}

bb_status bb_coded_operator_apply(bb_coded_operator *operation, bb_index row, bb_index rows,
                                  const double *x, double *y, double *seconds)
{
    bb_status status = BB_OK;
    double elapsed = 0.0;
    BB_TRY(check_rows(operation, row, rows));
    BB_TRY(bb_device_timer_start(operation->device));
    BB_TRY(operation->assembled != NULL ? multiply_assembled(operation, row, rows, x, y)
           : on_gpu(operation)          ? multiply_there(operation, row, rows, x, y)
                                        : multiply_here(operation, row, rows, x, y));
    BB_TRY(bb_device_timer_stop(operation->device, &elapsed));
    *seconds += elapsed;
done:
    return status;
}

bool bb_coded_operator_alike(const bb_coded_operator *first, const bb_coded_operator *other)
{
    return on_gpu(first) && on_gpu(other) && first->device == other->device &&
           first->config.codec == other->config.codec && first->rows == other->rows &&
           first->columns == other->columns &&
           first->arithmetic.multiply == other->arithmetic.multiply &&
           first->arithmetic.accumulate == other->arithmetic.accumulate &&
           first->run == other->run && bb_device_matrix_alike(first->there, other->there);
}

static bb_status check_alike(const bb_coded_operator *first, const bb_coded_operator *other)
{
    bb_status status = BB_OK;
    BB_REQUIRE(on_gpu(first) && on_gpu(other) && bb_device_matrix_available(), BB_UNSUPPORTED,
               "a product can be queued on a GPU only; this operator is on the cpu or assembled");
    BB_REQUIRE(
        bb_coded_operator_alike(first, other), BB_INVALID,
        "products in one launch need matrices of the same shape, storage, arithmetic and device");
done:
    return status;
}

bool bb_coded_operator_supports_row_at(const bb_coded_operator *operation)
{
    return on_gpu(operation) && bb_device_matrix_stream(operation->there) != NULL;
}

bb_status bb_coded_operator_queue(bb_coded_operator *const *operations, int count,
                                  const bb_coded_window *window, const void *x, double *const *y,
                                  bb_queue *queue)
{
    bb_status status = BB_OK;
    const bb_coded_operator *first = operations[0];
    bb_device_matrix *matrices[BB_CODED_TOGETHER];
    bb_stream_sums sums = sums_of(first);
    BB_REQUIRE(count >= 1 && count <= BB_CODED_TOGETHER, BB_INVALID,
               "%d products in one launch: expected 1 to %d", count, (int)BB_CODED_TOGETHER);
    BB_TRY(check_rows(first, window->row_at == NULL ? window->row : 0, window->rows));
    for (int i = 0; i < count; ++i) {
        BB_TRY(check_alike(first, operations[i]));
        matrices[i] = operations[i]->there;
        // One of the matrices may have values that limbs cannot represent.
        sums = sums_of(operations[i]) == BB_STREAM_RUNS ? BB_STREAM_RUNS : sums;
    }
    BB_REQUIRE(window->row_at == NULL || bb_coded_operator_supports_row_at(first), BB_UNSUPPORTED,
               "storage %s: the first row of a product cannot be read from device memory",
               bb_codec_name(first->config.codec));
    if (window->rows == 0) {
        goto done;
    }
    bb_device_product product = {.matrices = matrices,
                                 .count = count,
                                 .sums = sums,
                                 .run = first->run,
                                 .row = window->row,
                                 .row_at = window->row_at,
                                 .x = x,
                                 .y = y};
    BB_TRY(bb_device_matrix_multiply(queue, 0, window->rows, &product));
done:
    return status;
}

bb_status bb_coded_operator_blocks(const bb_coded_operator *operation,
                                   bb_coded_block blocks[BB_CODED_BLOCKS], int *count)
{
    bb_status status = BB_OK;
    const bb_coded_stream *stream =
        on_gpu(operation) ? bb_device_matrix_stream(operation->there) : NULL;
    const bb_stream_sums sums = sums_of(operation);
    BB_REQUIRE(stream != NULL && bb_coded_stream_task(stream, sums).operand[0].lies == NULL,
               BB_UNSUPPORTED,
               "storage %s: streaming matrices to a GPU field by field needs a fixed number of "
               "bits per value",
               bb_codec_name(operation->config.codec));
    const bb_stream_operand operand = bb_coded_stream_task(stream, sums).operand[0];
    blocks[0] =
        (bb_coded_block){(void *)(uintptr_t)operand.words, bb_coded_stream_bytes(stream, sums)};
    blocks[1] = (bb_coded_block){(void *)(uintptr_t)operand.scales,
                                 (size_t)operation->rows * sizeof *operand.scales};
    blocks[2] = (bb_coded_block){(void *)(uintptr_t)operand.steps,
                                 (size_t)operation->rows * sizeof *operand.steps};
    *count = operand.steps == NULL ? BB_CODED_BLOCKS - 1 : BB_CODED_BLOCKS;
done:
    return status;
}

bb_index bb_coded_operator_rows(const bb_coded_operator *operation)
{
    return operation->rows;
}

bb_index bb_coded_operator_columns(const bb_coded_operator *operation)
{
    return operation->columns;
}

bb_format bb_coded_operator_multiply(const bb_coded_operator *operation)
{
    return operation->arithmetic.multiply;
}

// All rows of a matrix take about the same time.
static size_t bytes_here(const bb_coded_operator *operation)
{
    const double share = (double)operation->rows / (double)bb_coded_matrix_rows(operation->matrix);
    return (size_t)llround(share * (double)bb_coded_matrix_bytes(operation->matrix));
}

size_t bb_coded_operator_bytes(const bb_coded_operator *operation)
{
    return operation->assembled != NULL ? bb_assembled_product_bytes(operation->assembled)
           : on_gpu(operation) ? bb_device_matrix_bytes(operation->there, sums_of(operation))
                               : bytes_here(operation);
}

const char *bb_coded_operator_compiler(const bb_coded_operator *operation)
{
    return operation->assembled != NULL ? bb_assembled_product_compiler(operation->assembled) : "";
}

double bb_coded_operator_flops(bb_index rows, bb_index columns)
{
    return 2.0 * (double)rows * (double)columns;
}

enum { ROUNDINGS = 4, LANES = 16, FOLDINGS = 128, LIMB_SUMS = 17 * 8 + 8 };

bb_sum_rounding bb_coded_operator_rounding(const bb_codec_config *storage,
                                           bb_gemv_arithmetic arithmetic, bb_index run,
                                           bb_index columns)
{
    const bool in_limbs = run > 1 && bb_coded_operator_has_limbs(storage);
    const double path = ceil((double)columns / LANES) + FOLDINGS;
    const double wide = bb_format_unit_roundoff(BB_FORMAT_FP64);
    double exponent = ROUNDINGS * bb_format_unit_roundoff(arithmetic.multiply) + path * wide;
    if (arithmetic.accumulate != BB_FORMAT_FP64) {
        exponent += path * bb_format_unit_roundoff(arithmetic.accumulate);
    } else if (run > 1) {
        exponent += fmax((double)run, in_limbs ? LIMB_SUMS : 0.0) *
                    bb_format_unit_roundoff(arithmetic.multiply);
    }
    return (bb_sum_rounding){
        .relative = expm1(exponent),
        .subnormal = bb_format_smallest_subnormal(arithmetic.multiply),
        .largest = bb_format_describe(arithmetic.multiply)->largest,
        .multiply_unit = bb_format_unit_roundoff(arithmetic.multiply),
        .sum_unit = bb_format_unit_roundoff(arithmetic.accumulate),
        .in_runs = run > 1,
        .of_largest = in_limbs ? 0x1p-30 : 0.0,
    };
}
