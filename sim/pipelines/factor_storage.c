// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_storage.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/stage.h"
#include "core/thread.h"
#include "precision/draw.h"
#include "sim/pipelines/column_scale.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/narrow_sum.h"
#include "sim/pipelines/product_coding.h"
#include "sim/pipelines/rounding_norm.h"
#include "sim/pipelines/storage_search.h"
#include "sim/pipelines/stored_rows.h"
#include "sim/pipelines/sum_rounding.h"
#include "solvers/factor/coded_rounding.h"

#include <lapacke.h>
#include <math.h>
#include <stdio.h>

typedef struct block_factoring {
    const bb_matrix_source *source;
    bb_index width;
    const double *scales;
    double *norms; // [blocks][width][width]
    int *places;   // [blocks] pivot that is not positive, from 1; 0: none
} block_factoring;

static bb_status factor_blocks(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const block_factoring *work = context;
    const bb_index width = work->width;
    for (bb_index b = begin; b < end; ++b) {
        const bb_index first = b * width;
        const bb_index rest = work->source->rows - first;
        const bb_index count = rest < width ? rest : width;
        double *block = work->norms + b * width * width;
        bb_view view = bb_view_matrix(block, count, count);
        view.strides[0] = width;
        BB_TRY(bb_matrix_source_fill(work->source, first, first, view));
        for (bb_index i = 0; work->scales != NULL && i < count; ++i) {
            for (bb_index j = 0; j < count; ++j) {
                block[i * width + j] /= work->scales[first + i] * work->scales[first + j];
            }
        }
        work->places[b] =
            (int)LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', (lapack_int)count, block, (lapack_int)width);
    }
done:
    return status;
}

static bb_status make_column_norms(bb_rounding_norm *norm, bb_index width, const double *scales,
                                   bb_outcome *outcome, double **out)
{
    bb_status status = BB_OK;
    bb_matrix_source source;
    const bb_index blocks = (norm->problem->matrix->rows + width - 1) / width;
    block_factoring work = {.source = &source, .width = width, .scales = scales};
    *out = NULL;
    BB_TRY(bb_rounding_norm_source(norm, &source));
    BB_TRY(BB_ZEROED(blocks * width * width, &work.norms));
    BB_TRY(BB_ZEROED(blocks, &work.places));
    BB_TRY(bb_thread_ranges(blocks, 1, factor_blocks, &work));
    for (bb_index b = 0; b < blocks && outcome->kind == BB_OUTCOME_OK; ++b) {
        if (work.places[b] != 0) {
            bb_outcome_set(outcome, BB_OUTCOME_NOT_SPD,
                           "norm of columns from %td on: pivot %d is not positive", b * width,
                           work.places[b] - 1);
        }
    }
    if (outcome->kind == BB_OUTCOME_OK) {
        *out = work.norms;
        work.norms = NULL;
    }
done:
    BB_RELEASE(&work.norms);
    BB_RELEASE(&work.places);
    return status;
}

static bb_need need_column_norms(bb_index n, bb_index width, double threads)
{
    const double side = (double)width;
    const double blocks = width > 0 ? ceil((double)n / side) : 0.0;
    return (bb_need){.host_bytes = sizeof(double) * blocks * side * side,
                     .seconds =
                         blocks * side * side * (side / 3.0 / BB_NEED_FP64_RATE + 2e-8) / threads};
}

const char *const bb_stored_operator_names[] = {"slopes", "commands", NULL};
const char *const bb_slope_filter_names[] = {"none", "means", NULL};

static bool is_swept(const bb_factor_pipeline *pipeline)
{
    return bb_factor_storage_is_given(pipeline) &&
           pipeline->storage.rounding == (int)BB_ROUNDING_SWEEP;
}

bool bb_factor_storage_is_given(const bb_factor_pipeline *pipeline)
{
    return pipeline->storage.codec >= 0;
}

static bb_status sweep_with(const void *norm, const bb_rounding_step *step, bb_index m, double *r,
                            double *excess)
{
    return bb_rounding_norm_sweep(norm, step, m, r, excess);
}

// Rounds r in the sweep and encodes it. Columns of r are scaled already; `scales` NULL: by 1.
static bb_status sweep(const bb_rounding_norm *norm, const bb_factor_pipeline *pipeline,
                       const bb_matrix_layout *layout, const double *scales, double *r,
                       bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    bb_coded_matrix *matrix = NULL;
    double *excess = NULL; // [m]
    double trace = 0.0;
    BB_TRY(BB_ALLOCATE(layout->rows, &excess));
    BB_TRY(bb_coded_matrix_create(&pipeline->storage, (bb_row_scale)pipeline->row_scale, layout,
                                  &matrix));
    const bb_rounding_in_norm rounding = {sweep_with, norm, scales};
    BB_TRY(bb_coded_rounding_run(&rounding, matrix, r, excess));
    for (bb_index i = 0; i < layout->rows; ++i) {
        trace += excess[i];
    }
    bb_log_detail("pipeline %s: rounded in the sweep, trace of the remaining error %.6g",
                  pipeline->name, trace);
    *out = matrix;
    matrix = NULL;
done:
    BB_RELEASE(&excess);
    bb_coded_matrix_destroy(&matrix);
    return status;
}

bb_status bb_stored_reconstructor_code(const bb_factor_pipeline *pipeline,
                                       const bb_matrix_source *source,
                                       const bb_matrix_layout *layout, bb_coded_matrix **out)
{
    const bb_exact_rows rows = {.source = source, .batch = 1};
    const bb_product_pipeline coding = {
        .name = pipeline->name, .storage = pipeline->storage, .scale = pipeline->row_scale};
    bb_coding_report report;
    return bb_product_coding_encode(&coding, &rows, layout, &report, NULL, out);
}

bb_need bb_stored_reconstructor_need(const bb_factor_pipeline *pipeline, bb_index rows,
                                     bb_index columns, double threads)
{
    const bb_matrix_layout layout = {.rows = rows, .columns = columns};
    const bb_product_pipeline coding = {
        .storage = pipeline->storage, .scale = pipeline->row_scale, .device = (int)BB_DEVICE_CPU};
    return bb_product_coding_need(&coding, (int)BB_DEVICE_CPU, &layout, 1.0, threads);
}

// Encodes r without rounding in the sweep, with norms of columns if the codec uses them; an outcome
// if there are none. Columns of r are scaled already; `scales` NULL: by 1.
static bb_status code(bb_rounding_norm *norm, const bb_factor_pipeline *pipeline,
                      const bb_matrix_layout *layout, const double *scales, const double *r,
                      bb_outcome *outcome, bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    const bb_view view = bb_view_matrix((double *)(uintptr_t)r, layout->rows, layout->columns);
    const bb_matrix_source source = bb_matrix_source_dense(&view, "R", "1");
    const bb_index width = bb_codec_norm_width(&pipeline->storage);
    bb_matrix_layout weighted_layout = *layout;
    double *norms = NULL;
    if (width > 0) {
        BB_TRY(make_column_norms(norm, width, scales, outcome, &norms));
        weighted_layout.column_norms = norms;
    }
    if (outcome->kind == BB_OUTCOME_OK) {
        BB_TRY(bb_stored_reconstructor_code(pipeline, &source, &weighted_layout, out));
    }
done:
    BB_RELEASE(&norms);
    return status;
}

// Reports the stored matrix as the operator. Its bytes, with those of means and scales, are added
// to those of earlier targets.
static void note(const bb_coded_matrix *matrix, double side_bytes, bb_evaluation *evaluation)
{
    bb_factor_report *report = &evaluation->factor;
    const double bytes = side_bytes + (double)bb_coded_matrix_bytes(matrix);
    const double values =
        (double)bb_coded_matrix_rows(matrix) * (double)bb_coded_matrix_columns(matrix);
    const bool is_first = isnan(report->stored_bytes);
    report->stored_bytes = is_first ? bytes : report->stored_bytes + bytes;
    report->stored_values = is_first ? values : report->stored_values + values;
    report->stored_bits = 8.0 * report->stored_bytes / report->stored_values;
    evaluation->operator_bytes = report->stored_bytes;
    evaluation->fp32_bytes = sizeof(float) * report->stored_values;
}

// True if the factor for rounding in the sweep is on the device, that is if the pipeline computes
// there.
static bool sweeps_on_device(const bb_factor_pipeline *pipeline,
                             const bb_factor_solver_config *solver, int study_device)
{
    return is_swept(pipeline) && bb_factor_device_supports(solver, pipeline, study_device);
}

// Prepares the factor if the pipeline rounds in the sweep; an outcome if it fails.
static bb_status prepare_factor(const bb_factor_storage *self, bb_rounding_norm *norm,
                                const bb_factor_pipeline *pipeline, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    const bb_factor_problem *problem = norm->problem;
    const bb_outcome *found = NULL;
    if (is_swept(pipeline)) {
        const bool on_device = sweeps_on_device(pipeline, problem->solver, self->study_device);
        BB_TRY(bb_rounding_norm_ready(norm, on_device, &found));
        if (found->kind != BB_OUTCOME_OK) {
            bb_outcome_set(outcome, found->kind, "rounding in the sweep: %.100s", found->detail);
        }
    }
done:
    return status;
}

// Factors of a draw for rows [m], numbered over all reconstructors of a pipeline; NULL for draw 0
// and for storages without draws.
static bb_status make_factors(const bb_factor_pipeline *pipeline, uint64_t seed, bb_index draw,
                              bb_index first, bb_index m, double **out)
{
    bb_status status = BB_OK;
    const bb_index band = (bb_index)bb_codec_band_rows(&pipeline->storage, 1.0);
    if (draw > 0 && bb_codec_has_draws(&pipeline->storage)) {
        BB_TRY(BB_ALLOCATE(m, out));
        bb_draw_bands(seed, draw, bb_codec_draw_range(&pipeline->storage), first, band, m, *out);
    }
done:
    return status;
}

static bb_status code_and_decode(bb_rounding_norm *norm, const bb_factor_pipeline *pipeline,
                                 bb_index draw, bb_index m, const double *scales, double *r,
                                 bb_evaluation *evaluation, bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    bb_coded_matrix *matrix = NULL;
    double *factors = NULL;
    const bb_index n = norm->problem->matrix->rows;
    const double before = evaluation->factor.stored_values;
    bb_matrix_layout layout = {.rows = m, .columns = n};
    const double means = norm->is_filtered ? (double)(norm->groups.count * m) : 0.0;
    BB_TRY(bb_stored_rows_range(m, n, r, &layout.range));
    if (!bb_codec_supports_tolerance(&pipeline->storage, layout.range, &evaluation->outcome)) {
        goto done;
    }
    BB_TRY(make_factors(pipeline, norm->problem->seed, draw,
                        isnan(before) ? 0 : (bb_index)before / n, m, &factors));
    BB_TRY(bb_stored_rows_draw(factors, m, n, r));
    BB_TRY(is_swept(pipeline)
               ? sweep(norm, pipeline, &layout, scales, r, &matrix)
               : code(norm, pipeline, &layout, scales, r, &evaluation->outcome, &matrix));
    if (evaluation->outcome.kind != BB_OUTCOME_OK) {
        goto done;
    }
    BB_TRY(bb_matrix_coding_decode(matrix, r));
    BB_TRY(bb_stored_rows_undraw(factors, m, n, r));
    note(matrix, sizeof(float) * (means + (scales == NULL ? 0.0 : (double)n)), evaluation);
    *out = matrix;
    matrix = NULL;
done:
    BB_RELEASE(&factors);
    bb_coded_matrix_destroy(&matrix);
    return status;
}

// Copies values to fp32.
static bb_status copy_to_fp32(const double *values, bb_index count, float **out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(count, out));
    for (bb_index i = 0; i < count; ++i) {
        (*out)[i] = (float)values[i];
    }
done:
    return status;
}

static bb_status scale_and_code(bb_rounding_norm *norm, const bb_factor_pipeline *pipeline,
                                bb_index draw, bb_index m, double *r, bb_evaluation *evaluation,
                                bb_stored_reconstructor *out)
{
    bb_status status = BB_OK;
    const bb_column_scale scale = (bb_column_scale)pipeline->column_scale;
    const bb_index n = norm->problem->matrix->rows;
    double *scales = NULL;
    if (scale != BB_COLUMN_SCALE_NONE) {
        BB_TRY(BB_ALLOCATE(n, &scales));
        BB_TRY(bb_column_scale_make(scale, norm, m, r, scales));
        BB_TRY(copy_to_fp32(scales, n, &out->scales));
        BB_TRY(bb_stored_rows_multiply(scales, m, n, r));
    }
    BB_TRY(code_and_decode(norm, pipeline, draw, m, scales, r, evaluation, &out->matrix));
    if (scales != NULL) {
        BB_TRY(bb_stored_rows_divide(scales, m, n, r));
    }
done:
    BB_RELEASE(&scales);
    return status;
}

static bb_status store(bb_factor_storage *self, const bb_factor_pipeline *pipeline, bb_index draw,
                       bb_index m, double *r, bb_evaluation *evaluation,
                       bb_stored_reconstructor *out)
{
    bb_status status = BB_OK;
    bb_rounding_norm *norm = &self->norms[pipeline->filter == (int)BB_SLOPE_FILTER_MEANS];
    const bb_index n = norm->problem->matrix->rows;
    double *sums = NULL;
    if (!bb_factor_storage_is_given(pipeline) || evaluation->outcome.kind != BB_OUTCOME_OK) {
        goto done;
    }
    BB_TRY(prepare_factor(self, norm, pipeline, &evaluation->outcome));
    if (evaluation->outcome.kind != BB_OUTCOME_OK) {
        goto done;
    }
    if (norm->is_filtered) {
        BB_TRY(BB_ALLOCATE(m * norm->groups.count, &sums));
        BB_TRY(bb_stored_rows_sum(&norm->groups, m, n, r, sums));
    }
    BB_TRY(scale_and_code(norm, pipeline, draw, m, r, evaluation, out));
    if (sums != NULL && evaluation->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(copy_to_fp32(sums, m * norm->groups.count, &out->means));
        BB_TRY(bb_stored_rows_set_means(&norm->groups, m, n, sums, r));
    }
    const bb_index bad = bb_stage_find_nonfinite("stored reconstructor", r, m * n);
    if (bad >= 0) {
        bb_outcome_set(&evaluation->outcome, BB_OUTCOME_NON_FINITE,
                       "stored reconstructor: entry (%td, %td)", bad / n, bad % n);
        bb_stored_reconstructor_release(out);
    }
done:
    BB_RELEASE(&sums);
    return status;
}

bb_status bb_factor_storage_encode(bb_factor_storage *self, const bb_factor_pipeline *pipeline,
                                   bb_index m, double *r, bb_evaluation *evaluation,
                                   bb_stored_reconstructor *out)
{
    return store(self, pipeline, 0, m, r, evaluation, out);
}

bb_status bb_factor_storage_apply(bb_factor_storage *self, const bb_factor_pipeline *pipeline,
                                  bb_index draw, bb_index m, double *r, bb_evaluation *evaluation)
{
    bb_stored_reconstructor stored = {0};
    const bb_status status = store(self, pipeline, draw, m, r, evaluation, &stored);
    bb_stored_reconstructor_release(&stored);
    return status;
}

void bb_stored_reconstructor_release(bb_stored_reconstructor *self)
{
    bb_coded_matrix_destroy(&self->matrix);
    BB_RELEASE(&self->means);
    BB_RELEASE(&self->scales);
}

void bb_factor_storage_open(const bb_factor_problem *problem, int study_device, bb_index most_rows,
                            const bb_low_rank *modes, const bb_slope_groups *groups,
                            bb_factor_storage *out)
{
    out->study_device = study_device;
    for (int filtered = 0; filtered < 2; ++filtered) {
        out->norms[filtered] = (bb_rounding_norm){.problem = problem,
                                                  .most_rows = most_rows,
                                                  .modes = *modes,
                                                  .groups = *groups,
                                                  .is_filtered = filtered == 1};
        out->slopes[filtered] = out->norms[filtered];
        out->slopes[filtered].modes.count = 0;
    }
}

void bb_factor_storage_release(bb_factor_storage *self)
{
    for (int filtered = 0; filtered < 2; ++filtered) {
        bb_rounding_norm_release(&self->norms[filtered]);
        bb_rounding_norm_release(&self->slopes[filtered]);
    }
}

void bb_factor_storage_release_device(bb_factor_storage *self)
{
    for (int filtered = 0; filtered < 2; ++filtered) {
        bb_rounding_norm_release_device(&self->norms[filtered]);
    }
}

// Need of selecting clips in addition to one sweep: a copy of R, and a sweep per clip.
static bb_need clips_need(const bb_factor_pipeline *pipeline, bool on_device,
                          const bb_factor_solver_config *solver, const bb_factor_extent *extent,
                          bb_index m)
{
    const double clips = (double)bb_codec_clip_count(&pipeline->storage);
    const bb_need sweeping = on_device
                                 ? bb_rounding_sweep_panels_need(extent->n, m, extent->threads)
                                 : bb_rounding_sweep_need(extent->n, m, solver->tile);
    const double copy = sizeof(double) * (double)m * (double)extent->n;
    return clips == 1.0 ? (bb_need){0}
                        : (bb_need){.host_bytes = copy, .seconds = clips * sweeping.seconds};
}

// Need of a pipeline after its norms are factored; for a search about half of the trials at their
// widest.
static bb_need need_of(const bb_factor_pipeline *asked, const bb_factor_solver_config *solver,
                       int study_device, const bb_factor_extent *extent, bb_index m)
{
    const bb_factor_pipeline widest = bb_storage_search_widest(asked);
    const bb_factor_pipeline *pipeline = &widest;
    const bb_need scales = {.host_bytes = sizeof(double) * (double)extent->n};
    bb_need need = {0};
    if (bb_factor_storage_is_given(pipeline)) {
        need = bb_need_together(
            scales, bb_stored_reconstructor_need(pipeline, m, extent->n, extent->threads));
        need = bb_need_together(
            need,
            need_column_norms(extent->n, bb_codec_norm_width(&pipeline->storage), extent->threads));
    }
    const bool on_device = sweeps_on_device(asked, solver, study_device);
    if (is_swept(pipeline)) {
        need = bb_need_together(need, clips_need(pipeline, on_device, solver, extent, m));
    }
    if (on_device) {
        need = bb_need_together(need, bb_rounding_norm_device_need(solver, extent, m));
    } else if (is_swept(pipeline)) {
        need = bb_need_together(need, bb_rounding_sweep_need(extent->n, m, solver->tile));
    }
    return bb_need_repeated(need, 1.0 + 0.5 * bb_storage_search_trials(asked));
}

bb_need bb_factor_storage_need(const bb_list *pipelines, const bb_factor_solver_config *solver,
                               int study_device, const bb_factor_extent *extent, bb_index m)
{
    const bb_factor_pipeline *items = pipelines->items;
    bb_need need = {0};
    bb_need work = {0};
    bb_need held = {0};
    bool is_used[4] = {false}; // norms, then those of slopes
    for (bb_index p = 0; p < pipelines->count; ++p) {
        const int filtered = items[p].filter == (int)BB_SLOPE_FILTER_MEANS;
        work = bb_need_in_turn(work, need_of(&items[p], solver, study_device, extent, m));
        is_used[filtered] |=
            is_swept(&items[p]) && !sweeps_on_device(&items[p], solver, study_device);
        if (bb_narrow_sum_is_given(&items[p])) {
            is_used[2 + filtered] = true;
            work = bb_need_in_turn(work, bb_sum_rounding_need(extent->n, m, extent->threads));
        }
    }
    for (int norm = 0; norm < 4; ++norm) {
        if (is_used[norm]) {
            bb_need kept;
            const bb_need factoring = bb_rounding_norm_need(solver, extent, &kept);
            need = bb_need_in_turn(need, bb_need_together(held, factoring));
            held = bb_need_together(held, kept);
        }
    }
    return bb_need_in_turn(need, bb_need_together(held, work));
}
