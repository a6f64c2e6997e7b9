// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/storage/rounding_norm.h"

#include "core/memory.h"
#include "core/thread.h"
#include "solvers/factor/tiles/tile_cholesky.h"

#include <math.h>

enum { ROWS = 16 }; // that a task sums

// Adds U diag(c) U^T, but for infinite variances.
static void add_modes(const bb_low_rank *modes, bb_index row, bb_index column, bb_view out)
{
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        const double *mode = modes->vectors + (row + i) * modes->count;
        double *values = bb_view_row(out, i);
        for (bb_index k = 0; k < modes->count; ++k) {
            const double weight = isinf(modes->variances[k]) ? 0.0 : modes->variances[k] * mode[k];
            for (bb_index j = 0; weight != 0.0 && j < out.shape[1]; ++j) {
                values[j] += weight * modes->vectors[(column + j) * modes->count + k];
            }
        }
    }
}

static bb_status fill_whole(const bb_rounding_norm *self, bb_index row, bb_index column,
                            bb_view out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_matrix_source_fill(self->problem->matrix, row, column, out));
    add_modes(&self->problem->part, row, column, out);
done:
    return status;
}

// P Cmm P, from the means.
static bb_status fill_filtered(const bb_rounding_norm *self, bb_index row, bb_index column,
                               bb_view out)
{
    bb_status status = BB_OK;
    const bb_slope_groups *groups = &self->groups;
    BB_TRY(fill_whole(self, row, column, out));
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        const double *means = self->means + (row + i) * groups->count;
        const bb_index group = groups->group[row + i];
        double *values = bb_view_row(out, i);
        for (bb_index j = 0; j < out.shape[1]; ++j) {
            const bb_index other = groups->group[column + j];
            values[j] += self->between[group * groups->count + other] - means[other] -
                         self->means[(column + j) * groups->count + group];
        }
    }
done:
    return status;
}

// Adds c (I - P).
static void add_means(const bb_rounding_norm *self, bb_index row, bb_index column, bb_view out)
{
    const bb_slope_groups *groups = &self->groups;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        const bb_index group = groups->group[row + i];
        double *values = bb_view_row(out, i);
        for (bb_index j = 0; j < out.shape[1]; ++j) {
            values[j] += group == groups->group[column + j]
                             ? self->diagonal / (double)groups->size[group]
                             : 0.0;
        }
    }
}

static bb_status fill(const bb_matrix_source *source, bb_index row, bb_index column, bb_view out)
{
    bb_status status = BB_OK;
    const bb_rounding_norm *self = source->context;
    if (self->is_filtered) {
        BB_TRY(fill_filtered(self, row, column, out));
        add_means(self, row, column, out);
    } else {
        BB_TRY(fill_whole(self, row, column, out));
        add_modes(&self->modes, row, column, out);
    }
done:
    return status;
}

static bb_status sum_rows(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const bb_rounding_norm *self = context;
    const bb_slope_groups *groups = &self->groups;
    const bb_index n = self->problem->matrix->rows;
    double *panel = NULL; // [end - begin][n]
    BB_TRY(BB_ALLOCATE((end - begin) * n, &panel));
    BB_TRY(fill_whole(self, begin, 0, bb_view_matrix(panel, end - begin, n)));
    for (bb_index i = begin; i < end; ++i) {
        double *means = self->means + i * groups->count;
        for (bb_index j = 0; j < n; ++j) {
            const bb_index group = groups->group[j];
            means[group] += panel[(i - begin) * n + j] / (double)groups->size[group];
        }
    }
done:
    BB_RELEASE(&panel);
    return status;
}

// Means of Cmm over groups of columns, then over groups of rows, and c; once.
static bb_status find_means(bb_rounding_norm *self)
{
    bb_status status = BB_OK;
    const bb_slope_groups *groups = &self->groups;
    const bb_index n = self->problem->matrix->rows;
    double sum = 0.0;
    if (self->means != NULL) {
        goto done;
    }
    BB_TRY(BB_ZEROED(n * groups->count, &self->means));
    BB_TRY(BB_ZEROED(groups->count * groups->count, &self->between));
    BB_TRY(bb_thread_ranges(n, ROWS, sum_rows, self));
    for (bb_index i = 0; i < n; ++i) {
        const bb_index group = groups->group[i];
        for (bb_index k = 0; k < groups->count; ++k) {
            self->between[group * groups->count + k] +=
                self->means[i * groups->count + k] / (double)groups->size[group];
        }
    }
    for (bb_index i = 0; i < n; ++i) {
        double variance;
        BB_TRY(fill_filtered(self, i, i, bb_view_matrix(&variance, 1, 1)));
        sum += variance;
    }
    self->diagonal = sum / (double)n;
done:
    return status;
}

bb_status bb_rounding_norm_variances(bb_rounding_norm *self, double *out)
{
    bb_status status = BB_OK;
    if (self->is_filtered) {
        BB_TRY(find_means(self));
    }
    for (bb_index i = 0; i < self->problem->matrix->rows; ++i) {
        const bb_view place = bb_view_matrix(out + i, 1, 1);
        BB_TRY(self->is_filtered ? fill_filtered(self, i, i, place)
                                 : fill_whole(self, i, i, place));
    }
done:
    return status;
}

bb_status bb_rounding_norm_factor(bb_rounding_norm *self)
{
    bb_status status = BB_OK;
    const bb_tile_plan plan = {.tile_size = self->problem->solver->tile,
                               .arithmetic = BB_VARIANT_DP};
    bb_matrix_source source = *self->problem->matrix;
    if (self->factor != NULL) {
        goto done;
    }
    if (self->is_filtered) {
        BB_TRY(find_means(self));
    }
    source.fill = fill;
    source.twin = NULL;
    source.context = self;
    BB_TRY(bb_tile_matrix_create(&source, NULL, &plan, &self->factor));
    BB_TRY(bb_tile_cholesky_factor(self->factor, 1, &self->outcome));
done:
    return status;
}

void bb_rounding_norm_release(bb_rounding_norm *self)
{
    bb_tile_matrix_destroy(&self->factor);
    BB_RELEASE(&self->means);
    BB_RELEASE(&self->between);
}

bb_need bb_rounding_norm_need(const bb_factor_solver_config *solver, const bb_factor_extent *extent,
                              bb_need *held)
{
    const bb_tile_plan plan = {.tile_size = solver->tile, .arithmetic = BB_VARIANT_DP};
    const bb_variant given[] = {BB_VARIANT_DP};
    const bb_need matrix = bb_tile_matrix_need(&plan, extent->n, extent->threads);
    *held = bb_need_kept(matrix);
    return bb_need_together(
        matrix,
        bb_need_in_turn(bb_need_repeated(extent->fill, 1.5),
                        bb_tile_cholesky_factor_need(&plan, extent->n, 1, given, extent->threads)));
}
