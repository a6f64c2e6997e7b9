// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/night/night_run.h"

#include "core/log.h"
#include "core/memory.h"
#include "physics/ao/night/layer_tomography.h"
#include "sim/ao/ao_mcao.h"
#include "sim/ao/ao_pupil.h"
#include "sim/ao/ao_work.h"
#include "sim/ao/night/night_publish.h"
#include "sim/ao/night/night_schedule.h"

#include <math.h>

typedef struct night {
    const bb_ao_study *study;
    const bb_ao_evaluation *evaluations; // [pipelines] of the study
    bb_index pipeline_count, target_count;
    bool on_device;
    double *mask; // of the pupil, NULL: the annulus
    bb_ao_config physics;
    bb_profile_series series;
    bb_night_profiles profiles;
    bb_layer_tomography *layers;
    bb_tomography *problem;       // of the profile at hand
    const bb_matrix_source **ctm; // [targets] of it
    double *strength, *wind;      // [layers]
    double *latency_s;            // [pipelines]
    bb_night_scores scores;
    bb_night_use *uses;
    bb_index use_count;
    bb_ao_evaluation *solved; // [pipelines] of the recipe at hand
} night;

bb_index bb_night_run_targets(const bb_ao_study *study)
{
    const bool alone = study->correction == (int)BB_AO_CORRECTION_MOAO ||
                       study->correction == (int)BB_AO_CORRECTION_LTAO;
    return alone ? 1 : study->targets.count;
}

static void release_solved(night *self)
{
    for (bb_index p = 0; self->solved != NULL && p < self->pipeline_count; ++p) {
        bb_ao_evaluation_release(&self->solved[p], self->target_count);
    }
}

static void finish(night *self)
{
    release_solved(self);
    BB_RELEASE(&self->solved);
    BB_RELEASE(&self->uses);
    bb_night_scores_release(&self->scores);
    BB_RELEASE(&self->latency_s);
    BB_RELEASE(&self->strength);
    BB_RELEASE(&self->wind);
    BB_RELEASE(&self->ctm);
    bb_layer_tomography_destroy(&self->layers);
    bb_night_profiles_release(&self->profiles);
    bb_profile_series_release(&self->series);
    BB_RELEASE(&self->mask);
}

// What is given, or what the solve of this run took.
static double latency_of(const night *self, bb_index pipeline)
{
    const bb_list *given = &self->study->night.latency_s;
    const double solve_s = self->evaluations[pipeline].common.solve_seconds;
    if (given->count == 0) {
        return isnan(solve_s) ? 0.0 : solve_s;
    }
    return ((const double *)given->items)[given->count == 1 ? 0 : pipeline];
}

static bb_status start(const bb_tomography *problem, night *self)
{
    bb_status status = BB_OK;
    const bb_ao_study *study = self->study;
    const uint64_t seed = (uint64_t)study->common.seed;
    self->physics = bb_ao_study_physics(study);
    BB_TRY(bb_ao_pupil_load(study, &self->physics, &self->mask));
    BB_TRY(bb_night_config_series(&study->night, &self->physics, seed, &self->series));
    BB_TRY(bb_night_profiles_create(&study->night, &self->series, seed, &self->profiles));
    BB_TRY(bb_layer_tomography_create(&self->physics, (bb_lgs_tilt)study->solver.lgs_tilt, problem,
                                      self->target_count, &self->series,
                                      BB_LAYER_TOMOGRAPHY_HELD_BYTES, &self->layers));
    self->problem = bb_layer_tomography_problem(self->layers);
    BB_TRY(BB_ALLOCATE(self->target_count, &self->ctm));
    for (bb_index t = 0; t < self->target_count; ++t) {
        self->ctm[t] = self->problem->targets[t].ctm;
    }
    BB_TRY(BB_ALLOCATE(self->series.layer_count, &self->strength));
    BB_TRY(BB_ALLOCATE(self->series.layer_count, &self->wind));
    BB_TRY(BB_ALLOCATE(self->pipeline_count, &self->latency_s));
    BB_TRY(BB_ZEROED(self->pipeline_count, &self->solved));
    for (bb_index p = 0; p < self->pipeline_count; ++p) {
        self->latency_s[p] = latency_of(self, p);
        self->on_device = self->on_device || self->evaluations[p].common.device == BB_DEVICE_CUDA;
    }
    BB_TRY(bb_night_scores_create(&study->night, self->pipeline_count, &self->scores));
    BB_TRY(bb_night_schedule_create(&study->night, self->latency_s, &self->scores, &self->uses,
                                    &self->use_count));
done:
    return status;
}

// The problem of the profile at hand as what is factored.
static bb_factor_problem pose(const night *self, const double *noise)
{
    const bb_tilt_vectors *tilts = &self->problem->tilts;
    return (bb_factor_problem){.solver = &self->study->solver.common,
                               .matrix = self->problem->cmm_core,
                               .part = {tilts->columns, tilts->vectors, tilts->variance},
                               .target_count = self->target_count,
                               .sides = self->ctm,
                               .noise = noise,
                               .seed = (uint64_t)self->study->common.seed};
}

static bb_status solve_one(night *self, const bb_factor_problem *factor_problem,
                           bb_ao_storage *storage, bb_index p)
{
    bb_status status = BB_OK;
    const bb_ao_evaluation *known = &self->evaluations[p];
    bb_ao_evaluation *made = &self->solved[p];
    BB_TRY(bb_ao_evaluation_create(known->common.pipeline, self->target_count, 1, 0, 0, made));
    made->level = known->level;
    made->shared = known->shared;
    made->common.device = known->common.device;
    BB_TRY(
        bb_ao_storage_solve(storage, factor_problem, &made->level, self->study->correction, made));
    BB_TRY(bb_ao_storage_apply(storage, &made->level, 0, made));
done:
    return status;
}

// The reconstructors of one recipe: those of the pipelines in uses [first, end).
static bb_status solve_recipe(night *self, bb_index first, bb_index end)
{
    bb_status status = BB_OK;
    double *noise = NULL; // [n]
    bb_ao_mcao *mcao = NULL;
    bb_ao_storage storage = {0};
    bb_factor_problem factor_problem = {0};
    BB_TRY(bb_night_profiles_mix(&self->profiles, &self->uses[first].recipe, self->strength));
    BB_TRY(bb_layer_tomography_set(self->layers, self->strength, NULL));
    BB_TRY(bb_measurement_noise_bounds(&self->problem->guides, &self->problem->noise, &noise));
    factor_problem = pose(self, noise);
    BB_TRY(bb_ao_mcao_create(self->problem, self->ctm, &mcao));
    bb_ao_mcao_pose(mcao, &factor_problem);
    BB_TRY(bb_factor_problem_prepare(&factor_problem));
    BB_TRY(bb_ao_storage_open(&factor_problem, self->study->common.device, self->problem,
                              &self->study->inflation, &storage));
    release_solved(self);
    for (bb_index i = first; i < end; ++i) {
        const bb_index p = self->uses[i].pipeline;
        if (self->solved[p].r == NULL &&
            self->evaluations[p].common.outcome.kind == BB_OUTCOME_OK) {
            BB_TRY(solve_one(self, &factor_problem, &storage, p));
        }
    }
done:
    bb_ao_storage_release(&storage);
    bb_factor_problem_release(&factor_problem);
    bb_ao_mcao_destroy(&mcao);
    BB_RELEASE(&noise);
    return status;
}

static bool has_estimate(const night *self, bb_index p)
{
    return self->solved[p].r != NULL && self->solved[p].common.outcome.kind == BB_OUTCOME_OK;
}

// Estimates of the recipe at hand that uses [first, end) of one sample ask for, each pipeline once,
// though several policies may.
static bb_index list_estimates(night *self, bb_index first, bb_index end,
                               bb_ao_evaluation **estimates)
{
    bb_index count = 0;
    for (bb_index i = first; i < end; ++i) {
        const bb_index p = self->uses[i].pipeline;
        const bool again = i > first && self->uses[i - 1].pipeline == p;
        if (!again && has_estimate(self, p)) {
            estimates[count++] = &self->solved[p];
        }
    }
    return count;
}

// What they leave in the turbulence of the sample, as Strehl ratios.
static bb_status score_sample(night *self, bb_index first, bb_index end)
{
    bb_status status = BB_OK;
    const bb_ao_study *study = self->study;
    const double time_s = bb_night_schedule_time(&study->night, self->uses[first].sample);
    const bb_index directions = self->target_count * study->wavelengths_um.count;
    const bb_factor_problem factor_problem = pose(self, NULL);
    bb_ao_storage storage = {0};
    bb_ao_scoring scoring = {0};
    double *strehls = NULL; // [estimates][targets][wavelengths]
    double *of_estimates[BB_STUDY_PIPELINES];
    bb_ao_evaluation *estimates[BB_STUDY_PIPELINES];
    const bb_index count = list_estimates(self, first, end, estimates);
    if (count == 0) {
        goto done;
    }
    bb_profile_series_at(&self->series, time_s, self->strength, self->wind);
    BB_TRY(bb_layer_tomography_set(self->layers, self->strength, self->wind));
    BB_TRY(bb_ao_storage_open(&factor_problem, study->common.device, self->problem,
                              &study->inflation, &storage));
    BB_TRY(bb_ao_scoring_open(study, self->problem, &storage, self->on_device, &scoring));
    BB_TRY(BB_ALLOCATE(count * directions, &strehls));
    for (bb_index e = 0; e < count; ++e) {
        of_estimates[e] = strehls + e * directions;
    }
    scoring.whole.study = NULL; // layers of a night may have outer scales of their own
    BB_TRY(bb_ao_scoring_strehls(&scoring, estimates, count, 1, 1, of_estimates));
    for (bb_index i = first; i < end; ++i) {
        for (bb_index e = 0; e < count; ++e) {
            if (estimates[e] == &self->solved[self->uses[i].pipeline]) {
                *self->uses[i].strehl = of_estimates[e][0];
            }
        }
    }
done:
    bb_ao_scoring_release(&scoring);
    bb_ao_storage_release(&storage);
    BB_RELEASE(&strehls);
    return status;
}

// Recipe by recipe, and sample by sample of each.
static bb_status run_uses(night *self)
{
    bb_status status = BB_OK;
    bb_index end = 0;
    for (bb_index first = 0; first < self->use_count; first = end) {
        bb_log_progress("night", first, self->use_count);
        end = first + 1;
        while (end < self->use_count &&
               bb_night_schedule_same(&self->uses[first], &self->uses[end])) {
            ++end;
        }
        BB_TRY(solve_recipe(self, first, end));
        bb_index last;
        for (bb_index i = first; i < end; i = last) {
            last = i + 1;
            while (last < end && self->uses[last].sample == self->uses[i].sample) {
                ++last;
            }
            BB_TRY(score_sample(self, i, last));
        }
    }
    bb_log_progress("night", self->use_count, self->use_count);
done:
    return status;
}

static bool wanted(const void *study)
{
    return ((const bb_ao_study *)study)->night.source != (int)BB_NIGHT_OFF;
}

static bb_status need(const void *study, const void *extent, bb_need *out)
{
    (void)study;
    *out = ((const bb_ao_extent *)extent)->night.need;
    return BB_OK;
}

static bb_status plan_lines(const void *study, const void *extent, bb_plan *plan)
{
    (void)study;
    return bb_night_plan_tell(&((const bb_ao_extent *)extent)->night, plan);
}

static bb_status run(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_ao_work *work = all;
    const bb_ao_study *study = work->study;
    night self = {.study = study,
                  .evaluations = work->evaluations,
                  .pipeline_count = study->pipelines.count,
                  .target_count = bb_night_run_targets(study)};
    BB_TRY(start(work->problem, &self));
    bb_log_info("a night of %td sample(s) of %td layer(s), %td use(s) of reconstructors",
                bb_night_config_samples(&study->night), self.series.layer_count, self.use_count);
    BB_TRY(run_uses(&self));
    BB_TRY(bb_night_publish(study, &self.series, self.latency_s, &self.scores, results));
done:
    finish(&self);
    return status;
}

// The night, with the pipelines of the study: their evaluations give the method, the device and the
// time of a solve.
const bb_part bb_night_part = {
    .name = "night",
    .wanted = wanted,
    .check = bb_night_config_check,
    .need = need,
    .plan_lines = plan_lines,
    .run = run,
    .outputs = BB_OUTPUTS(&bb_night_publish_profiles, &bb_night_publish_given,
                          &bb_night_publish_given_ages, &bb_night_publish_measured,
                          &bb_night_publish_measured_ages),
};
