// SPDX-License-Identifier: Apache-2.0
#include "solvers/coded_gemv.h"

#include "core/memory.h"
#include "core/portable.h"
#include "core/thread.h"

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

typedef struct product {
    const bb_coded_matrix *matrix;
    bb_gemv_arithmetic arithmetic;
    bb_index row;
    const double *x;
    const float *x_f32; // x rounded, where products are fp32
    double *y;
} product;

static double row_fp64(const product *task, bb_index row)
{
    double c[CHUNK];
    double lanes[LANES] = {0.0};
    bb_index columns = bb_coded_matrix_columns(task->matrix);
    for (bb_index j = 0; j < columns; j += CHUNK) {
        bb_index count = columns - j < CHUNK ? columns - j : CHUNK;
        bb_coded_matrix_decode(task->matrix, row, j, count, c);
        add_fp64(c, task->x + j, count, lanes);
    }
    return reduce_fp64(lanes);
}

static void decode_rounded(const bb_coded_matrix *matrix, bb_index row, bb_index column,
                           bb_index count, float *c)
{
    double wide[CHUNK];
    if (bb_coded_matrix_fits_f32(matrix)) {
        bb_coded_matrix_decode_f32(matrix, row, column, count, c);
        return;
    }
    bb_coded_matrix_decode(matrix, row, column, count, wide);
    for (bb_index i = 0; i < count; ++i) {
        c[i] = (float)wide[i];
    }
}

static double row_fp32(const product *task, bb_index row)
{
    float c[CHUNK];
    float lanes[LANES] = {0.0F};
    double wide_lanes[LANES] = {0.0};
    bool wide = task->arithmetic.accumulate == BB_FORMAT_FP64;
    bb_index columns = bb_coded_matrix_columns(task->matrix);
    for (bb_index j = 0; j < columns; j += CHUNK) {
        bb_index count = columns - j < CHUNK ? columns - j : CHUNK;
        decode_rounded(task->matrix, row, j, count, c);
        if (wide) {
            add_fp32_in_fp64(c, task->x_f32 + j, count, wide_lanes);
        } else {
            add_fp32(c, task->x_f32 + j, count, lanes);
        }
    }
    return wide ? reduce_fp64(wide_lanes) : (double)reduce_fp32(lanes);
}

static bb_status multiply_row(void *context, bb_index i)
{
    const product *task = context;
    bb_index row = task->row + i;
    double sum =
        task->arithmetic.multiply == BB_FORMAT_FP64 ? row_fp64(task, row) : row_fp32(task, row);
    task->y[i] = sum / bb_coded_matrix_row_scale(task->matrix, row);
    return BB_OK;
}

bb_status bb_coded_gemv(const bb_coded_matrix *matrix, bb_gemv_arithmetic arithmetic, bb_index row,
                        bb_index rows, const double *x, double *y)
{
    bb_status status = BB_OK;
    float *x_f32 = NULL;
    bb_index columns = bb_coded_matrix_columns(matrix);
    BB_REQUIRE(row >= 0 && rows >= 0 && rows <= bb_coded_matrix_rows(matrix) - row, BB_INVALID,
               "rows %td to %td of a coded matrix of %td", row, row + rows,
               bb_coded_matrix_rows(matrix));
    BB_REQUIRE(arithmetic.multiply <= BB_FORMAT_FP32 &&
                   arithmetic.accumulate <= arithmetic.multiply,
               BB_UNSUPPORTED,
               "multiply %s with accumulate %s: expected fp64 or fp32, sums no "
               "narrower than products",
               bb_format_names[arithmetic.multiply], bb_format_names[arithmetic.accumulate]);
    if (arithmetic.multiply == BB_FORMAT_FP32) {
        BB_TRY(BB_ALLOCATE(columns, &x_f32));
        for (bb_index j = 0; j < columns; ++j) {
            x_f32[j] = (float)x[j];
        }
    }
    product task = {matrix, arithmetic, row, x, x_f32, y};
    BB_TRY(bb_parallel_for(rows, multiply_row, &task));
done:
    BB_RELEASE(&x_f32);
    return status;
}

double bb_coded_gemv_flops(bb_index rows, bb_index columns)
{
    return 2.0 * (double)rows * (double)columns;
}
