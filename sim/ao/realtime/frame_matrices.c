// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/realtime/frame_matrices.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/random.h"
#include "sim/ao/ao_commands.h"
#include "sim/ao/ao_extent.h"
#include "sim/ao/ao_mcao.h"
#include "sim/ao/ao_pupil.h"
#include "sim/pipelines/factor_device.h"

#include <math.h>

enum { DRAWN_GROUPS = 16 };

static const double drawn_common = 3.0; // of slopes whose own deviation is 1
static const double drawn_width = 0.1;  // of what is large in a row, over the pupil
static const double drawn_range = 10.0; // what tolerances of a range are held to

static const bb_device_offer offer = {.work = "the tile Cholesky of ao",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA)};

// What a study is solved with.
typedef struct solving {
    const bb_ao_study *study;
    const bb_factor_pipeline *pipeline;
    double *mask, *noise;
    bb_influence_cube *influences; // [mirrors], NULL: all Gaussian
    bb_tomography *problem;
    const bb_matrix_source **ctm; // [targets]
    bb_ao_mcao *mcao;
    bb_factor_problem factor_problem;
    bb_ao_storage storage;
    bb_ao_evaluation evaluation;
} solving;

static void finish(solving *work)
{
    bb_ao_evaluation_release(&work->evaluation, work->study->targets.count);
    bb_ao_storage_release(&work->storage);
    bb_factor_problem_release(&work->factor_problem);
    bb_ao_mcao_destroy(&work->mcao);
    BB_RELEASE(&work->ctm);
    bb_tomography_destroy(&work->problem);
    bb_influence_file_release(work->study, &work->influences);
    BB_RELEASE(&work->mask);
    BB_RELEASE(&work->noise);
}

static bb_status pose(solving *work)
{
    bb_status status = BB_OK;
    const bb_ao_study *study = work->study;
    const bb_index targets = study->targets.count;
    const bool ltao = study->correction == (int)BB_AO_CORRECTION_LTAO;
    bb_ao_config physics = bb_ao_study_physics(study);
    BB_TRY(bb_ao_pupil_load(study, &physics, &work->mask));
    BB_TRY(bb_influence_file_load(study, &physics, &work->influences));
    BB_TRY(bb_tomography_create(&physics, (bb_lgs_tilt)study->solver.lgs_tilt, &work->problem));
    BB_TRY(BB_ALLOCATE(targets, &work->ctm));
    for (bb_index t = 0; t < targets; ++t) {
        work->ctm[t] = work->problem->targets[t].ctm;
    }
    BB_TRY(
        bb_measurement_noise_bounds(&work->problem->guides, &work->problem->noise, &work->noise));
    const bb_tilt_vectors *tilts = &work->problem->tilts;
    work->factor_problem =
        (bb_factor_problem){.solver = &study->solver.common,
                            .matrix = work->problem->cmm_core,
                            .part = {tilts->columns, tilts->vectors, tilts->variance},
                            .target_count = ltao ? 1 : targets,
                            .sides = work->ctm,
                            .noise = work->noise,
                            .seed = (uint64_t)study->common.seed};
    BB_TRY(bb_ao_mcao_create(work->problem, work->ctm, &work->mcao));
    bb_ao_mcao_pose(work->mcao, &work->factor_problem);
    BB_TRY(bb_factor_problem_prepare(&work->factor_problem));
    BB_TRY(bb_ao_storage_open(&work->factor_problem, study->common.device, work->problem,
                              &study->inflation, &work->storage));
done:
    return status;
}

static bb_status solve(solving *work)
{
    bb_status status = BB_OK;
    const bb_ao_study *study = work->study;
    bb_ao_evaluation *evaluation = &work->evaluation;
    BB_TRY(
        bb_ao_evaluation_create(work->pipeline->name, study->targets.count, 1, 0, 1, evaluation));
    evaluation->level = *work->pipeline;
    evaluation->shared = study->correction == (int)BB_AO_CORRECTION_LTAO ||
                         study->correction == (int)BB_AO_CORRECTION_GLAO;
    BB_TRY(bb_factor_device_choose(&offer, study->common.device, &study->solver.common,
                                   work->pipeline, &evaluation->common.device));
    BB_TRY(bb_ao_storage_solve(&work->storage, &work->factor_problem, work->pipeline,
                               study->correction, evaluation));
    BB_TRY(bb_ao_commands_take(work->problem, work->pipeline, evaluation));
done:
    return status;
}

static bb_status store_each(bb_ao_storage *storage, const bb_factor_pipeline *pipeline,
                            bb_ao_evaluation *evaluation, bb_frame_matrices *out)
{
    bb_status status = BB_OK;
    const bb_tomography *problem = storage->problem;
    for (bb_index t = 0; t < problem->target_count; ++t) {
        const bb_index rows = bb_ao_commands_rows(problem, evaluation, t);
        if (evaluation->r[t] == NULL) {
            continue;
        }
        BB_REQUIRE(out->count < (int)BB_COMMAND_MATRICES, BB_INVALID,
                   "reconstructors of more than %d targets: a loop of frames multiplies at most so "
                   "many",
                   (int)BB_COMMAND_MATRICES);
        BB_TRY(bb_factor_storage_keep(&storage->common, pipeline, rows, evaluation->r[t],
                                      &evaluation->common, &out->stored[out->count]));
        if (evaluation->common.outcome.kind != BB_OUTCOME_OK) {
            break;
        }
        out->commands += rows;
        ++out->count;
    }
done:
    return status;
}

// Groups of slopes follow one another.
static bb_status take_groups(const bb_slope_groups *groups, bb_frame_matrices *out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ZEROED(groups->count + 1, &out->group_begin));
    for (bb_index k = 0; k < groups->count; ++k) {
        out->group_begin[k + 1] = out->group_begin[k] + groups->size[k];
        for (bb_index j = out->group_begin[k]; j < out->group_begin[k + 1]; ++j) {
            BB_REQUIRE(groups->group[j] == k, BB_INTERNAL, "slope %td is of group %td, not of %td",
                       j, groups->group[j], k);
        }
    }
    out->group_count = groups->count;
done:
    return status;
}

// Variances of slopes, and of what the filter leaves of them.
static bb_status take_spread(bb_rounding_norm *norms, bool filtered, bb_frame_matrices *out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(out->slopes, &out->own));
    BB_TRY(BB_ALLOCATE(out->slopes, &out->common));
    BB_TRY(bb_rounding_norm_variances(&norms[0], out->common));
    BB_TRY(bb_rounding_norm_variances(&norms[filtered], out->own));
    for (bb_index j = 0; j < out->slopes; ++j) {
        out->common[j] = sqrt(fmax(out->common[j] - out->own[j], 0.0));
        out->own[j] = sqrt(out->own[j]);
    }
    if (filtered) {
        BB_TRY(take_groups(&norms[1].groups, out));
    }
done:
    return status;
}

bb_status bb_frame_matrices_store(bb_ao_storage *storage, const bb_factor_pipeline *pipeline,
                                  bb_ao_evaluation *evaluation, bb_frame_matrices *out)
{
    bb_status status = BB_OK;
    const bool filtered = pipeline->filter == (int)BB_SLOPE_FILTER_MEANS;
    out->slopes = storage->problem->cmm->rows;
    BB_TRY(store_each(storage, pipeline, evaluation, out));
    if (evaluation->common.outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(take_spread(storage->common.norms, filtered, out));
    }
done:
    return status;
}

static bb_status solve_study(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                             bb_frame_matrices *out)
{
    bb_status status = BB_OK;
    bb_ao_study resolved = *study;
    solving work = {.study = &resolved, .pipeline = pipeline};
    const bb_outcome *outcome = &work.evaluation.common.outcome;
    BB_TRY(bb_ao_extent_resolve(study, &resolved));
    BB_REQUIRE(
        study->learn.source == (int)BB_AO_LEARN_OFF, BB_UNSUPPORTED,
        "learn.source: a loop of frames runs the reconstructor of the true profile, expected "
        "off");
    BB_TRY(pose(&work));
    BB_TRY(solve(&work));
    BB_TRY(bb_frame_matrices_store(&work.storage, pipeline, &work.evaluation, out));
    BB_REQUIRE(outcome->kind == BB_OUTCOME_OK, BB_INVALID,
               "pipeline %s: %s, %s: there is no reconstructor to run", pipeline->name,
               bb_outcome_name(outcome->kind), outcome->detail);
done:
    finish(&work);
    return status;
}

// A matrix that is drawn.
typedef struct drawing {
    uint64_t seed;
    bb_index number; // of the matrix among those of a frame
    bb_index rows, columns;
    const double *places; // [columns] of slopes
} drawing;

// Place of item `index` of `count` on a line from 0 to 1.
static double place_of(bb_index index, bb_index count)
{
    return ((double)index + 0.5) / (double)count;
}

static bb_index first_of_group(bb_index group, bb_index slopes)
{
    return group * slopes / DRAWN_GROUPS;
}

static double place_of_slope(bb_index slope, bb_index slopes)
{
    const bb_index group = ((slope + 1) * DRAWN_GROUPS - 1) / slopes;
    const bb_index first = first_of_group(group, slopes);
    return place_of(slope - first, first_of_group(group + 1, slopes) - first);
}

static bb_status fill_drawn(const bb_matrix_source *source, bb_index row, bb_index column,
                            bb_view out)
{
    const drawing *matrix = source->context;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = bb_view_row(out, i);
        const double place = place_of(row + i, matrix->rows);
        const uint64_t first =
            (uint64_t)((matrix->number * matrix->rows + row + i) * ((matrix->columns + 1) / 2));
        double pair[2] = {0.0};
        for (bb_index j = column; j < column + out.shape[1]; ++j) {
            const double distance = (matrix->places[j] - place) / drawn_width;
            if (j % 2 == 0 || j == column) {
                bb_random_normal_pair(matrix->seed, BB_STREAM_LOOP_MATRIX,
                                      first + (uint64_t)(j / 2), pair);
            }
            values[j - column] = pair[j % 2] * (0.05 + 1.0 / (1.0 + distance * distance));
        }
    }
    return BB_OK;
}

static bb_status draw_matrix(const drawing *matrix, const bb_factor_pipeline *pipeline,
                             bb_stored_reconstructor *out)
{
    bb_status status = BB_OK;
    const bb_matrix_source source = {.rows = matrix->rows,
                                     .columns = matrix->columns,
                                     .name = "drawn matrix",
                                     .unit = "1",
                                     .fill = fill_drawn,
                                     .context = matrix};
    const bb_matrix_layout layout = {
        .rows = source.rows, .columns = source.columns, .range = drawn_range};
    BB_TRY(bb_stored_reconstructor_code(pipeline, &source, &layout, &out->matrix));
    if (pipeline->filter == (int)BB_SLOPE_FILTER_MEANS) {
        const bb_index count = matrix->rows * DRAWN_GROUPS;
        BB_TRY(BB_ALLOCATE(count, &out->means));
        for (bb_index i = 0; i < count; ++i) {
            out->means[i] =
                (float)bb_random_normal(matrix->seed, BB_STREAM_LOOP_MATRIX,
                                        UINT64_MAX - (uint64_t)(matrix->number * count + i));
        }
    }
done:
    return status;
}

static bb_status draw(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                      bb_frame_matrices *out)
{
    bb_status status = BB_OK;
    const bool filtered = pipeline->filter == (int)BB_SLOPE_FILTER_MEANS;
    const bb_frame_size *size = &study->realtime.size;
    double *places = NULL;
    out->is_drawn = true;
    out->slopes = size->slopes;
    BB_TRY(BB_ALLOCATE(size->slopes, &places));
    for (bb_index j = 0; j < size->slopes; ++j) {
        places[j] = place_of_slope(j, size->slopes);
    }
    for (bb_index t = 0; t < study->realtime.targets; ++t) {
        const drawing matrix = {.seed = (uint64_t)study->common.seed,
                                .number = t,
                                .rows = size->commands,
                                .columns = size->slopes,
                                .places = places};
        bb_log_progress_step("drawing", pipeline->name, t, study->realtime.targets);
        BB_TRY(draw_matrix(&matrix, pipeline, &out->stored[out->count]));
        out->commands += size->commands;
        ++out->count;
    }
    bb_log_progress("drawing", study->realtime.targets, study->realtime.targets);
    BB_TRY(BB_ALLOCATE(out->slopes, &out->own));
    BB_TRY(BB_ALLOCATE(out->slopes, &out->common));
    for (bb_index j = 0; j < out->slopes; ++j) {
        out->own[j] = 1.0;
        out->common[j] = filtered ? drawn_common : 0.0;
    }
    if (filtered) {
        BB_TRY(BB_ALLOCATE(DRAWN_GROUPS + 1, &out->group_begin));
        for (bb_index k = 0; k <= DRAWN_GROUPS; ++k) {
            out->group_begin[k] = first_of_group(k, out->slopes);
        }
        out->group_count = DRAWN_GROUPS;
    }
done:
    BB_RELEASE(&places);
    return status;
}

bb_status bb_frame_matrices_make(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                                 bb_frame_matrices *out)
{
    bb_status status = BB_OK;
    const double begin = bb_clock_seconds();
    BB_TRY(bb_ao_realtime_config_draws(&study->realtime) ? draw(study, pipeline, out)
                                                         : solve_study(study, pipeline, out));
    out->seconds = bb_clock_seconds() - begin;
done:
    return status;
}

void bb_frame_matrices_release(bb_frame_matrices *self)
{
    for (int t = 0; t < BB_COMMAND_MATRICES; ++t) {
        bb_stored_reconstructor_release(&self->stored[t]);
    }
    BB_RELEASE(&self->group_begin);
    BB_RELEASE(&self->own);
    BB_RELEASE(&self->common);
}

double bb_frame_matrices_bytes(const bb_frame_matrices *self)
{
    double bytes = sizeof(float) * (double)self->group_count * (double)self->commands;
    for (int t = 0; t < self->count; ++t) {
        bytes += self->stored[t].scales == NULL ? 0.0 : sizeof(float) * (double)self->slopes;
        bytes += (double)bb_coded_matrix_bytes(self->stored[t].matrix);
    }
    return bytes;
}

double bb_frame_matrices_values(const bb_frame_matrices *self)
{
    return (double)self->commands * (double)self->slopes;
}
