// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_storage.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "sim/ao/ao_commands.h"
#include "sim/ao/ao_mcao.h"
#include "sim/ao/ao_run.h"
#include "sim/pipelines/narrow_sum.h"
#include "sim/pipelines/slope_rounding.h"

#include <math.h>

// Largest number of rows of stored estimates and truths.
static bb_index most_rows(const bb_tomography *problem)
{
    bb_index rows = problem->commands != NULL ? problem->commands->stack.actuator_count : 0;
    for (bb_index t = 0; t < problem->target_count; ++t) {
        const bb_index slopes = problem->targets[t].ctm->rows;
        const bb_index actuators = bb_target_commands_mirror(problem, t)->actuator_count;
        rows = slopes > rows ? slopes : rows;
        rows = actuators > rows ? actuators : rows;
    }
    return rows;
}

bb_status bb_ao_storage_open(const bb_factor_problem *factor_problem, int study_device,
                             const bb_tomography *problem, const bb_unknown_modes_config *inflation,
                             bb_ao_storage *out)
{
    bb_status status = BB_OK;
    const bb_sensor_array *guides = &problem->guides;
    const bb_index n = guides->measurement_count;
    out->problem = problem;
    BB_TRY(bb_unknown_modes_create(guides, problem->atmosphere.airmass, inflation, &out->unknown));
    const bb_unknown_modes *unknown = &out->unknown;
    const bb_low_rank modes = {unknown->columns, unknown->vectors, unknown->variances};
    BB_TRY(BB_ALLOCATE(n + 2 * guides->sensor_count, &out->groups));
    for (bb_index s = 0; s < guides->sensor_count; ++s) {
        const bb_sensor *sensor = &guides->sensors[s];
        for (bb_index i = 0; i < 2 * sensor->count; ++i) {
            out->groups[sensor->first + i] = 2 * s + i / sensor->count;
        }
        out->groups[n + 2 * s] = out->groups[n + 2 * s + 1] = sensor->count;
    }
    const bb_slope_groups groups = {2 * guides->sensor_count, out->groups, out->groups + n};
    bb_factor_storage_open(factor_problem, study_device, most_rows(problem), &modes, &groups,
                           &out->common);
done:
    return status;
}

static void release_solved(bb_ao_storage *self)
{
    double **r = self->solved.evaluation.r;
    for (bb_index t = 0; r != NULL && t < self->problem->target_count; ++t) {
        BB_RELEASE(&r[t]);
    }
    BB_RELEASE(&self->solved.evaluation.r);
    self->solved.pipeline = NULL;
}

void bb_ao_storage_release(bb_ao_storage *self)
{
    release_solved(self);
    bb_factor_storage_release(&self->common);
    bb_unknown_modes_release(&self->unknown);
    BB_RELEASE(&self->groups);
}

bool bb_ao_storage_only_scores(const bb_ao_study *study, const char *dump)
{
    const bool shakes = study->error_terms.shake_arcsec > 0.0 || !isnan(study->shake_test_arcsec);
    return !bb_ao_evaluation_is_reused(study, dump) && !shakes &&
           !study->error_terms.minimum_variance && study->mirrors.count == 0 &&
           study->correction != (int)BB_AO_CORRECTION_GLAO &&
           study->learn.source == (int)BB_AO_LEARN_OFF &&
           study->night.source == (int)BB_NIGHT_OFF && study->frame_times.frames == 0;
}

bool bb_ao_storage_is_unmodified(const bb_factor_pipeline *pipeline)
{
    return pipeline->storage.codec < 0 && pipeline->stored != (int)BB_STORED_COMMANDS &&
           !bb_slope_rounding_is_given(pipeline) && !bb_narrow_sum_is_given(pipeline) &&
           !bb_factor_pipeline_searches(pipeline);
}

bool bb_ao_storage_any_modified(const bb_ao_study *study)
{
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    bool any = false;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        any = any || !bb_ao_storage_is_unmodified(&pipelines[p]);
    }
    return any;
}

static bb_status solve(bb_ao_storage *self, const bb_factor_problem *factor_problem,
                       const bb_factor_pipeline *pipeline, int correction, bool copied,
                       bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    bb_factor_problem posed = *factor_problem;
    if (self->resident && !copied && bb_ao_storage_is_unmodified(pipeline)) {
        posed.resident = &evaluation->resident;
    }
    bb_factor_storage_release_device(&self->common);
    BB_TRY(bb_factor_problem_solve(&posed, pipeline, evaluation->r, &evaluation->common));
    bb_ao_evaluation_share(evaluation, correction, self->problem);
done:
    return status;
}

bb_status bb_ao_storage_solve(bb_ao_storage *self, const bb_factor_problem *factor_problem,
                              const bb_factor_pipeline *pipeline, int correction,
                              bb_ao_evaluation *evaluation)
{
    return solve(self, factor_problem, pipeline, correction, false, evaluation);
}

bb_status bb_ao_storage_copy(const bb_tomography *problem, const bb_ao_evaluation *solved,
                             double **out)
{
    bb_status status = BB_OK;
    for (bb_index t = 0; t < problem->target_count; ++t) {
        const bb_index items = bb_ao_commands_rows(problem, solved, t) * problem->cmm->columns;
        if (solved->r[t] != NULL) {
            BB_TRY(BB_ALLOCATE(items, &out[t]));
            BB_TRY(bb_thread_copy(out[t], solved->r[t], (size_t)items * sizeof **out));
        }
    }
done:
    return status;
}

static bb_status cache_solved(bb_ao_storage *self, const bb_factor_pipeline *pipeline,
                              const bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    release_solved(self);
    BB_TRY(BB_ZEROED(self->problem->target_count, &self->solved.evaluation.r));
    BB_TRY(bb_ao_storage_copy(self->problem, evaluation, self->solved.evaluation.r));
    self->solved.evaluation.common = evaluation->common;
    self->solved.pipeline = pipeline;
done:
    return status;
}

bb_status bb_ao_storage_solve_once(bb_ao_storage *self, const bb_factor_problem *factor_problem,
                                   const bb_factor_pipeline *pipeline, int correction, bool keeps,
                                   bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *known = self->solved.pipeline;
    if (known == NULL || !bb_factor_pipeline_solves_alike(known, pipeline)) {
        BB_TRY(solve(self, factor_problem, pipeline, correction, keeps, evaluation));
        if (keeps && evaluation->common.outcome.kind == BB_OUTCOME_OK) {
            BB_TRY(cache_solved(self, pipeline, evaluation));
        }
        goto done;
    }
    BB_TRY(bb_ao_storage_copy(self->problem, &self->solved.evaluation, evaluation->r));
    evaluation->common = self->solved.evaluation.common;
    evaluation->common.pipeline = pipeline->name;
    bb_log_detail("pipeline %s: reuses the solution of %s", pipeline->name, known->name);
    if (!keeps) {
        release_solved(self);
    }
done:
    return status;
}

bb_status bb_ao_storage_round(bb_ao_storage *self, const bb_factor_pipeline *pipeline,
                              bb_index draw, bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    for (bb_index t = 0; t < self->problem->target_count; ++t) {
        if (evaluation->r[t] != NULL) {
            BB_TRY(bb_factor_storage_apply(&self->common, pipeline, draw,
                                           bb_ao_commands_rows(self->problem, evaluation, t),
                                           evaluation->r[t], &evaluation->common));
        }
    }
done:
    return status;
}

bb_status bb_ao_storage_apply(bb_ao_storage *self, const bb_factor_pipeline *pipeline,
                              bb_index draw, bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    BB_TRY(bb_ao_commands_replace_estimates(self->problem, pipeline, evaluation));
    BB_TRY(bb_ao_storage_round(self, pipeline, draw, evaluation));
done:
    return status;
}

enum { STORAGE_BYTES = 96 };

// Storage of a pipeline's reconstructors.
typedef struct stored_row {
    const char *storage; // into `text`
    double solved_bits;
    char text[STORAGE_BYTES];
} stored_row;

static const bb_output stored[] = {
    {"storage", "pipeline", NULL, "storage format of the reconstructors",
     .note = "with a `max_loss` the storage found; empty without a storage",
     .member = offsetof(stored_row, storage)},
    {"solved_bits", "pipeline", "1", "stored bits per solved value",
     .note = "with `operator: commands` lower than `reconstructor_bits`, by the ratio of commands "
             "to slopes of the truth sensor",
     .member = offsetof(stored_row, solved_bits)},
};

static const bb_output_table storage_outputs = {.title = "/results, ao",
                                                .when = "Where a pipeline has a `storage`:",
                                                .group = "results",
                                                .axes = "pipeline",
                                                BB_OUTPUT_ROWS(stored)};

// Number of solved values behind the stored ones; with mcao the commands are solved.
static double solved_values(const bb_tomography *problem, const bb_ao_evaluation *evaluation)
{
    double values = 0.0;
    if (evaluation->level.stored != (int)BB_STORED_COMMANDS || problem->commands != NULL) {
        return evaluation->common.factor.stored_values;
    }
    for (bb_index t = 0; t < (evaluation->shared ? 1 : problem->target_count); ++t) {
        const bb_matrix_source *solved = problem->targets[t].ctm;
        values += (double)solved->rows * (double)solved->columns;
    }
    return values;
}

// Publishes the storage of reconstructors; no effect if no pipeline has one.
static bb_status run(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_ao_work *work = all;
    const bb_ao_study *study = work->study;
    const bb_ao_evaluation *evaluations = work->evaluations;
    stored_row *rows = NULL; // [pipelines]
    bool stores = false;
    BB_TRY(BB_ZEROED(study->pipelines.count, &rows));
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_factor_report *report = &evaluations[p].common.factor;
        const bb_codec_config *storage = &evaluations[p].level.storage;
        stores = stores || storage->codec >= 0;
        rows[p].storage = rows[p].text;
        rows[p].solved_bits =
            8.0 * report->stored_bytes / solved_values(work->problem, &evaluations[p]);
        if (!isnan(report->stored_bytes)) {
            bb_codec_describe(storage, rows[p].text, sizeof rows[p].text);
        }
    }
    if (stores) {
        BB_TRY(bb_output_table_publish_records(&storage_outputs, rows, sizeof *rows,
                                               study->pipelines.count, NULL, results));
    }
done:
    BB_RELEASE(&rows);
    return status;
}

const bb_part bb_ao_storage_part = {
    .name = "storage",
    .run = run,
    .outputs = BB_OUTPUTS(&storage_outputs),
};
