// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/slope_rounding.h"

#include "core/memory.h"
#include "core/thread.h"
#include "precision/format.h"

#include <cblas.h>
#include <math.h>

enum { ROWS = 32 }; // rows of a residual per task

// clang-format off
static const bb_key keys[] = {
    {.name = "format", .kind = BB_KEY_CHOICE, .choices = bb_format_names, .optional = true,
     .offset = offsetof(bb_slope_config, format), .replaces = {"bits"},
     .meaning = "Format that slopes are rounded to; unset, without bits: fp64."},
    {.name = "bits", .kind = BB_KEY_INTEGER, .unit = "bit", .minimum = 2.0, .maximum = 32.0,
     .optional = true, .offset = offsetof(bb_slope_config, bits), .replaces = {"format"},
     .meaning = "Alternative to a format: 2^bits equal steps over a range."},
    {.name = "range_sigmas", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 1.0, .maximum = 100.0,
     .default_text = "5.0", .offset = offsetof(bb_slope_config, range_sigmas),
     .meaning = "bits: half of the range, in units of the largest standard deviation of a slope."},
};
// clang-format on
const bb_schema bb_slope_schema = BB_SCHEMA("slopes", bb_slope_config, keys);

static bool counts_steps(const bb_slope_config *slopes)
{
    return slopes->bits != BB_INTEGER_UNSET;
}

bb_status bb_slope_rounding_check(const bb_factor_pipeline *pipeline, bb_index index,
                                  const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_slope_config *slopes = &pipeline->slopes;
    BB_TRY(bb_study_refuse(
        counts_steps(slopes) && slopes->format >= 0, config, problems,
        "pipelines[%td].slopes: both format and bits are given, expected one of them", index));
done:
    return status;
}

double bb_slope_rounding_step(const bb_slope_config *slopes, bb_index n, const double *deviations)
{
    double largest = 0.0;
    for (bb_index j = 0; j < n; ++j) {
        largest = fmax(largest, deviations[j]);
    }
    return counts_steps(slopes) ? 2.0 * slopes->range_sigmas * largest / exp2((double)slopes->bits)
                                : 0.0;
}

// Computes the error variances D from the variances, in place.
static void find_errors(const bb_slope_config *slopes, bb_index n, double *variances)
{
    for (bb_index j = 0; j < n; ++j) {
        variances[j] = sqrt(variances[j]);
    }
    const double step = bb_slope_rounding_step(slopes, n, variances);
    for (bb_index j = 0; j < n; ++j) {
        variances[j] = counts_steps(slopes)
                           ? step * step / 12.0
                           : bb_format_normal_error((bb_format)slopes->format, variances[j]);
    }
}

typedef struct adding {
    bb_index m, n;
    const double *r, *errors;
    double *cee;
} adding;

static bb_status add_rows(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const adding *work = context;
    const bb_index n = work->n;
    double *weighted = NULL; // [end - begin][n] R D
    BB_TRY(BB_ALLOCATE((end - begin) * n, &weighted));
    for (bb_index i = begin; i < end; ++i) {
        for (bb_index j = 0; j < n; ++j) {
            weighted[(i - begin) * n + j] = work->r[i * n + j] * work->errors[j];
        }
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(end - begin), (int)work->m, (int)n,
                1.0, weighted, (int)n, work->r, (int)n, 1.0, work->cee + begin * work->m,
                (int)work->m);
done:
    BB_RELEASE(&weighted);
    return status;
}

bool bb_slope_rounding_is_given(const bb_factor_pipeline *pipeline)
{
    return counts_steps(&pipeline->slopes) || pipeline->slopes.format >= 0;
}

bb_status bb_slope_rounding_add(bb_factor_storage *storage, const bb_factor_pipeline *pipeline,
                                bb_index m, const double *r, double *cee)
{
    bb_status status = BB_OK;
    bb_rounding_norm *norm = &storage->norms[pipeline->filter == (int)BB_SLOPE_FILTER_MEANS];
    const bb_index n = norm->problem->matrix->rows;
    double *errors = NULL;
    if (!bb_slope_rounding_is_given(pipeline)) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(n, &errors));
    BB_TRY(bb_rounding_norm_variances(norm, errors));
    find_errors(&pipeline->slopes, n, errors);
    adding work = {m, n, r, errors, cee};
    BB_TRY(bb_thread_ranges(m, ROWS, add_rows, &work));
done:
    BB_RELEASE(&errors);
    return status;
}
