// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/stored_product.h"

#include "core/memory.h"
#include "sim/pipelines/slope_rounding.h"
#include "sim/pipelines/stored_rows.h"
#include "solvers/loop/command_loop_core.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

bool bb_stored_product_is_given(const bb_factor_pipeline *pipeline)
{
    return bb_slope_rounding_is_given(pipeline) || bb_narrow_sum_is_given(pipeline);
}

static bb_status find_step(bb_rounding_norm *norm, bb_stored_product *self)
{
    bb_status status = BB_OK;
    double *deviations = NULL; // [n]
    BB_TRY(BB_ALLOCATE(self->n, &deviations));
    BB_TRY(bb_rounding_norm_variances(norm, deviations));
    for (bb_index j = 0; j < self->n; ++j) {
        deviations[j] = sqrt(deviations[j]);
    }
    self->step = bb_slope_rounding_step(&self->slopes, self->n, deviations);
done:
    BB_RELEASE(&deviations);
    return status;
}

bb_status bb_stored_product_create(bb_factor_storage *storage, const bb_factor_pipeline *pipeline,
                                   bb_index m, const double *r, bb_stored_product *out)
{
    bb_status status = BB_OK;
    bb_rounding_norm *norm = &storage->norms[pipeline->filter == (int)BB_SLOPE_FILTER_MEANS];
    const bb_index n = norm->problem->matrix->rows;
    *out = (bb_stored_product){.m = m,
                               .n = n,
                               .r = r,
                               .slopes = pipeline->slopes,
                               .is_narrow = bb_narrow_sum_is_given(pipeline),
                               .sum = bb_narrow_sum_of(pipeline, n)};
    BB_TRY(find_step(norm, out));
    if (norm->is_filtered) {
        out->groups = norm->groups;
        BB_TRY(BB_ALLOCATE(m * out->groups.count, &out->sums));
        BB_TRY(bb_stored_rows_sum(&out->groups, m, n, r, out->sums));
    }
    if (out->is_narrow) {
        BB_TRY(BB_ALLOCATE(n * m, &out->columns));
        for (bb_index i = 0; i < m; ++i) {
            cblas_dcopy((int)n, r + i * n, 1, out->columns + i, (int)m);
        }
    }
done:
    return status;
}

void bb_stored_product_release(bb_stored_product *self)
{
    BB_RELEASE(&self->columns);
    BB_RELEASE(&self->sums);
}

bb_index bb_stored_product_work(const bb_stored_product *self)
{
    return self->n + self->groups.count;
}

static void remove_means(const bb_stored_product *self, double *x, double *means)
{
    const bb_slope_groups *groups = &self->groups;
    for (bb_index k = 0; k < groups->count; ++k) {
        means[k] = 0.0;
    }
    for (bb_index j = 0; groups->count > 0 && j < self->n; ++j) {
        means[groups->group[j]] += x[j] / (double)groups->size[groups->group[j]];
    }
    for (bb_index j = 0; groups->count > 0 && j < self->n; ++j) {
        x[j] -= means[groups->group[j]];
    }
}

static void round_slopes(const bb_stored_product *self, double *x)
{
    const double steps = self->step > 0.0 ? exp2((double)self->slopes.bits - 1.0) : 0.0;
    for (bb_index j = 0; self->step > 0.0 && j < self->n; ++j) {
        x[j] = (double)bb_command_loop_round((float)x[j], self->step, steps);
    }
    for (bb_index j = 0; self->step == 0.0 && self->slopes.format >= 0 && j < self->n; ++j) {
        x[j] = bb_format_round((bb_format)self->slopes.format, x[j]);
    }
}

void bb_stored_product_multiply(const void *context, const double *slopes, double *work,
                                double *out)
{
    const bb_stored_product *self = context;
    double *x = work;
    double *means = work + self->n;
    const int m = (int)self->m;
    memcpy(x, slopes, (size_t)self->n * sizeof *x);
    remove_means(self, x, means);
    round_slopes(self, x);
    for (bb_index i = 0; self->is_narrow && i < self->m; i += BB_NARROW_SUM_LANES) {
        const bb_index rest = self->m - i;
        const int lanes = rest < BB_NARROW_SUM_LANES ? (int)rest : (int)BB_NARROW_SUM_LANES;
        float total[BB_NARROW_SUM_LANES];
        bb_narrow_sum_lanes(&self->sum, self->n, x, self->columns + i, self->m, lanes, total);
        for (int d = 0; d < lanes; ++d) {
            out[i + d] = (double)total[d];
        }
    }
    if (!self->is_narrow) {
        cblas_dgemv(CblasRowMajor, CblasNoTrans, m, (int)self->n, 1.0, self->r, (int)self->n, x, 1,
                    0.0, out, 1);
    }
    if (self->groups.count > 0) {
        const int groups = (int)self->groups.count;
        cblas_dgemv(CblasRowMajor, CblasNoTrans, m, groups, 1.0, self->sums, groups, means, 1, 1.0,
                    out, 1);
    }
}
