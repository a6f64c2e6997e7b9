// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_whole.h"

#include "core/memory.h"
#include "physics/ao/target_commands.h"
#include "sim/ao/ao_commands.h"
#include "sim/ao/ao_plan.h"
#include "sim/ao/ao_run.h"
#include "sim/ao/timeline/ao_timeline_config.h"

#include <cblas.h>
#include <math.h>

void bb_ao_whole_release(bb_ao_whole *self)
{
    for (bb_index t = 0; self->models != NULL && t < self->problem->target_count; ++t) {
        bb_whole_residual_destroy(&self->models[t]);
    }
    BB_RELEASE(&self->models);
}

static bool shakes(const bb_ao_study *study)
{
    return study->error_terms.shake_arcsec > 0.0 || !isnan(study->shake_test_arcsec);
}

bool bb_ao_whole_applies(const bb_ao_study *study)
{
    return study->error_terms.fitting &&
           study->error_terms.combination == (int)BB_COMBINATION_EXACT &&
           (study->mirrors.count == 0 || !shakes(study));
}

bool bb_ao_whole_is_scored(const bb_ao_whole *self)
{
    const bb_ao_study *study = self->study;
    return study != NULL && bb_ao_whole_applies(study) &&
           (study->score == (int)BB_SCORE_PAIRS || bb_ao_study_frames(study));
}

const char *bb_ao_whole_definition(const bb_ao_study *study, bool pairs)
{
    return pairs && bb_ao_whole_applies(study) ? "whole residual"
                                               : "correctable residual and independent error terms";
}

bb_status bb_ao_whole_check(const bb_ao_study *study, const bb_config *config,
                            bb_problems *problems)
{
    bb_status status = BB_OK;
    const double given = study->error_terms.fitting_coefficient;
    const bool pairs = study->score == (int)BB_SCORE_PAIRS || bb_ao_study_frames(study);
    const bool learns = study->learn.source != (int)BB_AO_LEARN_OFF && study->learn.apply;
    BB_TRY(bb_study_refuse(pairs && bb_ao_whole_applies(study) && given != BB_FITTING_COEFFICIENT,
                           config, problems,
                           "error_terms.fitting_coefficient = %g: no effect on the exact whole "
                           "residual; set error_terms.combination: independent",
                           given));
    BB_TRY(bb_study_refuse(
        study->error_terms.minimum_variance &&
            (!pairs || !bb_ao_whole_applies(study) || study->mirrors.count > 0 || learns),
        config, problems,
        "error_terms.minimum_variance: expected score pairs, error_terms.combination exact, "
        "error_terms.fitting true, a mirror for each target and no learned profile"));
done:
    return status;
}

// Computes the drift of every layer during the delay of the correction, and creates the model of a
// target.
static bb_status make_model(bb_ao_whole *self, bb_index target)
{
    bb_status status = BB_OK;
    const bb_index layers = self->problem->atmosphere.layer_count;
    const double delay_s = 1e-3 * self->study->error_terms.frame_delay_ms;
    double(*drift_m)[2] = NULL; // [layers]
    if (delay_s > 0.0) {
        BB_TRY(BB_ALLOCATE(layers, &drift_m));
        bb_ao_timeline_config_wind(self->study, &self->problem->atmosphere, drift_m);
        for (bb_index l = 0; l < layers; ++l) {
            drift_m[l][0] *= delay_s;
            drift_m[l][1] *= delay_s;
        }
    }
    const bb_whole_look look = {1.0, (const double(*)[2])drift_m};
    BB_TRY(bb_whole_residual_create(self->problem, target, NULL, 1, &look, &self->models[target]));
done:
    BB_RELEASE(&drift_m);
    return status;
}

// Creates the model of a target on first use.
static bb_status find_model(bb_ao_whole *self, bb_index target)
{
    bb_status status = BB_OK;
    if (self->models == NULL) {
        BB_TRY(BB_ZEROED(self->problem->target_count, &self->models));
    }
    if (self->models[target] == NULL) {
        BB_TRY(make_model(self, target));
    }
done:
    return status;
}

const double *bb_ao_whole_matrix(const bb_tomography *problem, const bb_ao_evaluation *evaluation,
                                 bb_index target)
{
    return problem->commands != NULL ? evaluation->r[0]
                                     : bb_ao_evaluation_reconstructor(evaluation, target);
}

bb_status bb_ao_whole_estimate(bb_ao_whole *self, const bb_ao_evaluation *evaluation,
                               bb_index target, const double *product, bb_whole_estimate *out,
                               const bb_whole_estimate **estimate)
{
    bb_status status = BB_OK;
    *estimate = NULL;
    if (!bb_ao_whole_is_scored(self)) {
        goto done;
    }
    BB_TRY(find_model(self, target));
    *out = (bb_whole_estimate){
        self->models[target], bb_ao_whole_matrix(self->problem, evaluation, target), product,
        evaluation->kind, bb_ao_commands_resident(self->problem, evaluation, target)};
    *estimate = out;
done:
    return status;
}

// Minimum-variance commands of all targets.
typedef struct best {
    bb_index targets;
    bb_view *views;          // [targets]
    bb_matrix_source *sides; // [targets] B
    const bb_matrix_source **listed;
    double **b; // [targets][actuators][n]
    bb_ao_evaluation solved;
} best;

static void release_best(best *work)
{
    for (bb_index t = 0; work->b != NULL && t < work->targets; ++t) {
        BB_RELEASE(&work->b[t]);
    }
    BB_RELEASE(&work->b);
    BB_RELEASE(&work->views);
    BB_RELEASE(&work->sides);
    BB_RELEASE(&work->listed);
    bb_ao_evaluation_release(&work->solved, work->targets);
}

static bb_status pose_best(bb_ao_whole *self, best *work)
{
    bb_status status = BB_OK;
    const bb_index n = self->problem->cmm->columns;
    BB_TRY(BB_ZEROED(work->targets, &work->b));
    BB_TRY(BB_ZEROED(work->targets, &work->views));
    BB_TRY(BB_ZEROED(work->targets, &work->sides));
    BB_TRY(BB_ZEROED(work->targets, &work->listed));
    for (bb_index t = 0; t < work->targets; ++t) {
        const bb_index rows = bb_target_commands_mirror(self->problem, t)->actuator_count;
        BB_TRY(find_model(self, t));
        BB_TRY(BB_ALLOCATE(rows * n, &work->b[t]));
        BB_TRY(bb_whole_residual_project(self->models[t], work->b[t]));
        work->views[t] = bb_view_matrix(work->b[t], rows, n);
        work->sides[t] =
            bb_matrix_source_dense(&work->views[t], "minimum-variance commands", "V arcsec");
        work->listed[t] = &work->sides[t];
    }
done:
    return status;
}

typedef struct best_residual {
    double residual_m, tilt_m;
} best_residual;

// Computes `strehl` [wavelengths] and the residual. That of slopes is not needed here.
static bb_status rate_best(bb_ao_whole *self, const best *work, bb_index target,
                           const double *wavelengths_m, double *strehl, best_residual *residual)
{
    bb_status status = BB_OK;
    const bb_index rows = work->sides[target].rows;
    const int n = (int)work->sides[target].columns;
    const double *m = work->solved.r[target];
    double *product = NULL; // B M^T
    double *zeros = NULL;
    bb_outcome outcome = {0};
    BB_TRY(BB_ALLOCATE(rows * rows, &product));
    BB_TRY(BB_ZEROED(rows * rows, &zeros));
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)rows, n, 1.0,
                work->b[target], n, m, n, 0.0, product, (int)rows);
    const bb_whole_estimate estimate = {
        .whole = self->models[target], .r = m, .product = product, .kind = BB_RESIDUAL_COMMANDS};
    bb_tomography_score score = {.kind = BB_SCORE_PAIRS,
                                 .tilt_rms = NAN,
                                 .residual = BB_RESIDUAL_COMMANDS,
                                 .estimate = &estimate,
                                 .strehl = strehl};
    BB_TRY(bb_tomography_rate(self->problem, target, zeros, self->study->wavelengths_um.count,
                              wavelengths_m, &score, &outcome));
    *residual = (best_residual){score.residual_rms, score.tilt_rms};
done:
    BB_RELEASE(&product);
    BB_RELEASE(&zeros);
    return status;
}

typedef struct best_row {
    double strehl;
} best_row;

static const bb_output best_rows[] = {
    {"strehl_minimum_variance", "target, wavelength", "1",
     "Strehl ratio with the mirror commands of least phase variance",
     .note =
         "each target separately; with the arithmetic and noise of the reference, before storage",
     .member = offsetof(best_row, strehl)},
};

static const bb_output_table best_outputs = {.title = "/results, ao",
                                             .when = "With `error_terms.minimum_variance`:",
                                             .group = "results",
                                             .axes = "target, wavelength",
                                             BB_OUTPUT_ROWS(best_rows)};

static const bb_output residual_rows[] = {
    {"residual_rms_minimum_variance_nm", "target", "nm",
     "rms of the residual wavefront behind `strehl_minimum_variance`",
     .member = offsetof(best_residual, residual_m), .scale = 1e9},
    {"residual_tilt_minimum_variance_nm", "target", "nm", "rms of its tip and tilt",
     .note = "as `residual_tilt_by_nm`", .member = offsetof(best_residual, tilt_m), .scale = 1e9},
};

static const bb_output_table residual_outputs = {.title = "/results, ao",
                                                 .when = "With `error_terms.minimum_variance`:",
                                                 .group = "results",
                                                 .axes = "target",
                                                 BB_OUTPUT_ROWS(residual_rows)};

static bool wants_best(const void *study)
{
    return ((const bb_ao_study *)study)->error_terms.minimum_variance;
}

static bb_status need_best(const void *study, const void *extent, bb_need *out)
{
    const bb_ao_extent *span = extent;
    bb_need solving;
    BB_RETURN_IF_FAILED(bb_ao_plan_reference_need(study, span, &solving));
    *out = bb_need_together(span->best, solving);
    return BB_OK;
}

// Solves for the commands of least phase variance of each target, with the arithmetic and device of
// the reference pipeline.
static bb_status publish_best(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    bb_ao_work *run = all;
    bb_ao_whole *self = &run->scoring.whole;
    const bb_ao_study *study = run->study;
    const bb_index wavelengths = study->wavelengths_um.count;
    const bb_factor_pipeline *reference = (const bb_factor_pipeline *)study->pipelines.items +
                                          bb_factor_pipelines_reference(&study->pipelines);
    bb_factor_problem posed = run->factor_problem;
    best work = {.targets = self->problem->target_count};
    best_row *rows = NULL;           // [targets][wavelengths]
    best_residual *residuals = NULL; // [targets]
    BB_TRY(BB_ALLOCATE(work.targets, &residuals));
    for (bb_index t = 0; t < work.targets; ++t) {
        residuals[t] = (best_residual){NAN, NAN};
    }
    BB_TRY(pose_best(self, &work));
    BB_TRY(
        bb_ao_evaluation_create("least variance", work.targets, wavelengths, 0, 0, &work.solved));
    work.solved.common.device = run->evaluations[run->reference].common.device;
    posed.target_count = work.targets;
    posed.sides = work.listed;
    posed.kept = NULL; // would outlive the sides
    BB_TRY(bb_factor_problem_solve(&posed, reference, work.solved.r, &work.solved.common));
    for (bb_index t = 0; work.solved.common.outcome.kind == BB_OUTCOME_OK && t < work.targets;
         ++t) {
        BB_TRY(rate_best(self, &work, t, run->scoring.wavelengths_m,
                         work.solved.strehl + t * wavelengths, &residuals[t]));
    }
    BB_TRY(BB_ALLOCATE(work.targets * wavelengths, &rows));
    for (bb_index i = 0; i < work.targets * wavelengths; ++i) {
        rows[i].strehl = work.solved.strehl[i];
    }
    BB_TRY(bb_output_table_publish_records(&best_outputs, rows, sizeof *rows,
                                           work.targets * wavelengths, NULL, results));
    BB_TRY(bb_output_table_publish_records(&residual_outputs, residuals, sizeof *residuals,
                                           work.targets, NULL, results));
done:
    release_best(&work);
    BB_RELEASE(&rows);
    BB_RELEASE(&residuals);
    return status;
}

const bb_part bb_ao_whole_part = {
    .name = "least variance",
    .wanted = wants_best,
    .need = need_best,
    .run = publish_best,
    .outputs = BB_OUTPUTS(&best_outputs, &residual_outputs),
};
