// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/sum_rounding.h"

#include "core/memory.h"
#include "core/random.h"
#include "core/thread.h"
#include "sim/pipelines/narrow_sum.h"
#include "solvers/factor/tiles/tile_matrix.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum {
    BATCH = BB_NARROW_SUM_LANES, // draws per batch
    ROWS = 8,                    // rows of R per task
};

bb_status bb_sum_rounding_check(const bb_factor_pipeline *pipeline, bb_index index,
                                const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const char *const idle = pipeline->accumulate_run != BB_INTEGER_UNSET ? "accumulate_run"
                             : pipeline->multiply != (int)BB_FORMAT_FP64  ? "multiply"
                                                                          : NULL;
    BB_TRY(bb_study_refuse(idle != NULL && !bb_narrow_sum_is_given(pipeline), config, problems,
                           "pipelines[%td].%s: no effect with accumulate fp64", index, idle));
done:
    return status;
}

// Batch of draws.
typedef struct drawing {
    const bb_rounding_norm *norm;
    const bb_tile_matrix *factor;
    bb_index n, m;
    bb_index first;  // number of its first draw
    double *normals; // [n][BATCH] z
    double *slopes;  // [n][BATCH] s = L z, after the filter
    const double *r; // [m][n]
    bb_narrow_sum sum;
    double *errors; // [m][BATCH] d
} drawing;

// Draws normal values; draw d of slope j is item d n + j of the stream.
static bb_status draw_normals(void *context, bb_index begin, bb_index end)
{
    const drawing *work = context;
    for (bb_index j = begin; j < end; ++j) {
        for (bb_index d = 0; d < BATCH; ++d) {
            work->normals[j * BATCH + d] =
                bb_random_normal(work->norm->problem->seed, BB_STREAM_SUMMED_SLOPE,
                                 (uint64_t)((work->first + d) * work->n + j));
        }
    }
    return BB_OK;
}

// Computes a row of tiles of L z.
static bb_status multiply_tiles(void *context, bb_index begin, bb_index end)
{
    const drawing *work = context;
    const bb_index size = work->factor->tile_size;
    for (bb_index i = begin; i < end; ++i) {
        double *out = work->slopes + i * size * BATCH;
        const bb_tile *diagonal = bb_tile_matrix_at(work->factor, i, i);
        memcpy(out, work->normals + i * size * BATCH,
               (size_t)(diagonal->rows * BATCH) * sizeof *out);
        cblas_dtrmm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit,
                    (int)diagonal->rows, BATCH, 1.0, diagonal->f64, (int)diagonal->columns, out,
                    BATCH);
        for (bb_index j = 0; j < i; ++j) {
            const bb_tile *tile = bb_tile_matrix_at(work->factor, i, j);
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)tile->rows, BATCH,
                        (int)tile->columns, 1.0, tile->f64, (int)tile->columns,
                        work->normals + j * size * BATCH, BATCH, 1.0, out, BATCH);
        }
    }
    return BB_OK;
}

// Applies P to s, to remove the component of c (I - P) in a factor of P A P + c (I - P).
static bb_status filter_means(const drawing *work)
{
    bb_status status = BB_OK;
    const bb_slope_groups *groups = &work->norm->groups;
    double *means = NULL; // [groups][BATCH]
    BB_TRY(BB_ZEROED(groups->count * BATCH, &means));
    for (bb_index k = 0; k < work->n * BATCH; ++k) {
        const bb_index group = groups->group[k / BATCH];
        means[group * BATCH + k % BATCH] += work->slopes[k] / (double)groups->size[group];
    }
    for (bb_index k = 0; k < work->n * BATCH; ++k) {
        work->slopes[k] -= means[groups->group[k / BATCH] * BATCH + k % BATCH];
    }
done:
    BB_RELEASE(&means);
    return status;
}

// Computes narrow sums minus exact ones.
static bb_status sum_rows(void *context, bb_index begin, bb_index end)
{
    const drawing *work = context;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(end - begin), BATCH, (int)work->n,
                -1.0, work->r + begin * work->n, (int)work->n, work->slopes, BATCH, 0.0,
                work->errors + begin * BATCH, BATCH);
    for (bb_index i = begin; i < end; ++i) {
        float total[BATCH];
        bb_narrow_sum_lanes(&work->sum, work->n, work->r + i * work->n, work->slopes, BATCH, BATCH,
                            total);
        for (int d = 0; d < BATCH; ++d) {
            work->errors[i * BATCH + d] += (double)total[d];
        }
    }
    return BB_OK;
}

static bb_status draw_batch(drawing *work)
{
    bb_status status = BB_OK;
    BB_TRY(bb_thread_ranges(work->n, BATCH, draw_normals, work));
    BB_TRY(bb_thread_ranges(work->factor->tile_rows, 1, multiply_tiles, work));
    if (work->norm->is_filtered) {
        BB_TRY(filter_means(work));
    }
    BB_TRY(bb_thread_ranges(work->m, ROWS, sum_rows, work));
done:
    return status;
}

static bb_status add_draws(drawing *work, double *cee)
{
    bb_status status = BB_OK;
    const int m = (int)work->m;
    for (work->first = 0; work->first < BB_SUM_ROUNDING_DRAWS; work->first += BATCH) {
        BB_TRY(draw_batch(work));
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, m, BATCH,
                    1.0 / BB_SUM_ROUNDING_DRAWS, work->errors, BATCH, work->errors, BATCH, 1.0, cee,
                    m);
    }
done:
    return status;
}

bb_status bb_sum_rounding_add(bb_factor_storage *storage, const bb_factor_pipeline *pipeline,
                              bb_index m, const double *r, double *cee, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    bb_rounding_norm *norm = &storage->slopes[pipeline->filter == (int)BB_SLOPE_FILTER_MEANS];
    const bb_index n = norm->problem->matrix->rows;
    drawing work = {.norm = norm, .n = n, .m = m, .r = r};
    if (!bb_narrow_sum_is_given(pipeline) || outcome->kind != BB_OUTCOME_OK) {
        goto done;
    }
    BB_TRY(bb_rounding_norm_factor(norm));
    if (norm->outcome.kind != BB_OUTCOME_OK) {
        bb_outcome_set(outcome, norm->outcome.kind, "slopes for narrow sums: %.100s",
                       norm->outcome.detail);
        goto done;
    }
    work.factor = norm->factor;
    work.sum = bb_narrow_sum_of(pipeline, n);
    BB_TRY(BB_ALLOCATE(n * BATCH, &work.normals));
    BB_TRY(BB_ALLOCATE(n * BATCH, &work.slopes));
    BB_TRY(BB_ALLOCATE(m * BATCH, &work.errors));
    BB_TRY(add_draws(&work, cee));
done:
    BB_RELEASE(&work.normals);
    BB_RELEASE(&work.slopes);
    BB_RELEASE(&work.errors);
    return status;
}

bb_need bb_sum_rounding_need(bb_index n, bb_index m, double threads)
{
    const double values = (double)n * (double)m;
    const double square = 2.0 * (double)n * ((double)n + (double)m);
    return (bb_need){.host_bytes = sizeof(double) * BATCH * (2.0 * (double)n + (double)m),
                     .seconds = BB_SUM_ROUNDING_DRAWS *
                                (square / BB_NEED_FP64_RATE + values * 1.5e-9) / threads};
}
