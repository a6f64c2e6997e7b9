// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_scoring.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/stage.h"
#include "sim/ao/ao_run.h"
#include "sim/pipelines/narrow_sum.h"
#include "sim/pipelines/slope_rounding.h"
#include "sim/pipelines/sum_rounding.h"
#include "solvers/factor/residual_noise.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

static bb_status sum_pairs(void *scorer, const bb_pair_sums *task)
{
    const bb_residual_pairs pairs = {
        task->edge,       task->count,   task->actuators, task->wavelength_count, task->place,
        task->first,      task->column,  task->light,     task->influence,        task->known,
        task->stationary, task->squares, task->sums,      task->covariances,      task->variances,
        task->source,     task->commands};
    return bb_factor_device_scorer_pairs(scorer, &pairs);
}

static bool has_finite_tilts(const bb_tomography *problem)
{
    bool finite = true;
    for (bb_index c = 0; c < problem->tilts.columns; ++c) {
        finite = finite && isfinite(problem->tilts.variance[c]);
    }
    return finite;
}

// Opens the GPU scorer. The scorer is opened at the start, so that its projections have the same
// bits at any time.
static bb_status open_scorer(bb_ao_scoring *self, double reserve_bytes)
{
    bb_status status = BB_OK;
    const bb_tomography *problem = self->problem;
    const bb_low_rank part = {problem->tilts.columns, problem->tilts.vectors,
                              problem->tilts.variance};
    // Matrix of the scores: the factored matrix, so that its panels are filled once for both. With
    // an infinite tilt variance it is Cmm with all tilts instead, because a score leaves infinite
    // weights out.
    const bool shares = has_finite_tilts(problem);
    BB_TRY(bb_factor_device_scorer_open(
        self->study->solver.common.gpus, shares ? problem->cmm_core : problem->cmm,
        shares && part.count > 0 ? &part : NULL, reserve_bytes, &self->scorer));
    self->projection = (bb_projection){.congruence = bb_factor_device_scorer_congruence,
                                       .multiply = bb_factor_device_scorer_multiply,
                                       .sum_pairs = sum_pairs,
                                       .context = self->scorer};
    self->problem->projection = &self->projection;
done:
    return status;
}

bb_status bb_ao_scoring_open(const bb_ao_study *study, bb_tomography *problem,
                             bb_ao_storage *storage, bool on_device, double reserve_bytes,
                             bb_ao_scoring *out)
{
    bb_status status = BB_OK;
    const bb_index wavelengths = study->wavelengths_um.count;
    const bb_index boxes = study->ensquared_mas.count;
    const double *wavelengths_um = study->wavelengths_um.items;
    const double *boxes_mas = study->ensquared_mas.items;
    *out = (bb_ao_scoring){.study = study,
                           .problem = problem,
                           .storage = storage,
                           .commands = {.problem = problem},
                           .traces = bb_ao_storage_any_modified(study),
                           .whole = {.study = study, .problem = problem},
                           .on_device = on_device};
    BB_TRY(BB_ALLOCATE(wavelengths, &out->wavelengths_m));
    for (bb_index w = 0; w < wavelengths; ++w) {
        out->wavelengths_m[w] = 1e-6 * wavelengths_um[w];
    }
    BB_TRY(BB_ALLOCATE(boxes, &out->boxes_rad));
    for (bb_index b = 0; b < boxes; ++b) {
        out->boxes_rad[b] = boxes_mas[b] / (180.0 / M_PI * 3600.0e3);
    }
    if (on_device) {
        BB_TRY(open_scorer(out, reserve_bytes));
    }
done:
    return status;
}

void bb_ao_scoring_release(bb_ao_scoring *self)
{
    bb_ao_whole_release(&self->whole);
    if (self->problem != NULL) {
        self->problem->projection = NULL;
        self->problem = NULL;
    }
    bb_factor_device_scorer_close(&self->scorer);
    bb_ao_commands_release(&self->commands);
    BB_RELEASE(&self->spare);
    BB_RELEASE(&self->wavelengths_m);
    BB_RELEASE(&self->boxes_rad);
}

// Copies the central part of a point-spread image.
static void crop(const double *image, bb_index pixels, double *out)
{
    bb_index first = (pixels - BB_AO_PSF_PIXELS) / 2;
    for (bb_index y = 0; y < BB_AO_PSF_PIXELS; ++y) {
        for (bb_index x = 0; x < BB_AO_PSF_PIXELS; ++x) {
            out[y * BB_AO_PSF_PIXELS + x] = image[(first + y) * pixels + first + x];
        }
    }
}

// Wavelengths whose images are stored for a target.
static bb_index images_of(const bb_ao_scoring *self, bb_index target)
{
    if (self->study->images == (int)BB_AO_IMAGES_ALL) {
        return self->study->wavelengths_um.count;
    }
    return target == 0 ? 1 : 0;
}

// Estimate to score, and the evaluation that receives its scores.
typedef struct estimate {
    bb_ao_evaluation *evaluation;
    bb_index target;       // -1: product shared by the items that follow
    const double *product; // M Cmm M^T with mcao, else NULL
} estimate;

// Sets the estimate of a score by pairs.
static bb_status set_estimate(bb_ao_scoring *self, const estimate *item, bb_whole_estimate *whole,
                              bb_tomography_score *score)
{
    return score->kind == BB_SCORE_PAIRS
               ? bb_ao_whole_estimate(&self->whole, item->evaluation, item->target, item->product,
                                      whole, &score->estimate)
               : BB_OK;
}

// Computes both scores, whatever the study's `score`, for comparison with frames. A failure of
// these scores does not fail the study.
static bb_status rate_for_frames(bb_ao_scoring *self, const estimate *item,
                                 const bb_residual_task *task)
{
    bb_status status = BB_OK;
    bb_ao_evaluation *evaluation = item->evaluation;
    const bb_index target = item->target;
    bb_whole_estimate whole;
    const bb_index first = target * self->study->wavelengths_um.count;
    bb_outcome outcome = {0};
    bb_tomography_score pairs = {.kind = BB_SCORE_PAIRS,
                                 .residual = bb_ao_commands_kind(task),
                                 .strehl = evaluation->pairs_with_terms + first,
                                 .correctable = evaluation->pairs + first};
    bb_tomography_score stationary = {.kind = BB_SCORE_STATIONARY,
                                      .residual = bb_ao_commands_kind(task),
                                      .strehl = evaluation->stationary + first};
    BB_TRY(set_estimate(self, item, &whole, &pairs));
    BB_TRY(bb_tomography_rate(self->problem, target, task->cee, self->study->wavelengths_um.count,
                              self->wavelengths_m, &pairs, &outcome));
    BB_TRY(bb_tomography_rate(self->problem, target, task->cee, self->study->wavelengths_um.count,
                              self->wavelengths_m, &stationary, &outcome));
done:
    return status;
}

// Checks that a residual covariance is finite, and sets its trace if it is in slopes.
static void inspect(const bb_ao_scoring *self, bb_index target, const bb_residual_task *task,
                    bb_ao_evaluation *evaluation)
{
    const bool slopes =
        evaluation->kind == BB_RESIDUAL_SLOPES && !bb_residual_task_in_commands(task);
    const bb_index rows = bb_residual_task_size(task);
    const bb_index bad = bb_stage_find_nonfinite("residual", task->cee, rows * rows);
    if (bad >= 0) {
        bb_outcome_set(&evaluation->common.outcome, BB_OUTCOME_NON_FINITE,
                       "residual covariance of target %td, row %td, column %td", target, bad / rows,
                       bad % rows);
    }
    evaluation->trace_arcsec2[target] = slopes ? 0.0 : NAN;
    for (bb_index row = 0; slopes && row < task->ctm->rows; ++row) {
        evaluation->trace_arcsec2[target] +=
            task->diagonal != NULL
                ? self->commands.truths[target].variances[row] + task->diagonal[row]
                : task->cee[row * rows + row];
    }
}

static bb_status rate(bb_ao_scoring *self, const estimate *item, const bb_residual_task *task)
{
    bb_status status = BB_OK;
    bb_ao_evaluation *evaluation = item->evaluation;
    const bb_index target = item->target;
    bb_whole_estimate whole;
    double *image = NULL;
    double *widths_rad = NULL; // [wavelengths]
    inspect(self, target, task, evaluation);
    bb_index pixels = bb_point_spread_layout(self->problem->targets[target].spread)->pixels;
    bb_index first = target * self->study->wavelengths_um.count;
    bb_index boxes = self->study->ensquared_mas.count;
    const bb_index images = images_of(self, target);
    if (images > 0) {
        BB_TRY(BB_ALLOCATE(images * pixels * pixels, &image));
    }
    BB_TRY(bb_evaluation_unset(self->study->wavelengths_um.count, &widths_rad));
    bb_tomography_score score = {.kind = (bb_score)self->study->score,
                                 .tilt_rms = NAN,
                                 .residual = bb_ao_commands_kind(task),
                                 .strehl = evaluation->strehl + first,
                                 .width_rad = widths_rad,
                                 .psf_count = images,
                                 .psf = image,
                                 .box_count = boxes,
                                 .boxes_rad = self->boxes_rad,
                                 .ensquared =
                                     boxes > 0 ? evaluation->ensquared + first * boxes : NULL};
    BB_TRY(set_estimate(self, item, &whole, &score));
    BB_TRY(bb_tomography_rate(self->problem, target, task->cee, self->study->wavelengths_um.count,
                              self->wavelengths_m, &score, &evaluation->common.outcome));
    for (bb_index w = 0; w < self->study->wavelengths_um.count; ++w) {
        evaluation->width_mas[first + w] = widths_rad[w] * (180.0 / M_PI) * 3600.0e3;
    }
    evaluation->residual_m[target] = score.residual_rms;
    evaluation->tilt_m[target] = score.tilt_rms;
    evaluation->correctable_m[target] = score.correctable_rms;
    if (isnan(score.residual_rms)) {
        bb_log_warning("pipeline %s, target %td: %s, %s", evaluation->common.pipeline, target,
                       bb_outcome_name(evaluation->common.outcome.kind),
                       evaluation->common.outcome.detail);
    }
    if (bb_ao_study_frames(self->study)) {
        BB_TRY(rate_for_frames(self, item, task));
    }
    for (bb_index w = 0; w < images; ++w) {
        crop(image + w * pixels * pixels, pixels,
             evaluation->psf + (first + w) * BB_AO_PSF_PIXELS * BB_AO_PSF_PIXELS);
    }
done:
    BB_RELEASE(&image);
    BB_RELEASE(&widths_rad);
    return status;
}

// True if a GPU projects residuals of slopes onto commands, which requires that no other term is
// added to them.
static bool projects(const bb_ao_scoring *self, const bb_ao_evaluation *evaluation)
{
    const bb_factor_pipeline *level = &evaluation->level;
    return self->on_device && evaluation->kind == BB_RESIDUAL_SLOPES &&
           self->problem->commands == NULL && self->problem->shake_arcsec == 0.0 &&
           isnan(self->study->shake_test_arcsec) && !bb_slope_rounding_is_given(level) &&
           !bb_narrow_sum_is_given(level);
}

// Memory for a task's residual: reuses the buffer of an earlier one, to avoid page faults.
static bb_status allocate_residual(bb_ao_scoring *self, bb_residual_task *task)
{
    const bb_index items = task->ctt->rows * task->ctt->rows;
    if (self->spare != NULL && self->spare_items == items) {
        task->cee = self->spare;
        self->spare = NULL;
        return BB_OK;
    }
    return BB_ALLOCATE(items, &task->cee);
}

// Appends the tasks of an evaluation for its first targets. With mcao and scores of the whole
// residual, their shared product comes first.
static bb_status list_estimates(bb_ao_scoring *self, bb_ao_evaluation *evaluation, bb_index targets,
                                bb_residual_task *tasks, estimate *estimates, bb_index *count)
{
    bb_status status = BB_OK;
    const double *product = NULL;
    if (evaluation->common.outcome.kind != BB_OUTCOME_OK) {
        goto done;
    }
    if (self->problem->commands != NULL && bb_ao_whole_is_scored(&self->whole)) {
        bb_residual_task *task = &tasks[*count];
        bb_ao_commands_product(&self->commands, evaluation, task);
        BB_TRY(BB_ALLOCATE(task->rows * task->rows, &task->cee));
        product = task->cee;
        estimates[(*count)++] = (estimate){evaluation, -1, NULL};
    }
    for (bb_index t = 0; t < targets; ++t) {
        bb_residual_task *task = &tasks[*count];
        BB_TRY(bb_ao_commands_task(&self->commands, evaluation, t, task));
        if (task->rows == 0 && projects(self, evaluation)) {
            BB_TRY(bb_ao_commands_project(&self->commands, t, task));
            if (self->traces) {
                BB_TRY(BB_ALLOCATE(task->ctm->rows, &task->diagonal));
            }
        }
        BB_TRY(allocate_residual(self, task));
        estimates[(*count)++] = (estimate){evaluation, t, product};
    }
done:
    return status;
}

// On a device, the buffer of the last residual is kept for the next one.
static void release_tasks(bb_ao_scoring *self, bb_residual_task **tasks, bb_index limit)
{
    for (bb_index i = 0; *tasks != NULL && i < limit; ++i) {
        if (self->on_device && (*tasks)[i].cee != NULL && (*tasks)[i].ctt != NULL) {
            BB_RELEASE(&self->spare);
            self->spare = (*tasks)[i].cee;
            self->spare_items = (*tasks)[i].ctt->rows * (*tasks)[i].ctt->rows;
            (*tasks)[i].cee = NULL;
        }
        BB_RELEASE(&(*tasks)[i].cee);
        BB_RELEASE(&(*tasks)[i].diagonal);
    }
    BB_RELEASE(tasks);
}

static bb_status find_residuals(bb_ao_scoring *self, const bb_matrix_source *cmm, bb_index count,
                                const bb_residual_task *tasks)
{
    bb_status status = BB_OK;
    const double begin = bb_clock_seconds();
    if (!self->on_device || cmm != self->problem->cmm || count == 0) {
        return bb_residual_covariance(cmm, count, tasks);
    }
    BB_TRY(bb_factor_device_scorer_score(self->scorer, count, tasks));
    bb_log_detail("%td residual(s) in %.3f s", count, bb_clock_seconds() - begin);
done:
    return status;
}

// Adds a covariance in the rows of a task's estimate, after the task's weights.
static bb_status add_weighted(const bb_ao_scoring *self, const bb_residual_task *task,
                              const double *added)
{
    bb_status status = BB_OK;
    const bb_index size = bb_residual_task_size(task);
    bb_residual_task seen = {.ctm = task->ctm, .ctt = task->ctt, .cee = task->cee};
    double *projected = NULL; // [q][q]
    if (!self->on_device || task->weights == NULL) {
        return bb_residual_task_add(task, added);
    }
    BB_TRY(BB_ALLOCATE(size * size, &projected));
    BB_TRY(bb_factor_device_scorer_congruence(self->scorer, size, task->rows, task->weights, added,
                                              projected));
    BB_TRY(bb_residual_task_add(&seen, projected));
done:
    BB_RELEASE(&projected);
    return status;
}

// Adds the covariance of rounded slopes and narrow sums, after the weights of the task's estimate.
static bb_status add_roundings(const bb_ao_scoring *self, const bb_factor_pipeline *level,
                               const bb_residual_task *task, double share, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    bb_factor_storage *storage = &self->storage->common;
    const bb_index rows = bb_residual_task_rows(task);
    double *added = NULL; // [rows][rows]
    if (!bb_slope_rounding_is_given(level) && !bb_narrow_sum_is_given(level)) {
        goto done;
    }
    BB_TRY(BB_ZEROED(rows * rows, &added));
    BB_TRY(bb_slope_rounding_add(storage, level, rows, task->r, added));
    BB_TRY(bb_sum_rounding_add(storage, level, rows, task->r, added, outcome));
    cblas_dscal((int)(rows * rows), share, added, 1);
    BB_TRY(add_weighted(self, task, added));
done:
    BB_RELEASE(&added);
    return status;
}

// Adds terms outside the covariance: the telescope's shake, and `share` of the loss from rounded
// slopes and sums.
static bb_status add_outside_terms(const bb_ao_scoring *self, const estimate *item,
                                   const bb_residual_task *task, double share)
{
    bb_status status = BB_OK;
    bb_ao_evaluation *evaluation = item->evaluation;
    if (item->target >= 0) {
        BB_TRY(bb_ao_commands_shake(self->problem, item->target, evaluation->kind,
                                    self->problem->shake_arcsec, task));
    }
    BB_TRY(add_roundings(self, &evaluation->level, task, share, &evaluation->common.outcome));
done:
    return status;
}

// Computes the Strehl ratios of the shake test, if the residual has been scored. A failure of these
// scores does not fail the study.
static bb_status rate_shaken(bb_ao_scoring *self, const estimate *item,
                             const bb_residual_task *task)
{
    bb_status status = BB_OK;
    bb_whole_estimate whole;
    const bb_index wavelengths = self->study->wavelengths_um.count;
    bb_ao_evaluation *evaluation = item->evaluation;
    bb_outcome outcome = {0};
    bb_tomography_score score = {.kind = (bb_score)self->study->score,
                                 .residual = evaluation->kind,
                                 .strehl = evaluation->shaken + item->target * wavelengths};
    if (isnan(self->study->shake_test_arcsec) || isnan(evaluation->residual_m[item->target])) {
        goto done;
    }
    BB_TRY(bb_ao_commands_shake(self->problem, item->target, evaluation->kind,
                                self->study->shake_test_arcsec, task));
    BB_TRY(set_estimate(self, item, &whole, &score));
    BB_TRY(bb_tomography_rate(self->problem, item->target, task->cee, wavelengths,
                              self->wavelengths_m, &score, &outcome));
done:
    return status;
}

// Scores a residual.
static bb_status score_estimate(bb_ao_scoring *self, const bb_residual_task *task,
                                const estimate *item)
{
    bb_status status = BB_OK;
    bb_ao_evaluation *evaluation = item->evaluation;
    const double begin = bb_clock_seconds();
    BB_TRY(add_outside_terms(self, item, task, 1.0));
    if (item->target < 0) {
        goto done;
    }
    BB_TRY(rate(self, item, task));
    BB_TRY(rate_shaken(self, item, task));
    bb_log_detail("pipeline %s, target %td: Strehl ratios in %.3f s", evaluation->common.pipeline,
                  item->target, bb_clock_seconds() - begin);
done:
    return status;
}

bb_status bb_ao_scoring_run(bb_ao_scoring *self, bb_ao_evaluation *const *evaluations,
                            bb_index evaluation_count)
{
    bb_status status = BB_OK;
    const bb_index targets = self->problem->target_count;
    bb_index count = 0;
    bb_residual_task *tasks = NULL;
    estimate *estimates = NULL;
    const bb_index limit = evaluation_count * (targets + 1);
    BB_TRY(BB_ZEROED(limit, &tasks));
    BB_TRY(BB_ZEROED(limit, &estimates));
    for (bb_index p = 0; p < evaluation_count; ++p) {
        BB_TRY(list_estimates(self, evaluations[p], targets, tasks, estimates, &count));
    }
    bb_log_progress_step("scoring", "covariances", 0, count + 1);
    BB_TRY(find_residuals(self, self->problem->cmm, count, tasks));
    for (bb_index i = 0; i < count; ++i) {
        bb_log_progress_step("scoring", estimates[i].evaluation->common.pipeline, i + 1, count + 1);
        BB_TRY(score_estimate(self, &tasks[i], &estimates[i]));
    }
    bb_log_progress("scoring", count + 1, count + 1);
done:
    release_tasks(self, &tasks, evaluation_count * (targets + 1));
    BB_RELEASE(&estimates);
    return status;
}

// Selection of the scores to compute.
typedef struct selection {
    bb_index targets, wavelengths; // number of first targets and wavelengths to score
    // truths at another time, for scores of the correctable residual; NULL: the problem's
    const bb_ao_late *late;
    double *const *whole; // [evaluations] scores of the whole residual at that time
} selection;

// Strehl ratios of the listed estimates, into out[evaluation] [targets of the study][wavelengths of
// the study].
static bb_status rate_listed(bb_ao_scoring *self, const selection *selected, bb_index listed,
                             const bb_residual_task *tasks, const estimate *estimates,
                             bb_ao_evaluation *const *evaluations, double *const *out)
{
    bb_status status = BB_OK;
    for (bb_index e = 0, p = 0; e < listed; ++e) {
        const estimate *item = &estimates[e];
        while (evaluations[p] != item->evaluation) {
            ++p;
        }
        BB_TRY(add_outside_terms(self, item, &tasks[e],
                                 selected->late != NULL ? selected->late->share : 1.0));
        if (item->target < 0) {
            continue;
        }
        double *numbers = out[p] + item->target * self->study->wavelengths_um.count;
        bb_outcome outcome = {0};
        bb_whole_estimate whole;
        bb_tomography_score score = {.kind = (bb_score)self->study->score,
                                     .residual = bb_ao_commands_kind(&tasks[e]),
                                     .strehl = numbers};
        if (selected->late != NULL) {
            score.kind = BB_SCORE_PAIRS;
            score.strehl = NULL;
            score.correctable = numbers;
        }
        if (selected->late != NULL && selected->late->wholes != NULL) {
            whole = (bb_whole_estimate){
                selected->late->wholes[item->target],
                bb_ao_whole_matrix(self->problem, item->evaluation, item->target), item->product,
                item->evaluation->kind,
                bb_ao_commands_resident(self->problem, item->evaluation, item->target)};
            score.estimate = &whole;
            score.strehl = selected->whole[p] + item->target * self->study->wavelengths_um.count;
        }
        if (selected->late == NULL) {
            BB_TRY(set_estimate(self, item, &whole, &score));
        }
        BB_TRY(bb_tomography_rate(self->problem, item->target, tasks[e].cee, selected->wavelengths,
                                  self->wavelengths_m, &score, &outcome));
    }
done:
    return status;
}

static bb_status rate_some(bb_ao_scoring *self, const selection *selected,
                           bb_ao_evaluation *const *evaluations, bb_index count, double *const *out)
{
    bb_status status = BB_OK;
    const bb_index directions = self->problem->target_count * self->study->wavelengths_um.count;
    bb_index listed = 0;
    bb_residual_task *tasks = NULL;
    estimate *estimates = NULL;
    const bb_index limit = count * (selected->targets + 1);
    BB_TRY(BB_ZEROED(limit, &tasks));
    BB_TRY(BB_ZEROED(limit, &estimates));
    for (bb_index p = 0; p < count; ++p) {
        for (bb_index i = 0; i < directions; ++i) {
            out[p][i] = NAN;
        }
        BB_TRY(list_estimates(self, evaluations[p], selected->targets, tasks, estimates, &listed));
    }
    for (bb_index e = 0; selected->late != NULL && e < listed; ++e) {
        if (estimates[e].target >= 0) {
            tasks[e].ctm = selected->late->ctm[estimates[e].target];
        }
    }
    BB_TRY(find_residuals(self,
                          selected->late != NULL && selected->late->cmm != NULL
                              ? selected->late->cmm
                              : self->problem->cmm,
                          listed, tasks));
    BB_TRY(rate_listed(self, selected, listed, tasks, estimates, evaluations, out));
done:
    release_tasks(self, &tasks, count * (selected->targets + 1));
    BB_RELEASE(&estimates);
    return status;
}

bb_status bb_ao_scoring_strehls(bb_ao_scoring *self, bb_ao_evaluation *const *evaluations,
                                bb_index count, bb_index targets, bb_index wavelengths,
                                double *const *out)
{
    const selection selected = {.targets = targets, .wavelengths = wavelengths};
    return rate_some(self, &selected, evaluations, count, out);
}

bb_status bb_ao_scoring_late(bb_ao_scoring *self, const bb_ao_late *late,
                             bb_ao_evaluation *const *evaluations, bb_index count,
                             double *const *correctable, double *const *whole)
{
    const selection selected = {self->problem->target_count, self->study->wavelengths_um.count,
                                late, whole};
    return rate_some(self, &selected, evaluations, count, correctable);
}

static bb_status project_noise(bb_ao_scoring *self, const bb_csr *noise,
                               const bb_residual_task *task, double *out)
{
    bb_status status = BB_OK;
    if (!self->on_device) {
        return bb_residual_noise(noise, bb_residual_task_rows(task), task->r, out);
    }
    BB_TRY(bb_factor_device_scorer_noise(self->scorer, noise, task, out));
done:
    return status;
}

bb_status bb_ao_scoring_noise(bb_ao_scoring *self, const bb_csr *noise,
                              const bb_ao_evaluation *evaluation, bb_index target, double **own,
                              double *out)
{
    bb_status status = BB_OK;
    bb_residual_task task;
    BB_TRY(bb_ao_commands_task(&self->commands, evaluation, target, &task));
    const bb_index rows = bb_residual_task_rows(&task);
    const bb_index size = bb_residual_task_size(&task);
    task.cee = out;
    if (task.weights == NULL) {
        BB_TRY(project_noise(self, noise, &task, out));
        goto done;
    }
    if (*own == NULL) {
        BB_TRY(BB_ALLOCATE(rows * rows, own));
        BB_TRY(project_noise(self, noise, &task, *own));
    }
    memset(out, 0, (size_t)(size * size) * sizeof *out);
    BB_TRY(add_weighted(self, &task, *own));
done:
    return status;
}

// Row of a pipeline under the shake test, first target and wavelength.
typedef struct shaken_row {
    double strehl, loss;
} shaken_row;

static const bb_output shaken[] = {
    {"strehl_shaken", "pipeline", "1",
     "Strehl ratio under the shake test, first target and wavelength",
     .member = offsetof(shaken_row, strehl)},
    {"strehl_loss_shaken", "pipeline", "1",
     "Strehl ratio of the reference under the shake test minus that of the pipeline",
     .member = offsetof(shaken_row, loss)},
};

static const bb_output_table shaken_outputs = {.title = "/results, ao",
                                               .when = "With `shake_test_arcsec`:",
                                               .group = "results",
                                               .axes = "pipeline",
                                               BB_OUTPUT_ROWS(shaken)};

static bool is_shaken(const void *study)
{
    return !isnan(((const bb_ao_study *)study)->shake_test_arcsec);
}

static bb_status publish_shaken(void *all, bb_results *results)
{
    const bb_ao_work *work = all;
    const bb_ao_study *study = work->study;
    const bb_ao_evaluation *evaluations = work->evaluations;
    const double reference = evaluations[work->reference].shaken[0];
    shaken_row rows[BB_STUDY_PIPELINES];
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        rows[p] = (shaken_row){evaluations[p].shaken[0], reference - evaluations[p].shaken[0]};
    }
    return bb_output_table_publish_records(&shaken_outputs, rows, sizeof *rows,
                                           study->pipelines.count, NULL, results);
}

const bb_part bb_ao_scoring_part = {
    .name = "shake test",
    .wanted = is_shaken,
    .run = publish_shaken,
    .outputs = BB_OUTPUTS(&shaken_outputs),
};
