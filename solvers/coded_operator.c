// SPDX-License-Identifier: Apache-2.0
#include "solvers/coded_operator.h"

#include "core/memory.h"
#include "core/portable.h"
#include "solvers/coded_product.h"
#include "solvers/coded_stream.h"
#include "solvers/low_rank_product.h"
#include "solvers/low_rank_stream.h"

#include <math.h>

static const bb_kernel kernel = {
    .name = "coded_product", .grain = BB_CODED_GRAIN, .cpu = bb_coded_multiply_rows};

static const bb_kernel bfp8_kernel = {
    .name = "coded_bfp8_product", .grain = BB_CODED_GRAIN, .cpu = bb_coded_multiply_bfp8};

static const bb_kernel piece_kernel = {
    .name = "coded_piece_product", .grain = 1, .cpu = bb_coded_multiply_groups};

static const bb_kernel stream_kernel = {
    .name = "coded_stream_product", .grain = 1, .cuda = BB_CUDA_TWIN(bb_stream_multiply_cuda)};

static const bb_kernel low_rank_kernel = {
    .name = "low_rank_product", .grain = 1, .cuda = BB_CUDA_TWIN(bb_low_rank_multiply_cuda)};

struct bb_coded_operator {
    bb_device *device;
    const bb_coded_matrix *matrix;
    bb_gemv_arithmetic arithmetic;
    bb_index run;
    float *x_f32;                 // [columns] on the host, NULL for fp64 products
    bool finite;                  // no stored value is NaN, infinite or large
    bb_coded_stream *stream;      // the matrix on a GPU, NULL on the cpu
    bb_low_rank_stream *low_rank; // the same where it is one of low_rank tiles
    void *device_x;               // [columns] in the multiply format on a GPU
    void *device_y;               // [rows] on a GPU
};

static bb_status copy_to_device(bb_coded_operator *operation)
{
    bb_status status = BB_OK;
    const bb_coded_matrix *matrix = operation->matrix;
    size_t word = (size_t)bb_format_describe(operation->arithmetic.multiply)->bytes;
    if (bb_coded_matrix_low_rank_mesh(matrix) != NULL) {
        BB_TRY(bb_low_rank_stream_create(operation->device, matrix, &operation->low_rank));
    } else {
        BB_TRY(bb_coded_stream_create(operation->device, matrix, &operation->stream));
    }
    BB_TRY(bb_device_allocate(operation->device, (size_t)bb_coded_matrix_columns(matrix) * word,
                              &operation->device_x));
    BB_TRY(bb_device_allocate(operation->device,
                              (size_t)bb_coded_matrix_rows(matrix) * sizeof(double),
                              &operation->device_y));
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
    BB_TRY(BB_ZEROED(1, &operation));
    operation->device = device;
    operation->matrix = matrix;
    operation->arithmetic = arithmetic;
    operation->run = 1;
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
        bb_coded_stream_destroy(&whole->stream);
        bb_low_rank_stream_destroy(&whole->low_rank);
        bb_device_release(whole->device, &whole->device_x);
        bb_device_release(whole->device, &whole->device_y);
        BB_RELEASE(&whole->x_f32);
        BB_RELEASE(operation);
    }
}

bb_status bb_coded_operator_sum_in_runs(bb_coded_operator *operation, bb_index run)
{
    bb_status status = BB_OK;
    const bb_gemv_arithmetic *arithmetic = &operation->arithmetic;
    bool mixed = arithmetic->multiply == BB_FORMAT_FP32 && arithmetic->accumulate == BB_FORMAT_FP64;
    bool whole = run >= BB_GEMV_RUN_STEP && run <= BB_GEMV_RUN_MOST && run % BB_GEMV_RUN_STEP == 0;
    BB_REQUIRE(run == 1 || (mixed && whole), BB_UNSUPPORTED,
               "runs of %td products: expected 1, or for fp32 products and fp64 sums a multiple of "
               "%d up to %d",
               run, (int)BB_GEMV_RUN_STEP, (int)BB_GEMV_RUN_MOST);
    operation->run = run;
done:
    return status;
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

static bool fused_bfp8(const bb_coded_operator *operation)
{
    const bb_codec_config *config = bb_coded_matrix_config(operation->matrix);
    return config->codec == (int)BB_CODEC_BFP && config->bits == 8.0 && operation->x_f32 != NULL;
}

// Products of low-rank tiles take their x in fp64, rounded where products are narrower.
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
    BB_TRY(bb_low_rank_multiply(operation->device, operation->matrix, operation->arithmetic, row,
                                rows, rounded != NULL ? rounded : x, y));
done:
    BB_RELEASE(&rounded);
    return status;
}

static bb_status multiply_here(const bb_coded_operator *operation, bb_index row, bb_index rows,
                               const double *x, double *y)
{
    bb_status status = BB_OK;
    const bb_coded_matrix *matrix = operation->matrix;
    bb_index columns = bb_coded_matrix_columns(matrix);
    bool finite =
        operation->x_f32 != NULL && narrow_x(x, columns, operation->x_f32) && operation->finite;
    bb_coded_product plain = {.words = bb_coded_matrix_words(matrix, row),
                              .format = bb_coded_matrix_format(matrix),
                              .arithmetic = operation->arithmetic,
                              .run = operation->run,
                              .columns = columns,
                              .x = x,
                              .x_f32 = operation->x_f32,
                              .finite = finite,
                              .y = y};
    bb_piece_product pieces = {.matrix = matrix,
                               .arithmetic = operation->arithmetic,
                               .run = operation->run,
                               .row = row,
                               .rows = rows,
                               .x = x,
                               .x_f32 = operation->x_f32,
                               .finite = finite,
                               .y = y};
    if (bb_coded_matrix_low_rank_mesh(matrix) != NULL) {
        BB_TRY(multiply_tiles(operation, row, rows, x, y));
    } else if (plain.words != NULL) {
        BB_TRY(bb_device_launch(operation->device, &kernel, rows, &plain));
    } else if (fused_bfp8(operation)) {
        BB_TRY(bb_device_launch(operation->device, &bfp8_kernel, rows, &pieces));
    } else {
        BB_TRY(bb_device_launch(operation->device, &piece_kernel,
                                bb_coded_matrix_group_count(matrix), &pieces));
    }
    for (bb_index i = 0; i < rows; ++i) {
        y[i] /= bb_coded_matrix_row_scale(matrix, row + i);
    }
done:
    return status;
}

static bb_stream_sums sums_of(const bb_coded_operator *operation)
{
    const bb_gemv_arithmetic *arithmetic = &operation->arithmetic;
    return arithmetic->multiply == BB_FORMAT_FP64     ? BB_STREAM_WIDE
           : arithmetic->accumulate == BB_FORMAT_FP32 ? BB_STREAM_NARROW
           : operation->run > 1                       ? BB_STREAM_RUNS
                                                      : BB_STREAM_EACH;
}

static bb_stream_task task_of(const bb_coded_operator *operation, bb_index row, bb_index rows)
{
    bb_stream_task task = bb_coded_stream_task(operation->stream);
    task.row = row;
    task.rows = rows;
    task.run = (int)operation->run;
    task.sums = sums_of(operation);
    return task;
}

// A product of low-rank tiles on a GPU; exactly one of x and x_f32 is there.
typedef struct tile_product {
    const bb_coded_operator *operation;
    bb_index row;
    const double *x;
    const float *x_f32;
    double *y;
} tile_product;

// A launch takes a bounded number of bands, more than a slit touches.
static bb_status queue_tiles(void *stream, bb_index rows, void *arguments)
{
    tile_product of = *(const tile_product *)arguments;
    const bb_low_rank_stream *matrix = of.operation->low_rank;
    bb_low_rank_task task = {
        .sums = sums_of(of.operation), .count = 1, .cells = bb_low_rank_stream_cells(matrix)};
    while (rows > 0) {
        bb_index taken = bb_low_rank_stream_job(matrix, of.row, rows, &task.jobs[0]);
        task.jobs[0].x = of.x;
        task.jobs[0].x_f32 = of.x_f32;
        task.jobs[0].y = of.y;
        BB_RETURN_IF_FAILED(low_rank_kernel.cuda(stream, taken, &task));
        of.row += taken;
        of.y += taken;
        rows -= taken;
    }
    return BB_OK;
}

static const bb_kernel tile_kernel = {.name = "low_rank_products", .grain = 1, .cuda = queue_tiles};

static bb_status multiply_there(bb_coded_operator *operation, bb_index row, bb_index rows,
                                const double *x, double *y)
{
    bb_status status = BB_OK;
    bb_device *device = operation->device;
    size_t columns = (size_t)bb_coded_matrix_columns(operation->matrix);
    bool single = operation->x_f32 != NULL;
    if (single) {
        (void)narrow_x(x, (bb_index)columns, operation->x_f32);
        BB_TRY(bb_device_upload(device, operation->device_x, operation->x_f32,
                                columns * sizeof(float)));
    } else {
        BB_TRY(bb_device_upload(device, operation->device_x, x, columns * sizeof *x));
    }
    const double *x_there = single ? NULL : operation->device_x;
    const float *x_f32_there = single ? operation->device_x : NULL;
    if (operation->low_rank != NULL) {
        tile_product product = {operation, row, x_there, x_f32_there, operation->device_y};
        BB_TRY(bb_device_launch(device, &tile_kernel, rows, &product));
    } else {
        bb_stream_task task = task_of(operation, row, rows);
        task.x = x_there;
        task.x_f32 = x_f32_there;
        task.y = operation->device_y;
        BB_TRY(bb_device_launch(device, &stream_kernel, rows, &task));
    }
    BB_TRY(bb_device_download(device, y, operation->device_y, (size_t)rows * sizeof *y));
done:
    return status;
}

static bool on_cpu(const bb_coded_operator *operation)
{
    return operation->stream == NULL && operation->low_rank == NULL;
}

static bb_status check_rows(const bb_coded_operator *operation, bb_index row, bb_index rows)
{
    bb_status status = BB_OK;
    BB_REQUIRE(row >= 0 && rows >= 0 && rows <= bb_coded_matrix_rows(operation->matrix) - row,
               BB_INVALID, "rows %td to %td of a coded matrix of %td", row, row + rows,
               bb_coded_matrix_rows(operation->matrix));
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
    BB_TRY(on_cpu(operation) ? multiply_here(operation, row, rows, x, y)
                             : multiply_there(operation, row, rows, x, y));
    BB_TRY(bb_device_timer_stop(operation->device, &elapsed));
    *seconds += elapsed;
done:
    return status;
}

bb_status bb_coded_operator_queue(bb_coded_operator *operation, bb_index row, bb_index rows,
                                  const double *x, double *y, void *stream)
{
    bb_status status = BB_OK;
    BB_TRY(check_rows(operation, row, rows));
    BB_REQUIRE(!on_cpu(operation) && stream_kernel.cuda != NULL, BB_UNSUPPORTED,
               "a product is queued on a GPU: this operator is the cpu's");
    if (operation->low_rank != NULL) {
        tile_product product = {operation, row, x, NULL, y};
        BB_TRY(queue_tiles(stream, rows, &product));
    } else if (rows > 0) {
        bb_stream_task task = task_of(operation, row, rows);
        task.x = x;
        task.y = y;
        BB_TRY(stream_kernel.cuda(stream, rows, &task));
    }
done:
    return status;
}

size_t bb_coded_operator_bytes(const bb_coded_operator *operation)
{
    return operation->low_rank != NULL ? bb_low_rank_stream_bytes(operation->low_rank)
           : operation->stream != NULL ? bb_coded_stream_bytes(operation->stream)
                                       : bb_coded_matrix_bytes(operation->matrix);
}

double bb_coded_operator_flops(bb_index rows, bb_index columns)
{
    return 2.0 * (double)rows * (double)columns;
}
