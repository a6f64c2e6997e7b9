// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/night/night_plan.h"

#include "core/memory.h"
#include "physics/ao/night/layer_tomography.h"
#include "physics/ao/target_commands.h"
#include "sim/ao/night/night_run.h"
#include "sim/ao/night/night_schedule.h"
#include "sim/pipelines/storage/narrow_sum.h"
#include "sim/pipelines/storage/sum_rounding.h"
#include "solvers/factor/residual_covariance.h"

#include <math.h>

// Recipes and passes of a night whose latencies, where they are measured, are 0: measured ones part
// the uses of pipelines, up to as many times as there are pipelines.
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

// One recipe's reconstructors, pipeline after pipeline, kept together.
static bb_status plan_recipe(const bb_ao_study *study, const bb_factor_extent *solved,
                             bb_index stored_rows, bb_need *out)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    *out = (bb_need){0};
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        bb_factor_pipeline once = pipelines[p]; // its plain draw
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

// What stored commands and narrow sums take of a pass: their truth, and slopes drawn by a factor of
// the sample's Cmm.
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

// One pass: the estimates of all pipelines at one sample.
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
    const bb_index targets = bb_night_run_targets(study);
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

bb_status bb_night_plan_tell(const bb_night_planned *planned, bb_plan *plan)
{
    bb_status status = BB_OK;
    if (planned->samples == 0.0) {
        goto done;
    }
    BB_TRY(bb_plan_add(plan, "night",
                       "%.0f samples of %.0f layers, %.0f profiles solved, scored %.0f times",
                       planned->samples, planned->layers, planned->recipes, planned->passes));
    if (planned->held_bytes > 0.0) {
        BB_TRY(
            bb_plan_add(plan, "layers held", "%.1f MB of covariances", 1e-6 * planned->held_bytes));
    } else {
        BB_TRY(bb_plan_add(plan, "layers held",
                           "none: over %.1f GB, so that each is computed anew in every profile",
                           1e-9 * BB_LAYER_TOMOGRAPHY_HELD_BYTES));
    }
done:
    return status;
}
