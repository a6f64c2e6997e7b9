// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_extent.h"

#include "core/memory.h"
#include "physics/ao/target_commands.h"
#include "physics/ao/tomography.h"
#include "sim/ao/ao_input.h"
#include "sim/ao/ao_whole.h"
#include "sim/ao/learn/ao_learn.h"
#include "sim/ao/timeline/ao_timeline_config.h"
#include "sim/pipelines/factor_device.h"

#include <math.h>

static bool scores_pairs(const bb_ao_study *study)
{
    return study->score == (int)BB_SCORE_PAIRS || bb_ao_study_frames(study);
}

// Extends the screen size to cover the guide stars and one more target.
static bb_status measure_screens(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                                 const bb_sensor_array *guides, const bb_sensor_array *truth,
                                 bb_frame_sampler_extent *out)
{
    bb_status status = BB_OK;
    bb_screen_size size = {0};
    const bb_sensor_array *const arrays[] = {guides, truth};
    const bb_index lenslets = truth->sensors[0].lenslets;
    const double points =
        (double)bb_pupil_points(lenslets * bb_point_spread_pixels_per_lenslet(lenslets));
    if (bb_ao_study_frames(study)) {
        BB_TRY(bb_screen_size_for(&study->monte_carlo, atmosphere, 2, arrays, &size));
    }
    if (size.fine_points > out->screen.fine_points) {
        out->screen = size;
    }
    out->slopes += (double)truth->measurement_count;
    out->lines += (double)lenslets;
    out->points += points;
    out->squared_points += points * points;
done:
    return status;
}

static bool stores_commands(const bb_ao_study *study)
{
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    bool stores = false;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        stores = stores || pipelines[p].stored == (int)BB_STORED_COMMANDS;
    }
    return stores && study->correction != (int)BB_AO_CORRECTION_MCAO;
}

// Memory of a target's truth covariance in commands and of its command matrix.
static bb_need commands_of(double actuators, double slopes, bb_index n, double threads)
{
    const double values = actuators * ((double)n + actuators);
    return bb_need_together(bb_target_commands_need(slopes, actuators, threads),
                            (bb_need){.host_bytes = sizeof(double) * values});
}

// Cost of a target's exact score: covariances of phase and slopes, and the score of an estimate.
static void measure_whole(const bb_ao_study *study, const bb_ao_config *physics,
                          const bb_sensor_array *guides, const bb_sensor_array *truth,
                          bb_ao_extent *out)
{
    const bb_pupil pupil = bb_ao_config_pupil(physics);
    const bb_index lenslets = truth->sensors[0].lenslets;
    const double own = (double)bb_deformable_mirror_actuators(&pupil, lenslets);
    const double together = physics->mirror_count > 0 ? bb_mirror_stack_actuators(physics) : own;
    const bb_whole_extent extent = {lenslets, own, together, (double)truth->measurement_count,
                                    guides};
    if (!scores_pairs(study)) {
        return;
    }
    // Memory of the arrays F and z of the mirror alone, for its noise; the arrays of a whole
    // residual belong to its field.
    const double points = bb_whole_residual_points(&extent);
    const bb_need arrays = {.host_bytes = 2.0 * sizeof(double) * points * own};
    out->pairs = bb_need_in_turn(
        out->pairs,
        bb_need_together(arrays, bb_residual_pairs_device_need(points, together,
                                                               (double)guides->measurement_count)));
    if (!bb_ao_whole_applies(study)) {
        return;
    }
    out->whole = bb_need_in_turn(
        out->whole, bb_need_together(out->wholes, bb_whole_residual_need(&extent, out->threads)));
    out->wholes = bb_need_together(out->wholes, bb_whole_residual_resident(&extent));
    if (study->error_terms.minimum_variance) {
        out->best =
            bb_need_together(out->best, bb_whole_residual_project_need(&extent, out->threads));
    }
    out->products = physics->mirror_count > 0 ? together : 0.0;
    const double repeats =
        (isnan(study->shake_test_arcsec) ? 1.0 : 2.0) + (bb_ao_study_frames(study) ? 1.0 : 0.0);
    const bb_need field = bb_need_repeated(
        bb_whole_residual_field_need(&extent, study->wavelengths_um.count, out->threads), repeats);
    out->rating = bb_need_in_turn(out->rating, field);
    out->pairing_s += field.seconds;
}

static bb_status measure_targets(const bb_ao_study *study, const bb_ao_config *physics,
                                 const bb_atmosphere *atmosphere, const bb_sensor_array *guides,
                                 bb_ao_extent *out)
{
    bb_status status = BB_OK;
    bb_sensor_array truth = {0};
    const bb_pupil pupil = bb_ao_config_pupil(physics);
    const bool pairs =
        bb_ao_study_frames(study) || (scores_pairs(study) && !bb_ao_whole_applies(study));
    const bb_score score = pairs ? BB_SCORE_PAIRS : BB_SCORE_STATIONARY;
    for (bb_index t = 0; t < physics->target_count; ++t) {
        BB_TRY(bb_sensor_array_create_truth(physics, t, atmosphere, &truth));
        const double m = (double)truth.measurement_count;
        out->residual.rows += m;
        out->residual.squared_rows += m * m;
        out->residual.most_rows = fmax(out->residual.most_rows, m);
        out->ctm =
            bb_need_in_turn(out->ctm, bb_slope_covariance_fill_need(&truth, guides, out->threads));
        const bb_need rating = bb_tomography_rate_need(&pupil, truth.sensors[0].lenslets, score,
                                                       study->wavelengths_um.count, out->threads);
        out->rating = bb_need_in_turn(
            out->rating, bb_need_repeated(rating, isnan(study->shake_test_arcsec) ? 1.0 : 2.0));
        measure_whole(study, physics, guides, &truth, out);
        out->projecting_s +=
            bb_point_spread_voltages_need(&pupil, truth.sensors[0].lenslets, out->threads).seconds;
        const double actuators =
            (double)bb_deformable_mirror_actuators(&pupil, truth.sensors[0].lenslets);
        out->stored_rows = fmax(out->stored_rows, fmax(m, actuators));
        if (stores_commands(study)) {
            out->truths =
                bb_need_together(out->truths, commands_of(actuators, m, out->n, out->threads));
            out->commands += actuators;
            out->most_commands = fmax(out->most_commands, actuators);
        }
        out->late =
            bb_need_together(out->late, bb_slope_covariance_need(&truth, guides, out->threads));
        BB_TRY(measure_screens(study, atmosphere, guides, &truth, &out->frames));
        bb_sensor_array_release(&truth);
    }
done:
    bb_sensor_array_release(&truth);
    return status;
}

// Right-hand sides to solve: the first target's with ltao, the commands with mcao, else those of
// all targets. A star of unknown tilt adds two.
static bb_factor_extent measure_solves(const bb_ao_study *study, const bb_ao_extent *span)
{
    const bb_guide_star_config *stars = study->guide_stars.items;
    const bool ltao = study->correction == (int)BB_AO_CORRECTION_LTAO;
    const double targets = ltao ? (double)study->targets.count : 1.0;
    const double rows = span->actuators > 0.0 ? span->actuators : span->residual.rows / targets;
    bb_factor_extent solved = {.n = span->n,
                               .rows = (bb_index)rows,
                               .fill = span->cmm,
                               .threads = span->threads,
                               .groups = 2 * study->guide_stars.count};
    for (bb_index s = 0; s < study->guide_stars.count; ++s) {
        solved.part += bb_guide_star_kinds[stars[s].kind]->tilt_unknown ? 2 : 0;
    }
    return solved;
}

// Right-hand side of all targets with mcao; targets that are only scored count as well.
static void measure_mirrors(const bb_ao_config *physics, bb_ao_extent *out)
{
    if (physics->mirror_count == 0) {
        return;
    }
    out->actuators = bb_mirror_stack_actuators(physics);
    out->reading = bb_ao_input_influences_need(physics);
    out->read = bb_ao_input_influences_resident(physics);
    const bb_need gathering = bb_mirror_commands_gather_need(out->residual.most_rows, out->n,
                                                             out->actuators, out->m, out->threads);
    out->gathering =
        bb_need_together(gathering, bb_need_repeated(out->ctm, (double)physics->target_count));
}

// Rows of an estimate in memory, and rows shared by the scores of all targets.
static void measure_estimates(const bb_ao_study *study, bb_ao_extent *out)
{
    const bool together = out->actuators > 0.0;
    const bool shared = study->correction == (int)BB_AO_CORRECTION_LTAO ||
                        study->correction == (int)BB_AO_CORRECTION_GLAO;
    const bool first =
        study->correction == (int)BB_AO_CORRECTION_LTAO; // upper bound: the largest target
    out->estimated = together ? out->actuators : first ? out->residual.most_rows : out->m;
    out->projected_rows = together && bb_ao_study_frames(study) ? out->m : 0.0;
    out->residual.shared = together || (shared && study->targets.count > 1) ? 1.0 : 0.0;
    out->residual.shared_rows = together ? out->actuators : out->residual.most_rows;
}

bb_status bb_ao_extent_measure(const bb_ao_study *study, double threads, bb_ao_extent *out)
{
    bb_status status = BB_OK;
    bb_atmosphere atmosphere = {0};
    bb_sensor_array guides = {0};
    bb_ao_config physics = bb_ao_study_physics(study);
    bb_influence_cube *influences = NULL;
    double *mask = NULL;
    BB_TRY(bb_ao_input_pupil(study, &physics, &mask));
    BB_TRY(bb_ao_input_influences(study, &physics, &influences));
    BB_TRY(
        bb_atmosphere_create(physics.atmosphere, physics.telescope->zenith_angle_deg, &atmosphere));
    BB_TRY(bb_sensor_array_create_guides(&physics, &atmosphere, &guides));
    BB_TRY(bb_ao_learning_check(&study->learn, guides.measurement_count));
    *out = (bb_ao_extent){.n = guides.measurement_count,
                          .layers = (double)atmosphere.layer_count,
                          .mask_edge = physics.pupil_edge,
                          .threads = threads,
                          .gpus = study->solver.common.gpus,
                          .seeing = bb_ao_seeing_of(study, &atmosphere),
                          .residual = {.n = guides.measurement_count},
                          .frames = {.frames = (double)study->monte_carlo.frames,
                                     .layers = (double)atmosphere.layer_count,
                                     .levels = study->monte_carlo.subharmonics,
                                     .slopes = (double)guides.measurement_count},
                          .cmm = bb_slope_covariance_fill_need(&guides, &guides, threads)};
    for (bb_index s = 0; s < guides.sensor_count; ++s) {
        out->frames.lines += (double)guides.sensors[s].lenslets;
    }
    BB_TRY(measure_targets(study, &physics, &atmosphere, &guides, out));
    out->m = out->residual.rows;
    measure_mirrors(&physics, out);
    measure_estimates(study, out);
    out->solved = measure_solves(study, out);
    out->solved.modes = bb_unknown_modes_count(&guides, &study->inflation);
    BB_TRY(bb_tomography_need(&physics, (bb_lgs_tilt)study->solver.lgs_tilt, threads, &out->making,
                              &out->held));
    out->making = bb_need_in_turn(out->making, bb_need_together(out->held, out->whole));
    out->held = bb_need_together(out->held, out->wholes);
    BB_TRY(bb_ao_timeline_config_cover(study, &physics, &guides));
    BB_TRY(bb_ao_learn_plan(study, &atmosphere, &guides, threads, &out->learn));
    BB_TRY(bb_night_plan(study, &physics, &out->solved, out->residual.most_rows, threads,
                         &out->night));
done:
    bb_ao_input_influences_release(study, &influences);
    BB_RELEASE(&mask);
    bb_sensor_array_release(&guides);
    bb_atmosphere_release(&atmosphere);
    return status;
}

bb_status bb_ao_extent_slopes(const bb_ao_study *study, bb_index *out)
{
    bb_status status = BB_OK;
    bb_ao_config physics = bb_ao_study_physics(study);
    bb_atmosphere atmosphere = {0};
    bb_sensor_array guides = {0};
    double *mask = NULL;
    BB_TRY(bb_ao_input_pupil(study, &physics, &mask));
    BB_TRY(
        bb_atmosphere_create(physics.atmosphere, physics.telescope->zenith_angle_deg, &atmosphere));
    BB_TRY(bb_sensor_array_create_guides(&physics, &atmosphere, &guides));
    *out = guides.measurement_count;
done:
    bb_sensor_array_release(&guides);
    bb_atmosphere_release(&atmosphere);
    BB_RELEASE(&mask);
    return status;
}

bb_status bb_ao_extent_resolve(const bb_ao_study *study, bb_ao_study *out)
{
    bb_status status = BB_OK;
    bb_index n = 0;
    BB_TRY(bb_ao_extent_slopes(study, &n));
    *out = *study;
    out->common.device =
        bb_device_choice_by_size(study->common.device, (double)n, BB_DEVICE_CHOICE_ORDER);
    bb_factor_device_resolve_tile(&out->pipelines, out->common.device, n, &out->solver.common);
done:
    return status;
}
