// SPDX-License-Identifier: Apache-2.0
#include "solvers/coded_operator.h"

#include "core/memory.h"
#include "core/portable.h"

enum { LANES = 16, CHUNK = 512 };

// The three products; `count` is a multiple of LANES except in the last chunk of a row.
BB_CLONES static void add_fp64(const double *c, const double *x, bb_index count, double *lanes)
{
    bb_index whole = count / LANES * LANES;
    for (bb_index j = 0; j < whole; j += LANES) {
        for (int l = 0; l < LANES; ++l) {
            lanes[l] += c[j + l] * x[j + l];
        }
    }
    for (bb_index j = whole; j < count; ++j) {
        lanes[j - whole] += c[j] * x[j];
    }
}

BB_CLONES static void add_fp32_in_fp64(const float *c, const float *x, bb_index count,
                                       double *lanes)
{
    bb_index whole = count / LANES * LANES;
    for (bb_index j = 0; j < whole; j += LANES) {
        for (int l = 0; l < LANES; ++l) {
            lanes[l] += (double)(c[j + l] * x[j + l]);
        }
    }
    for (bb_index j = whole; j < count; ++j) {
        lanes[j - whole] += (double)(c[j] * x[j]);
    }
}

BB_CLONES static void add_fp32(const float *c, const float *x, bb_index count, float *lanes)
{
    bb_index whole = count / LANES * LANES;
    for (bb_index j = 0; j < whole; j += LANES) {
        for (int l = 0; l < LANES; ++l) {
            lanes[l] += c[j + l] * x[j + l];
        }
    }
    for (bb_index j = whole; j < count; ++j) {
        lanes[j - whole] += c[j] * x[j];
    }
}

static double reduce_fp64(double *lanes)
{
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) {
            lanes[l] += lanes[l + half];
        }
    }
    return lanes[0];
}

static float reduce_fp32(float *lanes)
{
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) {
            lanes[l] += lanes[l + half];
        }
    }
    return lanes[0];
}

static const char *words_at(const bb_coded_product *task, bb_index row, bb_index column)
{
    bb_index word = bb_format_describe(task->format)->bytes;
    return (const char *)task->words + (row * task->columns + column) * word;
}

static double row_fp64(const bb_coded_product *task, bb_index row)
{
    double c[CHUNK];
    double lanes[LANES] = {0.0};
    for (bb_index j = 0; j < task->columns; j += CHUNK) {
        bb_index count = task->columns - j < CHUNK ? task->columns - j : CHUNK;
        bb_format_decode(task->format, words_at(task, row, j), count, c);
        add_fp64(c, task->x + j, count, lanes);
    }
    return reduce_fp64(lanes);
}

static void decode_rounded(const bb_coded_product *task, bb_index row, bb_index column,
                           bb_index count, float *c)
{
    const char *words = words_at(task, row, column);
    if (task->format != BB_FORMAT_FP64) {
        bb_format_decode_f32(task->format, words, count, c);
        return;
    }
    for (bb_index i = 0; i < count; ++i) {
        c[i] = (float)((const double *)(const void *)words)[i];
    }
}

static double row_fp32(const bb_coded_product *task, bb_index row)
{
    float c[CHUNK];
    float lanes[LANES] = {0.0F};
    double wide_lanes[LANES] = {0.0};
    bool wide = task->arithmetic.accumulate == BB_FORMAT_FP64;
    for (bb_index j = 0; j < task->columns; j += CHUNK) {
        bb_index count = task->columns - j < CHUNK ? task->columns - j : CHUNK;
        decode_rounded(task, row, j, count, c);
        if (wide) {
            add_fp32_in_fp64(c, task->x_f32 + j, count, wide_lanes);
        } else {
            add_fp32(c, task->x_f32 + j, count, lanes);
        }
    }
    return wide ? reduce_fp64(wide_lanes) : (double)reduce_fp32(lanes);
}

static bb_status multiply_rows(void *context, bb_index begin, bb_index end)
{
    const bb_coded_product *task = context;
    for (bb_index row = begin; row < end; ++row) {
        task->y[row] =
            task->arithmetic.multiply == BB_FORMAT_FP64 ? row_fp64(task, row) : row_fp32(task, row);
    }
    return BB_OK;
}

static const bb_kernel kernel = {.name = "coded_product",
                                 .grain = 1,
                                 .cpu = multiply_rows,
                                 .cuda = BB_CUDA_TWIN(bb_coded_product_cuda)};

// Codecs that decode in pieces. The lanes are those of a whole row, wherever a piece begins.
typedef struct piece_product {
    const bb_coded_matrix *matrix;
    bb_gemv_arithmetic arithmetic;
    bb_index row, rows; // wanted
    const double *x;
    const float *x_f32;
    double *y; // [rows]
} piece_product;

static void add_piece_fp64(const double *c, const double *x, bb_index column, bb_index count,
                           double *lanes)
{
    bb_index head = (LANES - column % LANES) % LANES;
    head = head < count ? head : count;
    for (bb_index j = 0; j < head; ++j) {
        lanes[(column + j) % LANES] += c[j] * x[column + j];
    }
    add_fp64(c + head, x + column + head, count - head, lanes);
}

static void add_piece_fp32(const float *c, const float *x, bb_index column, bb_index count,
                           double *wide_lanes, float *lanes)
{
    bb_index head = (LANES - column % LANES) % LANES;
    head = head < count ? head : count;
    for (bb_index j = 0; j < head; ++j) {
        float product = c[j] * x[column + j];
        if (wide_lanes != NULL) {
            wide_lanes[(column + j) % LANES] += (double)product;
        } else {
            lanes[(column + j) % LANES] += product;
        }
    }
    if (wide_lanes != NULL) {
        add_fp32_in_fp64(c + head, x + column + head, count - head, wide_lanes);
    } else {
        add_fp32(c + head, x + column + head, count - head, lanes);
    }
}

static void multiply_group(const piece_product *task, bb_index group, void *piece)
{
    bb_index rows[BB_GROUP_ROWS];
    double wide_lanes[BB_GROUP_ROWS][LANES] = {{0.0}};
    float lanes[BB_GROUP_ROWS][LANES] = {{0.0F}};
    bool wide = task->arithmetic.accumulate == BB_FORMAT_FP64;
    bb_index count = bb_coded_matrix_group_rows(task->matrix, group, rows);
    bb_index columns = bb_coded_matrix_columns(task->matrix);
    bb_index stride = bb_coded_matrix_piece_columns(task->matrix);
    for (bb_index j = 0; j < columns; j += stride) {
        bb_index here = columns - j < stride ? columns - j : stride;
        if (task->x_f32 == NULL) {
            bb_coded_matrix_decode_f64(task->matrix, group, j / stride, piece);
        } else {
            bb_coded_matrix_decode_f32(task->matrix, group, j / stride, piece);
        }
        for (bb_index i = 0; i < count; ++i) {
            if (task->x_f32 == NULL) {
                add_piece_fp64((double *)piece + i * stride, task->x, j, here, wide_lanes[i]);
            } else {
                add_piece_fp32((float *)piece + i * stride, task->x_f32, j, here,
                               wide ? wide_lanes[i] : NULL, lanes[i]);
            }
        }
    }
    for (bb_index i = 0; i < count; ++i) {
        if (rows[i] >= task->row && rows[i] < task->row + task->rows) {
            task->y[rows[i] - task->row] =
                wide ? reduce_fp64(wide_lanes[i]) : (double)reduce_fp32(lanes[i]);
        }
    }
}

static bb_status multiply_groups(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const piece_product *task = context;
    bb_index stride = bb_coded_matrix_piece_columns(task->matrix);
    double *piece = NULL;
    for (bb_index group = begin; group < end; ++group) {
        bb_index rows[BB_GROUP_ROWS];
        bb_index count = bb_coded_matrix_group_rows(task->matrix, group, rows);
        bool wanted = false;
        for (bb_index i = 0; i < count; ++i) {
            wanted = wanted || (rows[i] >= task->row && rows[i] < task->row + task->rows);
        }
        if (wanted) {
            if (piece == NULL) {
                BB_TRY(BB_ALLOCATE(BB_GROUP_ROWS * stride, &piece));
            }
            multiply_group(task, group, piece);
        }
    }
done:
    BB_RELEASE(&piece);
    return status;
}

static const bb_kernel piece_kernel = {
    .name = "coded_piece_product", .grain = 1, .cpu = multiply_groups};

struct bb_coded_operator {
    bb_device *device;
    const bb_coded_matrix *matrix;
    bb_gemv_arithmetic arithmetic;
    float *x_f32;       // [columns] on the host, NULL for fp64 products
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
    for (bb_index j = 0; narrow && j < columns; ++j) {
        operation->x_f32[j] = (float)x[j];
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
        piece_product pieces = {.matrix = operation->matrix,
                                .arithmetic = operation->arithmetic,
                                .row = row,
                                .rows = rows,
                                .x = x,
                                .x_f32 = operation->x_f32,
                                .y = y};
        BB_TRY(bb_device_launch(operation->device, &piece_kernel,
                                bb_coded_matrix_group_count(operation->matrix), &pieces));
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
