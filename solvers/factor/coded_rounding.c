// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/coded_rounding.h"

#include "core/memory.h"
#include "core/thread.h"

#include <string.h>

enum { ROWS = 16 }; // rows per task

// Operands of a loop over rows.
typedef struct looping {
    bb_coded_matrix *matrix;
    const bb_index *clips; // [m] or NULL
    double *r;             // [m][n]
} looping;

static bb_status fix_rows(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const looping *work = context;
    const bb_index n = bb_coded_matrix_columns(work->matrix);
    for (bb_index i = begin; i < end; ++i) {
        const double *values = work->r + i * n;
        BB_TRY(work->clips == NULL
                   ? bb_coded_matrix_fix_row(work->matrix, i, values)
                   : bb_coded_matrix_clip_row(work->matrix, i, work->clips[i], values));
    }
done:
    return status;
}

static bb_status encode_rows(void *context, bb_index begin, bb_index end)
{
    const looping *work = context;
    const bb_index n = bb_coded_matrix_columns(work->matrix);
    return bb_coded_matrix_encode_fixed(work->matrix, begin,
                                        bb_view_matrix(work->r + begin * n, end - begin, n));
}

// Rounding callbacks for the columns of a matrix with fixed rows.
static double round_value(const void *context, bb_index row, bb_index column, double value)
{
    return bb_coded_matrix_round(*(bb_coded_matrix *const *)context, row, column, value);
}

static void fix_block(const void *context, bb_index row, bb_index column, bb_index count,
                      const double *values)
{
    bb_coded_matrix_fix_block(*(bb_coded_matrix *const *)context, row, column, count, values);
}

// Selects the clip of each row with the smallest error in the norm, by trying each in a sweep of a
// copy.
static bb_status choose_clips(const bb_rounding_in_norm *norm, const bb_rounding_step *step,
                              const looping *rows)
{
    bb_status status = BB_OK;
    const bb_index m = bb_coded_matrix_rows(rows->matrix);
    const bb_index values = m * bb_coded_matrix_columns(rows->matrix);
    const bb_index count = bb_codec_clip_count(bb_coded_matrix_config(rows->matrix));
    double *copy = NULL;    // [m][n]
    double *excess = NULL;  // [2][m] of the current clip, and the smallest so far
    bb_index *clips = NULL; // [2][m] the clips with these errors
    BB_TRY(BB_ALLOCATE(values, &copy));
    BB_TRY(BB_ALLOCATE(2 * m, &excess));
    BB_TRY(BB_ZEROED(2 * m, &clips));
    looping work = *rows;
    work.clips = clips;
    for (bb_index clip = 0; clip < count; ++clip) {
        for (bb_index i = 0; i < m; ++i) {
            clips[i] = clip;
        }
        BB_TRY(bb_thread_ranges(m, ROWS, fix_rows, &work));
        memcpy(copy, rows->r, (size_t)values * sizeof *copy);
        BB_TRY(norm->sweep(norm->context, step, m, copy, excess));
        for (bb_index i = 0; i < m; ++i) {
            if (clip == 0 || excess[i] < excess[m + i]) {
                excess[m + i] = excess[i];
                clips[m + i] = clip;
            }
        }
    }
    work.clips = clips + m;
    BB_TRY(bb_thread_ranges(m, ROWS, fix_rows, &work));
done:
    BB_RELEASE(&copy);
    BB_RELEASE(&excess);
    BB_RELEASE(&clips);
    return status;
}

bb_status bb_coded_rounding_run(const bb_rounding_in_norm *norm, bb_coded_matrix *matrix, double *r,
                                double *excess)
{
    bb_status status = BB_OK;
    const bb_codec_config *config = bb_coded_matrix_config(matrix);
    const bb_index m = bb_coded_matrix_rows(matrix);
    looping work = {.matrix = matrix, .r = r};
    const bb_rounding_step step = {.round = round_value,
                                   .context = &matrix,
                                   .block = bb_codec_rounding_block(config),
                                   .enter = fix_block,
                                   .scales = norm->scales};
    BB_TRY(bb_codec_clip_count(config) > 1 ? choose_clips(norm, &step, &work)
                                           : bb_thread_ranges(m, ROWS, fix_rows, &work));
    BB_TRY(norm->sweep(norm->context, &step, m, r, excess));
    BB_TRY(bb_thread_ranges(m, ROWS, encode_rows, &work));
done:
    return status;
}
