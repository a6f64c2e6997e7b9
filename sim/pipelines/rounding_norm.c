// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/rounding_norm.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "sim/pipelines/factor_device.h"
#include "solvers/factor/panels/norm_panels.h"
#include "solvers/factor/residual_covariance.h"
#include "solvers/factor/tiles/tile_cholesky.h"
#include "solvers/factor/updated_source.h"

#include <math.h>

enum { ROWS = 16 }; // rows per task

// CUDA functions, NULL in builds without CUDA.
static const struct {
    bb_status (*create)(const bb_matrix_source *source, const bb_panel_plan *plan, bb_index ordinal,
                        bb_outcome *outcome, bb_norm_panels **out);
    void (*destroy)(bb_norm_panels **panels);
    const double *(*pivots)(const bb_norm_panels *panels);
    bb_status (*sweep)(bb_norm_panels *panels, const bb_rounding_step *step, bb_index m, double *r,
                       double *excess);
    bb_status (*update)(const bb_matrix_source *base, bb_device *device, bb_index rank,
                        const double *v, const double *w, bb_device_source **out);
} device = {BB_CUDA_TWIN(bb_norm_panels_create), BB_CUDA_TWIN(bb_norm_panels_destroy),
            BB_CUDA_TWIN(bb_norm_panels_pivots), BB_CUDA_TWIN(bb_norm_panels_sweep),
            BB_CUDA_TWIN(bb_updated_source_create)};
static const char absent[] = "rounding in the sweep on a device: this build has no CUDA";
static const double usable_part = 0.95; // fraction of a GPU's memory

// Adds U diag(c) U^T, without modes of infinite variance.
static void add_modes(const bb_low_rank *modes, bb_index row, bb_index column, bb_view out)
{
    for (bb_index i = 0; modes->count > 0 && i < out.shape[0]; ++i) {
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

// Fills P Cmm P, from the means.
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

// Modes in the multiplied slopes: U, or P U with the filter.
static bb_low_rank seen_modes(const bb_rounding_norm *self)
{
    bb_low_rank modes = self->modes;
    if (self->is_filtered) {
        modes.vectors = self->centred;
    }
    return modes;
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
    }
    const bb_low_rank modes = seen_modes(self);
    add_modes(&modes, row, column, out);
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

// Computes P U. A tilt becomes exactly zero.
static bb_status centre_modes(bb_rounding_norm *self)
{
    bb_status status = BB_OK;
    const bb_slope_groups *groups = &self->groups;
    const bb_index n = self->problem->matrix->rows;
    const bb_index count = self->modes.count;
    double *sums = NULL; // [groups][count]
    BB_TRY(BB_ZEROED(groups->count * count, &sums));
    BB_TRY(BB_ALLOCATE(n * count, &self->centred));
    for (bb_index i = 0; i < n * count; ++i) {
        sums[groups->group[i / count] * count + i % count] += self->modes.vectors[i];
    }
    for (bb_index i = 0; i < n * count; ++i) {
        const bb_index group = groups->group[i / count];
        self->centred[i] =
            self->modes.vectors[i] - sums[group * count + i % count] / (double)groups->size[group];
    }
done:
    BB_RELEASE(&sums);
    return status;
}

// Computes the means of Cmm over groups of columns, then over groups of rows, and c; once.
static bb_status compute_means(bb_rounding_norm *self)
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
    BB_TRY(centre_modes(self));
done:
    return status;
}

bb_status bb_rounding_norm_variances(bb_rounding_norm *self, double *out)
{
    bb_status status = BB_OK;
    if (self->is_filtered) {
        BB_TRY(compute_means(self));
    }
    for (bb_index i = 0; i < self->problem->matrix->rows; ++i) {
        const bb_view place = bb_view_matrix(out + i, 1, 1);
        BB_TRY(self->is_filtered ? fill_filtered(self, i, i, place)
                                 : fill_whole(self, i, i, place));
    }
done:
    return status;
}

// Writes U diag(c) and U to the columns from `first` on; zeros for infinite variances.
static void write_modes(const bb_low_rank *modes, bb_index n, bb_index rank, bb_index first,
                        double *v, double *w)
{
    for (bb_index i = 0; i < n; ++i) {
        for (bb_index k = 0; k < modes->count; ++k) {
            const double mode = modes->vectors[i * modes->count + k];
            v[i * rank + first + k] = isinf(modes->variances[k]) ? 0.0 : modes->variances[k] * mode;
            w[i * rank + first + k] = mode;
        }
    }
}

// Writes the update of the filter. With M the means and G the group membership, G B G^T - M G^T - G
// M^T + c (I - P) is M (-G)^T + G (G (B + c / sizes) - M)^T.
static void write_means(const bb_rounding_norm *self, bb_index rank, bb_index first, double *v,
                        double *w)
{
    const bb_slope_groups *groups = &self->groups;
    const bb_index count = groups->count;
    for (bb_index i = 0; i < self->problem->matrix->rows; ++i) {
        const bb_index group = groups->group[i];
        for (bb_index k = 0; k < count; ++k) {
            const double mean = self->means[i * count + k];
            const double own = k == group ? self->diagonal / (double)groups->size[k] : 0.0;
            v[i * rank + first + k] = mean;
            w[i * rank + first + k] = k == group ? -1.0 : 0.0;
            v[i * rank + first + count + k] = k == group ? 1.0 : 0.0;
            w[i * rank + first + count + k] = self->between[k * count + group] + own - mean;
        }
    }
}

static bb_status make_twin(const bb_matrix_source *source, bb_device *gpu, bb_device_source **out)
{
    bb_status status = BB_OK;
    const bb_rounding_norm *self = source->context;
    const bb_low_rank *part = &self->problem->part;
    const bb_low_rank modes = seen_modes(self);
    const bb_index first = part->count + modes.count;
    const bb_index rank = first + (self->is_filtered ? 2 * self->groups.count : 0);
    double *v = NULL; // [n][rank]
    double *w = NULL; // [n][rank]
    *out = NULL;
    BB_REQUIRE(device.update != NULL, BB_UNSUPPORTED, "%s", absent);
    BB_TRY(BB_ALLOCATE(source->rows * rank, &v));
    BB_TRY(BB_ALLOCATE(source->rows * rank, &w));
    write_modes(part, source->rows, rank, 0, v, w);
    write_modes(&modes, source->rows, rank, part->count, v, w);
    if (self->is_filtered) {
        write_means(self, rank, first, v, w);
    }
    BB_TRY(device.update(self->problem->matrix, gpu, rank, v, w, out));
done:
    BB_RELEASE(&v);
    BB_RELEASE(&w);
    return status;
}

bb_status bb_rounding_norm_source(bb_rounding_norm *self, bb_matrix_source *out)
{
    bb_status status = BB_OK;
    if (self->is_filtered) {
        BB_TRY(compute_means(self));
    }
    *out = *self->problem->matrix;
    out->fill = fill;
    out->twin = make_twin;
    out->context = self;
done:
    return status;
}

bb_status bb_rounding_norm_factor(bb_rounding_norm *self)
{
    bb_status status = BB_OK;
    const bb_tile_plan plan = {.tile_size = self->problem->solver->tile,
                               .arithmetic = BB_VARIANT_DP};
    bb_matrix_source source;
    if (self->factor != NULL) {
        goto done;
    }
    BB_TRY(bb_rounding_norm_source(self, &source));
    BB_TRY(bb_tile_matrix_create(&source, NULL, &plan, &self->factor));
    BB_TRY(bb_tile_cholesky_factor(self->factor, 1, &self->outcome));
done:
    return status;
}

static bb_panel_plan plan_of(const bb_factor_solver_config *solver, bb_index n,
                             bb_variant arithmetic)
{
    return (bb_panel_plan){
        .n = n, .block = bb_factor_device_block(solver, n), .arithmetic = arithmetic};
}

// Upper bound on the columns of an update. Those of a part are tilts of sensors, which are no more
// than groups, unless there are no groups. The bound is thus the same in a run and in its plan,
// which may not know the part.
static bb_index most_rank(bb_index part, bb_index modes, bb_index groups)
{
    return (part > groups ? part : groups) + modes + 2 * groups;
}

// Need of the factor, and in addition, in turn, of the update that fills it (`rank` an upper
// bound), of a sweep of m rows, and of the score of its result for as many truths.
static bb_need need_of(const bb_panel_plan *plan, bb_index rank, bb_index m, double threads)
{
    const bb_need filling = bb_updated_source_need(plan->n, plan->n, rank);
    const bb_need sweeping = bb_rounding_sweep_panels_need(plan->n, m, threads);
    const bb_need scoring = bb_residual_covariance_device_need(1, plan->n, m, m, m);
    return bb_need_together(bb_panel_plan_need(plan, 1),
                            bb_need_in_turn(bb_need_in_turn(filling, sweeping),
                                            (bb_need){.device_bytes = scoring.device_bytes}));
}

// Selects dp if it fits in the total memory of the GPU. Uses only values known to both a run and
// its plan.
static bb_status choose_plan(const bb_factor_solver_config *solver, bb_index n, bb_index rank,
                             bb_index m, bb_panel_plan *out)
{
    bb_status status = BB_OK;
    bb_device *gpu = NULL;
    bb_device_report report;
    *out = plan_of(solver, n, BB_VARIANT_DP);
    if (bb_device_count(BB_DEVICE_CUDA, NULL, 0) > 0) {
        BB_TRY(bb_device_open(BB_DEVICE_CUDA, 0, &gpu));
        BB_TRY(bb_device_describe(gpu, &report));
        const double bytes = need_of(out, rank, m, 1.0).device_bytes;
        out->arithmetic =
            bytes <= usable_part * (double)report.memory_bytes ? BB_VARIANT_DP : BB_VARIANT_X3;
    }
done:
    bb_device_close(&gpu);
    return status;
}

static bb_status factor_on_device(bb_rounding_norm *self)
{
    bb_status status = BB_OK;
    bb_matrix_source source;
    bb_panel_plan plan;
    if (self->panels != NULL) {
        goto done;
    }
    self->device_outcome = (bb_outcome){0};
    BB_REQUIRE(device.create != NULL, BB_UNSUPPORTED, "%s", absent);
    BB_TRY(bb_rounding_norm_source(self, &source));
    const bb_index rank =
        most_rank(self->problem->part.count, self->modes.count, self->groups.count);
    BB_TRY(choose_plan(self->problem->solver, source.rows, rank, self->most_rows, &plan));
    if (plan.arithmetic == BB_VARIANT_X3) {
        bb_log_info("rounding in the sweep: its factor of %td x %td is x3, the GPU has too little "
                    "memory for fp64 with a sweep and a score",
                    plan.n, plan.n);
    }
    BB_TRY(device.create(&source, &plan, 0, &self->device_outcome, &self->panels));
done:
    return status;
}

bb_status bb_rounding_norm_ready(bb_rounding_norm *self, bool on_device, const bb_outcome **outcome)
{
    self->on_device = on_device;
    *outcome = on_device ? &self->device_outcome : &self->outcome;
    return on_device ? factor_on_device(self) : bb_rounding_norm_factor(self);
}

void bb_rounding_norm_release_device(bb_rounding_norm *self)
{
    if (self->panels != NULL && device.destroy != NULL) {
        device.destroy(&self->panels);
    }
}

double bb_rounding_norm_pivot(const bb_rounding_norm *self, bb_index column)
{
    return self->on_device && device.pivots != NULL ? device.pivots(self->panels)[column]
                                                    : bb_tile_matrix_pivot(self->factor, column);
}

bb_status bb_rounding_norm_sweep(const bb_rounding_norm *self, const bb_rounding_step *step,
                                 bb_index m, double *r, double *excess)
{
    return self->on_device && device.sweep != NULL
               ? device.sweep(self->panels, step, m, r, excess)
               : bb_rounding_sweep(self->factor, step, m, r, excess);
}

void bb_rounding_norm_release(bb_rounding_norm *self)
{
    bb_tile_matrix_destroy(&self->factor);
    bb_rounding_norm_release_device(self);
    BB_RELEASE(&self->means);
    BB_RELEASE(&self->between);
    BB_RELEASE(&self->centred);
}

bb_need bb_rounding_norm_need(const bb_factor_solver_config *solver, const bb_factor_extent *extent,
                              bb_need *held)
{
    const bb_tile_plan plan = {.tile_size = solver->tile, .arithmetic = BB_VARIANT_DP};
    const bb_variant given[] = {BB_VARIANT_DP};
    const bb_need matrix = bb_tile_matrix_need(&plan, extent->n, extent->threads);
    *held = bb_need_resident(matrix);
    return bb_need_together(
        matrix,
        bb_need_in_turn(bb_need_repeated(extent->fill, 1.5),
                        bb_tile_cholesky_factor_need(&plan, extent->n, 1, given, extent->threads)));
}

bb_need bb_rounding_norm_device_need(const bb_factor_solver_config *solver,
                                     const bb_factor_extent *extent, bb_index m)
{
    bb_panel_plan plan;
    const bb_index rank = most_rank(extent->part, extent->modes, extent->groups);
    if (choose_plan(solver, extent->n, rank, m, &plan) != BB_OK) {
        bb_status_clear(); // a GPU that cannot be queried is refused when it is used
    }
    return need_of(&plan, rank, m, extent->threads);
}
