// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/learn/ao_learn.h"

#include "core/log.h"
#include "core/memory.h"
#include "physics/ao/atmosphere.h"
#include "physics/ao/covariance/slope_covariance.h"
#include "physics/ao/frames/learn_frames.h"
#include "physics/ao/learn/learn.h"
#include "sim/ao/ao_commands.h"
#include "sim/ao/ao_mcao.h"
#include "sim/ao/ao_run.h"
#include "sim/ao/learn/ao_learn_config.h"
#include "sim/output/output_table.h"
#include "sim/run/study.h"
#include "solvers/factor/residual_covariance.h"

#include <math.h>
#include <stdint.h>

static bb_learn_extent measure(const bb_ao_learn_config *learn, const bb_atmosphere *atmosphere,
                               const bb_sensor_array *guides)
{
    const double *range = learn->outer_scale_range_m.items;
    const bb_index layers =
        learn->heights_m.count > 0 ? learn->heights_m.count : atmosphere->layer_count;
    const bool drawn = learn->source == (int)BB_AO_LEARN_FRAMES;
    return (bb_learn_extent){
        .guides = guides,
        .layers = (double)layers,
        .sources = drawn ? BB_LEARN_BATCHES : 1.0,
        .outer_scale_low_m = range != NULL ? range[0] : atmosphere->outer_scale_m,
        .outer_scale_high_m = range != NULL ? range[1] : atmosphere->outer_scale_m};
}

// Size of the frames, for the guide stars only.
static bb_status measure_frames(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                                const bb_sensor_array *guides, bb_frame_sampler_extent *out)
{
    bb_status status = BB_OK;
    *out = (bb_frame_sampler_extent){.frames = (double)study->learn.frames,
                                     .layers = (double)atmosphere->layer_count,
                                     .levels = study->monte_carlo.subharmonics,
                                     .slopes = (double)guides->measurement_count};
    BB_TRY(bb_screen_size_for(&study->monte_carlo, atmosphere, 1, &guides, &out->screen));
    for (bb_index s = 0; s < guides->sensor_count; ++s) {
        out->lines += (double)guides->sensors[s].lenslets;
    }
done:
    return status;
}

// Adds the need of frames. The sampler and the sample covariances stay in memory during the fit.
static bb_status add_frames(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                            const bb_sensor_array *guides, double threads, bb_need *need)
{
    bb_status status = BB_OK;
    bb_frame_sampler_extent frames;
    BB_TRY(measure_frames(study, atmosphere, guides, &frames));
    const bb_index n = guides->measurement_count;
    const bb_need sampler = bb_frame_sampler_resident(&frames);
    const bb_need drawing = bb_learn_frames_need(&frames, n, threads);
    const bb_need fitting = bb_need_together(bb_learn_frames_resident(n), *need);
    *need = bb_need_in_turn(bb_frame_sampler_need(&frames),
                            bb_need_together(sampler, bb_need_in_turn(drawing, fitting)));
done:
    return status;
}

bb_status bb_ao_learn_plan(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                           const bb_sensor_array *guides, double threads, bb_ao_learn_planned *out)
{
    bb_status status = BB_OK;
    const bb_ao_learn_config *learn = &study->learn;
    const bb_learn_extent extent = measure(learn, atmosphere, guides);
    *out = (bb_ao_learn_planned){0};
    if (learn->source == (int)BB_AO_LEARN_OFF) {
        goto done;
    }
    *out = (bb_ao_learn_planned){.layers = extent.layers,
                                 .trials = bb_learn_trials(&extent),
                                 .solves_again = learn->apply,
                                 .need = bb_learn_need(&extent, threads)};
    if (learn->source ==
        (int)BB_AO_LEARN_PROFILE) { // fills a triangle of the true Cmm with one thread
        const bb_need fill = bb_slope_covariance_fill_need(guides, guides, 1.0);
        out->need = bb_need_together(out->need, bb_need_repeated(fill, 0.5 * out->trials));
    }
    if (learn->source == (int)BB_AO_LEARN_FRAMES) {
        BB_TRY(add_frames(study, atmosphere, guides, threads, &out->need));
    }
done:
    return status;
}

// Strength at zenith of the true layers at a height; NaN without a layer there.
static double true_strength(const bb_atmosphere *atmosphere, double height_m)
{
    double sum = NAN;
    for (bb_index l = 0; l < atmosphere->layer_count; ++l) {
        if (fabs(atmosphere->height_m[l] / atmosphere->airmass - height_m) < 1e-6) {
            sum = (isnan(sum) ? 0.0 : sum) + atmosphere->strength[l] / atmosphere->airmass;
        }
    }
    return sum;
}

// Learned and true profile.
typedef struct learned {
    bb_learned_profile profile; // borrowed arrays
    const double *truth;        // [layers]
    double r0_m, outer_scale_m; // values of the atmosphere
} learned;

static const char title[] = "/learn, ao with a `learn.source`";

static const bb_output outputs[] = {
    {"height", "height", "m", "height of a learned layer, at zenith",
     .member = offsetof(learned, profile.height_m),
     .count = offsetof(learned, profile.layer_count)},
    {"strength", "height", "m^(-5/3)", "learned r0^(-5/3) of a layer, at 500 nm and zenith",
     .member = offsetof(learned, profile.strength)},
    {"strength_sigma", "height", "m^(-5/3)", "its standard error",
     .member = offsetof(learned, profile.sigma)},
    {"strength_true", "height", "m^(-5/3)",
     "strength of the atmosphere's layer at this height, which the score uses",
     .note = "NaN where it has no layer", .member = offsetof(learned, truth)},
    {"separation", "height", "1", "fraction of a layer's covariance not reproduced by other layers",
     .member = offsetof(learned, profile.own)},
    {"r0", "", "m", "learned r0 at 500 nm and zenith, of all layers",
     .member = offsetof(learned, profile.r0_m)},
    {"r0_true", "", "m", "r0 of the atmosphere", .member = offsetof(learned, r0_m)},
    {"outer_scale", "", "m", "learned outer scale",
     .member = offsetof(learned, profile.outer_scale_m)},
    {"outer_scale_sigma", "", "m", "its standard error, 0 where known",
     .member = offsetof(learned, profile.outer_scale_sigma_m)},
    {"outer_scale_true", "", "m", "outer scale of the atmosphere",
     .member = offsetof(learned, outer_scale_m)},
    {"residual", "", "1", "norm of the residual of the fit over that of the fitted entries",
     .member = offsetof(learned, profile.residual)},
    {"condition", "", "1", "condition number of the normal matrix, with layers of unit norm",
     .member = offsetof(learned, profile.condition)},
    {"guide_star", "guide_star", "1", "index of the guide star",
     .count = offsetof(learned, profile.sensor_count), .indices = true},
    {"noise_variance", "guide_star", "arcsec^2",
     "mean variance of a slope in excess of turbulence and tilt",
     .member = offsetof(learned, profile.noise_arcsec2)},
    {"tilt_variance", "guide_star", "arcsec^2", "variance of the unknown tilt of a laser star",
     .note = "0 for a natural star", .member = offsetof(learned, profile.tilt_arcsec2)},
};

static const bb_output_table profile_outputs = {
    .title = title, .group = "learn", BB_OUTPUT_ROWS(outputs)};

static const bb_output strehl_rows[] = {
    {"target", "target", "1", .long_name = "index of the target"},
    {"wavelength", "wavelength", "um", .long_name = "wavelength"},
    {"strehl_known", "target, wavelength", "1",
     .long_name = "Strehl ratio of the reference pipeline with the true profile"},
    {"strehl_loss", "target, wavelength", "1",
     .long_name = "strehl_known minus the reference's with the learned profile"},
};

static const bb_output_table strehl_outputs = {.title = title,
                                               .when = "Unless `learn.apply: false`:",
                                               .group = "learn",
                                               BB_OUTPUT_ROWS(strehl_rows)};

static bb_status publish_profile(const bb_ao_learn_config *learn, const bb_atmosphere *atmosphere,
                                 const bb_learned_profile *profile, bb_results *results)
{
    bb_status status = BB_OK;
    double *truth = NULL; // [layers]
    learned record = {.profile = *profile,
                      .r0_m = atmosphere->r0_m * pow(atmosphere->airmass, 3.0 / 5.0),
                      .outer_scale_m = atmosphere->outer_scale_m};
    BB_TRY(BB_ALLOCATE(profile->layer_count, &truth));
    for (bb_index l = 0; l < profile->layer_count; ++l) {
        truth[l] = true_strength(atmosphere, profile->height_m[l]);
    }
    record.truth = truth;
    BB_TRY(bb_output_table_publish(&profile_outputs, &record, NULL, results));
    BB_TRY(bb_results_note(results, "learn", "source", bb_ao_learn_source_name(learn->source)));
    BB_TRY(bb_results_note(results, "learn", "status", bb_outcome_name(profile->outcome.kind)));
    BB_TRY(bb_results_note(results, "learn", "status_detail", profile->outcome.detail));
done:
    BB_RELEASE(&truth);
    return status;
}

static bb_status publish_strehl(bb_index targets, const bb_list *wavelengths_um,
                                const double *known, const double *learned_strehl,
                                bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_table *table = &strehl_outputs;
    double *loss = NULL; // [targets][wavelengths]
    BB_TRY(BB_ALLOCATE(targets * wavelengths_um->count, &loss));
    for (bb_index i = 0; i < targets * wavelengths_um->count; ++i) {
        loss[i] = known[i] - learned_strehl[i];
    }
    BB_TRY(bb_output_table_add_axis(table, "target", targets, NULL, NULL, results));
    BB_TRY(bb_output_table_add_axis(table, "wavelength", wavelengths_um->count,
                                    wavelengths_um->items, NULL, results));
    BB_TRY(bb_output_table_add(table, "strehl_known", known, NULL, results));
    BB_TRY(bb_output_table_add(table, "strehl_loss", loss, NULL, results));
done:
    BB_RELEASE(&loss);
    return status;
}

// First frame number, chosen so that frames differ from those of monte_carlo.
static const uint64_t first_frame = (uint64_t)1 << 32;

struct bb_ao_learning {
    const bb_ao_study *study;
    const bb_tomography *truth;
    bb_factor_problem known; // problem with the true profile
    bb_learned_profile profile;
    bb_learned_profile numbers; // copy without the arrays, for checkpoints
    bool applied;
    bb_layer_config *layers; // [profile.layer_count]
    bb_atmosphere_config atmosphere;
    bb_ao_config physics; // configuration with the learned atmosphere
    bb_error_terms_config terms;
    bb_tomography *problem;
    const bb_matrix_source **ctm; // [targets]
    bb_ao_mcao *mcao;             // NULL: every target has its own mirror
    double *noise;                // [n] lower bounds of the variances
};

void bb_ao_learning_destroy(bb_ao_learning **learning)
{
    bb_ao_learning *l = *learning;
    if (l == NULL) {
        return;
    }
    bb_learned_profile_release(&l->profile);
    bb_ao_mcao_destroy(&l->mcao);
    bb_tomography_destroy(&l->problem);
    BB_RELEASE(&l->layers);
    BB_RELEASE(&l->ctm);
    BB_RELEASE(&l->noise);
    BB_RELEASE(learning);
}

static bb_status open_covariance(const bb_ao_learn_config *learn, bb_matrix_file **out)
{
    bb_status status = BB_OK;
    static const char key[] = "learn.covariance";
    BB_TRY(bb_status_prefix(bb_matrix_file_open(&learn->covariance, true, key, out), "%s", key));
    BB_TRY(bb_status_prefix(bb_matrix_file_expect(*out, BB_QUANTITY_ANGLE_COVARIANCE), "%s", key));
done:
    return status;
}

bb_status bb_ao_learning_check(const bb_ao_learn_config *learn, bb_index slopes)
{
    bb_status status = BB_OK;
    bb_matrix_file *file = NULL;
    if (learn->source != (int)BB_AO_LEARN_COVARIANCE_FILE) {
        return BB_OK;
    }
    BB_TRY(open_covariance(learn, &file));
    BB_TRY(bb_learn_source_check(bb_matrix_file_source(file), slopes));
done:
    bb_matrix_file_close(&file);
    return status;
}

static bb_status fit_file(const bb_ao_learn_config *learn, bb_learn_task *task,
                          bb_learned_profile *out)
{
    bb_status status = BB_OK;
    bb_matrix_file *file = NULL;
    BB_TRY(open_covariance(learn, &file));
    task->source_count = 1;
    task->source = bb_matrix_file_source(file);
    BB_TRY(bb_learn_fit(task, out));
done:
    bb_matrix_file_close(&file);
    return status;
}

static bb_status fit_frames(const bb_ao_study *study, const bb_tomography *problem,
                            bb_learn_task *task, bb_learned_profile *out)
{
    bb_status status = BB_OK;
    bb_frame_sampler *sampler = NULL;
    bb_learn_frames frames = {0};
    // Only the slopes of the guide stars are needed.
    bb_tomography guides = *problem;
    guides.target_count = 0;
    BB_TRY(bb_frame_sampler_create(&guides, &study->monte_carlo, &sampler));
    BB_TRY(bb_learn_frames_draw(sampler, (uint64_t)study->common.seed, first_frame,
                                study->learn.frames, &frames));
    task->source_count = BB_LEARN_BATCHES;
    task->source = frames.source;
    BB_TRY(bb_learn_fit(task, out));
done:
    bb_learn_frames_release(&frames);
    bb_frame_sampler_destroy(&sampler);
    return status;
}

static bb_status fit(const bb_ao_study *study, const bb_ao_config *physics,
                     const bb_tomography *problem, bb_learned_profile *out)
{
    bb_status status = BB_OK;
    const bb_ao_learn_config *learn = &study->learn;
    const bb_atmosphere *truth = &problem->atmosphere;
    const double *range = learn->outer_scale_range_m.items;
    double *heights = NULL;
    bb_learn_task task = {.config = physics,
                          .layer_count = learn->heights_m.count,
                          .height_m = learn->heights_m.items,
                          .outer_scale_low_m = range != NULL ? range[0] : truth->outer_scale_m,
                          .outer_scale_high_m = range != NULL ? range[1] : truth->outer_scale_m,
                          .separation = learn->separation};
    if (task.layer_count == 0) {
        BB_TRY(BB_ALLOCATE(truth->layer_count, &heights));
        for (bb_index l = 0; l < truth->layer_count; ++l) {
            heights[l] = truth->height_m[l] / truth->airmass;
        }
        task.layer_count = truth->layer_count;
        task.height_m = heights;
    }
    if (learn->source == (int)BB_AO_LEARN_COVARIANCE_FILE) {
        BB_TRY(fit_file(learn, &task, out));
    } else if (learn->source == (int)BB_AO_LEARN_FRAMES) {
        BB_TRY(fit_frames(study, problem, &task, out));
    } else {
        task.source_count = 1;
        task.source = problem->cmm;
        BB_TRY(bb_learn_fit(&task, out));
    }
done:
    BB_RELEASE(&heights);
    return status;
}

// Lists the arrays of a profile, for readers and writers.
static bb_index list_arrays(const bb_learned_profile *profile, bb_store_piece *pieces)
{
    const bb_index layers = profile->layer_count * (bb_index)sizeof(double);
    const bb_index sensors = profile->sensor_count * (bb_index)sizeof(double);
    bb_index count = 0;
    pieces[count++] = (bb_store_piece){profile->height_m, layers};
    pieces[count++] = (bb_store_piece){profile->strength, layers};
    pieces[count++] = (bb_store_piece){profile->sigma, layers};
    pieces[count++] = (bb_store_piece){profile->own, layers};
    pieces[count++] = (bb_store_piece){profile->noise_arcsec2, sensors};
    pieces[count++] = (bb_store_piece){profile->tilt_arcsec2, sensors};
    return count;
}

static void drop_arrays(bb_learned_profile *profile)
{
    profile->height_m = profile->strength = profile->sigma = profile->own = NULL;
    profile->noise_arcsec2 = profile->tilt_arcsec2 = NULL;
}

bb_index bb_ao_learning_list(const bb_ao_learning *learning,
                             bb_store_piece pieces[BB_AO_LEARNING_PIECES])
{
    if (learning == NULL) {
        return 0;
    }
    pieces[0] = (bb_store_piece){&learning->numbers, sizeof learning->numbers};
    return 1 + list_arrays(&learning->profile, pieces + 1);
}

static bb_status read_profile(const bb_ao_learn_config *learn, const bb_tomography *problem,
                              bb_store *checkpoint, bb_learned_profile *out)
{
    bb_status status = BB_OK;
    bb_store_piece arrays[BB_AO_LEARNING_PIECES];
    const bb_index layers =
        learn->heights_m.count > 0 ? learn->heights_m.count : problem->atmosphere.layer_count;
    bb_learned_profile numbers = {.layer_count = 0};
    BB_TRY(bb_store_read(checkpoint, &numbers, sizeof numbers));
    drop_arrays(&numbers);
    BB_REQUIRE(numbers.layer_count == layers &&
                   numbers.sensor_count == problem->guides.sensor_count &&
                   bb_outcome_is_sound(&numbers.outcome),
               BB_IO, "checkpoint with %td learned layers of %td sensors, expected %td of %td",
               numbers.layer_count, numbers.sensor_count, layers, problem->guides.sensor_count);
    *out = numbers;
    BB_TRY(BB_ALLOCATE(layers, &out->height_m));
    BB_TRY(BB_ALLOCATE(layers, &out->strength));
    BB_TRY(BB_ALLOCATE(layers, &out->sigma));
    BB_TRY(BB_ALLOCATE(layers, &out->own));
    BB_TRY(BB_ALLOCATE(numbers.sensor_count, &out->noise_arcsec2));
    BB_TRY(BB_ALLOCATE(numbers.sensor_count, &out->tilt_arcsec2));
    const bb_index count = list_arrays(out, arrays);
    BB_TRY(bb_store_read_list(checkpoint, arrays, count)); // destination: the arrays allocated
                                                           // above
done:
    return status;
}

// Creates the tomography of the learned profile. Its only error term is turbulence that truth
// sensors do not measure; the score includes the others.
static bb_status create_problem(const bb_ao_config *physics, bb_ao_learning *l)
{
    bb_status status = BB_OK;
    const bb_index targets = physics->target_count;
    BB_TRY(BB_ALLOCATE(l->profile.layer_count, &l->layers));
    for (bb_index k = 0; k < l->profile.layer_count; ++k) {
        l->layers[k] = (bb_layer_config){l->profile.height_m[k], l->profile.strength[k], NAN, NAN};
    }
    l->atmosphere = (bb_atmosphere_config){
        .profile = -1,
        .layers = {.items = l->layers, .count = l->profile.layer_count},
        .outer_scale_m = l->profile.outer_scale_m,
        .r0_m = NAN,
        .seeing_arcsec = NAN,
        .seeing_wavelength_nm = 500.0,
    };
    l->physics = *physics;
    l->physics.atmosphere = &l->atmosphere;
    l->terms =
        (bb_error_terms_config){.fitting = physics->error_terms->fitting,
                                .fitting_coefficient = physics->error_terms->fitting_coefficient};
    l->physics.error_terms = &l->terms;
    l->physics.mirror_count = 0; // mirrors belong to the true problem
    BB_TRY(bb_tomography_create(&l->physics, (bb_lgs_tilt)l->study->solver.lgs_tilt, &l->problem));
    BB_TRY(BB_ALLOCATE(targets, &l->ctm));
    for (bb_index t = 0; t < targets; ++t) {
        l->ctm[t] = l->problem->targets[t].ctm;
    }
    BB_TRY(bb_ao_mcao_create(l->truth, l->ctm, &l->mcao));
    BB_TRY(bb_measurement_noise_bounds(&l->problem->guides, &l->problem->noise, &l->noise));
done:
    return status;
}

static void apply(const bb_ao_learning *l, bb_factor_problem *factor_problem)
{
    const bb_tilt_vectors *tilts = &l->problem->tilts;
    factor_problem->matrix = l->problem->cmm_core;
    factor_problem->part = (bb_low_rank){tilts->columns, tilts->vectors, tilts->variance};
    factor_problem->sides = l->ctm;
    factor_problem->noise = l->noise;
    bb_ao_mcao_set_sides(l->mcao, factor_problem);
}

static void announce(const bb_ao_learning *l)
{
    const bb_learned_profile *profile = &l->profile;
    if (profile->outcome.kind != BB_OUTCOME_OK) {
        bb_log_warning("learning failed: %s", profile->outcome.detail);
        return;
    }
    bb_log_info("learned %td layer(s): r0 %.4g m, outer scale %.4g m, residual %.2g",
                profile->layer_count, profile->r0_m, profile->outer_scale_m, profile->residual);
    if (profile->outer_scale_bounded) {
        bb_log_warning("the learned outer scale, %.4g m, is a limit of learn.outer_scale_range_m; "
                       "widen the range",
                       profile->outer_scale_m);
    }
}

static bool wanted(const void *study)
{
    return ((const bb_ao_study *)study)->learn.source != (int)BB_AO_LEARN_OFF;
}

static bb_status check(const void *study, const bb_config *config, bb_problems *problems)
{
    return bb_ao_learn_config_check(&((const bb_ao_study *)study)->learn, config, problems);
}

static bb_status plan_lines(const void *study, const void *extent, bb_plan *plan)
{
    const bb_ao_learn_planned *learn = &((const bb_ao_extent *)extent)->learn;
    (void)study;
    return learn->trials > 0.0 ? bb_plan_add(plan, "learning", "%.0f layers at %.0f outer scales",
                                             learn->layers, learn->trials)
                               : BB_OK;
}

static bb_status start(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    bb_ao_work *work = all;
    const bb_ao_study *study = work->study;
    const bb_ao_config *physics = &work->physics;
    const bb_tomography *problem = work->problem;
    bb_factor_problem *factor_problem = &work->factor_problem;
    bb_ao_learning *learning = NULL;
    BB_TRY(BB_ZEROED(1, &learning));
    learning->study = study;
    learning->truth = problem;
    learning->known = *factor_problem;
    learning->applied = study->learn.apply;
    BB_TRY(work->resumed == NULL
               ? fit(study, physics, problem, &learning->profile)
               : read_profile(&study->learn, problem, work->resumed, &learning->profile));
    learning->numbers = learning->profile;
    drop_arrays(&learning->numbers);
    announce(learning);
    BB_TRY(publish_profile(&study->learn, &problem->atmosphere, &learning->profile, results));
    if (learning->applied && learning->profile.outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(create_problem(physics, learning));
        apply(learning, factor_problem);
    }
    work->learning = learning;
    learning = NULL;
done:
    bb_ao_learning_destroy(&learning);
    return status;
}

void bb_ao_learning_apply_outcome(const bb_ao_learning *learning, bb_ao_evaluation *evaluation)
{
    if (learning != NULL && learning->applied && learning->problem == NULL) {
        evaluation->common.outcome = learning->profile.outcome;
    }
}

static bb_status run(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    bb_ao_work *work = all;
    const bb_ao_learning *learning = work->learning;
    const bb_ao_evaluation *evaluations = work->evaluations;
    bb_ao_evaluation known = {0};
    bb_ao_evaluation *const one = &known;
    bb_factor_problem factor_problem = {0};
    if (learning->problem == NULL) {
        return BB_OK;
    }
    const bb_ao_study *study = learning->study;
    const bb_index targets = study->targets.count;
    const bb_index reference = bb_factor_pipelines_reference(&study->pipelines);
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    BB_TRY(bb_ao_evaluation_create("known profile", targets, study->wavelengths_um.count, 0, 0,
                                   &known));
    known.level = pipelines[reference];
    known.shared = evaluations[reference].shared;
    known.common.device = evaluations[reference].common.device;
    factor_problem = learning->known;
    BB_TRY(bb_factor_problem_prepare(&factor_problem));
    BB_TRY(bb_factor_problem_solve(&factor_problem, &pipelines[reference], known.r, &known.common));
    bb_ao_evaluation_share(&known, study->correction, learning->truth);
    BB_TRY(bb_ao_scoring_strehls(&work->scoring, &one, 1, targets, study->wavelengths_um.count,
                                 &known.strehl));
    BB_TRY(publish_strehl(targets, &study->wavelengths_um, known.strehl,
                          evaluations[reference].strehl, results));
done:
    bb_factor_problem_release(&factor_problem);
    bb_ao_evaluation_release(&known, targets);
    return status;
}

// Learns the profile before pipelines are solved, and sets its covariances in their problem.
// Afterwards solves the reference with the true profile too, and publishes the loss from learning.
const bb_part bb_ao_learning_part = {
    .name = "learning",
    .wanted = wanted,
    .check = check,
    .plan_lines = plan_lines,
    .start = start,
    .run = run,
    .outputs = BB_OUTPUTS(&profile_outputs, &strehl_outputs),
};
