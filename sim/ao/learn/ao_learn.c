// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/learn/ao_learn.h"

#include "core/log.h"
#include "core/memory.h"
#include "physics/ao/frames/learn_frames.h"
#include "sim/ao/ao_commands.h"
#include "sim/ao/ao_mcao.h"
#include "sim/ao/ao_work.h"
#include "sim/ao/learn/ao_learn_publish.h"
#include "sim/study.h"
#include "solvers/factor/residual_covariance.h"

#include <math.h>
#include <stdint.h>

// Frames from here on, so that those of monte_carlo are others.
static const uint64_t first_frame = (uint64_t)1 << 32;

struct bb_ao_learning {
    const bb_ao_study *study;
    const bb_tomography *truth;
    bb_factor_problem known; // with the true profile
    bb_learned_profile profile;
    bb_learned_profile numbers; // the same without its arrays, for checkpoints
    bool applied;
    bb_layer_config *layers; // [profile.layer_count]
    bb_atmosphere_config atmosphere;
    bb_ao_config physics; // with the learned atmosphere
    bb_error_terms_config terms;
    bb_tomography *problem;
    const bb_matrix_source **ctm; // [targets]
    bb_ao_mcao *mcao;             // NULL: one mirror a target
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
    BB_TRY(bb_study_name_failure(bb_matrix_file_open(&learn->covariance, true, key, out), key));
    BB_TRY(bb_study_name_failure(bb_matrix_file_expect(*out, BB_QUANTITY_ANGLE_COVARIANCE), key));
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
    // Slopes of the guide stars are all that is wanted of a frame.
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

// The arrays of a profile: readers and writers go through the same list.
static bb_index list_arrays(const bb_learned_profile *profile, bb_checkpoint_piece *pieces)
{
    const bb_index layers = profile->layer_count * (bb_index)sizeof(double);
    const bb_index sensors = profile->sensor_count * (bb_index)sizeof(double);
    bb_index count = 0;
    pieces[count++] = (bb_checkpoint_piece){profile->height_m, layers};
    pieces[count++] = (bb_checkpoint_piece){profile->strength, layers};
    pieces[count++] = (bb_checkpoint_piece){profile->sigma, layers};
    pieces[count++] = (bb_checkpoint_piece){profile->own, layers};
    pieces[count++] = (bb_checkpoint_piece){profile->noise_arcsec2, sensors};
    pieces[count++] = (bb_checkpoint_piece){profile->tilt_arcsec2, sensors};
    return count;
}

static void drop_arrays(bb_learned_profile *profile)
{
    profile->height_m = profile->strength = profile->sigma = profile->own = NULL;
    profile->noise_arcsec2 = profile->tilt_arcsec2 = NULL;
}

bb_index bb_ao_learning_list(const bb_ao_learning *learning,
                             bb_checkpoint_piece pieces[BB_AO_LEARNING_PIECES])
{
    if (learning == NULL) {
        return 0;
    }
    pieces[0] = (bb_checkpoint_piece){&learning->numbers, sizeof learning->numbers};
    return 1 + list_arrays(&learning->profile, pieces + 1);
}

static bb_status take_profile(const bb_ao_learn_config *learn, const bb_tomography *problem,
                              bb_checkpoint *checkpoint, bb_learned_profile *out)
{
    bb_status status = BB_OK;
    bb_checkpoint_piece arrays[BB_AO_LEARNING_PIECES];
    const bb_index layers =
        learn->heights_m.count > 0 ? learn->heights_m.count : problem->atmosphere.layer_count;
    bb_learned_profile numbers = {.layer_count = 0};
    BB_TRY(bb_checkpoint_take(checkpoint, &numbers, sizeof numbers));
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
    for (bb_index a = 0; a < count; ++a) {
        // These are the arrays made above.
        BB_TRY(bb_checkpoint_take(checkpoint, (void *)(uintptr_t)arrays[a].data, arrays[a].bytes));
    }
done:
    return status;
}

// The tomography of the learned profile. Of the error terms, which are the score's, it knows what
// truth sensors do not see.
static bb_status create_problem(const bb_ao_config *physics, bb_ao_learning *l)
{
    bb_status status = BB_OK;
    const bb_index targets = physics->target_count;
    BB_TRY(BB_ALLOCATE(l->profile.layer_count, &l->layers));
    for (bb_index k = 0; k < l->profile.layer_count; ++k) {
        l->layers[k] = (bb_layer_config){l->profile.height_m[k], l->profile.strength[k], NAN};
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
    l->physics.mirror_count = 0; // the true problem has them
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
    bb_ao_mcao_pose(l->mcao, factor_problem);
}

static void announce(const bb_ao_learning *l)
{
    const bb_learned_profile *profile = &l->profile;
    if (profile->outcome.kind != BB_OUTCOME_OK) {
        bb_log_warning("nothing was learned: %s", profile->outcome.detail);
        return;
    }
    bb_log_info("learned %td layer(s): r0 %.4g m, outer scale %.4g m, residual %.2g",
                profile->layer_count, profile->r0_m, profile->outer_scale_m, profile->residual);
    if (profile->outer_scale_bounded) {
        bb_log_warning("the learned outer scale, %.4g m, is an end of learn.outer_scale_range_m",
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
               : take_profile(&study->learn, problem, work->resumed, &learning->profile));
    learning->numbers = learning->profile;
    drop_arrays(&learning->numbers);
    announce(learning);
    BB_TRY(bb_ao_learn_publish(&study->learn, &problem->atmosphere, &learning->profile, results));
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

void bb_ao_learning_hold(const bb_ao_learning *learning, bb_ao_evaluation *evaluation)
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
    BB_TRY(bb_ao_learn_publish_strehl(targets, &study->wavelengths_um, known.strehl,
                                      evaluations[reference].strehl, results));
done:
    bb_factor_problem_release(&factor_problem);
    bb_ao_evaluation_release(&known, targets);
    return status;
}

// Learns before pipelines are solved, and points what they solve at the covariances of the learned
// profile; then solves the reference with the true one, too, and publishes the loss by learning.
const bb_part bb_ao_learning_part = {
    .name = "learning",
    .wanted = wanted,
    .check = check,
    .plan_lines = plan_lines,
    .start = start,
    .run = run,
    .outputs = BB_OUTPUTS(&bb_ao_learn_outputs, &bb_ao_learn_strehl),
};
