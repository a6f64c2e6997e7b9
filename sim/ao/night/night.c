// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/night/night.h"

#include "core/log.h"
#include "core/memory.h"
#include "physics/ao/night/layer_tomography.h"
#include "physics/ao/target_commands.h"
#include "sim/ao/ao_evaluation.h"
#include "sim/ao/ao_input.h"
#include "sim/ao/ao_mcao.h"
#include "sim/ao/ao_run.h"
#include "sim/ao/ao_study.h"
#include "sim/ao/ao_whole.h"
#include "sim/ao/night/night_schedule.h"
#include "sim/output/output_table.h"
#include "sim/pipelines/evaluation.h"
#include "sim/pipelines/narrow_sum.h"
#include "sim/pipelines/sum_rounding.h"
#include "solvers/factor/residual_covariance.h"

#include <math.h>

// Targets solved in a night: one where each has its own reconstructor.
static bb_index solved_targets(const bb_ao_study *study)
{
    const bool alone = study->correction == (int)BB_AO_CORRECTION_MOAO ||
                       study->correction == (int)BB_AO_CORRECTION_LTAO;
    return alone ? 1 : study->targets.count;
}

// Counts recipes and passes of a night, with measured latencies taken as 0. Measured latencies
// separate the uses of pipelines, so the true count may be up to the number of pipelines times
// larger.
static bb_status count_work(const bb_ao_study *study, bb_night_planned *out)
{
    bb_status status = BB_OK;
    const bb_list *given = &study->night.latency_s;
    double latency_s[BB_STUDY_PIPELINES] = {0.0};
    bb_night_scores scores = {0};
    bb_night_use *uses = NULL;
    bb_index count = 0;
    for (bb_index p = 0; given->count > 0 && p < study->pipelines.count; ++p) {
        latency_s[p] = ((const double *)given->items)[given->count == 1 ? 0 : p];
    }
    BB_TRY(bb_night_scores_create(&study->night, study->pipelines.count, &scores));
    BB_TRY(bb_night_schedule_create(&study->night, latency_s, &scores, &uses, &count));
    for (bb_index i = 0; i < count; ++i) {
        const bool recipe = i == 0 || !bb_night_schedule_same(&uses[i - 1], &uses[i]);
        out->recipes += recipe ? 1.0 : 0.0;
        out->passes += recipe || uses[i - 1].sample != uses[i].sample ? 1.0 : 0.0;
    }
done:
    BB_RELEASE(&uses);
    bb_night_scores_release(&scores);
    return status;
}

// Need of one recipe: reconstructors of all pipelines, solved in turn and kept.
static bb_status plan_recipe(const bb_ao_study *study, const bb_factor_extent *solved,
                             bb_index stored_rows, bb_need *out)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    *out = (bb_need){0};
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        bb_factor_pipeline once = pipelines[p]; // draw 0 only
        double operator_bytes;
        bb_need solving;
        once.draws = 1;
        BB_TRY(bb_factor_pipeline_need(&study->solver.common, &once, study->common.device, solved,
                                       NULL, &solving, &operator_bytes));
        *out = bb_need_in_turn(*out, solving);
    }
    *out = bb_need_in_turn(*out, bb_factor_storage_need(&study->pipelines, &study->solver.common,
                                                        study->common.device, solved, stored_rows));
done:
    return status;
}

// Need of the stored commands and narrow sums in a pass: the truth covariance of the commands, and
// slopes drawn from a factor of the sample's Cmm.
static bb_need storage_need(const bb_ao_study *study, const bb_pupil *pupil, bb_index lenslets,
                            const bb_factor_extent *solved, double rows)
{
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    const double actuators = (double)bb_deformable_mirror_actuators(pupil, lenslets);
    const double threads = solved->threads;
    bb_need sums = {0};
    bb_need truth = {0};
    bb_need held;
    const bb_need factoring = bb_rounding_norm_need(&study->solver.common, solved, &held);
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        if (pipelines[p].stored == (int)BB_STORED_COMMANDS) {
            truth =
                bb_need_together((bb_need){.host_bytes = sizeof(double) * actuators * actuators},
                                 bb_target_commands_need(rows, actuators, threads));
        }
        if (bb_narrow_sum_is_given(&pipelines[p])) {
            const bb_need drawing = bb_sum_rounding_need(solved->n, (bb_index)rows, threads);
            sums = bb_need_in_turn(sums, bb_need_together(held, drawing));
        }
    }
    sums = sums.seconds > 0.0 ? bb_need_in_turn(factoring, sums) : sums;
    return bb_need_in_turn(truth, sums);
}

// Need of one pass, which scores the estimates of all pipelines at one sample.
static bb_need pass_need(const bb_ao_study *study, const bb_ao_config *physics,
                         const bb_factor_extent *solved, double rows)
{
    const double threads = solved->threads;
    const double count = (double)study->pipelines.count;
    const bb_residual_extent score = {.n = solved->n,
                                      .rows = count * rows,
                                      .squared_rows = count * rows * rows,
                                      .most_rows = rows};
    const bb_pupil pupil = bb_ao_config_pupil(physics);
    const bb_target_config *target = study->targets.items;
    const bb_index lenslets =
        target->lenslets == BB_INTEGER_UNSET ? study->sensors.lenslets : target->lenslets;
    const bb_need rating =
        bb_tomography_rate_need(&pupil, lenslets, (bb_score)study->score, 1, threads);
    const bb_need scored = bb_need_in_turn(
        bb_need_together(bb_residual_covariance_need(&score, threads), solved->fill),
        bb_need_repeated(rating, count));
    return bb_need_in_turn(storage_need(study, &pupil, lenslets, solved, rows), scored);
}

bb_status bb_night_plan(const bb_ao_study *study, const bb_ao_config *physics,
                        const bb_factor_extent *solved, double rows, double threads,
                        bb_night_planned *out)
{
    bb_status status = BB_OK;
    const bb_night_config *config = &study->night;
    const double count = (double)study->pipelines.count;
    const bb_index targets = solved_targets(study);
    bb_factor_extent mixed = *solved;
    bb_profile_series series = {0};
    bb_need making, held, filling, recipe;
    *out = (bb_night_planned){0};
    if (config->source == (int)BB_NIGHT_OFF) {
        goto done;
    }
    BB_TRY(bb_night_config_series(config, physics, 1, &series));
    BB_TRY(bb_layer_tomography_need(physics, &series, targets, BB_LAYER_TOMOGRAPHY_HELD_BYTES,
                                    threads, &making, &held, &filling));
    BB_TRY(count_work(study, out));
    out->samples = (double)bb_night_config_samples(config);
    out->layers = (double)series.layer_count;
    const double bytes = bb_layer_tomography_bytes(
        out->layers, (double)solved->n, (double)targets * rows, (double)targets * rows * rows);
    out->held_bytes = bytes <= BB_LAYER_TOMOGRAPHY_HELD_BYTES ? bytes : 0.0;
    mixed.fill = filling;
    if (targets == 1) {
        mixed.rows = (bb_index)rows;
    }
    const bool together = study->correction == (int)BB_AO_CORRECTION_MCAO;
    BB_TRY(plan_recipe(study, &mixed, (bb_index)(together ? fmax(rows, (double)mixed.rows) : rows),
                       &recipe));
    const double uses = bb_night_schedule_uses(config, study->pipelines.count);
    const bb_need kept = {.host_bytes =
                              sizeof(double) * (count * (double)targets * (double)solved->n * rows +
                                                count * rows * rows + uses +
                                                (out->samples + 4.0) * out->layers) +
                              sizeof(bb_night_use) * uses};
    const bb_need work =
        bb_need_in_turn(bb_need_repeated(recipe, out->recipes),
                        bb_need_repeated(pass_need(study, physics, &mixed, rows), out->passes));
    const double times = config->source == (int)BB_NIGHT_DRIFT ? 2.0 : (double)series.time_count;
    const bb_need profiles = bb_profile_series_need(fmax((double)config->layers.count, out->layers),
                                                    out->layers, times, out->samples);
    out->need = bb_need_in_turn(making, bb_need_together(held, bb_need_together(kept, work)));
    out->need = bb_need_together(profiles, out->need);
    out->output_bytes = sizeof(double) * (uses + out->samples * (out->layers + 2.0));
done:
    bb_profile_series_release(&series);
    return status;
}

bb_status bb_night_plan_print(const bb_night_planned *planned, bb_plan *plan)
{
    bb_status status = BB_OK;
    if (planned->samples == 0.0) {
        goto done;
    }
    BB_TRY(bb_plan_add(plan, "night",
                       "%.0f samples of %.0f layers, %.0f profiles solved, %.0f passes of scoring",
                       planned->samples, planned->layers, planned->recipes, planned->passes));
    if (planned->held_bytes > 0.0) {
        BB_TRY(bb_plan_add(plan, "cached layers", "%.1f MB of covariances",
                           1e-6 * planned->held_bytes));
    } else {
        BB_TRY(bb_plan_add(plan, "cached layers",
                           "none: over %.1f GB, each layer is recomputed for every profile",
                           1e-9 * BB_LAYER_TOMOGRAPHY_HELD_BYTES));
    }
done:
    return status;
}

static const char title[] = "/night, ao with a `night.source`";

static const bb_output profile_rows[] = {
    {"pipeline", "pipeline", NULL, .long_name = "name of the pipeline"},
    {"policy", "policy", NULL, .long_name = "policy: profile used for the reconstructors"},
    {"time", "time", "min", .long_name = "scored sample, from the night's start"},
    {"layer", "layer", "1", .long_name = "index of the layer"},
    {"height", "layer", "m", .long_name = "height of the layer at zenith", .coordinate = true},
    {"outer_scale", "layer", "m", .long_name = "outer scale of the layer"},
    {"strength", "time, layer", "m^(-5/3)",
     .long_name = "r0^(-5/3) of the layer at 500 nm and zenith"},
    {"r0", "time", "m", .long_name = "r0 at 500 nm and zenith, of all layers"},
    {"strehl_moment", "pipeline, time", "1",
     .long_name = "Strehl ratio with the reconstructor of the moment",
     .note = "with the true profile"},
    {"precision_loss", "pipeline", "1",
     .long_name =
         "mean loss of the pipeline's reconstructor of the moment relative to the reference's"},
};

static const bb_output_table profile_outputs = {
    .title = title, .group = "night", BB_OUTPUT_ROWS(profile_rows)};

// clang-format off
#define SCORES(is_measured)                                                                        \
    {"latency", "pipeline", "s", .long_name = "time from a profile to the reconstructor in use",        \
     .measured = (is_measured)},                                                                   \
    {"strehl", "pipeline, policy, time", "1",                                                      \
     .long_name = "Strehl ratio with the reconstructor in use", .measured = (is_measured)},        \
    {"staleness_loss", "pipeline, policy", "1",                                                    \
     .long_name = "mean loss of the reconstructor in use relative to the pipeline's own of the moment",     \
     .note = "adding precision_loss gives the loss relative to the reference's of the moment",                     \
     .measured = (is_measured)},                                                                   \
    {"worst_staleness_loss", "pipeline, policy", "1",                                              \
     .long_name = "largest staleness loss over the samples", .measured = (is_measured)},                 \
    {"failed", "pipeline, policy", "1",                                                            \
     .long_name = "samples without a Strehl ratio, excluded from means",                      \
     .measured = (is_measured)}

#define AGES(is_measured)                                                                          \
    {"age", "age", "min", .long_name = "additional age of the data, beyond the latency"},                      \
    {"aged_loss", "pipeline, policy, age", "1",                                                    \
     .long_name = "mean staleness loss with data of this age at every sample",                     \
     .measured = (is_measured)},                                                                   \
    {"worst_aged_loss", "pipeline, policy, age", "1",                                              \
     .long_name = "largest aged loss over the samples", .measured = (is_measured)}

static const bb_output given_rows[] = {SCORES(false)};
static const bb_output measured_rows[] = {SCORES(true)};
static const bb_output given_ages[] = {AGES(false)};
static const bb_output measured_ages[] = {AGES(true)};
// clang-format on

static const bb_output_table given_outputs = {.title = title,
                                              .when = "With `night.latency_s`:",
                                              .group = "night",
                                              BB_OUTPUT_ROWS(given_rows)};
static const bb_output_table given_age_outputs = {
    .title = title,
    .when = "With `night.latency_s` and `night.ages_minutes`:",
    .group = "night",
    BB_OUTPUT_ROWS(given_ages)};
static const bb_output_table measured_outputs = {
    .title = title,
    .when = "Without `night.latency_s`, when it is measured:",
    .group = "night",
    BB_OUTPUT_ROWS(measured_rows)};
static const bb_output_table measured_age_outputs = {
    .title = title,
    .when = "Without `night.latency_s`, with `night.ages_minutes`:",
    .group = "night",
    BB_OUTPUT_ROWS(measured_ages)};

// Losses over the samples with both Strehl ratios.
typedef struct losses {
    double mean, worst, failed;
} losses;

static losses compare(const double *best, const double *strehl, bb_index samples)
{
    losses found = {0.0, -INFINITY, 0.0};
    double count = 0.0;
    for (bb_index k = 0; k < samples; ++k) {
        const double loss = best[k] - strehl[k];
        if (isnan(loss)) {
            found.failed += 1.0;
        } else {
            found.mean += loss;
            found.worst = fmax(found.worst, loss);
            count += 1.0;
        }
    }
    found.mean = count > 0.0 ? found.mean / count : NAN;
    found.worst = count > 0.0 ? found.worst : NAN;
    return found;
}

static bb_status publish_layers(const bb_profile_series *series, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_table *table = &profile_outputs;
    BB_TRY(bb_output_table_add_axis(table, "layer", series->layer_count, NULL, NULL, results));
    BB_TRY(bb_output_table_add(table, "height", series->height_m, NULL, results));
    BB_TRY(bb_output_table_add(table, "outer_scale", series->outer_scale_m, NULL, results));
done:
    return status;
}

static bb_status publish_profiles(const bb_ao_study *study, const bb_profile_series *series,
                                  bb_index samples, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_table *table = &profile_outputs;
    const bb_index first = bb_night_config_first_scored(&study->night);
    const bb_index layers = series->layer_count;
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    const char *names[BB_STUDY_PIPELINES];
    const char *policies[BB_NIGHT_POLICY_COUNT];
    double *minutes = NULL;  // [samples]
    double *r0_m = NULL;     // [samples]
    double *strength = NULL; // [samples][layers]
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        names[p] = pipelines[p].name;
    }
    for (bb_index q = 0; q < study->night.policies.count; ++q) {
        policies[q] = bb_night_policy_names[((const int *)study->night.policies.items)[q]];
    }
    BB_TRY(BB_ALLOCATE(samples, &minutes));
    BB_TRY(BB_ALLOCATE(samples, &r0_m));
    BB_TRY(BB_ALLOCATE(samples * layers, &strength));
    for (bb_index k = 0; k < samples; ++k) {
        const double time_s = bb_night_schedule_time(&study->night, first + k);
        double total = 0.0;
        bb_profile_series_at(series, time_s, strength + k * layers, NULL);
        for (bb_index l = 0; l < layers; ++l) {
            total += strength[k * layers + l];
        }
        minutes[k] = time_s / 60.0;
        r0_m[k] = pow(total, -3.0 / 5.0);
    }
    BB_TRY(
        bb_output_table_add_axis(table, "pipeline", study->pipelines.count, names, NULL, results));
    BB_TRY(bb_output_table_add_axis(table, "policy", study->night.policies.count, policies, NULL,
                                    results));
    BB_TRY(bb_output_table_add_axis(table, "time", samples, minutes, NULL, results));
    BB_TRY(publish_layers(series, results));
    BB_TRY(bb_output_table_add(table, "strength", strength, NULL, results));
    BB_TRY(bb_output_table_add(table, "r0", r0_m, NULL, results));
done:
    BB_RELEASE(&minutes);
    BB_RELEASE(&r0_m);
    BB_RELEASE(&strength);
    return status;
}

// Publishes losses over pipelines and policies.
static bb_status publish_losses(const bb_output_table *table, const bb_night_scores *scores,
                                bb_index reference, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index samples = scores->samples;
    const bb_index rows = scores->pipelines * scores->policies;
    double *precision = NULL; // [pipelines]
    double *stale = NULL;     // [3][pipelines][policies] mean, worst, failed
    BB_TRY(BB_ALLOCATE(scores->pipelines, &precision));
    BB_TRY(BB_ALLOCATE(3 * rows, &stale));
    for (bb_index p = 0; p < scores->pipelines; ++p) {
        const double *moment = scores->moment + p * samples;
        precision[p] = compare(scores->moment + reference * samples, moment, samples).mean;
        for (bb_index row = p * scores->policies; row < (p + 1) * scores->policies; ++row) {
            const losses found = compare(moment, scores->strehl + row * samples, samples);
            stale[row] = found.mean;
            stale[rows + row] = found.worst;
            stale[2 * rows + row] = found.failed;
        }
    }
    BB_TRY(bb_output_table_add(&profile_outputs, "precision_loss", precision, NULL, results));
    BB_TRY(bb_output_table_add(table, "staleness_loss", stale, NULL, results));
    BB_TRY(bb_output_table_add(table, "worst_staleness_loss", stale + rows, NULL, results));
    BB_TRY(bb_output_table_add(table, "failed", stale + 2 * rows, NULL, results));
done:
    BB_RELEASE(&precision);
    BB_RELEASE(&stale);
    return status;
}

static bb_status publish_ages(const bb_output_table *table, const bb_night_config *config,
                              const bb_night_scores *scores, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index samples = scores->samples;
    const bb_index each = scores->policies * scores->ages;
    const bb_index rows = scores->pipelines * each;
    double *aged = NULL; // [2][pipelines][policies][ages] mean, worst
    if (scores->ages == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(2 * rows, &aged));
    for (bb_index row = 0; row < rows; ++row) {
        const double *moment = scores->moment + row / each * samples;
        const losses found = compare(moment, scores->aged + row * samples, samples);
        aged[row] = found.mean;
        aged[rows + row] = found.worst;
    }
    BB_TRY(bb_output_table_add_axis(table, "age", scores->ages, config->ages_minutes.items, NULL,
                                    results));
    BB_TRY(bb_output_table_add(table, "aged_loss", aged, NULL, results));
    BB_TRY(bb_output_table_add(table, "worst_aged_loss", aged + rows, NULL, results));
done:
    BB_RELEASE(&aged);
    return status;
}

static bb_status publish_night(const bb_ao_study *study, const bb_profile_series *series,
                               const double *latency_s, const bb_night_scores *scores,
                               bb_results *results)
{
    bb_status status = BB_OK;
    const bool measured = study->night.latency_s.count == 0;
    const bb_output_table *table = measured ? &measured_outputs : &given_outputs;
    const bb_index reference = bb_factor_pipelines_reference(&study->pipelines);
    BB_TRY(publish_profiles(study, series, scores->samples, results));
    BB_TRY(bb_output_table_add(table, "latency", latency_s, NULL, results));
    BB_TRY(bb_output_table_add(&profile_outputs, "strehl_moment", scores->moment, NULL, results));
    BB_TRY(bb_output_table_add(table, "strehl", scores->strehl, NULL, results));
    BB_TRY(bb_results_note(results, "night/strehl", "definition",
                           bb_ao_whole_definition(study, false)));
    BB_TRY(bb_results_note(results, "night/strehl_moment", "definition",
                           bb_ao_whole_definition(study, false)));
    BB_TRY(publish_losses(table, scores, reference, results));
    BB_TRY(publish_ages(measured ? &measured_age_outputs : &given_age_outputs, &study->night,
                        scores, results));
done:
    return status;
}

typedef struct night {
    const bb_ao_study *study;
    const bb_ao_evaluation *evaluations; // [pipelines] evaluations of the study
    bb_index pipeline_count, target_count;
    bool on_device;
    double *mask; // pupil mask, NULL: annulus
    bb_ao_config physics;
    bb_profile_series series;
    bb_night_profiles profiles;
    bb_layer_tomography *layers;
    bb_tomography *problem;       // for the current profile
    const bb_matrix_source **ctm; // [targets] of `problem`
    double *strength, *wind;      // [layers]
    double *latency_s;            // [pipelines]
    bb_night_scores scores;
    bb_night_use *uses;
    bb_index use_count;
    bb_ao_evaluation *solved; // [pipelines] for the current recipe
} night;

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

// Latency of the key, or the time of this run's solve.
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
    BB_TRY(bb_ao_input_pupil(study, &self->physics, &self->mask));
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

// Factor problem of the current profile.
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

// Solves one recipe, for the pipelines in uses [first, end).
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
    bb_ao_mcao_set_sides(mcao, &factor_problem);
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

// Lists the estimates of the current recipe for uses [first, end) of one sample, each pipeline
// once, even if several policies use it.
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

// Computes Strehl ratios in the turbulence of the sample.
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
    BB_TRY(bb_ao_scoring_open(study, self->problem, &storage, self->on_device, INFINITY, &scoring));
    BB_TRY(BB_ALLOCATE(count * directions, &strehls));
    for (bb_index e = 0; e < count; ++e) {
        of_estimates[e] = strehls + e * directions;
    }
    scoring.whole.study = NULL; // layers of a night may each have their own outer scale
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

// Runs all uses by recipe, and by sample within a recipe.
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
    return bb_night_plan_print(&((const bb_ao_extent *)extent)->night, plan);
}

static bb_status run(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_ao_work *work = all;
    const bb_ao_study *study = work->study;
    night self = {.study = study,
                  .evaluations = work->evaluations,
                  .pipeline_count = study->pipelines.count,
                  .target_count = solved_targets(study)};
    BB_TRY(start(work->problem, &self));
    bb_log_info("night: %td sample(s) of %td layer(s), %td use(s) of reconstructors",
                bb_night_config_samples(&study->night), self.series.layer_count, self.use_count);
    BB_TRY(run_uses(&self));
    BB_TRY(publish_night(study, &self.series, self.latency_s, &self.scores, results));
done:
    finish(&self);
    return status;
}

// Part that runs the night with the study's pipelines, whose evaluations give the method, the
// device and the time of a solve.
const bb_part bb_night_part = {
    .name = "night",
    .wanted = wanted,
    .check = bb_night_config_check,
    .need = need,
    .plan_lines = plan_lines,
    .run = run,
    .outputs = BB_OUTPUTS(&profile_outputs, &given_outputs, &given_age_outputs, &measured_outputs,
                          &measured_age_outputs),
};
