// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/stored_rows.h"

#include "core/memory.h"
#include "core/thread.h"

#include <math.h>

enum {
    ROWS = 16,     // rows per task
    COLUMNS = 512, // columns per task
};

// Operands of a loop; unused ones are NULL.
typedef struct looping {
    bb_index m, n;
    double *r;            // [m][n]
    const double *values; // [m][n] input, if r is not written
    const double *scales; // [n] scales of columns, or [m] factors of a draw
    const double *sums;   // [m][groups]
    double *stored;       // [m][groups]
    double *lowest;       // [m]
    double *highest;      // [m]
    double *squares;      // [n]
    const bb_slope_groups *groups;
} looping;

static bb_status bound_rows(void *context, bb_index begin, bb_index end)
{
    const looping *work = context;
    for (bb_index i = begin; i < end; ++i) {
        work->lowest[i] = INFINITY;
        work->highest[i] = -INFINITY;
        for (bb_index j = 0; j < work->n; ++j) {
            work->lowest[i] = fmin(work->lowest[i], work->values[i * work->n + j]);
            work->highest[i] = fmax(work->highest[i], work->values[i * work->n + j]);
        }
    }
    return BB_OK;
}

bb_status bb_stored_rows_range(bb_index m, bb_index n, const double *r, double *out)
{
    bb_status status = BB_OK;
    double *bounds = NULL; // [2][m]
    double lowest = INFINITY;
    double highest = -INFINITY;
    BB_TRY(BB_ALLOCATE(2 * m, &bounds));
    looping work = {.m = m, .n = n, .values = r, .lowest = bounds, .highest = bounds + m};
    BB_TRY(bb_thread_ranges(m, ROWS, bound_rows, &work));
    for (bb_index i = 0; i < m; ++i) {
        lowest = fmin(lowest, work.lowest[i]);
        highest = fmax(highest, work.highest[i]);
    }
    *out = highest - lowest;
done:
    BB_RELEASE(&bounds);
    return status;
}

static bb_status multiply_columns(void *context, bb_index begin, bb_index end)
{
    const looping *work = context;
    const double *scales = work->scales;
    double *r = work->r;
    const bb_index n = work->n;
    for (bb_index i = begin; i < end; ++i) {
        for (bb_index j = 0; j < n; ++j) {
            r[i * n + j] *= scales[j];
        }
    }
    return BB_OK;
}

bb_status bb_stored_rows_multiply(const double *scales, bb_index m, bb_index n, double *r)
{
    looping work = {.m = m, .n = n, .r = r, .scales = scales};
    return bb_thread_ranges(m, ROWS, multiply_columns, &work);
}

static bb_status divide_columns(void *context, bb_index begin, bb_index end)
{
    const looping *work = context;
    for (bb_index i = begin; i < end; ++i) {
        for (bb_index j = 0; j < work->n; ++j) {
            work->r[i * work->n + j] /= work->scales[j];
        }
    }
    return BB_OK;
}

bb_status bb_stored_rows_divide(const double *scales, bb_index m, bb_index n, double *r)
{
    looping work = {.m = m, .n = n, .r = r, .scales = scales};
    return bb_thread_ranges(m, ROWS, divide_columns, &work);
}

static bb_status multiply_rows(void *context, bb_index begin, bb_index end)
{
    const looping *work = context;
    for (bb_index i = begin; i < end; ++i) {
        for (bb_index j = 0; j < work->n; ++j) {
            work->r[i * work->n + j] *= work->scales[i];
        }
    }
    return BB_OK;
}

bb_status bb_stored_rows_draw(const double *factors, bb_index m, bb_index n, double *r)
{
    looping work = {.m = m, .n = n, .r = r, .scales = factors};
    return factors == NULL ? BB_OK : bb_thread_ranges(m, ROWS, multiply_rows, &work);
}

static bb_status divide_rows(void *context, bb_index begin, bb_index end)
{
    const looping *work = context;
    for (bb_index i = begin; i < end; ++i) {
        for (bb_index j = 0; j < work->n; ++j) {
            work->r[i * work->n + j] /= work->scales[i];
        }
    }
    return BB_OK;
}

bb_status bb_stored_rows_undraw(const double *factors, bb_index m, bb_index n, double *r)
{
    looping work = {.m = m, .n = n, .r = r, .scales = factors};
    return factors == NULL ? BB_OK : bb_thread_ranges(m, ROWS, divide_rows, &work);
}

static bb_status sum_rows(void *context, bb_index begin, bb_index end)
{
    const looping *work = context;
    const bb_slope_groups *groups = work->groups;
    double *out = work->stored;
    for (bb_index i = begin; i < end; ++i) {
        for (bb_index k = 0; k < groups->count; ++k) {
            out[i * groups->count + k] = 0.0;
        }
        for (bb_index j = 0; j < work->n; ++j) {
            out[i * groups->count + groups->group[j]] += work->values[i * work->n + j];
        }
    }
    return BB_OK;
}

bb_status bb_stored_rows_sum(const bb_slope_groups *groups, bb_index m, bb_index n, const double *r,
                             double *out)
{
    looping work = {.m = m, .n = n, .values = r, .stored = out, .groups = groups};
    return bb_thread_ranges(m, ROWS, sum_rows, &work);
}

static bb_status set_rows(void *context, bb_index begin, bb_index end)
{
    const looping *work = context;
    const bb_slope_groups *groups = work->groups;
    const double *sums = work->sums;
    const double *stored = work->stored;
    for (bb_index i = begin; i < end; ++i) {
        for (bb_index j = 0; j < work->n; ++j) {
            const bb_index group = groups->group[j];
            const bb_index place = i * groups->count + group;
            work->r[i * work->n + j] +=
                ((double)(float)sums[place] - stored[place]) / (double)groups->size[group];
        }
    }
    return BB_OK;
}

bb_status bb_stored_rows_set_means(const bb_slope_groups *groups, bb_index m, bb_index n,
                                   const double *sums, double *r)
{
    bb_status status = BB_OK;
    looping work = {.m = m, .n = n, .r = r, .sums = sums, .groups = groups}; // `stored` is Q V
    BB_TRY(BB_ALLOCATE(m * groups->count, &work.stored));
    BB_TRY(bb_stored_rows_sum(groups, m, n, r, work.stored));
    BB_TRY(bb_thread_ranges(m, ROWS, set_rows, &work));
done:
    BB_RELEASE(&work.stored);
    return status;
}

static bb_status square_columns(void *context, bb_index begin, bb_index end)
{
    const looping *work = context;
    for (bb_index j = begin; j < end; ++j) {
        work->squares[j] = 0.0;
    }
    for (bb_index i = 0; i < work->m; ++i) {
        const double *row = work->values + i * work->n;
        for (bb_index j = begin; j < end; ++j) {
            work->squares[j] += row[j] * row[j];
        }
    }
    for (bb_index j = begin; j < end; ++j) {
        work->squares[j] = sqrt(work->squares[j] / (double)work->m);
    }
    return BB_OK;
}

bb_status bb_stored_rows_column_rms(bb_index m, bb_index n, const double *r, double *out)
{
    looping work = {.m = m, .n = n, .values = r, .squares = out};
    return bb_thread_ranges(n, COLUMNS, square_columns, &work);
}
