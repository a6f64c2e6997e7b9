// SPDX-License-Identifier: Apache-2.0
#include "solvers/step/narrow_matrix.h"

#include "core/memory.h"
#include "core/thread.h"
#include "precision/scaling.h"

enum { GRAIN = 1024, ROUND_GRAIN = 16384 };
static const double LARGEST_COEFFICIENT = 0x1p14;

// Only fp16 is scaled: the other formats have the exponent range of fp32.
static double round_scaled(bb_format format, double scale, double value)
{
    return format == BB_FORMAT_FP16 ? bb_format_round(format, value * scale) / scale
                                    : bb_format_round(format, value);
}

double bb_narrow_formats_store(const bb_narrow_formats *formats, double value)
{
    return round_scaled(formats->storage, formats->scale, value);
}

double bb_narrow_formats_operand(const bb_narrow_formats *formats, double value)
{
    return round_scaled(formats->arithmetic, formats->scale, value);
}

double bb_narrow_formats_add(const bb_narrow_formats *formats, double a, double b)
{
    return formats->arithmetic == BB_FORMAT_FP64 ? a + b : (double)((float)a + (float)b);
}

double bb_narrow_formats_multiply(const bb_narrow_formats *formats, double a, double b)
{
    return formats->arithmetic == BB_FORMAT_FP64 ? a * b : (double)((float)a * (float)b);
}

// Rounds values to a format, in place or into floats.
typedef struct rounding {
    bb_format format;
    double scale;
    const double *values;
    double *wide;  // NULL: not needed
    float *narrow; // NULL: not needed
} rounding;

static bb_status round_range(void *context, bb_index begin, bb_index end)
{
    enum { CHUNK = 256 };
    const rounding *work = context;
    const double scale = work->format == BB_FORMAT_FP16 ? work->scale : 1.0;
    for (bb_index first = begin; first < end; first += CHUNK) {
        const bb_index count = end - first < CHUNK ? end - first : CHUNK;
        double scaled[CHUNK];
        float rounded[CHUNK];
        for (bb_index i = 0; i < count; ++i) {
            scaled[i] = work->values[first + i] * scale;
        }
        (void)bb_format_narrow(work->format, scaled, count, rounded);
        for (bb_index i = 0; work->wide != NULL && i < count; ++i) {
            work->wide[first + i] = (double)rounded[i] / scale;
        }
        for (bb_index i = 0; work->narrow != NULL && i < count; ++i) {
            work->narrow[first + i] = (float)((double)rounded[i] / scale);
        }
    }
    return BB_OK;
}

bb_status bb_narrow_formats_store_all(const bb_narrow_formats *formats, bb_index count,
                                      double *values)
{
    rounding work = {formats->storage, formats->scale, values, values, NULL};
    return formats->storage == BB_FORMAT_FP64
               ? BB_OK
               : bb_thread_ranges(count, ROUND_GRAIN, round_range, &work);
}

struct bb_narrow_matrix {
    bb_csr matrix; // borrowed indices; stored values, if sums are in fp64
    bb_narrow_formats formats;
    double scale; // scale of fp16 coefficients
    float *value; // operands of fp32 sums
    float *x;     // [columns] operands of fp32 sums
};

bb_status bb_narrow_matrix_create(const bb_csr *matrix, const bb_narrow_formats *formats,
                                  bb_narrow_matrix **out)
{
    bb_status status = BB_OK;
    bb_narrow_matrix *narrow = NULL;
    const bb_index entries = bb_csr_nonzeros(matrix);
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &narrow));
    narrow->matrix = *matrix;
    narrow->matrix.value = NULL;
    narrow->formats = *formats;
    narrow->scale = bb_scaling_row_to(LARGEST_COEFFICIENT, matrix->value, entries);
    const bool wide = formats->arithmetic == BB_FORMAT_FP64;
    if (wide) {
        BB_TRY(BB_ALLOCATE(entries, &narrow->matrix.value));
    } else {
        BB_TRY(BB_ALLOCATE(entries, &narrow->value));
        BB_TRY(BB_ALLOCATE(matrix->columns, &narrow->x));
    }
    for (bb_index i = 0; i < entries; ++i) {
        const double stored = round_scaled(formats->storage, narrow->scale, matrix->value[i]);
        if (wide) {
            narrow->matrix.value[i] = stored;
        } else {
            narrow->value[i] = (float)round_scaled(formats->arithmetic, narrow->scale, stored);
        }
    }
    *out = narrow;
    narrow = NULL;
done:
    bb_narrow_matrix_destroy(&narrow);
    return status;
}

void bb_narrow_matrix_destroy(bb_narrow_matrix **matrix)
{
    if (*matrix != NULL) {
        BB_RELEASE(&(*matrix)->matrix.value);
        BB_RELEASE(&(*matrix)->value);
        BB_RELEASE(&(*matrix)->x);
        BB_RELEASE(matrix);
    }
}

bb_need bb_narrow_matrix_need(double entries, double columns)
{
    return (bb_need){.host_bytes = sizeof(bb_narrow_matrix) + entries * sizeof(double) +
                                   columns * sizeof(float)};
}

typedef struct product {
    const bb_narrow_matrix *matrix;
    double *y;
} product;

// Same order of sums as core/csr.c, in fp32.
static bb_status multiply_range(void *context, bb_index begin, bb_index end)
{
    const product *task = context;
    const float *x = task->matrix->x;
    const float *value = task->matrix->value;
    const int32_t *column = task->matrix->matrix.column;
    const bb_index *row_start = task->matrix->matrix.row_start;
    bb_index i = row_start[begin];
    for (bb_index row = begin; row < end; ++row) {
        const bb_index last = row_start[row + 1];
        float sum_0 = 0.0F, sum_1 = 0.0F, sum_2 = 0.0F, sum_3 = 0.0F;
        for (; i + 4 <= last; i += 4) {
            sum_0 += value[i] * x[column[i]];
            sum_1 += value[i + 1] * x[column[i + 1]];
            sum_2 += value[i + 2] * x[column[i + 2]];
            sum_3 += value[i + 3] * x[column[i + 3]];
        }
        for (; i < last; ++i) {
            sum_0 += value[i] * x[column[i]];
        }
        task->y[row] = (double)((sum_0 + sum_2) + (sum_1 + sum_3));
    }
    return BB_OK;
}

bb_status bb_narrow_matrix_multiply(bb_narrow_matrix *matrix, const double *x, double *y)
{
    bb_status status = BB_OK;
    const bb_narrow_formats *formats = &matrix->formats;
    product task = {matrix, y};
    if (formats->arithmetic == BB_FORMAT_FP64) {
        return bb_csr_multiply(&matrix->matrix, x, y);
    }
    rounding work = {formats->arithmetic, formats->scale, x, NULL, matrix->x};
    BB_TRY(bb_thread_ranges(matrix->matrix.columns, ROUND_GRAIN, round_range, &work));
    BB_TRY(bb_thread_ranges(matrix->matrix.rows, GRAIN, multiply_range, &task));
done:
    return status;
}

double bb_narrow_matrix_coefficient(const bb_narrow_matrix *matrix, double value)
{
    const double stored = round_scaled(matrix->formats.storage, matrix->scale, value);
    return round_scaled(matrix->formats.arithmetic, matrix->scale, stored);
}
